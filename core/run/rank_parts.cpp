#include "core/run/rank_parts.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "core/comm/dry_group.h"
#include "core/comm/faulty_group.h"
#include "core/comm/native_group.h"
#include "core/comm/transport_group.h"
#include "core/run/describe.h"
#include "core/tensor/dry_device.h"

namespace meshscope::run {
namespace {

/// Putting work on a device's queues takes no time worth saving: there the helper always runs it, so that it
/// stands there when it could begin. Faults happen on the rank's own thread.
comm::StreamExecutor::Mode mode_of(comm::Transport& transport, const SharedRun& shared,
                                   const comm::Faults& faults) {
    if (!faults.none()) return comm::StreamExecutor::Mode::inline_in_wait;
    return comm::queues_of(transport) != nullptr ? comm::StreamExecutor::Mode::helper_thread
                                                 : shared.executor_mode;
}

}  // namespace

RankParts::RankParts(comm::Transport& transport, SharedRun& shared)
    : shared_(shared),
      scenario_(shared.scenario),
      rank_(transport.rank()),
      recorder_(rank_, shared.level, shared.epoch_ns),
      device_(shared.dry ? tensor::make_dry_device() : comm::make_device(transport)),
      allocator_(*device_, &recorder_),
      // A dry run asks what would be done; nothing happens to it.
      transport_(transport, shared.dry ? std::span<const comm::Fault>() : scenario_.faults,
                 shared.options.round, shared.checked),
      executor_(transport_.top(), mode_of(transport, shared, transport_.faults())) {
    if (comm::DeviceQueues* const queues = executor_.queues()) recorder_.use_clock(queues->clock());
    if (!shared.dry) announce_groups(transport);
    open_part();
}

void RankParts::announce_groups(comm::Transport& transport) {
    comm::NativeLibrary* const library = transport.abilities().library;
    if (library == nullptr || !library->runs_everything()) return;
    only_native_ = true;
    std::vector<std::vector<GlobalRank>> groups;
    for (const trace::Group& group : shared_.groups.groups) {
        std::vector<GlobalRank>& members = groups.emplace_back();
        for (const int32_t member : group.ranks) members.push_back({member});
    }
    library->announce_groups(groups);
}

void RankParts::open_part() {
    if (!shared_.part_failures || shared_.level == trace::Level::off) return;
    const trace::PartHead head{describe_run(scenario_, shared_.mesh, shared_.backend, shared_.level),
                               shared_.groups.groups, shared_.run_id, rank_.value};
    part_.emplace(shared_.options.parts, head);
}

trace::RankRecord RankParts::finish() {
    executor_.finish();
    if (shared_.never_came)
        (*shared_.never_came)[static_cast<std::size_t>(rank_.value)] = transport_.faults().never_came();
    return recorder_.take();
}

trace::RankRecord RankParts::abandon() noexcept {
    executor_.stop();
    trace::RankRecord record;
    try {
        record = recorder_.take();
    } catch (const std::bad_alloc&) {  // why the run failed is told all the same
        return record;
    }
    int64_t last_ns = 0;
    for (const trace::Event& event : record.events)
        last_ns = std::max({last_ns, event.t_issue_ns, event.t_end_ns});
    for (trace::Event& event : record.events)
        if (event.kind == trace::EventKind::collective && event.t_end_ns == 0) {
            if (event.t_begin_ns == 0) event.t_begin_ns = last_ns;
            event.t_end_ns = std::max(last_ns, event.t_begin_ns);
        }
    return record;
}

void RankParts::append_part() {
    if (!part_) return;
    const auto index = static_cast<std::size_t>(rank_.value);
    const std::vector<double>&losses = shared_.losses[index], &norms = shared_.grad_norms[index];
    executor_.run_in_turn([&] {
        part_->append(recorder_.since(in_part_), std::span(losses).subspan(losses_in_part_),
                      std::span(norms).subspan(grad_norms_in_part_));
    });
    losses_in_part_ = losses.size();
    grad_norms_in_part_ = norms.size();
    (*shared_.part_failures)[index] = part_->failure();
}

std::unique_ptr<comm::ProcessGroup> RankParts::make_group(int32_t index, const std::string& name,
                                                          std::vector<GlobalRank> members) {
    comm::GroupOptions options{
        .algorithm = scenario_.parallel.algorithm, .own = scenario_.parallel.own, .checked = shared_.checked};
    for (const GlobalRank member : members)
        options.node_of.push_back(shared_.node_of_rank[static_cast<std::size_t>(member.value)]);
    if (only_native_) options.algorithm = Algorithm::native;
    // Nobody tells how a library moves its bytes; a prediction takes the ring in its place.
    if (shared_.dry && options.algorithm == Algorithm::native) options.algorithm = Algorithm::ring;
    if (shared_.dry)
        return std::make_unique<comm::DryGroup>(executor_, index, name, std::move(members), &recorder_,
                                                std::move(options));
    std::unique_ptr<comm::ProcessGroup> group;
    if (options.algorithm == Algorithm::native)
        group = std::make_unique<comm::NativeGroup>(executor_, index, name, std::move(members),
                                                    comm::Channel{index}, &recorder_,
                                                    shared_.checked || !scenario_.faults.empty());
    else
        group = std::make_unique<comm::TransportGroup>(executor_, index, name, std::move(members),
                                                       comm::Channel{index}, &recorder_, std::move(options));
    if (transport_.faults().none()) return group;
    return std::make_unique<comm::FaultyGroup>(std::move(group), transport_.faults(), recorder_, allocator_);
}

comm::ProcessGroup* RankParts::join_group(int32_t index) {
    const trace::Group& group = shared_.groups.groups[static_cast<std::size_t>(index)];
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
