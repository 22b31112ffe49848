#include "core/comm/shared_collectives.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/comm/copy_bytes.h"
#include "core/comm/message_errors.h"
#include "core/comm/reduce.h"
#include "core/comm/run_collective.h"
#include "core/comm/schedule/direct_all_reduce.h"

namespace meshscope::comm {
namespace {

/// What is read from all and written to all at once: small enough that it is still in the first-level cache
/// when it is written the last time, large enough that the loop around it costs nothing.
constexpr int64_t kBlockBytes = 16384;

/// From here on the root of a broadcast writes its share of every buffer. Fewer bytes take less time than the
/// buffers' cache lines do to change hands once more.
constexpr int64_t kWrittenBroadcastBytes = 32768;

/// Beyond as many bytes, all members' buffers counted, what is copied is written past the caches: half of the
/// 32 MiB that the cores of most machines share. Measured on 2 and 4 ranks: below it is slower, above 1.2 to
/// 2.3 times as fast.
constexpr int64_t kPastCacheBytes = int64_t{16} << 20;

/// Up to as many, one part still goes through the cache: an all_gather's own, and what the readers of a
/// broadcast copy. Memory then has half as much to take between two ranks. Measured there: 0.8 and 0.93 of
/// the time at 48 and 32 MiB; 1.3 at 192.
constexpr int64_t kPartInCacheBytes = int64_t{64} << 20;

static_assert(std::max(direct_one_round_bytes(2), direct_one_round_bytes(3)) <= SharedTable::kByValueBytes);

/// One pointer a member; no allocation for the usual numbers of ranks.
template <class T>
class Pointers {
  public:
    explicit Pointers(int32_t n) : n_(static_cast<std::size_t>(n)) {
        if (n_ > few_.size()) many_.resize(n_);
    }
    T*& operator[](int32_t i) { return data()[i]; }
    std::span<T* const> all() { return {data(), n_}; }

