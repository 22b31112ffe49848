#include "core/run/rank_parts.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "core/comm/dry_group.h"
#include "core/comm/faulty_group.h"
#include "core/comm/native_group.h"
#include "core/comm/transport_group.h"
#include "core/tensor/dry_device.h"

namespace meshscope::run {
namespace {

/// Putting work on a device's queues takes no time worth saving: there the helper always runs it, so that it
/// stands there when it could begin. Faults happen on the rank's own thread.
comm::StreamExecutor::Mode mode_of(comm::Transport& transport, const RunPlan& plan,
                                   const comm::Faults& faults) {
    if (!faults.none()) return comm::StreamExecutor::Mode::inline_in_wait;
    return comm::queues_of(transport) != nullptr ? comm::StreamExecutor::Mode::helper_thread
                                                 : plan.executor_mode;
}

}  // namespace

RankParts::RankParts(comm::Transport& transport, const RunPlan& plan, RunControl& control)
    : plan_(plan),
      control_(control),
      scenario_(plan.scenario),
      rank_(transport.rank()),
      recorder_(rank_, plan.level, control.epoch_ns,
                trace::most_operand_numbers(scenario::world_size(plan.scenario))),
      device_(plan.dry ? tensor::make_dry_device() : comm::make_device(transport)),
      allocator_(*device_, &recorder_),
      // A dry run asks what would be done; nothing happens to it.
      transport_(transport, plan.dry ? std::span<const comm::Fault>() : scenario_.faults, plan.options.round,
                 plan.checked),
      executor_(transport_.top(), mode_of(transport, plan, transport_.faults())) {
    if (comm::DeviceQueues* const queues = executor_.queues()) recorder_.use_clock(queues->clock());
    if (!plan.dry) announce_groups(transport);
    open_part();
}

void RankParts::announce_groups(comm::Transport& transport) {
    comm::NativeLibrary* const library = transport.abilities().library;
    if (library == nullptr || !library->runs_everything()) return;
    only_native_ = true;
    std::vector<std::vector<GlobalRank>> groups;
    for (const trace::Group& group : plan_.groups.groups) {
        std::vector<GlobalRank>& members = groups.emplace_back();
        for (const int32_t member : group.ranks) members.push_back({member});
    }
    library->announce_groups(groups);
}

void RankParts::open_part() {
    if (plan_.options.parts.empty() || plan_.level == trace::Level::off) return;
    const trace::PartHead head{describe_run(plan_), plan_.groups.groups, control_.run_id, rank_.value};
    part_.emplace(plan_.options.parts, head);
}

RankResult RankParts::finish() {
    executor_.finish();
    result_.never_came = transport_.faults().never_came();
    result_.record = recorder_.take();
    return std::move(result_);
}

RankResult RankParts::abandon() noexcept {
    executor_.stop();
    trace::RankRecord& record = result_.record;
    try {
        record = recorder_.take();
    } catch (const std::bad_alloc&) {  // why the run failed is told all the same
        return std::move(result_);
    }
    int64_t last_ns = 0;
    for (const trace::Event& event : record.events)
        last_ns = std::max({last_ns, event.t_issue_ns, event.t_end_ns});
    for (trace::Event& event : record.events)
        if (event.kind == trace::EventKind::collective && event.t_end_ns == 0) {
            if (event.t_begin_ns == 0) event.t_begin_ns = last_ns;
            event.t_end_ns = std::max(last_ns, event.t_begin_ns);
        }
    return std::move(result_);
}

void RankParts::append_part() {
    if (!part_) return;
    const std::span<const double> losses(result_.losses), norms(result_.grad_norms);
    executor_.run_in_turn([&] {
        part_->append(recorder_.since(in_part_), losses.subspan(losses_in_part_),
                      norms.subspan(grad_norms_in_part_));
    });
    losses_in_part_ = losses.size();
    grad_norms_in_part_ = norms.size();
    result_.part_failure = part_->failure();
}

std::unique_ptr<comm::ProcessGroup> RankParts::make_group(int32_t index, const std::string& name,
                                                          std::vector<GlobalRank> members) {
    comm::GroupOptions options{
        .algorithm = scenario_.parallel.algorithm, .own = scenario_.parallel.own, .checked = plan_.checked};
    for (const GlobalRank member : members)
        options.node_of.push_back(plan_.node_of_rank[static_cast<std::size_t>(member.value)]);
    if (only_native_) options.algorithm = Algorithm::native;
    // Nobody tells how a library moves its bytes; a prediction takes the ring in its place.
    if (plan_.dry && options.algorithm == Algorithm::native) options.algorithm = Algorithm::ring;
    if (plan_.dry)
        return std::make_unique<comm::DryGroup>(executor_, index, name, std::move(members), &recorder_,
                                                std::move(options));
    std::unique_ptr<comm::ProcessGroup> group;
    if (options.algorithm == Algorithm::native)
        group = std::make_unique<comm::NativeGroup>(executor_, index, name, std::move(members),
                                                    comm::Channel{index}, &recorder_,
                                                    plan_.checked || !scenario_.faults.empty());
    else
        group = std::make_unique<comm::TransportGroup>(executor_, index, name, std::move(members),
                                                       comm::Channel{index}, &recorder_, std::move(options));
    if (transport_.faults().none()) return group;
    return std::make_unique<comm::FaultyGroup>(std::move(group), transport_.faults(), recorder_, allocator_);
}

comm::ProcessGroup* RankParts::join_group(int32_t index) {
    const trace::Group& group = plan_.groups.groups[static_cast<std::size_t>(index)];
    std::vector<GlobalRank> members;
    for (const int32_t member : group.ranks) members.push_back({member});
    groups_.push_back(make_group(index, group.mesh_dim, std::move(members)));
    return groups_.back().get();
}

void RankParts::enter(int32_t step, Phase phase) {
    if (transport_.faults().none()) return;
    if (phase == Phase::forward || phase == Phase::setup)
        transport_.faults().enter(step, std::nullopt, transport_.top());
    transport_.faults().enter(step, phase, transport_.top());
}

}  // namespace meshscope::run
