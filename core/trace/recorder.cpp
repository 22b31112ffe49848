#include "core/trace/recorder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/clock.h"
#include "core/trace/blocks.h"
#include "core/trace/interner.h"

namespace meshscope::trace {
namespace {

constexpr std::size_t kStreams = 6;

/// What the running half knows of one collective; joined with its Event by take().
struct Ran {
    int32_t event = -1;
    Algorithm algorithm = Algorithm::none;
    int64_t sent_bytes = 0;
    int64_t t_begin_ns = 0;
    int64_t t_end_ns = 0;
};

struct Live {
    int64_t bytes;
    MemoryCategory category;
    StringId label;
};

/// Enters in the events, of which the first has the id `first`, what the running half knows of them.
void join(std::vector<Event>& events, int32_t first, const std::vector<Ran>& all) {
    for (const Ran& ran : all) {
        const auto at = static_cast<std::size_t>(ran.event - first);
        if (ran.event < first || at >= events.size()) continue;
        events[at].algorithm = ran.algorithm;
        events[at].sent_bytes = ran.sent_bytes;
        events[at].t_begin_ns = ran.t_begin_ns;
        events[at].t_end_ns = ran.t_end_ns;
    }
}

template <class T>
std::vector<T> tail(const std::vector<T>& all, std::size_t first) {
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

/// Puts the issuing half's snapshots, and the numbers that they point at, behind the running half's.
void join(RankRecord& record, std::vector<Snapshot> operands, const std::vector<float>& values) {
    const auto first = static_cast<int64_t>(record.values.size());
    for (Snapshot& each : operands)
        if (each.values >= 0) each.values += first;
    record.snapshots.insert(record.snapshots.end(), operands.begin(), operands.end());
    record.values.insert(record.values.end(), values.begin(), values.end());
}

}  // namespace

struct Recorder::Impl {
    int64_t epoch_ns = 0;
    DeviceClock* clock = nullptr;  ///< then times of work are its stamps until take()

    // The issuing half.
    Interner strings;
    StringId latest_unit = 0;
    StringId latest_rule = 0;
    Blocks<Event, 1024> events;
    std::vector<Dependency> dependencies;
    std::array<std::vector<int32_t>, kStreams> pending;  ///< depend()ed on, until the stream's next event
    std::array<int32_t, kStreams> last_on_stream{-1, -1, -1, -1, -1, -1};
    Blocks<MemoryChange, 1024> memory;
    std::unordered_map<uint64_t, Live> live;
    std::vector<std::unordered_map<uint64_t, Live>::node_type> freed;  ///< nodes of `live`, to be used again
    std::vector<ParameterRun> parameters;
    std::vector<Snapshot> operands;
    std::vector<float> operand_values;
    int64_t most_operand_values = kMostOperandNumbers;
    std::size_t events_then = 0, memory_then = 0;  ///< their sizes when make_room() was called last

    // The running half, a cache line away from the other so that the two threads do not slow each other.
    alignas(64) Blocks<Ran, 1024> ran;
    Blocks<Hop, 1024> hops;
    std::vector<Snapshot> snapshots;
    std::vector<float> values;
    std::vector<HopPiece> pieces;

    /// Puts times in the place of a device's stamps; 0 is none, and stays.
    void read_clock(RankRecord& record) const {
        if (clock == nullptr) return;
        const auto read = [&](int64_t& time) {
            if (time != 0) time = clock->steady_ns(time) - epoch_ns;
        };
        for (Event& event : record.events) {
            read(event.t_begin_ns);
            read(event.t_end_ns);
        }
        for (Hop& hop : record.hops) {
            read(hop.t_begin_ns);
            read(hop.t_end_ns);
        }
        for (MemoryChange& change : record.memory) read(change.t_ns);
    }

    int64_t now_ns() const { return steady_ns() - epoch_ns; }
    /// The time of what the rank computes, or a stamp in its place.
    int64_t computing_ns() { return clock == nullptr ? now_ns() : clock->stamp_computing(); }
    /// The same of its collectives.
    int64_t running_ns() { return clock == nullptr ? now_ns() : clock->stamp_running(); }

    int32_t last() const { return static_cast<int32_t>(events.size()) - 1; }