  private:
    T** data() { return many_.empty() ? few_.data() : many_.data(); }
    std::size_t n_;
    std::array<T*, 16> few_;  // filled in by the caller: clearing it would take as long as a small sum
    std::vector<T*> many_;
};
using Sources = Pointers<const std::byte>;

/// One call at the table. When it throws, the offer is taken back before the buffers may go.
class Meeting {
  public:
    Meeting(Wire& wire, SharedTable& table, const IssuedCall& call)
        : wire_(wire), table_(table), call_(call), number_(number_of(call)) {}
    ~Meeting() {
        if (shown_ || sees_buffers_) table_.withdraw();
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    void all_reduce(ReduceOp op, const std::byte* input);
    void all_gather();
    void reduce_scatter(ReduceOp op, const std::byte* input);
    void broadcast();

  private:
    int32_t p() const { return wire_.size(); }
    int32_t me() const { return wire_.me(); }
    const Part& in_part(int32_t member) const { return call_.in_parts[static_cast<std::size_t>(member)]; }
    const Part& out_part(int32_t member) const { return call_.out_parts[static_cast<std::size_t>(member)]; }

    /// `own`: bytes of the input that only this rank reads.
    void arrive(int64_t bytes, const std::byte* input, std::byte* output, bool by_value,
                const Part* parts = nullptr, Part own = {}) {
        Offer& offer = table_.begin();
        offer.call = number_;
        offer.bytes = bytes;
        offer.input = input;
        offer.output = output;
        offer.parts = parts;
        shown_ = !by_value;
        if (by_value)
            table_.arrive_by_value(own.first, own.first + own.elements);
        else
            table_.arrive();
    }
    /// The member's offer, which is of the same call.
    const Offer& await(int32_t member);
    /// And has `bytes` bytes.
    const Offer& await(int32_t member, int64_t bytes) {
        const Offer& offer = await(member);
        if (offer.bytes != bytes) refuse_size(member, offer.bytes, bytes);
        return offer;
    }
    [[noreturn]] void refuse_size(int32_t member, int64_t sent_bytes, int64_t expected_bytes);
    void close(int32_t member) {
        table_.await_left(member);
        table_.close();
        shown_ = false;
    }
    void close_all() {
        for (int32_t i = 1; i < p(); ++i) table_.await_left(wire_.of(me() + i));
        table_.close();
        shown_ = false;
    }
    /// Before it reads what the members have that it awaited: of calls that do not fit together some may be
    /// by value and others by reference.
    void enter() {
        if (sees_buffers_) table_.enter();
    }
    /// Hops of one piece from every other member, in rank order, as Wire::reduce_from_all writes them.
    void record_from_all(const Piece& piece, const std::vector<std::vector<float>>& values, TableSpan span);
    /// The numbers of a piece by member, if the record keeps them.
    std::vector<std::vector<float>> values_of(const Piece& piece, Sources& sources) const;

    void all_reduce_by_value(ReduceOp op, const std::byte* input);
    void broadcast_from_here(bool by_value);
    /// Where this rank's part lies in what a member offers.
    Part my_part_of(const Offer& offer) const {
        if (offer.parts != nullptr) return offer.parts[me()];
        const int64_t each = offer.bytes / wire_.bytes(p());
        return {me() * each, each};
    }
    /// What copy() is told of a part that still goes through the cache where others go past it.
    static int64_t through_cache(int64_t all) { return all <= kPartInCacheBytes ? 0 : all; }
    /// Copies between buffers of a call whose members' buffers are `all` bytes together.
    static void copy(std::byte* to, const std::byte* from, int64_t bytes, int64_t all) {
        if (all > kPastCacheBytes)
            copy_past_cache(to, from, bytes);
        else
            copy_bytes(to, from, bytes);
    }
    /// How much of a broadcast each rank reads itself; the root writes the rest.
    int64_t read_by_owner(int64_t bytes) const {
        return bytes < kWrittenBroadcastBytes ? bytes : bytes - bytes / p();
    }

    Wire& wire_;
    SharedTable& table_;
    const IssuedCall& call_;
    CallNumber number_;
    bool shown_ = false;
    bool sees_buffers_ = false;  ///< a member that it awaited made its offer by reference
};

const Offer& Meeting::await(int32_t member) {
    const Offer& offer = table_.await(member);
    if (offer.call != number_)
        table_.refuse(
            calls_differ(number_, wire_.global(me()), offer.call, wire_.global(member), wire_.ranks()));
    sees_buffers_ = sees_buffers_ || !offer.by_value;
    return offer;
}

void Meeting::refuse_size(int32_t member, int64_t sent_bytes, int64_t expected_bytes) {
    table_.refuse(size_mismatch(wire_.global(member), wire_.global(me()), wire_.channel(), sent_bytes,
                                expected_bytes, wire_.global(me())));
}

std::vector<std::vector<float>> Meeting::values_of(const Piece& piece, Sources& sources) const {
    std::vector<std::vector<float>> values;
    if (!wire_.records_hops()) return values;
    for (int32_t q = 0; q < p(); ++q) values.push_back(wire_.kept_values(piece, sources[q]));
    return values;
}

void Meeting::record_from_all(const Piece& piece, const std::vector<std::vector<float>>& values,
                              TableSpan span) {
    if (!wire_.records_hops()) return;
    for (int32_t q = 0; q < p(); ++q)
        if (q != me())
            wire_.record_hop(q, piece, values[static_cast<std::size_t>(q)], span.begin_ns, span.end_ns);
}

// all_reduce ------------------------------------------------------------------------------------------------

void Meeting::all_reduce_by_value(ReduceOp op, const std::byte* input) {
    const int64_t n = call_.out_elements;
    const Piece piece{0, 0, 0, n, true};
    arrive(wire_.bytes(n), input, nullptr, true);
    wire_.count_sent(wire_.bytes(n) * (p() - 1));
    Sources sources(p());
    for (int32_t q = 0; q < p(); ++q) sources[q] = await(q, wire_.bytes(n)).input;
    TableSpan span{wire_.now(), 0};
    reduce_many(op, wire_.dtype(), call_.output, sources.all(), n);
    span.end_ns = wire_.now();
    record_from_all(piece, values_of(piece, sources), span);
    table_.leave();
}

void Meeting::all_reduce(ReduceOp op, const std::byte* input) {
    const int64_t n = call_.out_elements;
    if (wire_.bytes(n) <= direct_one_round_bytes(p())) return all_reduce_by_value(op, input);

    arrive(wire_.bytes(n), input, call_.output, false);
    const Part mine = chunk_part(n, p(), me());
    const int64_t begin = wire_.bytes(mine.first);
    const int64_t bytes = wire_.bytes(mine.elements);
    wire_.count_sent((wire_.bytes(n) - bytes) + bytes * (p() - 1));
    Sources sources(p()), block(p());
    Pointers<std::byte> outputs(p());  // from this rank's on, so that not all write to one rank at once
    for (int32_t i = 0; i < p(); ++i) {
        const int32_t q = wire_.of(me() + i);
        const Offer& offer = await(q, wire_.bytes(n));
        sources[q] = offer.input + begin;
        outputs[i] = offer.output + begin;
    }

    table_.enter();
    TableSpan span{wire_.now(), 0, mine};
    const Piece reduced{0, me(), mine.first, mine.elements, true};
    const auto values = values_of(reduced, sources);
    for (int64_t at = 0; at < bytes; at += kBlockBytes) {
        const int64_t length = std::min(kBlockBytes, bytes - at);
        for (int32_t q = 0; q < p(); ++q) block[q] = sources[q] + at;
        reduce_many(op, wire_.dtype(), outputs[0] + at, block.all(),
                    length / bytes_per_element(wire_.dtype()));
        for (int32_t i = 1; i < p(); ++i) copy_bytes(outputs[i] + at, outputs[0] + at, length);
    }
    span.end_ns = wire_.now();
    table_.leave(span);
    record_from_all(reduced, values, span);
    close_all();
    for (int32_t i = 1; i < p() && wire_.records_hops(); ++i) {
        const int32_t q = wire_.of(me() + i);
        const TableSpan span_of_q = table_.span_of(q);
        const Part& wrote = span_of_q.wrote;
        const Piece given{1, q, wrote.first, wrote.elements, false};
        wire_.record_hop(q, given, wire_.kept_values(given, call_.output + wire_.bytes(wrote.first)),
                         span_of_q.begin_ns, span_of_q.end_ns);
    }
}

// all_gather, reduce_scatter --------------------------------------------------------------------------------

void Meeting::all_gather() {
    const Part own = out_part(me());
    const bool by_value = wire_.bytes(call_.out_elements) <= table_.by_value_bytes(call_.op);
    arrive(wire_.bytes(own.elements), call_.input, nullptr, by_value);
    wire_.count_sent(wire_.bytes(own.elements) * (p() - 1));
    const int64_t all = wire_.bytes(call_.out_elements) * (p() + 1);
    copy(call_.output + wire_.bytes(own.first), call_.input, wire_.bytes(own.elements), through_cache(all));
    Sources sources(p());
    for (int32_t i = 1; i < p(); ++i) {
        const int32_t q = wire_.of(me() + i);
        sources[q] = await(q, wire_.bytes(out_part(q).elements)).input;
    }
    enter();
    for (int32_t i = 1; i < p(); ++i) {
        const int32_t q = wire_.of(me() + i);
        const Part theirs = out_part(q);
        const Piece piece{0, q, theirs.first, theirs.elements, false};
        std::byte* const to = call_.output + wire_.bytes(theirs.first);
        const int64_t begin_ns = wire_.now();
        copy(to, sources[q], wire_.bytes(theirs.elements), all);
        if (wire_.records_hops())
            wire_.record_hop(q, piece, wire_.kept_values(piece, to), begin_ns, wire_.now());
    }
    table_.leave();
    if (!by_value) close_all();
}

void Meeting::reduce_scatter(ReduceOp op, const std::byte* input) {
    const Part mine = in_part(me());
    const int64_t bytes = wire_.bytes(call_.in_elements);
    const bool by_value = bytes <= table_.by_value_bytes(call_.op);
    const Part* const parts = call_.counts_named ? call_.in_parts.data() : nullptr;
    arrive(bytes, input, nullptr, by_value, parts, {wire_.bytes(mine.first), wire_.bytes(mine.elements)});
    wire_.count_sent(bytes - wire_.bytes(mine.elements));
    Pointers<const Offer> offers(p());
    for (int32_t q = 0; q < p(); ++q) offers[q] = &await(q);
    enter();  // the parts, too, may be their owners'
    Sources sources(p());
    for (int32_t q = 0; q < p(); ++q) {
        const Part part = my_part_of(*offers[q]);
        if (part.elements != mine.elements)
            refuse_size(q, wire_.bytes(part.elements), wire_.bytes(mine.elements));
        sources[q] = (q == me() ? input : offers[q]->input) + wire_.bytes(part.first);
    }
    const Piece piece{0, me(), mine.first, mine.elements, true};
    const auto values = values_of(piece, sources);  // before: the output may be the input's own part
    TableSpan span{wire_.now(), 0};
    reduce_many(op, wire_.dtype(), call_.output, sources.all(), mine.elements);
    span.end_ns = wire_.now();
    record_from_all(piece, values, span);
    table_.leave();
    if (!by_value) close_all();
}

// broadcast -------------------------------------------------------------------------------------------------

void Meeting::broadcast_from_here(bool by_value) {
    const int64_t bytes = wire_.bytes(call_.in_elements);
    // A root that gave a buffer of its own reads that one and keeps a copy.
    if (call_.output != nullptr) copy_bytes(call_.output, call_.input, bytes);
    arrive(bytes, call_.input, nullptr, by_value);
    wire_.count_sent(bytes * (p() - 1));
    // Of a small one the root writes nothing, but it still sees who comes.
    Pointers<std::byte> outputs(p());
    for (int32_t i = 1; i < p(); ++i) outputs[i] = await(wire_.of(me() + i), bytes).output;
    if (by_value) return table_.leave();
    const int64_t at = read_by_owner(bytes);
    table_.enter();
    TableSpan span{wire_.now(), 0};
    for (int32_t i = 1; i < p(); ++i) copy(outputs[i] + at, call_.input + at, bytes - at, bytes * p());
    span.end_ns = wire_.now();
    table_.leave(span);
    close_all();
}

void Meeting::broadcast() {
    const int32_t root = call_.peer;
    const int64_t n = me() == root ? call_.in_elements : call_.out_elements;
    const int64_t bytes = wire_.bytes(n);
    const bool by_value = bytes <= table_.by_value_bytes(call_.op);
    if (me() == root) return broadcast_from_here(by_value);

    arrive(bytes, nullptr, call_.output, by_value);
    const std::byte* const input = await(root, bytes).input;
    enter();
    TableSpan span{wire_.now(), 0};
    copy(call_.output, input, by_value ? bytes : read_by_owner(bytes), through_cache(bytes * p()));
    span.end_ns = wire_.now();
    table_.leave();
    if (!by_value) {
        close(root);
        const TableSpan other = table_.span_of(root);
        span = {std::min(span.begin_ns, other.begin_ns), std::max(span.end_ns, other.end_ns)};
    }
    if (!wire_.records_hops()) return;
    const Piece piece{0, 0, 0, n, false};
    wire_.record_hop(root, piece, wire_.kept_values(piece, call_.output), span.begin_ns, span.end_ns);
}

}  // namespace

bool can_run_on_table(CollectiveOp op) {
    return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
           op == CollectiveOp::reduce_scatter || op == CollectiveOp::broadcast;
}

void run_on_table(Wire& wire, SharedTable& table, const IssuedCall& call) {
    const auto [op, input] = reduced_input(wire, call);  // before anything is seen by others
    Meeting meeting(wire, table, call);
    switch (call.op) {
        case CollectiveOp::all_reduce:
            return meeting.all_reduce(op, input);
        case CollectiveOp::all_gather:
            return meeting.all_gather();
        case CollectiveOp::reduce_scatter:
            return meeting.reduce_scatter(op, input);
        default:
            return meeting.broadcast();
    }
}

}  // namespace meshscope::comm
