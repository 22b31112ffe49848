#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/call_check.h"
#include "core/comm/issued_call.h"
#include "core/comm/process_group.h"

namespace meshscope::comm {

class OwnAlgorithm;

/// "my_ring.toml, 1f2e3d4c": the same on ranks that read the same file.
std::string description(const OwnAlgorithm& algorithm);

/// What is said of a group beside its members; the same on all of them.
struct GroupOptions {
    /// What calls get that name none; see choose_algorithm for ops that do not have it. `native`: whatever
    /// they name.
    Algorithm algorithm = Algorithm::ring;
    /// Which node each member stands on, by group rank, for two-level algorithms; empty: NodeLevels' rule.
    std::vector<int32_t> node_of = {};
    /// What Algorithm::own means here; null where nothing asks for it.
    std::shared_ptr<const OwnAlgorithm> own = nullptr;
    /// Whether the members compare each call before its data move.
    bool checked = false;
};

/// A group as its calls under way keep it: it may go before they do. What running its calls needs is here;
/// but a transport keeps it too, for its reports (CallLog), so it owns nothing that must go before that one.
struct CallingGroup : GroupInfo {
    CallingGroup(GroupInfo info, GroupOptions given) : GroupInfo(std::move(info)), options(std::move(given)) {
        if (options.own) own_algorithm = description(*options.own);
    }
    virtual ~CallingGroup() = default;
    CallingGroup(const CallingGroup&) = delete;
    CallingGroup& operator=(const CallingGroup&) = delete;

    /// Throws InvalidArgument where the group cannot run a call that is in order. Rank's thread, before it is
    /// entered in the record.
    virtual void accept(const IssuedCall&) const {}
    /// Runs `state.call` by its algorithm; its event is state.event (-1 when nothing is recorded;
    /// otherwise it must be begun and ended). Running thread.
    virtual void run(const Work::State& state) const = 0;

    int32_t me = 0;  ///< this rank's place among the members; filled in by RecordedGroup
    GroupOptions options;
};

}  // namespace meshscope::comm