    /// The pending dependencies of the event that is about to be entered.
    void attach(Stream stream) {
        std::vector<int32_t>& waiting = pending[static_cast<std::size_t>(stream)];
        if (!waiting.empty()) {
            for (const int32_t on : waiting) dependencies.push_back({last() + 1, on});
            waiting.clear();
        }
        last_on_stream[static_cast<std::size_t>(stream)] = last() + 1;
    }
    /// A training step allocates what the one before has let go, so nodes go round.
    void enter(uint64_t id, const Live& allocation) {
        if (freed.empty()) {
            live[id] = allocation;
            return;
        }
        auto node = std::move(freed.back());
        freed.pop_back();
        node.key() = id;
        const auto entered = live.insert(std::move(node));
        entered.position->second = allocation;
    }
    Ran* find(int32_t event) {
        for (std::size_t i = ran.size(); i-- > 0;)
            if (ran[i].event == event) return &ran[i];
        return nullptr;
    }
};

Recorder::Recorder(GlobalRank rank, Level level, int64_t epoch_ns, int64_t operand_numbers)
    : rank_(rank), level_(level), impl_(std::make_unique<Impl>()) {
    impl_->epoch_ns = epoch_ns;
    impl_->most_operand_values = operand_numbers;
    if (level == Level::off) return;
    // Set-up and the first step; make_room() then knows what a step takes. More would be for nothing in a
    // short run of very many ranks.
    impl_->events.reserve(1024);
    impl_->ran.reserve(1024);
    impl_->memory.reserve(1024);
    impl_->dependencies.reserve(1024);
    impl_->live.reserve(1024);
    if (level >= Level::hops) impl_->hops.reserve(1024);
}

Recorder::~Recorder() = default;

void Recorder::use_clock(DeviceClock& clock) {
    impl_->clock = &clock;
}

int64_t Recorder::running_ns() const {
    return impl_->running_ns();
}

void Recorder::depend(Stream stream, int32_t on) {
    if (level_ == Level::off || on < 0 || on > impl_->last()) return;
    if (impl_->events[static_cast<std::size_t>(on)].stream == stream)
        return;  // the stream's own order says it
    std::vector<int32_t>& waiting = impl_->pending[static_cast<std::size_t>(stream)];
    if (std::find(waiting.begin(), waiting.end(), on) == waiting.end()) waiting.push_back(on);
}

void Recorder::make_room(int32_t steps) {
    if (level_ == Level::off) return;
    constexpr std::size_t kMostBytes = std::size_t{4} << 20;
    const std::size_t n_events = impl_->events.size() - impl_->events_then;
    const std::size_t n_changes = impl_->memory.size() - impl_->memory_then;
    impl_->events_then += n_events;
    impl_->memory_then += n_changes;
    const bool fits = impl_->events.size() + n_events <= impl_->events.capacity() &&
                      impl_->memory.size() + n_changes <= impl_->memory.capacity();
    if (fits || steps <= 0) return;
    const std::size_t most = kMostBytes / (n_events * sizeof(Event) + n_changes * sizeof(MemoryChange));
    const std::size_t n_steps = std::min(static_cast<std::size_t>(steps), most);
    impl_->events.reserve(impl_->events.size() + n_steps * n_events);
    impl_->memory.reserve(impl_->memory.size() + n_steps * n_changes);
}

std::size_t Recorder::room_bytes() const {
    return impl_->events.capacity() * sizeof(Event) + impl_->memory.capacity() * sizeof(MemoryChange);
}

int32_t Recorder::begin_compute(std::string_view name, std::string_view unit, Stream stream) {
    if (level_ == Level::off) return -1;
    impl_->attach(stream);
    Event& event = impl_->events.push();
    event.stream = stream;
    event.id = impl_->last();
    event.step = step_;
    event.phase = phase_;
    event.microbatch = microbatch_;
    if (recompute_) {
        event.name = impl_->strings.intern(std::string(name) + ".recompute");
        event.rule = impl_->strings.intern("recompute.forward");
    } else {
        event.name = impl_->strings.intern(name);
    }
    event.unit = impl_->strings.intern(unit);
    event.t_issue_ns = impl_->now_ns();
    event.t_begin_ns = event.t_end_ns =
        impl_->clock == nullptr ? event.t_issue_ns : impl_->clock->stamp_computing();
    return event.id;
}

void Recorder::end_compute(int32_t id, int64_t flops, int64_t touched_bytes, DType dtype) {
    if (id < 0 || id > impl_->last()) return;
    Event& event = impl_->events[static_cast<std::size_t>(id)];
    event.t_end_ns = impl_->computing_ns();
    event.flops = flops;
    event.touched_bytes = touched_bytes;
    event.dtype = dtype;
}

bool Recorder::keeps_numbers(int64_t n) const {
    return level_ == Level::values && n <= kMaxRecordedValues &&
           static_cast<int64_t>(impl_->operand_values.size()) + n <= impl_->most_operand_values;
}

void Recorder::add_operand(int32_t event, SnapshotKind kind, std::string_view operand, int64_t rows,
                           int64_t columns, std::span<const float> numbers) {
    if (event < 0 || level_ < Level::values) return;
    const int64_t n = rows * columns;
    const auto first = static_cast<int64_t>(impl_->operand_values.size());
    const bool keep = static_cast<int64_t>(numbers.size()) == n && keeps_numbers(n);
    impl_->operands.push_back(
        {event, kind, keep ? first : -1, n, impl_->strings.intern(operand), rows, columns});
    if (keep) impl_->operand_values.insert(impl_->operand_values.end(), numbers.begin(), numbers.end());
}

Event* Recorder::enter_collective(Stream stream, const Cause& cause, const std::source_location& source) {
    if (level_ == Level::off) return nullptr;
    impl_->attach(stream);
    Event& event = impl_->events.push();
    event.id = impl_->last();
    event.step = step_;
    event.kind = EventKind::collective;
    event.stream = stream;
    event.phase = phase_;
    event.prefetch = cause.prefetch ? 1 : 0;
    event.microbatch = microbatch_;
    event.unit = impl_->strings.intern(cause.unit, impl_->latest_unit);
    if (recompute_)
        event.rule = impl_->strings.intern("recompute." + std::string(cause.rule));
    else
        event.rule = impl_->strings.intern(cause.rule, impl_->latest_rule);
    event.source = impl_->strings.intern(source);
    event.t_issue_ns = impl_->now_ns();
    return &event;
}

void Recorder::begin_collective(int32_t event, Algorithm algorithm) {
    if (event >= 0) impl_->ran.push({event, algorithm, 0, impl_->running_ns(), 0});
}

void Recorder::add_hop(Hop hop, std::span<const float> travelled, std::span<const HopPiece> pieces) {
    if (hop.event < 0 || level_ < Level::hops) return;
    hop.values = -1;
    const auto n = static_cast<int64_t>(travelled.size());
    if (level_ >= Level::values && n > 0 && n == hop.elements && n <= kMaxRecordedValues) {
        hop.values = static_cast<int64_t>(impl_->values.size());
        impl_->values.insert(impl_->values.end(), travelled.begin(), travelled.end());
    }
    hop.n_pieces = static_cast<int32_t>(pieces.size());
    hop.pieces = pieces.empty() ? -1 : static_cast<int64_t>(impl_->pieces.size());
    impl_->pieces.insert(impl_->pieces.end(), pieces.begin(), pieces.end());
    impl_->hops.push(hop);
}

void Recorder::add_snapshot(int32_t event, SnapshotKind kind, std::span<const float> numbers) {
    const auto n = static_cast<int64_t>(numbers.size());
    if (event < 0 || level_ < Level::values || n > kMaxRecordedValues) return;
    impl_->snapshots.push_back({event, kind, static_cast<int64_t>(impl_->values.size()), n});
    impl_->values.insert(impl_->values.end(), numbers.begin(), numbers.end());
}

void Recorder::end_collective(int32_t event, int64_t sent_bytes) {
    if (event < 0) return;
    Ran* const found = impl_->find(event);
    if (found == nullptr) return;
    found->sent_bytes = sent_bytes;
    found->t_end_ns = impl_->running_ns();
}

int32_t Recorder::last_event(Stream stream) const {
    return impl_->last_on_stream[static_cast<std::size_t>(stream)];
}

int32_t Recorder::last_event() const {
    return impl_->last();
}

void Recorder::keep_parameter(std::string_view parameter, std::string_view unit, ParameterRun run) {
    if (level_ == Level::off) return;
    run.parameter = impl_->strings.intern(parameter);
    run.unit = impl_->strings.intern(unit);
    impl_->parameters.push_back(run);
}

void Recorder::on_allocate(uint64_t id, int64_t bytes, MemoryCategory category, std::string_view label) {
    if (level_ == Level::off) return;
    const StringId text = impl_->strings.intern(label);
    impl_->enter(id, {bytes, category, text});
    impl_->memory.push({impl_->last(), step_, phase_, category, text, id, bytes, impl_->computing_ns()});
}

void Recorder::on_free(uint64_t id) {
    if (level_ == Level::off) return;
    const auto found = impl_->live.find(id);
    if (found == impl_->live.end()) return;  // allocated before this recorder's record began
    const Live was = found->second;
    impl_->freed.push_back(impl_->live.extract(found));
    impl_->memory.push(
        {impl_->last(), step_, phase_, was.category, was.label, id, -was.bytes, impl_->computing_ns()});
}

RankRecord Recorder::since(Mark& mark) const {
    RankRecord record;
    record.strings = tail(impl_->strings.strings(), mark.strings);
    record.events = impl_->events.from(mark.events);
    record.hops = impl_->hops.from(mark.hops);
    join(record.events, static_cast<int32_t>(mark.events), impl_->ran.from(mark.ran));
    record.dependencies = tail(impl_->dependencies, mark.dependencies);
    record.memory = impl_->memory.from(mark.memory);
    record.parameters = tail(impl_->parameters, mark.parameters);
    record.snapshots = tail(impl_->snapshots, mark.snapshots);
    record.values = tail(impl_->values, mark.values);
    record.pieces = tail(impl_->pieces, mark.pieces);
    const auto first_value = static_cast<int64_t>(mark.values),
               first_piece = static_cast<int64_t>(mark.pieces);
    for (Snapshot& snapshot : record.snapshots) snapshot.values -= first_value;
    std::vector<Snapshot> operands = tail(impl_->operands, mark.operands);
    for (Snapshot& each : operands)
        if (each.values >= 0) each.values -= static_cast<int64_t>(mark.operand_values);
    for (Hop& hop : record.hops) {
        if (hop.values >= 0) hop.values -= first_value;
        if (hop.pieces >= 0) hop.pieces -= first_piece;
    }
    join(record, std::move(operands), tail(impl_->operand_values, mark.operand_values));
    impl_->read_clock(record);
    settle(record);
    mark = {impl_->strings.strings().size(), impl_->events.size(), impl_->ran.size(),
            impl_->dependencies.size(),      impl_->hops.size(),   impl_->pieces.size(),
            impl_->snapshots.size(),         impl_->values.size(), impl_->operands.size(),
            impl_->operand_values.size(),    impl_->memory.size(), impl_->parameters.size()};
    return record;
}

RankRecord Recorder::take() {
    RankRecord record;
    record.events = impl_->events.take();
    record.hops = impl_->hops.take();
    join(record.events, 0, impl_->ran.take());
    record.strings = impl_->strings.take();
    impl_->latest_unit = impl_->latest_rule = 0;
    record.dependencies = std::exchange(impl_->dependencies, {});
    record.memory = impl_->memory.take();
    record.parameters = std::exchange(impl_->parameters, {});
    impl_->read_clock(record);
    record.snapshots = std::exchange(impl_->snapshots, {});
    record.values = std::exchange(impl_->values, {});
    join(record, std::exchange(impl_->operands, {}), std::exchange(impl_->operand_values, {}));
    record.pieces = std::exchange(impl_->pieces, {});
    for (std::vector<int32_t>& waiting : impl_->pending) waiting.clear();
    impl_->last_on_stream.fill(-1);
    impl_->live.clear();
    impl_->freed.clear();
    impl_->events_then = impl_->memory_then = 0;
    settle(record);
    return record;
}

}  // namespace meshscope::trace
