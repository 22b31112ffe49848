#include "core/scenario/readers.h"

#include <algorithm>

namespace meshscope::scenario {
namespace {

constexpr int64_t kMostIterations = int64_t{1} << 31;

void read_powersgd(const Section& parallel, Scenario& s) {
    const Section table = parallel.section("powersgd");
    parallel::PowerSgdOptions& p = s.parallel.ddp.powersgd;
    const parallel::PowerSgdOptions defaults;
    p.matrix_approximation_rank =
        table.integer("matrix_approximation_rank", {1, 1 << 16}).value_or(defaults.matrix_approximation_rank);
    p.start_iteration =
        table.integer("start_iteration", {0, kMostIterations}).value_or(defaults.start_iteration);
    p.min_compression_rate =
        table.number("min_compression_rate", {0, 1e9, false}).value_or(defaults.min_compression_rate);
    p.error_feedback = table.boolean("error_feedback").value_or(true);
    p.warm_start = table.boolean("warm_start").value_or(true);
    p.seed = static_cast<uint64_t>(table.integer("seed", {0, int64_t{1} << 62}).value_or(0));
    if (s.parallel.data != DataStrategy::ddp) return;  // the key itself was refused
    if (!parallel.sure("ddp_hook") || !table.sure("start_iteration", "error_feedback", "warm_start")) return;
    if (s.parallel.ddp.hook != parallel::DdpHook::powersgd) {
        if (table.present()) parallel.report_key("powersgd", {"scenario.powersgd_without_hook", {}});
        return;
    }
    // PyTorch: only the third reduction finds the buckets that stay.
    if (p.start_iteration <= 1 && (p.error_feedback || p.warm_start)) {
        const Message reason{"scenario.powersgd_start", {{"start", p.start_iteration}}};
        if (table.has("start_iteration"))
            table.report("start_iteration", reason);
        else
            parallel.report("ddp_hook", reason);
    }
}

/// What Join does not go together with.
void check_join(const Section& parallel, const Scenario& s) {
    const parallel::DdpOptions& ddp = s.parallel.ddp;
    if (!parallel.sure("join")) return;
    if (!ddp.join) {
        if (parallel.has("divide_by_initial_world_size"))
            parallel.report_key("divide_by_initial_world_size", {"scenario.divide_without_join", {}});
        return;
    }
    if (parallel.has("schedule")) parallel.report("join", {"scenario.join_pipeline", {}});
    if (ddp.static_graph) parallel.report("join", {"scenario.join_static_graph", {}});
    if (parallel.sure("ddp_hook") && !ddp.divide_by_initial_world_size && ddp.hook != parallel::DdpHook::none)
        parallel.report("divide_by_initial_world_size", {"scenario.join_hook_divides", {}});
}

/// [data] batches: one number a data-parallel rank, and some rank has one for every step.
void read_batches(const Section& root, const Section& parallel, bool mesh_known, Scenario& s) {
    const Section data = root.section("data");
    const bool steps_known = root.section("train").sure("steps");
    const auto batches = data.integers("batches", {0, steps_known ? s.steps : kMostIterations});
    if (!batches || !parallel.sure("join", "data")) return;
    if (!s.parallel.ddp.join || s.parallel.data != DataStrategy::ddp) {
        data.report_key("batches", {"scenario.batches_without_join", {}});
        return;
    }
    if (s.data_sampler) data.report_key("batches", {"scenario.batches_sampler", {}});
    const int64_t ranks = data_parallel_size(s);
    if (mesh_known && static_cast<int64_t>(batches->size()) != ranks) {
        data.report("batches", {"scenario.batches_count",
                                {{"found", static_cast<int64_t>(batches->size())}, {"ranks", ranks}}});
        return;
    }
    if (batches->empty() || (steps_known && *std::ranges::max_element(*batches) != s.steps)) {
        data.report("batches", {"scenario.batches_steps", {{"steps", int64_t{s.steps}}}});
        return;
    }
    s.data_batches = *batches;
}

}  // namespace

void read_ddp(const Section& root, const Section& parallel, bool mesh_known, Scenario& s) {
    const parallel::DdpOptions& ddp = s.parallel.ddp;
    read_powersgd(parallel, s);
    read_batches(root, parallel, mesh_known, s);
    if (s.parallel.data != DataStrategy::ddp) return;
    if (ddp.static_graph && ddp.find_unused_parameters)
        parallel.report("find_unused_parameters", {"scenario.static_finds_unused", {}});
    check_join(parallel, s);
}

}  // namespace meshscope::scenario
