#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/comm/device_queues.h"
#include "core/comm/parts.h"
#include "core/comm/reduce.h"
#include "core/comm/transport.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

/// What a hop carries, in the words of the record (see trace::Hop). For reduce_scatter, reduce and all_reduce
/// `offset` counts in the buffer that is being reduced; for the others in the receiver's output.
struct Piece {
    int32_t round = 0;
    int32_t chunk = 0;
    int64_t offset = 0;
    int64_t elements = 0;
    bool reduces = false;
    std::span<const trace::HopPiece> pieces{};  ///< of a message that carries several
};

/// One collective's view of the wire: a transport whose ranks are group ranks and whose messages are counted
/// in elements, and which writes down every hop it receives. An algorithm sees nothing else.
///
/// A hop's time goes from the moment the receiver could read the bytes to the moment it had copied or added
/// them. When an algorithm throws, the destructor takes back what was posted, so no peer reads a buffer that
/// is gone.
class Wire {
  public:
    /// Index of a post, for wait().
    using Post = std::size_t;

    /// `ranks` are the members by group rank, `me` is this rank's place among them. `recorder` may be null,
    /// `event` -1. `queues`: the transport's own, where tensors travel. Everything passed must live as long
    /// as the wire.
    Wire(Transport& transport, std::span<const GlobalRank> ranks, int32_t me, Channel channel, DType dtype,
         trace::Recorder* recorder, int32_t event, DeviceQueues* queues = nullptr);
    ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    int32_t size() const { return static_cast<int32_t>(ranks_.size()); }
    int32_t me() const { return me_; }
    DType dtype() const { return dtype_; }
    /// Bytes of n elements.
    int64_t bytes(int64_t n) const { return n * element_bytes_; }
    /// A group rank counted around the ring: of(-1) is the last, of(p) the first.
    int32_t of(int32_t place) const { return ((place % size()) + size()) % size(); }

    /// Offers n elements to a group rank.
    Post post(int32_t to, const std::byte* data, int64_t n);
    /// Waits until a post's bytes may be changed. Safe to call twice.
    void wait(Post post);
    /// Waits for all posts.
    void wait_all();

    /// Receives the next message of group rank `from` and hands its bytes to `consume(const std::byte*)`.
    template <class Consume>
    void receive(int32_t from, const Piece& piece, Consume&& consume) {
        auto handle = [&](Transport::Bytes data) {
            const int64_t begin_ns = now();
            consume(data.data());
            record(from, piece, data, begin_ns);
        };
        transport_.receive(global(from), channel_, bytes(piece.elements), std::ref(handle));
    }

    /// Receives the next message of group rank `from` into `to`; where the transport must put the bytes
    /// somewhere, without a copy.
    void receive_copy(int32_t from, const Piece& piece, std::byte* to);

    /// Receives the next message of group rank `from`, which has no bytes, and writes no hop down: the two
    /// stay in step and find out where they disagree, but nothing moved.
    void receive_nothing(int32_t from);

    /// Receives the same piece from every other member and reduces it with this rank's own, `mine`, to `out`
    /// (which may be `mine`), in the order of group ranks: as reduce_many. When it throws, `out` holds
    /// anything.
    void reduce_from_all(ReduceOp op, const Piece& piece, std::byte* out, const std::byte* mine);

    /// Room for n elements, uninitialised, that lives as long as the wire: what was posted from it is taken
    /// back before it goes. Not in the rank's memory record, as a library's own buffers are not.
    std::byte* scratch(int64_t n);

    // What algorithms do with numbers: at once where the host can reach them, on the running queue where they
    // lie on a device. As the functions of reduce.h, for the wire's dtype; copy may be asked for 0 bytes at
    // null, and for a copy onto itself.
    void copy(std::byte* to, const std::byte* from, int64_t bytes) {
        if (bytes == 0 || to == from) return;
        if (queues_ == nullptr)
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
        else
            queues_->copy(to, from, bytes);
    }
    void reduce_into(ReduceOp op, std::byte* into, const std::byte* from, int64_t n) {
        if (queues_ == nullptr)
            comm::reduce_into(op, dtype_, into, from, n);
        else
            queues_->reduce(op, dtype_, into, std::array{from, static_cast<const std::byte*>(into)}, n,
                            false);
    }
    void reduce_pair(ReduceOp op, std::byte* out, const std::byte* from, const std::byte* own, int64_t n) {
        if (queues_ == nullptr)
            comm::reduce_pair(op, dtype_, out, from, own, n);
        else
            queues_->reduce(op, dtype_, out, std::array{from, own}, n, false);
    }
    void reduce_many(ReduceOp op, std::byte* out, std::span<const std::byte* const> sources, int64_t n) {
        if (queues_ == nullptr)
            comm::reduce_many(op, dtype_, out, sources, n);
        else
            queues_->reduce(op, dtype_, out, sources, n, op == ReduceOp::avg);
    }
    void finish_reduce(ReduceOp op, std::byte* data, int64_t n, int32_t p) {
        if (queues_ == nullptr)
            comm::finish_reduce(op, dtype_, data, n, p);
        else if (op == ReduceOp::avg)
            queues_->divide(dtype_, data, n, p);
    }
    void premultiply(double factor, std::byte* out, const std::byte* in, int64_t n) {
        if (queues_ == nullptr)
            comm::premultiply(dtype_, factor, out, in, n);
        else
            queues_->premultiply(dtype_, factor, out, in, n);
    }

    /// For algorithms that move bytes themselves (over a SharedTable): counts bytes that others take, and
    /// writes down a hop that this rank was given by group rank `from`, with the numbers that kept_values
    /// gave.
    void count_sent(int64_t bytes) { sent_bytes_ += bytes; }
    void record_hop(int32_t from, const Piece& piece, std::span<const float> values, int64_t begin_ns,
                    int64_t end_ns);
    bool records_hops() const { return records_hops_; }
    /// The numbers of a piece, if the record keeps them; otherwise nothing.
    std::vector<float> kept_values(const Piece& piece, const std::byte* data) const;
    /// The recorder's clock of what runs (Recorder::running_ns); 0 when no hop is recorded.
    int64_t now() const { return records_hops_ ? recorder_->running_ns() : 0; }
    GlobalRank global(int32_t group_rank) const { return ranks_[static_cast<std::size_t>(group_rank)]; }
    std::span<const GlobalRank> ranks() const { return ranks_; }
    Channel channel() const { return channel_; }

    /// The round that a Piece's round 0 means from now on: for an algorithm made of two others.
    void begin_at_round(int32_t round) { first_round_ = round; }

    /// Bytes posted so far.
    int64_t sent_bytes() const { return sent_bytes_; }

  private:
    std::vector<Expected> expect_all(int64_t bytes) const;
    void record(int32_t from, const Piece& piece, Transport::Bytes data, int64_t begin_ns);

    static constexpr Transport::Ticket kWaited = -1;
    Transport& transport_;
    std::span<const GlobalRank> ranks_;
    int32_t me_;
    Channel channel_;
    DType dtype_;
    int64_t element_bytes_;
    trace::Recorder* recorder_;
    int32_t event_;
    bool records_hops_;
    std::vector<Transport::Ticket> tickets_;
    std::vector<std::unique_ptr<std::byte[]>> scratch_;
    DeviceQueues* queues_;
    std::vector<std::byte*> device_scratch_;
    int64_t sent_bytes_ = 0;
    int32_t first_round_ = 0;
};

}  // namespace meshscope::comm
