#include "core/scenario/readers.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/data/sampler.h"
#include "core/mesh/mesh_offers.h"
#include "core/mesh/roles.h"
#include "core/nn/model/counts.h"
#include "core/parallel/declaration.h"
#include "core/scenario/given_files.h"
#include "core/scenario/model_config.h"
#include "core/scenario/words.h"
#include "core/tensor/kernels.h"

namespace meshscope::scenario {
namespace {

constexpr IntegerRange kSeed{0, std::numeric_limits<int64_t>::max()};
constexpr int64_t kMostSamples = std::numeric_limits<int32_t>::max();
/// Up to here every count of them is exact in a double too, and 1,024 bytes for each are below 2^63.
constexpr int64_t kMostParameters = int64_t{1} << 53;

bool is_transformer(const std::string& kind) {
    return kind == "gpt" || kind == "llama";
}

/// Heads must divide dim unless head_dim is given, key/value heads must divide heads, and rotary positions
/// turn pairs. What was refused is doubted, and stands for a number that is possible, so that all else is
/// looked at. Whether there is one.
bool replace_bad_heads(const Section& model, nn::ModelSpec& spec) {
    const int64_t pairs = spec.kind == "llama" ? 2 : 1;
    if (spec.head_dim > 0 && (spec.head_dim % pairs != 0 || spec.query_width() > nn::kMostSize)) {
        const int64_t most = nn::kMostSize / spec.heads;
        model.report_offering(
            "head_dim",
            spec.head_dim % pairs != 0
                ? Message{"scenario.head_dim_odd", {{"head_dim", spec.head_dim}}}
                : Message{"scenario.head_dim_wide",
                          {{"head_dim", spec.head_dim}, {"heads", spec.heads}, {"most", nn::kMostSize}}},
            offers_around("model.head_dim", std::min(spec.head_dim, most), pairs, most));
        model.doubt("head_dim");
    }
    if (!model.sure("head_dim")) spec.head_dim = 2;
    if (spec.head_dim == 0 && spec.dim % (spec.heads * pairs) != 0) {
        const bool odd = spec.dim % spec.heads == 0;
        model.report_offering(
            "heads",
            {odd ? "scenario.odd_head_dim" : "scenario.heads", {{"heads", spec.heads}, {"dim", spec.dim}}},
            joined_offers(offers_around("model.heads", spec.heads, 1, spec.dim,
                                        [&](int64_t n) { return spec.dim % (n * pairs) == 0; }),
                          offers_around("model.dim", spec.dim, spec.heads * pairs, nn::kMostSize)));
        model.doubt("heads");
    }
    if (spec.kind == "llama" && spec.heads % spec.kv_heads != 0) {
        model.report_offering(
            "kv_heads", {"scenario.kv_heads", {{"kv_heads", spec.kv_heads}, {"heads", spec.heads}}},
            joined_offers(offers_around("model.kv_heads", spec.kv_heads, 1, spec.heads,
                                        [&](int64_t n) { return spec.heads % n == 0; }),
                          offers_around("model.heads", spec.heads, spec.kv_heads, spec.dim,
                                        [&](int64_t n) { return spec.head_dim > 0 || spec.dim % n == 0; })));
        model.doubt("kv_heads");
    }
    if (!model.sure("heads")) spec.heads = 1;
    if (!model.sure("heads", "kv_heads")) spec.kv_heads = spec.heads;
    return spec.head_dim > 0 || spec.dim % pairs == 0;
}

/// The sizes of every kind but toy, over what `spec` has from a configuration (`given`). False where one is
/// missing or wrong. Every key is looked at, also where the kind is not known.
bool read_sizes(const Section& model, bool given, nn::ModelSpec& spec) {
    const bool transformer = is_transformer(spec.kind);
    bool fine = true;
    const auto size = [&](std::string_view key, int64_t& into, bool needed, int64_t most = nn::kMostSize) {
        const bool missing = needed && !given && !model.require(key);
        const auto value = model.integer(key, {1, most});
        if (value) into = *value;
        fine = fine && !missing && (value || !model.has(key));
    };
    const bool sized = transformer || spec.kind == "mlp";
    size("dim", spec.dim, sized);
    size("hidden", spec.hidden, sized);
    size("layers", spec.layers, sized, 10000);
    size("vocab", spec.vocab, transformer);
    size("vocab_multiple", spec.vocab_multiple, false);
    size("seq", spec.seq, transformer);
    size("heads", spec.heads, transformer);
    if (!given) spec.kv_heads = spec.heads;
    size("kv_heads", spec.kv_heads, false);
    size("head_dim", spec.head_dim, false);
    if (const auto word = model.word("norm", norms()))
        spec.norm = static_cast<nn::Norm>(1 + (std::ranges::find(norms(), *word) - norms().begin()));
    spec.tied = model.boolean("tied").value_or(spec.tied);
    read_model_form(model, spec);
    if (!fine || !sized) return false;
    if (transformer && !replace_bad_heads(model, spec)) return false;
    if (!model.sure("heads", "kv_heads", "head_dim")) return true;
    const int64_t parameters = nn::count_parameters(spec).total();
    if (parameters > kMostParameters)
        model.report("layers",
                     {"scenario.model_too_large", {{"parameters", parameters}, {"most", kMostParameters}}});
    return parameters <= kMostParameters;
}

void refuse_foreign_sizes(const Section& model, const std::string& kind) {
    if (kind == "toy") refuse_for_kind(model, {"dim", "hidden", "layers"}, kind);
    if (kind != "mlp") refuse_for_kind(model, {"norm"}, kind);
    if (kind != "mlp" && kind != "gpt") refuse_for_kind(model, {"bias"}, kind);
    if (kind != "llama")
        refuse_for_kind(
            model,
            {"kv_heads", "rope_theta", "rope_pairs", "rope_scaling", "window_rope_theta", "qkv_bias",
             "out_bias", "mlp_bias", "qk_norm", "norm_place", "zero_centered_norm", "scaled_embedding"},
            kind);
    if (!is_transformer(kind))
        refuse_for_kind(model,
                        {"vocab", "vocab_multiple", "seq", "heads", "tied", "head_dim", "activation",
                         "norm_eps", "window", "full_attention", "attention_scale"},
                        kind);
}

/// What `kind` names: one of the engine's kinds, or a configuration, whose own mistakes are reported with it.
std::optional<nn::ModelSpec> read_kind(const Section& model, Scenario& s) {
    const std::optional<std::string> kind = model.text("kind");
    if (!kind) return std::nullopt;
    if (!kind->starts_with(kConfigPrefix)) {
        const std::optional<std::string> known = model.word("kind", model_kinds());
        if (!known) return std::nullopt;
        nn::ModelSpec spec;
        spec.kind = *known;
        return spec;
    }
    const std::string path = existing_file(model, "kind", kind->substr(kConfigPrefix.size()), s.folder);
    if (path.empty()) return std::nullopt;
    try {
        const ModelConfig config = read_model_config(path);
        s.model_config = path;
        return config.spec;
    } catch (const InputError& error) {
        for (const Diagnostic& diagnostic : error.diagnostics()) model.report_at(diagnostic);
    } catch (const IoError& error) {
        model.report("kind", error.message());
    }
    return std::nullopt;
}

/// How samples are dealt to ranks.
void read_sampler(const Section& data, Scenario& s) {
    s.data_sampler = data.word("sampler", samplers()).value_or("contiguous") == "distributed";
    s.data_shuffle = data.boolean("shuffle").value_or(false);
    s.data_drop_last = data.boolean("drop_last").value_or(false);
    if (!data.sure("sampler", "file")) return;
    if (s.data_sampler && !data.has("file")) {
        if (data.require("samples") && data.sure("samples") && s.data_samples < 1)
            data.report("samples", {"scenario.sampler_needs_samples", {}});
        if (s.data_shuffle && s.data_samples > data::kMostShuffled)
            data.report("samples",
                        {"sampler.too_many", {{"samples", s.data_samples}, {"most", data::kMostShuffled}}});
    } else if (!s.data_sampler) {
        for (const std::string_view key : {"shuffle", "drop_last"})
            if (data.has(key)) data.report_key(key, {"scenario.needs_sampler", {{"key", data.full(key)}}});
    }
}

/// What a model can be trained on when its data are made.
std::string made_kind(const std::string& model_kind) {
    return is_transformer(model_kind) ? "tokens" : "regression";
}

bool is_sync(const Scenario& s) {
    return s.model.norm == nn::Norm::sync_batch;
}

/// Strategies that keep the layer's buffers, and whose ranks can share statistics.
void check_strategy(const Section& model, const Scenario& s) {
    const auto fits = [&](const parallel::Declaration& strategy) {
        return is_sync(s) ? strategy.sync_batch_norm : strategy.batch_norm;
    };
    const parallel::Declaration& own = parallel::declaration(s.parallel.data);
    if (fits(own)) return;
    const std::string word(own.word);
    Offer strategies;
    for (const parallel::Declaration* const other : parallel::strategies()) {
        if (!fits(*other)) continue;
        const Edit data{"parallel.data", std::string(other->word)};
        strategies.candidates.push_back({data});
        if (other->dims != parallel::DataDims::replicate) continue;
        // A mesh whose dim was named for the strategy needs the other name.
        const Offer renamed =
            mesh::offer_of_data_dims(s.mesh_shape, s.mesh_names, {{data_parallel_size(s)}}, {"replicate"});
        for (Candidate mesh : renamed.candidates) {
            mesh.insert(mesh.begin(), data);
            strategies.candidates.push_back(std::move(mesh));
        }
    }
    model.report_offering("norm",
                          {is_sync(s) ? "scenario.norm_sync_data" : "scenario.norm_data", {{"data", word}}},
                          {strategies});
}

/// PyTorch: "Expected more than 1 value per channel when training".
void check_rows(const Section& model, const Scenario& s) {
    const int64_t ranks = data_parallel_size(s);
    const int64_t parts = ranks * s.accumulate;
    if (s.global_batch % parts != 0) return;  // reported
    const int64_t rows = s.global_batch / parts * (is_sync(s) ? ranks : 1);
    if (rows > 1) return;
    std::vector<Offer> offers =
        offers_around("train.global_batch", s.global_batch, parts, std::numeric_limits<int32_t>::max());
    // Which takes the rows of all ranks together.
    if (!is_sync(s) && ranks > 1) offers.push_back({{{{"model.norm", std::string("sync_batch")}}}});
    model.report_offering("norm", {"scenario.norm_one_row", {{"batch", s.global_batch}, {"parts", parts}}},
                          std::move(offers));
}

}  // namespace

void read_model(const Section& root, const Section& model, Scenario& s) {
    if (!model.present()) {
        root.require("model");
        s.model.kind = "";
        return;
    }
    model.require("kind");
    const std::optional<nn::ModelSpec> known = read_kind(model, s);
    nn::ModelSpec spec = known.value_or(nn::ModelSpec{.kind = ""});
    s.model.kind = spec.kind;
    if (known) refuse_foreign_sizes(model, spec.kind);
    if (read_sizes(model, !s.model_config.empty(), spec)) {
        s.model = spec;
    } else if (spec.kind == "toy") {  // it has no sizes, and nothing else to choose
        s.model.lora_rank = spec.lora_rank;
        s.model.lora_alpha = spec.lora_alpha;
        s.model.lora_targets = spec.lora_targets;
    }
    s.model_seed = static_cast<uint64_t>(model.integer("seed", kSeed).value_or(0));
    s.weights = existing_file(model, "weights", s.folder);
}

bool model_is_known(const Scenario& s) {
    return s.model.kind == "toy" || s.model.dim > 0;
}

namespace {

/// Targets that count nothing, and samples that are padded with them; of models of tokens.
void read_ignored(const Section& data, Scenario& s) {
    s.ignore_index = data.integer("ignore_index",
                                  {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()});
    const int64_t most = s.model.seq > 0 ? s.model.seq : nn::kMostSize;
    if (const auto lengths = data.integers("lengths", {1, most})) {
        if (lengths->empty())
            data.report("lengths", {"scenario.lengths_empty", {}});
        else
            s.data_lengths = *lengths;
        if (!data.has("ignore_index")) s.ignore_index = tensor::kIgnoredTarget;
    }
    if (s.model.kind != "toy" && s.model.kind != "mlp") return;
    for (const std::string_view key : {"ignore_index", "lengths"})
        if (data.has(key))
            data.report_key(key,
                            {"scenario.key_needs_tokens", {{"key", data.full(key)}, {"kind", s.model.kind}}});
    s.ignore_index.reset();
    s.data_lengths.clear();
}

}  // namespace

void read_data(const Section& root, Scenario& s) {
    const Section data = root.section("data");
    s.data_file = existing_file(data, "file", s.folder);
    s.data_kind = made_kind(s.model.kind);
    const std::optional<std::string> kind = data.word("kind", data_kinds());
    if (kind && !s.model.kind.empty() && *kind != s.data_kind)
        data.report("kind", {"scenario.data_kind", {{"kind", *kind}, {"model", s.model.kind}}},
                    {"scenario.hint.known", {{"known", s.data_kind}}});
    s.data_samples = data.integer("samples", {0, kMostSamples}).value_or(0);
    s.data_seed = static_cast<uint64_t>(data.integer("seed", kSeed).value_or(0));
    read_sampler(data, s);
    read_ignored(data, s);
    if (!data.has("file") || !data.sure("file")) return;
    for (const std::string_view key : {"kind", "samples", "seed", "sampler", "lengths"})
        if (data.has(key))
            data.report_key(
                key, {"scenario.keys_exclude", {{"key", data.full(key)}, {"other", data.full("file")}}});
}

void check_ignored(const Section& root, const Scenario& s) {
    const Section data = root.section("data"), train = root.section("train");
    if (!data.sure("ignore_index", "lengths")) return;
    if (!s.ignore_index) {
        if (train.has("loss_mean")) train.report_key("loss_mean", {"scenario.loss_mean_alone", {}});
        return;
    }
    const Section eval = root.section("eval");
    if (eval.present()) eval.report_key("every", {"scenario.eval_ignored", {}});
    if (s.parallel.loss_mean == parallel::LossMean::tokens &&
        parallel::declaration(s.parallel.data).is(&parallel::Declaration::uneven_inputs, s.parallel))
        root.section("parallel").report("join", {"scenario.ignored_join", {}});
}

void check_norm(const Section& root, bool mesh_known, const Scenario& s) {
    if (s.model.norm == nn::Norm::none) return;
    const Section model = root.section("model");
    if (root.section("parallel").sure("data")) check_strategy(model, s);
    if (s.parallel.recompute != nn::Recompute::none)
        root.section("train").report("recompute", {"scenario.norm_recompute", {}});
    const Section checkpoint = root.section("checkpoint");
    for (const std::string_view key : {"folder", "resume"})
        if (checkpoint.has(key)) checkpoint.report_key(key, {"scenario.norm_checkpoint", {}});
    if (parallel::declaration(s.parallel.data).is(&parallel::Declaration::uneven_inputs, s.parallel))
        root.section("parallel").report("join", {"scenario.norm_join", {}});
    const Section eval = root.section("eval");
    if (eval.present()) eval.report_key("every", {"scenario.norm_eval", {}});
    if (!mesh_known) return;
    for (const std::size_t dim : mesh::roles_of(s.mesh_names).model)
        root.section("mesh").report("names", {"scenario.norm_mesh", {{"dim", s.mesh_names[dim]}}});
    if (root.section("train").sure("global_batch", "accumulate")) check_rows(model, s);
}

}  // namespace meshscope::scenario
