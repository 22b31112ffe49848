#pragma once

#include <memory>

#include "core/comm/faults.h"
#include "core/comm/process_group.h"

namespace meshscope::comm {

/// A group whose rank makes mistakes on demand: calls another op, gives another root, reduce op, dtype or
/// count, leaves a call out or makes it twice. All else goes to the group inside.
class FaultyGroup final : public ProcessGroup {
  public:
    /// `recorder` says which step and phase it is; `memory` is where a buffer of another dtype is taken from.
    /// All but `inner` outlive the group.
    FaultyGroup(std::unique_ptr<ProcessGroup> inner, Faults& faults, const trace::Recorder& recorder,
                tensor::Allocator& memory);

    int32_t size() const override { return inner_->size(); }
    GroupRank rank() const override { return inner_->rank(); }
    const std::vector<GlobalRank>& ranks() const override { return inner_->ranks(); }
    const std::string& name() const override { return inner_->name(); }
    /// Throws InvalidArgument ("fault.no_field") when the call has no such field, naming those it has.
    Work issue(const CollectiveCall& call) override;

  private:
    /// A call of this rank's own making.
    struct Changed;

    void change(Changed& call, FaultField field) const;
    void change_dtype(Changed& call) const;
    /// Buffers that the changed call needs of this rank and the right one did not (it is another's root now),
    /// of zeros: so that it meets the others' calls, and is not refused by its own.
    void give_missing(Changed& call) const;
    Work issue_as_is(const CollectiveCall& call, const std::optional<Fault>& fault = std::nullopt);

    std::unique_ptr<ProcessGroup> inner_;
    Faults& faults_;
    const trace::Recorder& recorder_;
    tensor::Allocator& memory_;
};

}  // namespace meshscope::comm
