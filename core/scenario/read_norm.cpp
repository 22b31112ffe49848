#include "core/scenario/readers.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"
#include "core/scenario/mesh_offers.h"

namespace meshscope::scenario {
namespace {

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
        const Offer renamed = offer_of_data_dims(s, {{data_parallel_size(s)}}, {"replicate"});
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

void check_norm(const Section& root, bool mesh_known, const Scenario& s) {
    if (s.model.norm == nn::Norm::none) return;
    const Section model = root.section("model");
    if (root.section("parallel").sure("data")) check_strategy(model, s);
    if (s.recompute != nn::Recompute::none)
        root.section("train").report("recompute", {"scenario.norm_recompute", {}});
    const Section checkpoint = root.section("checkpoint");
    for (const std::string_view key : {"folder", "resume"})
        if (checkpoint.has(key)) checkpoint.report_key(key, {"scenario.norm_checkpoint", {}});
    if (parallel::declaration(s.parallel.data).is(&parallel::Declaration::uneven_inputs, s.parallel))
        root.section("parallel").report("join", {"scenario.norm_join", {}});
    const Section eval = root.section("eval");
    if (eval.present()) eval.report_key("every", {"scenario.norm_eval", {}});
    if (!mesh_known) return;
    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    for (const auto& dim : {roles.tp, roles.pp, roles.cp})
        if (dim) root.section("mesh").report("names", {"scenario.norm_mesh", {{"dim", s.mesh_names[*dim]}}});
    if (root.section("train").sure("global_batch", "accumulate")) check_rows(model, s);
}

}  // namespace meshscope::scenario
