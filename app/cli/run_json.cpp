#include "app/cli/run_json.h"

#include <utility>
#include <vector>

#include "core/base/file_kind.h"
#include "core/base/json_text.h"
#include "core/data/safetensors.h"
#include "core/memory/ledger.h"
#include "core/trace/recorded.h"

namespace meshscope::cli {
namespace {

using nlohmann::ordered_json;

ordered_json collective(const trace::Trace& trace, int32_t rank, const trace::Event& event) {
    const trace::Group& group = trace.groups[static_cast<std::size_t>(event.group)];
    ordered_json row{{"rank", rank},
                     {"step", event.step},
                     {"op", name(event.op)},
                     {"group", group.ranks},
                     {"reduce_op", nullptr},
                     {"in", event.in_elements},
                     {"out", event.out_elements},
                     {"dtype", name(event.dtype)},
                     {"bytes", nullptr},
                     {"algorithm", name(event.algorithm)},
                     {"reason", trace.text(event.rule)},
                     {"phase", name(event.phase)},
                     {"unit", trace.text(event.unit)},
                     {"mesh_dim", group.mesh_dim}};
    if (tells_sent_bytes(event)) row["bytes"] = event.sent_bytes;
    if (event.reduce_op != ReduceOp::none) row["reduce_op"] = name(event.reduce_op);
    return row;
}

ordered_json memory_of(const trace::Trace& trace, int32_t rank) {
    const memory::Peak peak = memory::peak(trace, rank);
    ordered_json by_category = ordered_json::object();
    for (int c = 0; c < kMemoryCategories; ++c)
        by_category[std::string(name(static_cast<MemoryCategory>(c)))] =
            peak.by_category[static_cast<std::size_t>(c)];
    return {{"rank", rank},
            {"peak_bytes", peak.bytes},
            {"peak_step", peak.step},
            {"peak_cause", peak.cause},
            {"peak_tensors", peak.live.size()},
            {"by_category", by_category}};
}

}  // namespace

std::string run_json(const run::RunResult& result) {
    const trace::Trace& trace = *result.trace;
    ordered_json out{{kJsonMark, kJsonMarkValue}, {"losses", trace.info.losses}};
    if (!trace.info.grad_norms.empty()) out["grad_norms"] = trace.info.grad_norms;
    for (const run::Evaluated& e : result.evaluations)
        out["evaluations"].push_back({{"step", e.step}, {"loss", e.loss}, {"samples", e.samples}});
    out["world_size"] = trace.info.world_size;
    out["steps"] = trace.info.steps;
    out["resumed_after"] = result.resumed_after;
    out["level"] = name(trace.info.level);
    out["backend"] = trace.info.backend;
    if (!trace.info.algorithm_file.empty()) out["algorithm_file"] = trace.info.algorithm_file;
    out["wall_ns"] = result.wall_ns;
    if (const auto& device = result.device_memory)
        out["device_memory"] = {{"most_in_use_bytes", device->most_in_use},
                                {"most_reserved_bytes", device->most_reserved},
                                {"own_bytes", device->own},
                                {"piece_bytes", device->piece}};
    if (result.not_finite) {
        const run::NotFinite& f = *result.not_finite;
        out["not_finite"] = {{"step", f.step}};
        if (f.found)
            out["not_finite"].update({{"rank", f.rank},
                                      {"microbatch", f.microbatch},
                                      {"phase", name(f.phase)},
                                      {"op", f.op},
                                      {"value", f.value}});
    }
    out["collectives"] = nullptr;  // unknown is not none
    out["memory"] = nullptr;
    if (trace.info.level == trace::Level::off) return json_text(out, 1) + "\n";
    ordered_json collectives = ordered_json::array(), memory = ordered_json::array();
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const auto rank = static_cast<int32_t>(r);
        for (const trace::Event& event : trace.ranks[r].events)
            if (event.kind == trace::EventKind::collective)
                collectives.push_back(collective(trace, rank, event));
        memory.push_back(memory_of(trace, rank));
    }
    out["collectives"] = std::move(collectives);
    out["memory"] = std::move(memory);
    return json_text(out, 1) + "\n";
}

void save_parameters(const run::RunResult& result, const std::string& path) {
    std::vector<data::NamedTensor> tensors;
    for (const run::NamedArray& array : result.parameters)
        tensors.push_back(data::named_floats(array.name, array.shape, array.numbers));
    data::write_safetensors(path, std::move(tensors), data::FileMark::own);
}

}  // namespace meshscope::cli
