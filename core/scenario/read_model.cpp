#include "core/scenario/readers.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/data/sampler.h"
#include "core/mesh/mesh_offers.h"
#include "core/mesh/roles.h"
#include "core/parallel/declaration.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

constexpr IntegerRange kSeed{0, std::numeric_limits<int64_t>::max()};
constexpr int64_t kMostSamples = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostParameters = int64_t{1} << 31;

bool is_transformer(const std::string& kind) {
    return kind == "gpt" || kind == "llama";
}

/// Heads must divide dim, key/value heads must divide heads, and rotary positions turn pairs. What was
/// refused is doubted, and stands for a number that is possible, so that all else is looked at. Whether there
/// is one.
bool replace_bad_heads(const Section& model, nn::ModelSpec& spec) {
    const int64_t pairs = spec.kind == "llama" ? 2 : 1;
    if (spec.dim % (spec.heads * pairs) != 0) {
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
        model.report_offering("kv_heads",
                              {"scenario.kv_heads", {{"kv_heads", spec.kv_heads}, {"heads", spec.heads}}},
                              joined_offers(offers_around("model.kv_heads", spec.kv_heads, 1, spec.heads,
                                                          [&](int64_t n) { return spec.heads % n == 0; }),
                                            offers_around("model.heads", spec.heads, spec.kv_heads, spec.dim,
                                                          [&](int64_t n) { return spec.dim % n == 0; })));
        model.doubt("kv_heads");
    }
    if (!model.sure("heads")) spec.heads = 1;
    if (!model.sure("heads", "kv_heads")) spec.kv_heads = spec.heads;
    return spec.dim % pairs == 0;
}

/// How many parameters a model has; sizes are at most 2^20, layers at most 10^4: below 2^60.
int64_t n_parameters(const nn::ModelSpec& m) {
    if (m.kind == "mlp")
        return m.layers * (2 * m.dim * m.hidden + (m.bias ? m.dim + m.hidden : 0) +
                           (m.norm == nn::Norm::none ? 0 : 2 * m.hidden));
    const bool llama = m.kind == "llama";
    const int64_t kv_dim = llama ? m.dim / m.heads * m.kv_heads : m.dim;
    const int64_t block =
        2 * m.dim * m.dim + 2 * m.dim * kv_dim + (llama ? 3 : 2) * m.dim * m.hidden + (llama ? 2 : 4) * m.dim;
    return m.layers * block + (m.tied ? 1 : 2) * m.vocab * m.dim + (llama ? 1 : m.seq + 2) * m.dim;
}

/// The sizes of every kind but toy. False where one is missing or wrong. Every key is looked at, also where
/// the kind is not known.
bool read_sizes(const Section& model, nn::ModelSpec& spec) {
    const bool transformer = is_transformer(spec.kind);
    bool fine = true;
    const auto size = [&](std::string_view key, int64_t& into, bool needed, int64_t most = nn::kMostSize) {
        const bool missing = needed && !model.require(key);
        const auto value = model.integer(key, {1, most});
        if (value) into = *value;
        fine = fine && !missing && (value || !model.has(key));
    };
    const bool sized = transformer || spec.kind == "mlp";
    size("dim", spec.dim, sized);
    size("hidden", spec.hidden, sized);
    size("layers", spec.layers, sized, 10000);
    size("vocab", spec.vocab, transformer);
    size("seq", spec.seq, transformer);
    size("heads", spec.heads, transformer);
    spec.kv_heads = spec.heads;
    size("kv_heads", spec.kv_heads, false);
    spec.bias = model.boolean("bias").value_or(true);
    if (const auto word = model.word("norm", norms()))
        spec.norm = static_cast<nn::Norm>(1 + (std::ranges::find(norms(), *word) - norms().begin()));
    spec.tied = model.boolean("tied").value_or(false);
    spec.rope_theta = model.number("rope_theta", {0, 1e12, false}).value_or(spec.rope_theta);
    if (!fine || !sized) return false;
    if (transformer && !replace_bad_heads(model, spec)) return false;
    if (!model.sure("heads", "kv_heads")) return true;
    const int64_t parameters = n_parameters(spec);
    if (parameters > kMostParameters)
        model.report("layers",
                     {"scenario.model_too_large", {{"parameters", parameters}, {"most", kMostParameters}}});
    return parameters <= kMostParameters;
}

void refuse_foreign_sizes(const Section& model, const std::string& kind) {
    if (kind == "toy") refuse_for_kind(model, {"dim", "hidden", "layers"}, kind);
    if (kind != "mlp") refuse_for_kind(model, {"bias", "norm"}, kind);
    if (kind != "llama") refuse_for_kind(model, {"kv_heads", "rope_theta"}, kind);
    if (!is_transformer(kind)) refuse_for_kind(model, {"vocab", "seq", "heads", "tied"}, kind);
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
    const std::optional<std::string> kind = model.word("kind", model_kinds());
    s.model.kind = kind.value_or("");
    if (kind) refuse_foreign_sizes(model, *kind);
    nn::ModelSpec spec;
    spec.kind = kind.value_or("");
    if (read_sizes(model, spec)) s.model = spec;
    s.model_seed = static_cast<uint64_t>(model.integer("seed", kSeed).value_or(0));
    s.weights = existing_file(model, "weights", s.folder);
}

bool model_is_known(const Scenario& s) {
    return s.model.kind == "toy" || s.model.dim > 0;
}

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
    if (!data.has("file") || !data.sure("file")) return;
    for (const std::string_view key : {"kind", "samples", "seed", "sampler"})
        if (data.has(key))
            data.report_key(
                key, {"scenario.keys_exclude", {{"key", data.full(key)}, {"other", data.full("file")}}});
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
