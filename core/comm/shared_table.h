#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/error.h"
#include "core/comm/call_number.h"
#include "core/comm/parts.h"

namespace meshscope::comm {

/// What a member lays on the table for one meeting. One cache line with the table's own flag.
struct Offer {
    CallNumber call{};                 ///< which call this is; all members of a meeting must have the same
    int64_t bytes = 0;                 ///< of `input`
    const std::byte* input = nullptr;  ///< what others may read
    std::byte* output = nullptr;       ///< what others may write; null when nothing
    const Part* parts = nullptr;       ///< `input` cut by member, one each; null: evenly, or not
    bool by_value = false;             ///< `input` and `parts` are on the table; arrive_by_value sets it
};

/// What a member wrote to each of the others' buffers, and when it was at them by the recorders' clock: what
/// their hops are recorded from.
struct TableSpan {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    Part wrote = {};  ///< in elements of the call's dtype
};

/// Where the members of one group meet when they can read and write each other's memory. One object a member
/// and group, used by the thread that runs the rank's collectives. Members are group ranks.
///
/// A collective is one meeting: the n-th meeting of a member is the n-th of all others. Two kinds:
///  - *by value*, for few bytes: begin, then arrive_by_value copies the input onto the table, the others read
///  it there
///    (await), and leave() ends the meeting: nobody waits until the others have read. One signal a member.
///  - *by reference*: begin, then arrive shows where the buffers are, await waits for those that this rank
///  needs, then
///    enter() … leave() frames the time in which it reads and writes their buffers (nothing in between may
///    wait), await_left waits for those that may be at its own, and close() ends the meeting: its buffers are
///    its own again. Two signals.
///
/// Errors: as Transport's. When a call throws, this rank's offer has been taken back and nobody is at its
/// buffers any more.
class SharedTable {
  public:
    /// The largest input that can be laid down by value.
    static constexpr int64_t kByValueBytes = 8192;

    virtual ~SharedTable() = default;

    /// Up to how many bytes of the full buffer one signal and one more copy take less time than two signals,
    /// for an op other than all_reduce (which has direct_one_round_bytes()); at most kByValueBytes, and the
    /// same for all members.
    virtual int64_t by_value_bytes(CollectiveOp op) const = 0;

    /// Begins a meeting: gives the place for this rank's offer, an empty one, to be filled in where it lies
    /// and shown by one of the two arrive functions. Waits only for members that are several meetings behind.
    virtual Offer& begin() = 0;
    /// Copies the offer's input and parts onto the table, but for the bytes [own_begin, own_end) of the
    /// input, which nobody else will read, and shows it.
    virtual void arrive_by_value(int64_t own_begin, int64_t own_end) = 0;
    /// Shows the offer, and with it the buffers.
    virtual void arrive() = 0;
    /// Waits until `member` has come to this meeting. What is returned holds, by value, until leave(); by
    /// reference, between enter() and leave(). A member's own offer is itself.
    virtual const Offer& await(int32_t member) = 0;
    /// From here to leave() this rank is at the buffers of the members it has awaited, and of no other.
    virtual void enter() = 0;
    /// Ends it.
    virtual void leave() = 0;
    /// Ends it and says what this rank did at the others' buffers, for their records. Only of a member that
    /// awaited all others: so none of them is still reading what it said before.
    virtual void leave(TableSpan span) = 0;
    /// Waits until `member` has left.
    virtual void await_left(int32_t member) = 0;
    /// What `member` said when it left the meeting; after await_left, until this rank comes to the next.
    virtual TableSpan span_of(int32_t member) const = 0;
    /// Ends a meeting by reference, after await_left for all who may have been at this rank's buffers.
    virtual void close() = 0;

    /// Throws `error` after ending the world with it: the members hold offers that do not fit together.
    [[noreturn]] void refuse(const CommError& error) {
        abort(error);
        throw error;
    }
    /// Of a caller that is failing: it is at no buffers any more, its offer is taken back, and nobody is at
    /// its buffers. The world is of no use afterwards. After a meeting that ended in order: nothing.
    virtual void withdraw() noexcept = 0;

  private:
    /// Aborts the world with `error` and takes back what this rank offered.
    virtual void abort(const CommError& error) = 0;
};

}  // namespace meshscope::comm
