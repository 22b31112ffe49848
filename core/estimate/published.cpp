#include "core/estimate/published.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/base/json_fields.h"
#include "core/base/json_text.h"
#include "core/base/text_file.h"
#include "core/base/units.h"
#include "core/time/read_profile.h"

namespace meshscope::embedded {
std::string_view published_runs(std::string_view file);
}

namespace meshscope::estimate {
namespace {

using nlohmann::json;

/// What the prose of a source says and the keys of its rows do not.
struct Family {
    std::string_view name;
    Stack stack;
    std::string_view gpu = "";           ///< where "gpu" in the rows does not tell which one of its kind
    double network_gigabytes_per_s = 0;  ///< a GPU's part of its node's network; 0: as the profile
    bool overlap_data = true;
    std::optional<bool> overlap_tensor = {};  ///< where it is not as the stack's recipes have it
    bool fused_weight_grad = true;
    bool deterministic = false;
    bool dropout = false;
    bool last_stage_memory = false;
};

constexpr Family kFamilies[] = {
    {.name = "tt", .stack = Stack::torchtitan},
    {.name = "ao", .stack = Stack::torchtitan, .gpu = "h100_96gb"},
    {.name = "mpt", .stack = Stack::llm_foundry, .network_gigabytes_per_s = 25},
    {.name = "fms", .stack = Stack::fms_fsdp},
    {.name = "fsdp", .stack = Stack::fms_fsdp},
    {.name = "nano", .stack = Stack::nanotron, .network_gigabytes_per_s = 20, .overlap_data = false},
    {.name = "vt", .stack = Stack::megatron_2021, .network_gigabytes_per_s = 12.5, .overlap_data = false},
    {.name = "bloom", .stack = Stack::megatron_2021, .network_gigabytes_per_s = 6.25, .overlap_data = false},
    {.name = "kor", .stack = Stack::megatron_2021, .dropout = true},
    {.name = "sc21", .stack = Stack::megatron_2021, .overlap_data = false},
    {.name = "mtnlg", .stack = Stack::megatron_2021, .overlap_data = false},
    {.name = "ms", .stack = Stack::megatron_2023},
    {.name = "zb", .stack = Stack::megatron_2023},
    {.name = "mlm", .stack = Stack::megatron_core},
    {.name = "dgxc", .stack = Stack::megatron_core},
    {.name = "brg", .stack = Stack::megatron_core},
    {.name = "nemo2407", .stack = Stack::megatron_core},
    {.name = "llama3", .stack = Stack::megatron_core, .overlap_tensor = false},
    {.name = "smx", .stack = Stack::megatron_core, .overlap_data = false, .overlap_tensor = false},
    {.name = "gold",
     .stack = Stack::megatron_core,
     .overlap_tensor = false,
     .fused_weight_grad = false,
     .deterministic = true,
     .dropout = true,
     .last_stage_memory = true},
};

/// Words in a row's "gpu", the first that is found; the profile, "" where there is none.
constexpr std::pair<std::string_view, std::string_view> kGpus[] = {
    {"GB300", ""},         {"GB200", "gb200"},     {"B200", "b200"},         {"H200", "h200"},
    {"H800", ""},          {"HBM2e", "h100_96gb"}, {"H100 95", "h100_96gb"}, {"H100", "h100"},
    {"40GB", "a100_40gb"}, {"A100", "a100"},       {"Ampere 80GB", "a100"}};

constexpr std::pair<std::string_view, Recompute> kRecompute[] = {
    {"none", Recompute::none},
    {"full", Recompute::full},
    {"full per block", Recompute::full},
    {"full (uniform, every layer)", Recompute::full},
    {"selective (attention core)", Recompute::attention},
    {"selective (per op)", Recompute::products},
    {"selective (every 2nd layer)", Recompute::every_second}};

constexpr std::pair<std::string_view, Order> kOrders[] = {{"1F1B", Order::one_f_one_b},
                                                          {"interleaved 1F1B", Order::interleaved},
                                                          {"1F1B-I", Order::interleaved},
                                                          {"Interleaved1F1B", Order::interleaved},
                                                          {"interleaved 1F1B variant", Order::interleaved},
                                                          {"ZB-1p", Order::zero_bubble_1p},
                                                          {"ZB-2p", Order::zero_bubble_2p}};

template <class Value, std::size_t N>
std::optional<Value> find(const std::pair<std::string_view, Value> (&table)[N], std::string_view word) {
    for (const auto& [each, value] : table)
        if (each == word) return value;
    return std::nullopt;
}

/// What is counted in a model or a layout, at most: products of a few of them stay within 63 bits.
constexpr int64_t kMostCount = int64_t{1} << 20;
/// And what is measured, in any unit.
constexpr double kMostFigure = 1e15;

/// A row of the file, and the first size that it does not state.
struct Row {
    JsonFields all, model, layout, batch, precision, measured, derived;
    std::string missing = {};

