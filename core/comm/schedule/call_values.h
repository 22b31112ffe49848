#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/comm/parts.h"
#include "core/comm/schedule/contributions.h"
#include "core/comm/schedule/verify.h"

namespace meshscope::comm {

/// What stands in one element of a buffer.
struct Value {
    int64_t index =
        -1;  ///< of the full buffer (an all_to_all's: sender · elements + its place there); -1: nothing
    Contributions::Id from = Contributions::kNone;
    int32_t divisions = 0;                     ///< by the number of ranks
    bool mixed = false;                        ///< sums of different elements
    int64_t other = -1;                        ///< mixed: the second element
    int32_t peer = -1, round = -1, step = -1;  ///< of the message that brought it last
};

/// Whether a collective's result is a reduction.
inline bool reduces(CollectiveOp op) {
    return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce || op == CollectiveOp::reduce_scatter;
}

/// What a collective's definition says of the ranks' buffers: what stands there before the first step, and
/// what must at the end.
class CallValues {
  public:
    /// Both must live as long.
    CallValues(const ScheduleCall& call, Contributions& sets);

    std::span<const Part> parts() const { return cut_; }
    /// A rank's input and output before the first step.
    void fill(int32_t r, std::vector<Value>& in, std::vector<Value>& out);
    /// What must stand in element i of a rank's output at the end; nothing where the op does not say.
    std::optional<Value> wanted(int32_t r, int64_t i);

  private:
    const Part& part(int32_t r) const { return cut_[static_cast<std::size_t>(r)]; }
    int32_t owner(int64_t i) const;

    const ScheduleCall& call_;
    Contributions& sets_;
    std::vector<Part> cut_;
};

}  // namespace meshscope::comm
