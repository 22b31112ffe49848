#include "core/scenario/read_norm.h"

#include <algorithm>
#include <string>

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"

namespace meshscope::scenario {
namespace {

bool is_sync(const Scenario& s) {
    return s.model.norm == nn::Norm::sync_batch;
}

/// Strategies that keep the layer's buffers, and whose ranks can share statistics.
void check_strategy(const Section& model, const Scenario& s) {
    const DataStrategy data = s.parallel.data;
    if (data == DataStrategy::ddp || (data == DataStrategy::none && !is_sync(s))) return;
    const std::string word(data_strategies()[static_cast<std::size_t>(data)]);
    model.report("norm", {is_sync(s) ? "scenario.norm_sync_data" : "scenario.norm_data", {{"data", word}}},
                 {"scenario.hint.known", {{"known", std::string(is_sync(s) ? "ddp" : "none, ddp")}}});
}

/// PyTorch: "Expected more than 1 value per channel when training".
void check_rows(const Section& model, const Scenario& s) {
    const int64_t ranks = data_parallel_size(s);
    const int64_t parts = ranks * s.accumulate;
    if (s.global_batch % parts != 0) return;  // reported
    const int64_t rows = s.global_batch / parts * (is_sync(s) ? ranks : 1);
    if (rows > 1) return;
    Message hint{"scenario.hint.norm_rows", {{"batch", 2 * parts}}};
    if (!is_sync(s) && ranks > 1) hint = {"scenario.hint.norm_rows_or_sync", {{"batch", 2 * parts}}};
    model.report("norm", {"scenario.norm_one_row", {{"batch", s.global_batch}, {"parts", parts}}}, hint);
}

}  // namespace

void check_norm(const Section& root, bool mesh_known, const Scenario& s) {
    if (s.model.norm == nn::Norm::none) return;
    const Section model = root.section("model");
    check_strategy(model, s);
    if (s.recompute != nn::Recompute::none)
        root.section("train").report("recompute", {"scenario.norm_recompute", {}});
    const Section checkpoint = root.section("checkpoint");
    for (const std::string_view key : {"folder", "resume"})
        if (checkpoint.has(key)) checkpoint.report_key(key, {"scenario.norm_checkpoint", {}});
    if (s.parallel.data == DataStrategy::ddp && s.parallel.ddp.join)
        root.section("parallel").report("join", {"scenario.norm_join", {}});
    const Section eval = root.section("eval");
    if (eval.present()) eval.report_key("every", {"scenario.norm_eval", {}});
    if (!mesh_known) return;
    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    for (const auto& dim : {roles.tp, roles.pp, roles.cp})
        if (dim) root.section("mesh").report("names", {"scenario.norm_mesh", {{"dim", s.mesh_names[*dim]}}});
    check_rows(model, s);
}

}  // namespace meshscope::scenario
