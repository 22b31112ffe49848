#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/kinds.h"
#include "core/comm/forwarding_transport.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

enum class FaultKind : uint8_t {
    kill,      ///< the rank dies
    delay,     ///< it is late by `ms`
    stall,     ///< it stops, without dying
    corrupt,   ///< a bit of a message that it receives changes on the way
    mismatch,  ///< it makes another call than the others
    skip,      ///< it leaves the call out
    repeat     ///< it makes the call twice
};

/// What a mismatched call has otherwise than it should.
enum class FaultField : uint8_t { op, root, reduce_op, dtype, count };

std::string_view name(FaultKind value);
std::string_view name(FaultField value);

/// One fault that a scenario asks for. It happens once in its restart round, to one rank, at the `at`th call
/// (from 0) that this rank issues in the step, counting only those of the phase, unit and rule that are
/// given.
struct Fault {
    FaultKind kind = FaultKind::kill;
    int32_t rank = 0;
    int32_t step = 0;  ///< -1: set-up
    std::optional<Phase> phase;
    std::optional<int32_t> at;
    std::string unit, rule;             ///< "" = any
    std::optional<int32_t> hop;         ///< inside the call: before it takes its message number `hop`, from 0
    int64_t ms = 100;                   ///< delay
    FaultField field = FaultField::op;  ///< mismatch
    /// corrupt: of the message, counted from its first byte's lowest; else kUsualBit, or the last there is.
    std::optional<int64_t> bit;
    static constexpr int64_t kUsualBit = 30;
    /// How often the job's processes had been started again when it happens; nothing: each time.
    std::optional<int32_t> round = 0;

    /// Neither a call nor a place in one is named: kill, delay and stall then happen where the rank enters
    /// the phase (or the step), before it does any of it.
    bool on_entry() const { return !at && !hop && unit.empty() && rule.empty(); }
};

/// The faults of one rank, and which of them have come. Used by one thread alone: whoever has any runs
/// collectives inline (StreamExecutor::Mode::inline_in_wait), of the others the helper thread finds none.
class Faults {
  public:
    /// Of all faults those of `rank` in this restart round.
    Faults(std::span<const Fault> all, GlobalRank rank, int32_t round = 0);

    bool none() const { return faults_.empty(); }
    /// The rank enters a step or a phase of it: does what is due there. `transport` is the rank's.
    void enter(int32_t step, std::optional<Phase> phase, Transport& transport);
    /// The rank is about to issue a call; gives the fault that meets it. Those that happen when the call runs
    /// (kill, delay, stall, corrupt) are kept for FaultyTransport.
    std::optional<Fault> on_issue(int32_t step, Phase phase, const trace::Cause& cause);
    /// A call was queued; the next on_run() of this number means it.
    void issued(const std::optional<Fault>& fault);
    /// The next queued call runs.
    std::optional<Fault> on_run();
    /// A fault that never came, because the rank made no such call: its place in the list of all, and how
    /// many calls there were that fit it but for their number.
    struct NeverCame {
        std::size_t place = 0;
        int32_t calls = 0;
    };
    std::vector<NeverCame> never_came() const;
    /// The call took fewer messages than the fault's `hop` says, so that nothing happened.
    void did_not_come(const Fault& fault);

  private:
    struct Waiting {
        Fault fault;
        std::size_t place = 0;
        int32_t seen = 0;
        bool came = false;
    };
    std::vector<Waiting> faults_;
    std::map<int64_t, Fault> armed_;  ///< by number of the queued call
    int64_t issued_ = 0, run_ = 0;
};

/// Does on the way what the faults ask for: dies, waits, stalls, flips a bit. What receives throws
/// InvalidArgument "fault.no_bit" when the message is too short to have the bit.
class FaultyTransport final : public ForwardingTransport {
  public:
    /// Both outlive this.
    FaultyTransport(Transport& inner, Faults& faults) : ForwardingTransport(inner), faults_(faults) {}

    void receive_together(std::span<const Expected> messages, Channel channel,
                          const ConsumeTogether& consume) override;

  private:
    void note(CallMoment moment, const IssuedCall* call) override;
    /// Before a message is taken; true when its bytes are to be changed.
    bool on_hop(Channel channel);
    /// Which bit of a message of so many bytes `fault` changes. Throws InvalidArgument "fault.no_bit" {bit,
    /// bits, rank} where the message has no such bit.
    int64_t bit_of(const Fault& fault, int64_t bytes) const;

    Faults& faults_;
    std::optional<Fault> fault_;  ///< of the call that runs
    int32_t hop_ = 0;
};

/// kill, delay and stall, at once.
void do_fault(const Fault& fault, Transport& transport);

}  // namespace meshscope::comm