    static JsonFields part(const JsonFields& all, std::string_view name) {
        static const json kNone = json::object();
        return all.object(name).value_or(JsonFields(kNone, "", all.found()));
    }
    explicit Row(const JsonFields& row)
        : all(row),
          model(part(row, "model")),
          layout(part(row, "layout")),
          batch(part(row, "batch")),
          precision(part(row, "precision")),
          measured(part(row, "measured")),
          derived(part(row, "derived")) {}

    static std::optional<int64_t> count(const JsonFields& fields, std::string_view name) {
        return fields.whole(name, 0, kMostCount);
    }
    static std::optional<double> figure(const JsonFields& fields, std::string_view name) {
        return fields.number(name, 0, kMostFigure);
    }
    int64_t need(const JsonFields& fields, std::string_view name) {
        const auto value = count(fields, name);
        if (!value && missing.empty()) missing = fields.full(name);
        return value.value_or(1);
    }
};

Shape shape_of(Row& row, const Family& family) {
    Shape shape;
    shape.layers = row.need(row.model, "layers");
    shape.dim = row.need(row.model, "dim");
    shape.hidden = row.need(row.model, "hidden");
    shape.heads = row.need(row.model, "heads");
    shape.kv_heads = Row::count(row.model, "kv_heads").value_or(shape.heads);
    shape.head_dim =
        Row::count(row.model, "head_dim").value_or(shape.dim / std::max<int64_t>(shape.heads, 1));
    shape.vocab = row.need(row.model, "vocab");
    shape.seq = row.need(row.model, "seq");
    shape.gated = row.model.text("kind") == "llama";
    shape.tied = row.model.boolean("tied").value_or(false);
    shape.learned_positions = row.model.boolean("learned_pos").value_or(false);
    shape.bias = row.model.boolean("bias").value_or(false);
    shape.dropout = family.dropout;
    return shape;
}

Layout layout_of(Row& row) {
    Layout layout;
    const auto size = [&](const char* key) { return row.need(row.layout, key); };
    layout.tp = size("tp");
    layout.cp = size("cp");
    layout.pp = size("pp");
    layout.replicas = size("dp_replicate");
    layout.shards = size("dp_shard");
    layout.zero = static_cast<int>(Row::count(row.layout, "zero").value_or(0));
    layout.sequence_parallel = row.layout.boolean("sp").value_or(false);
    layout.virtual_stages = Row::count(row.layout, "virtual").value_or(1);
    return layout;
}

/// Time and memory as their source printed them.
void read_measured(const Row& row, PublishedRun& run) {
    run.step_ms = Row::figure(row.measured, "step_ms");
    if (!run.step_ms) run.step_ms = Row::figure(row.derived, "step_ms");
    if (!run.step_ms) run.step_ms = Row::figure(row.all, "derived_step_ms_from_tflops");
    const std::tuple<const char*, double, MemoryKind> kinds[] = {
        {"peak_bytes_allocated", 1, MemoryKind::allocated},
        {"peak_gib_allocated", kGiB, MemoryKind::allocated},
        {"peak_gib_active", kGiB, MemoryKind::active},
        {"peak_gib_reserved", kGiB, MemoryKind::reserved},
        {"peak_gb", 1e9, MemoryKind::unknown},
        {"peak_gb_nvidia_smi", 1e9, MemoryKind::whole_process}};
    for (const auto& [key, unit, kind] : kinds) {
        const auto value = Row::figure(row.measured, key);
        if (!value) continue;
        run.memory_bytes = *value * unit;
        run.memory_kind = kind;
        break;
    }
}

std::optional<Message> why_skipped(const Row& row, PublishedRun& run) {
    const auto kind = row.model.text("kind").value_or("");
    if (kind != "gpt" && kind != "llama") return Message{"estimate.skip.model", {{"kind", kind}}};
    if (Row::count(row.layout, "ep").value_or(1) > 1)
        return Message{"estimate.skip.model", {{"kind", std::string("moe")}}};
    // "rowwise", "mxfp8" … say which.
    if (row.precision.has("fp8") && !row.precision.is_false("fp8")) return Message{"estimate.skip.fp8", {}};
    if (run.gpu.empty()) return Message{"estimate.skip.gpu", {{"gpu", row.all.text("gpu").value_or("")}}};
    if (!row.missing.empty()) return Message{"estimate.skip.missing", {{"key", row.missing}}};
    const auto recompute = row.all.text("recompute");
    const auto known = find(kRecompute, recompute.value_or(""));
    if (!known) return Message{"estimate.skip.recompute", {{"word", recompute.value_or("null")}}};
    run.job.recompute = *known;
    if (run.job.layout.pp > 1) {
        const auto schedule = row.layout.text("schedule");
        const auto order = find(kOrders, schedule.value_or(""));
        if (!order) return Message{"estimate.skip.schedule", {{"word", schedule.value_or("null")}}};
        run.job.layout.order = *order;
    }
    if (!run.step_ms && !run.memory_bytes) return Message{"estimate.skip.unmeasured", {}};
    if (auto why = why_impossible(run.job)) return why;
    const int64_t ranks = run.job.layout.ranks(), gpus = Row::count(row.all, "gpus").value_or(ranks);
    if (gpus != ranks) return Message{"estimate.skip.gpus", {{"gpus", gpus}, {"ranks", ranks}}};
    return std::nullopt;
}

PublishedRun read_row(Row row) {
    PublishedRun run;
    row.all.require("id", "estimate.hint.id");
    run.id = row.all.text("id").value_or("");
    run.family = run.id.substr(0, run.id.find('-'));
    run.tier = row.all.text("tier").value_or("");
    const auto* const family = std::ranges::find(kFamilies, run.family, &Family::name);
    if (family == std::end(kFamilies)) {
        run.skipped = Message{"estimate.skip.family", {{"family", run.family}}};
        return run;
    }
    const std::string gpu = row.all.text("gpu").value_or("");
    for (const auto& [words, profile] : kGpus)
        if (gpu.find(words) != std::string::npos) {
            run.gpu = profile;
            break;
        }
    if (!family->gpu.empty()) run.gpu = family->gpu;
    if (!run.gpu.empty()) {
        run.profile = time::named_profile(run.gpu);
        if (family->network_gigabytes_per_s > 0) {
            run.profile.bandwidth_between_bytes_per_s = family->network_gigabytes_per_s * 1e9;
            run.profile.node_bytes_per_s = 0;
        }
    }
    run.gpus_per_node = Row::count(row.all, "gpus_per_node").value_or(8);

    Job& job = run.job;
    job.stack = family->stack;
    job.shape = shape_of(row, *family);
    job.layout = layout_of(row);
    job.micro_batch = row.need(row.batch, "micro");
    job.micro_batches = row.need(row.batch, "accumulate");
    job.gradient_bytes = row.precision.text("reduce") == "fp32" ? 4 : 2;
    job.compiled = row.all.boolean("compile").value_or(false);
    job.overlap_data = family->overlap_data;
    job.overlap_tensor = family->overlap_tensor.value_or(traits(job.stack).overlap_tensor);
    job.fused_weight_grad = family->fused_weight_grad;
    job.deterministic = family->deterministic;
    run.last_stage = family->last_stage_memory;
    read_measured(row, run);
    run.skipped = why_skipped(row, run);
    // 12 layers of width 512 wait for the host; so do narrow shards of one or two samples.
    run.launch_bound = job.shape.dim < 1024 && run.family == "gold";
    if (run.family == "nano" || run.family == "vt")
        run.launch_bound = job.layout.tp >= 4 && job.micro_batch <= 2;
    return run;
}

}  // namespace

std::string_view word(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::allocated:
            return "allocated";
        case MemoryKind::reserved:
            return "reserved";
        case MemoryKind::active:
            return "active";
        case MemoryKind::whole_process:
            return "process";
        case MemoryKind::unknown:
            return "unknown";
    }
    return "unknown";
}

std::vector<PublishedRun> parse_published(std::string_view text, const std::string& path) {
    const json all = parse_json<json>(text);
    const auto refuse = [&](const char* id) { throw InputError({{{id, {}}, {path, 0, 0, -1}, {}}}); };
    if (all.is_discarded()) refuse("estimate.file.not_json");
    if (!all.is_array()) refuse("estimate.file.not_a_list");
    std::vector<PublishedRun> runs;
    std::vector<Diagnostic> found;
    int64_t number = 0;
    for (const json& each : all) {
        ++number;
        if (!each.is_object())
            throw InputError({{{"estimate.file.not_an_object", {{"row", number}}}, {path, 0, 0, -1}, {}}});
        runs.push_back(read_row(Row(JsonFields(each, path, found, "row " + std::to_string(number) + ": "))));
    }
    if (!found.empty()) throw InputError(std::move(found));
    return runs;
}

std::vector<PublishedRun> read_published(const std::string& path) {
    return parse_published(read_text_file(path), path);
}

const std::vector<PublishedRun>& published_runs() {
    static const std::string path = "core/estimate/published/runs.json";
    static const std::vector<PublishedRun> runs = parse_published(embedded::published_runs(path), path);
    return runs;
}

}  // namespace meshscope::estimate
