#include "core/comm/wire.h"

#include <algorithm>
#include "core/comm/reduce.h"

namespace meshscope::comm {

Wire::Wire(Transport& transport, std::span<const GlobalRank> ranks, int32_t me, Channel channel, DType dtype,
           trace::Recorder* recorder, int32_t event, DeviceQueues* queues)
    : transport_(transport),
      ranks_(ranks),
      me_(me),
      channel_(channel),
      dtype_(dtype),
      element_bytes_(bytes_per_element(dtype)),
      recorder_(recorder),
      event_(event),
      records_hops_(recorder != nullptr && event >= 0 && recorder->records(trace::Level::hops)),
      queues_(queues) {}

Wire::~Wire() {
    const bool all_waited =
        std::all_of(tickets_.begin(), tickets_.end(), [](auto t) { return t == kWaited; });
    if (!all_waited) transport_.withdraw();
    for (std::byte* const each : device_scratch_) queues_->free(each);
}

Wire::Post Wire::post(int32_t to, const std::byte* data, int64_t n) {
    const int64_t n_bytes = bytes(n);
    tickets_.push_back(kWaited);  // room first: a ticket that could not be noted could not be waited for
    tickets_.back() = transport_.post(global(to), channel_, {data, static_cast<std::size_t>(n_bytes)});
    sent_bytes_ += n_bytes;
    return tickets_.size() - 1;
}

void Wire::wait(Post post) {
    Transport::Ticket& ticket = tickets_[post];
    if (ticket == kWaited) return;
    transport_.wait(ticket);
    ticket = kWaited;
}

void Wire::wait_all() {
    for (Post post = 0; post < tickets_.size(); ++post) wait(post);
}

void Wire::receive_copy(int32_t from, const Piece& piece, std::byte* to) {
    const std::span<std::byte> room(to, static_cast<std::size_t>(bytes(piece.elements)));
    transport_.receive_at(global(from), channel_, room, [&](Transport::Bytes data) {
        const int64_t begin_ns = now();
        copy(to, data.data(), bytes(piece.elements));
        record(from, piece, data, begin_ns);
    });
}

void Wire::receive_nothing(int32_t from) {
    transport_.receive(global(from), channel_, 0, [](Transport::Bytes) {});
}

void Wire::reduce_from_all(ReduceOp op, const Piece& piece, std::byte* out, const std::byte* mine) {
    const std::vector<Expected> expected = expect_all(bytes(piece.elements));
    std::vector<const std::byte*> sources(ranks_.size());
    const auto own = static_cast<std::size_t>(me_);
    const auto rank_of = [&](std::size_t i) { return i < own ? i : i + 1; };
    transport_.receive_together(expected, channel_, [&](std::span<const Transport::Bytes> messages) {
        const int64_t begin_ns = now();
        for (std::size_t i = 0; i < messages.size(); ++i) sources[rank_of(i)] = messages[i].data();
        sources[own] = mine;
        reduce_many(op, out, sources, piece.elements);
        for (std::size_t i = 0; i < messages.size(); ++i)
            record(static_cast<int32_t>(rank_of(i)), piece, messages[i], begin_ns);
    });
}

std::byte* Wire::scratch(int64_t n) {
    if (queues_ != nullptr) {
        device_scratch_.reserve(device_scratch_.size() + 1);  // what could not be noted could not be freed
        device_scratch_.push_back(queues_->allocate(bytes(n)));
        return device_scratch_.back();
    }
    scratch_.push_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes(n))));
    return scratch_.back().get();
}

std::vector<Expected> Wire::expect_all(int64_t n_bytes) const {
    std::vector<Expected> expected;
    expected.reserve(ranks_.size());
    for (int32_t r = 0; r < size(); ++r)
        if (r != me_) expected.push_back({global(r), n_bytes});
    return expected;
}

void Wire::record(int32_t from, const Piece& piece, Transport::Bytes data, int64_t begin_ns) {
    if (!records_hops_) return;
    record_hop(from, piece, kept_values(piece, data.data()), begin_ns, now());
}

std::vector<float> Wire::kept_values(const Piece& piece, const std::byte* data) const {
    const bool keep = records_hops_ && recorder_->records(trace::Level::values) && piece.elements > 0 &&
                      piece.elements <= trace::kMaxRecordedValues;
    if (!keep) return {};
    return on_host(queues_, data, bytes(piece.elements),
                   [&](std::span<const std::byte> there) { return to_floats(dtype_, there); });
}

void Wire::record_hop(int32_t from, const Piece& piece, std::span<const float> values, int64_t begin_ns,
                      int64_t end_ns) {
    if (!records_hops_) return;
    trace::Hop hop;
    hop.event = event_;
    hop.round = first_round_ + piece.round;
    hop.src = global(from).value;
    hop.dst = global(me_).value;
    hop.chunk = piece.chunk;
    hop.reduces = piece.reduces ? 1 : 0;
    hop.offset = piece.offset;
    hop.elements = piece.elements;
    hop.bytes = bytes(piece.elements);
    hop.t_begin_ns = begin_ns;
    hop.t_end_ns = end_ns;
    recorder_->add_hop(hop, values, piece.pieces);
}

}  // namespace meshscope::comm
