#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/sandbox/edit_text.h"
#include "core/base/message.h"
#include "core/scenario/scenario.h"

namespace meshscope::sandbox {

/// A row a rank of a pipeline: what it computes in a step, "2F0", in order; a pair that overlaps as its two.
using ActionRows = std::vector<std::vector<std::string>>;

/// An action of a row in its parts; kind: 'F', 'B', 'I' or 'W'.
struct RowAction {
    int32_t stage = -1, microbatch = -1;
    char kind = ' ';
};
/// Throws InvalidArgument ("pipeline.bad_action") for what is no action.
std::vector<RowAction> parts_of_row(const std::vector<std::string>& row);

/// The rows with the action `from` of a row taken to before the one that is `before` now (its length: to the
/// end).
ActionRows moved(ActionRows rows, std::size_t row, std::size_t from, std::size_t before);

/// A rank that cannot go on: the action it stands before, and the one that never comes.
struct OrderWait {
    std::size_t row = 0;
    std::string action;
    std::size_t other = 0;
    std::string waits_for;
};

/// Why ranks cannot work in an order.
struct OrderRefusal {
    Message message, hint;          ///< of the first fault
    std::vector<OrderWait> circle;  ///< of a deadlock: each waits for the next, the last for the first
    bool refused() const { return !message.id.empty(); }
};

/// In what order a run's pipeline works, and in what others it could.
class PipelineOrder {
  public:
    /// Null where the scenario has no pipeline.
    static std::shared_ptr<const PipelineOrder> of(const scenario::Scenario& scenario);

    const ActionRows& rows() const { return rows_; }
    /// The same in their parts.
    const std::vector<std::vector<RowAction>>& parts() const { return parts_; }
    /// It is not the schedule's; one that the scenario names though the schedule has the same is none's own.
    bool own() const { return own_; }
    /// The schedule's own.
    ActionRows usual() const;
    /// Cost: O(actions · log actions).
    OrderRefusal refusal(const ActionRows& rows) const;
    /// What the scenario is to say for such an order: of the schedule's own, nothing.
    std::vector<Change> changes_to(const ActionRows& rows) const;

  private:
    PipelineOrder() = default;

    parallel::pipeline::ScheduleShape shape_;
    ActionRows rows_;
    std::vector<std::vector<RowAction>> parts_;
    bool own_ = false;
};

}  // namespace meshscope::sandbox
