#include "core/scenario/read_training.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "core/scenario/keys.h"
#include "core/scenario/read_parallel.h"

namespace meshscope::scenario {
namespace {

namespace fs = std::filesystem;

constexpr IntegerRange kSeed{0, std::numeric_limits<int64_t>::max()};
constexpr IntegerRange kCount{1, std::numeric_limits<int32_t>::max()};
constexpr int64_t kMostParameters = int64_t{1} << 31;

/// A file a scenario names: absolute, and there. "" when the key is absent or the file is missing (reported).
std::string existing_file(const Section& section, std::string_view key, const std::string& folder) {
    const std::optional<std::string> given = section.text(key);
    if (!given) return "";
    if (given->empty()) {
        section.report(key, {"scenario.empty_path", {{"key", section.full(key)}}});
        return "";
    }
    std::error_code error;
    const fs::path path = fs::path(*given).is_absolute() ? fs::path(*given) : fs::path(folder) / *given;
    const fs::path absolute = fs::absolute(path, error).lexically_normal();
    if (fs::is_regular_file(absolute, error)) return absolute.string();
    section.report(key, {"scenario.no_such_file", {{"key", section.full(key)}, {"path", absolute.string()}}},
                   {"scenario.hint.relative_path", {}});
    return "";
}

void refuse_for_kind(const Section& section, std::initializer_list<std::string_view> names,
                     const std::string& kind) {
    for (const std::string_view key : names)
        if (section.has(key))
            section.report_key(key,
                               {"scenario.key_not_for_kind", {{"key", section.full(key)}, {"kind", kind}}});
}

void read_model(const Section& root, const Section& model, Scenario& s) {
    if (!model.present()) {
        root.require("model");
        return;
    }
    constexpr std::array<std::string_view, 2> kLater{"gpt", "llama"};
    model.require("kind");
    const std::optional<std::string> kind = model.word("kind", model_kinds(), kLater);
    const auto dim = model.integer("dim", {1, 1 << 20});
    const auto hidden = model.integer("hidden", {1, 1 << 20});
    const auto layers = model.integer("layers", {1, 10000});
    if (kind) s.model.kind = *kind;
    if (kind == "mlp") {
        const bool all = model.require("dim") & model.require("hidden") & model.require("layers");
        if (all && dim && hidden && layers) {
            s.model.dim = *dim;
            s.model.hidden = *hidden;
            s.model.layers = *layers;
            const int64_t parameters =
                *layers * (2 * *dim * *hidden + *dim + *hidden);  // below 2^55: no overflow
            if (parameters > kMostParameters)
                model.report("layers", {"scenario.model_too_large",
                                        {{"parameters", parameters}, {"most", kMostParameters}}});
        }
    } else if (kind == "toy") {
        refuse_for_kind(model, {"dim", "hidden", "layers"}, "toy");
    }
    s.model_seed = static_cast<uint64_t>(model.integer("seed", kSeed).value_or(0));
    s.weights = existing_file(model, "weights", s.folder);
}

void read_data(const Section& root, Scenario& s) {
    const Section data = root.section("data");
    s.data_file = existing_file(data, "file", s.folder);
    s.data_kind = data.word("kind", data_kinds()).value_or(s.data_kind);
    s.data_samples = data.integer("samples", {0, kCount.most}).value_or(0);
    s.data_seed = static_cast<uint64_t>(data.integer("seed", kSeed).value_or(0));
    if (!data.has("file") || data.text("file") == "") return;  // an empty name was reported; it names no data
    for (const std::string_view key : {"kind", "samples", "seed"})
        if (data.has(key))
            data.report_key(
                key, {"scenario.keys_exclude", {{"key", data.full(key)}, {"other", data.full("file")}}});
}

void read_train(const Section& root, const Section& train, Scenario& s) {
    if (!train.present()) {
        root.require("train");
        return;
    }
    train.require("steps");
    train.require("global_batch");
    s.steps = static_cast<int32_t>(train.integer("steps", kCount).value_or(1));
    s.global_batch = train.integer("global_batch", kCount).value_or(1);
    s.accumulate = static_cast<int32_t>(train.integer("accumulate", kCount).value_or(1));
    s.clip_norm = train.number("clip_norm", {0, 1e30, false});
}

void read_optimizer(const Section& root, Scenario& s) {
    const Section optimizer = root.section("optimizer");
    Scenario::Optimizer& o = s.optimizer;
    const std::optional<std::string> kind = optimizer.word("kind", optimizer_kinds());
    if (kind) o.kind = *kind;
    // PyTorch's defaults: only AdamW decays unasked.
    o.weight_decay = o.kind == "adamw" ? 0.01 : 0.0;
    o.lr = optimizer.number("lr", {0, 1e10}).value_or(o.lr);
    o.momentum = optimizer.number("momentum", {0, 1}).value_or(o.momentum);
    o.eps = optimizer.number("eps", {0, 1}).value_or(o.eps);
    o.weight_decay = optimizer.number("weight_decay", {0, 1e10}).value_or(o.weight_decay);
    if (const auto betas = optimizer.numbers("betas")) {
        const bool fine = betas->size() == 2 && std::all_of(betas->begin(), betas->end(),
                                                            [](double b) { return b >= 0.0 && b < 1.0; });
        if (fine) {
            o.beta1 = (*betas)[0];
            o.beta2 = (*betas)[1];
        } else {
            optimizer.report("betas", {"scenario.bad_betas", {}});
        }
    }
    if (kind == "sgd") refuse_for_kind(optimizer, {"betas", "eps"}, "sgd");
    if (kind == "adam" || kind == "adamw") refuse_for_kind(optimizer, {"momentum"}, *kind);
}

void read_record(const Section& root, Scenario& s) {
    const std::optional<std::string> level = root.section("record").word("level", levels());
    if (!level) return;
    const auto found = std::find(levels().begin(), levels().end(), *level);
    s.level = static_cast<trace::Level>(found - levels().begin());
}

void read_hardware(const Section& root, Scenario& s) {
    const auto ranks_per_node = root.section("hardware").integer("ranks_per_node", {1, kMostRanks});
    if (!ranks_per_node) return;
    for (int32_t rank = 0; rank < world_size(s); ++rank)
        s.node_of_rank.push_back(static_cast<int32_t>(rank / *ranks_per_node));
}

}  // namespace

bool read_training(const Section& root, Scenario& scenario) {
    const Section model = root.section("model");
    read_model(root, model, scenario);
    read_data(root, scenario);
    const Section train = root.section("train");
    read_train(root, train, scenario);
    read_optimizer(root, scenario);
    const bool mesh_known = read_mesh_and_parallel(root, model, train, scenario);
    read_record(root, scenario);
    read_hardware(root, scenario);
    return mesh_known;
}

}  // namespace meshscope::scenario
