#include "core/scenario/readers.h"

#include <algorithm>
#include <string>

#include "core/mesh/roles.h"

namespace meshscope::scenario {
namespace {

using parallel::ReshardAfterForward;

constexpr const char* kReshardType = "boolean, integer, \"default\" or array of booleans and integers";

/// Ranks of a shard group, into which a cp dim is flattened; 0: the mesh does not say.
int64_t shard_ranks(const Scenario& s) {
    int64_t shard = 0, cp = 1;
    for (std::size_t d = 0; d < std::min(s.mesh_names.size(), s.mesh_shape.size()); ++d) {
        const auto role = mesh::role_of(s.mesh_names[d]);
        if (role == mesh::Role::shard) shard = s.mesh_shape[d];
        if (role == mesh::Role::cp) cp = s.mesh_shape[d];
    }
    return shard * cp;
}

std::string factors(int64_t ranks) {
    std::string text;
    for (int64_t k = 1; k <= ranks; ++k)
        if (ranks % k == 0) text += (text.empty() ? "" : ", ") + std::to_string(k);
    return text;
}

/// true, false or an integer; nothing for anything else.
std::optional<ReshardAfterForward> value_of(const toml::node& node) {
    if (const auto* flag = node.as_boolean()) return ReshardAfterForward{flag->get(), 0};
    if (const auto* number = node.as_integer()) return ReshardAfterForward{true, number->get()};
    return std::nullopt;
}

/// Whether an integer is one that PyTorch takes; true and false are.
bool fits(const ReshardAfterForward& after, const toml::node& node, int64_t ranks) {
    if (!node.is_integer() || ranks == 0) return true;
    return after.parts >= 1 && after.parts <= ranks && ranks % after.parts == 0;
}

Message bad_factor(int64_t parts, int64_t ranks) {
    return {"scenario.reshard_factor", {{"parts", parts}, {"ranks", ranks}}};
}
Message factors_hint(int64_t ranks) {
    return {"scenario.hint.known", {{"known", factors(ranks)}}};
}

void read_reshard_list(const Section& parallel, const toml::array& list, int64_t ranks, Scenario& s) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        const toml::node& node = *list.get(i);
        const auto after = value_of(node);
        if (!after)
            parallel.report_element("reshard_after_forward", i, {"scenario.bad_reshard", {}});
        else if (!fits(*after, node, ranks))
            parallel.report_element("reshard_after_forward", i, bad_factor(after->parts, ranks),
                                    factors_hint(ranks));
        s.parallel.fsdp2.reshard_by_unit.push_back(after.value_or(ReshardAfterForward{}));
    }
    if (!parallel.has("units")) {
        parallel.report("reshard_after_forward", {"scenario.reshard_list_needs_units", {}});
        return;
    }
    const std::size_t units = s.parallel.units.size();  // empty: not read, or wrong
    if (units > 0 && list.size() != units && list.size() != units + 1)
        parallel.report("reshard_after_forward", {"scenario.reshard_list_count",
                                                  {{"found", static_cast<int64_t>(list.size())},
                                                   {"units", static_cast<int64_t>(units)},
                                                   {"more", static_cast<int64_t>(units + 1)}}});
    if (parallel.has("schedule"))
        parallel.report("reshard_after_forward", {"scenario.reshard_list_pipeline", {}});
}

void read_reshard(const Section& parallel, bool mesh_known, Scenario& s) {
    const toml::node* node = parallel.node("reshard_after_forward");
    if (!node) return;
    const int64_t ranks = mesh_known ? shard_ranks(s) : 0;
    parallel::Fsdp2Options& options = s.parallel.fsdp2;
    if (node->as_string() && node->as_string()->get() == "default") {
        options.keep_root = true;
    } else if (const toml::array* list = node->as_array()) {
        read_reshard_list(parallel, *list, ranks, s);
    } else if (const auto after = value_of(*node)) {
        if (!fits(*after, *node, ranks))
            parallel.report("reshard_after_forward", bad_factor(after->parts, ranks), factors_hint(ranks));
        options.reshard_after_forward = *after;
    } else {
        parallel.wrong_type("reshard_after_forward", kReshardType, *node);
    }
}

void check_gradients(const Section& parallel, bool mesh_known, const Scenario& s) {
    if (s.parallel.fsdp2.gradient_sync == parallel::GradientSync::all_reduce_last && mesh_known &&
        mesh::roles_of(s.mesh_names).data.size() < 2)
        parallel.report("gradient_sync", {"scenario.sync_needs_replicas", {}});
    for (const char* key : {"gradient_sync", "reshard_after_backward"})
        if (parallel.has(key) && parallel.has("schedule"))
            parallel.report_key(key, {"scenario.pipeline_reduces", {{"key", parallel.full(key)}}});
}

}  // namespace

void read_fsdp2(const Section& parallel, bool mesh_known, Scenario& s) {
    read_reshard(parallel, mesh_known, s);
    check_gradients(parallel, mesh_known, s);
}

}  // namespace meshscope::scenario
