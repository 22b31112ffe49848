#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/memory_sink.h"
#include "core/trace/device_clock.h"
#include "core/trace/event.h"

namespace meshscope::trace {

/// Everything one rank wrote down, in its own order.
struct RankRecord {
    std::vector<std::string> strings{""};  ///< StringId → text
    std::vector<Event> events;
    std::vector<Dependency> dependencies;
    std::vector<Hop> hops;  ///< those this rank received
    std::vector<HopPiece> pieces;
    std::vector<Snapshot> snapshots;
    std::vector<float> values;
    std::vector<MemoryChange> memory;
    std::vector<ParameterRun> parameters;
};

/// Puts what Recorder::since() gave behind what it gave before; settle() ends it.
void append(RankRecord& record, RankRecord more);
/// Sorts hops and snapshots by event, keeping the order within one, and lays the values out anew in that
/// order: streams may take turns differently from run to run, the record must not.
void settle(RankRecord& record);

/// Why the work that follows is done; set by strategies and by the training loop.
struct Cause {
    std::string_view rule;  ///< "fsdp2.unshard.backward"; must name an entry of app/i18n ([rule."…"])
    std::string_view unit;
    bool prefetch = false;
};

/// The recorder of one rank, in two halves that share nothing while a run lasts, so no lock is needed:
///  - the *issuing* half is written by the rank's own thread (steps, compute events, enter_collective,
///    memory);
///  - the *running* half (begin_collective to end_collective) by whichever thread runs the rank's
///  collectives: its
///    StreamExecutor runs them one at a time and orders them before anything that waits for them.
/// take() joins the halves.
///
/// Cost: an event is one write of 128 bytes into memory reserved and touched beforehand, under 1 µs.
class Recorder final : public MemorySink {
  public:
    /// `epoch_ns`: the steady clock's value that becomes time 0 on every rank.
    /// `operand_numbers`: so many of add_operand() are kept at most.
    Recorder(GlobalRank rank, Level level, int64_t epoch_ns, int64_t operand_numbers = kMostOperandNumbers);
    ~Recorder() override;

    GlobalRank rank() const { return rank_; }
    Level level() const { return level_; }
    bool records(Level at_least) const { return level_ >= at_least; }
    /// From now on all times but those of issue are the device's: memory comes and goes where it computes.
    /// take() waits for the last of them. `clock` outlives the record.
    void use_clock(DeviceClock& clock);
    /// Nanoseconds since the start of the run, or a stamp of the device's clock in their place, for Hop's
    /// times. Running thread.
    int64_t running_ns() const;

    /// Where training stands; copied into every event until changed.
    void set_step(int32_t step) { step_ = step; }
    void set_phase(Phase phase) { phase_ = phase; }
    void set_microbatch(int32_t microbatch) { microbatch_ = microbatch; }
    /// While on, what is recorded runs for the second time, because its results were not kept: the compute
    /// event "linear" is called "linear.recompute" and has the rule "recompute.forward", and a collective's
    /// rule R becomes "recompute.R".
    void set_recompute(bool on) { recompute_ = on; }
    int32_t step() const { return step_; }
    Phase phase() const { return phase_; }

    /// The next event on `stream` must not begin before `on` (an event id of this rank; -1 is ignored) has
    /// ended. Recorded as a Dependency; a real wait, where one is needed, is the caller's.
    void depend(Stream stream, int32_t on);

    /// Between two steps: takes and touches memory for the `steps` still to come, of which each writes as
    /// much as was written since the last call, so that no step meets the page faults of its own record. Does
    /// nothing while there is room for one more. Issuing thread. Cost: about 0.3 ms a MiB, 4 MiB at most a
    /// call.
    void make_room(int32_t steps);

    /// Memory taken for events and changes of memory, whether they fill it or not. Issuing thread.
    std::size_t room_bytes() const;

    /// Begins a compute event, on the compute stream or (copies into communication buffers) another. `unit`
    /// is the module. Returns its id, or -1 at Level::off.
    int32_t begin_compute(std::string_view name, std::string_view unit, Stream stream = Stream::compute);
    /// What was computed is known at its end: operations, bytes between processor and memory, and the dtype
    /// of the numbers.
    void end_compute(int32_t event, int64_t flops = 0, int64_t touched_bytes = 0,
                     DType dtype = DType::float32);

    /// Says what an operand of the compute event held: before the kernel what it read (input), after it what
    /// it wrote (output). The numbers are kept where there are rows × columns of them, as Snapshot has it,
    /// and keeps_numbers() says so. Level::values. Issuing thread.
    void add_operand(int32_t event, SnapshotKind kind, std::string_view operand, int64_t rows,
                     int64_t columns, std::span<const float> numbers);

    /// Whether the numbers of an operand with so many would be kept; where not, they need not be fetched.
    bool keeps_numbers(int64_t n) const;

    /// Enters a collective in the order of issue, with id, step, phase, cause and t_issue_ns. The caller
    /// fills in what the call is (op, reduce op, dtype, group, sequence, peer, padding, elements) where it
    /// lies, before anything else is recorded. Null at Level::off.
    Event* enter_collective(Stream stream, const Cause& cause, const std::source_location& source);

    /// The running half. Begin and end stamp the times; calls with event -1 do nothing.
    void begin_collective(int32_t event, Algorithm algorithm);
    /// Level::hops; the numbers only at Level::values. `pieces`: of a hop that carries several.
    void add_hop(Hop hop, std::span<const float> travelled, std::span<const HopPiece> pieces = {});
    void add_snapshot(int32_t event, SnapshotKind kind, std::span<const float> numbers);  ///< Level::values
    void end_collective(int32_t event, int64_t sent_bytes);

    /// The latest event issued; -1 before the first.
    int32_t last_event() const;
    /// The latest event issued on `stream`; -1 before the first.
    int32_t last_event(Stream stream) const;

    /// Says that this rank keeps `run` of a parameter, the names given as text (ParameterRun's own are
    /// ignored). A `parameter` of "" is padding between parameters. In the order of the shard, please.
    void keep_parameter(std::string_view parameter, std::string_view unit, ParameterRun run);

    void on_allocate(uint64_t id, int64_t bytes, MemoryCategory category, std::string_view label) override;
    void on_free(uint64_t id) override;

    /// How far a record was copied by since().
    struct Mark {
        std::size_t strings = 0, events = 0, ran = 0, dependencies = 0, hops = 0, pieces = 0, snapshots = 0,
                    values = 0, operands = 0, operand_values = 0, memory = 0, parameters = 0;
    };
    /// A copy of what was recorded since `mark`, which moves on to here: the copies of a whole run, one
    /// behind the other (append(), settle()), are what take() gives. Call when no collective is under way and
    /// no compute event has begun. Cost: one copy.
    RankRecord since(Mark& mark) const;

    /// Gives the record away; the recorder is empty after. Call when no collective is under way.
    RankRecord take();

  private:
    struct Impl;
    GlobalRank rank_;
    Level level_;
    int32_t step_ = -1;
    Phase phase_ = Phase::setup;
    int32_t microbatch_ = 0;
    bool recompute_ = false;
    std::unique_ptr<Impl> impl_;
};

}  // namespace meshscope::trace
