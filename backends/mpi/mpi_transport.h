#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/mpi/dropped_groups.h"
#include "backends/mpi/end.h"
#include "backends/mpi/mpi_module.h"
#include "core/base/error.h"
#include "core/comm/long_waits.h"
#include "core/comm/native.h"
#include "core/comm/transport.h"

namespace meshscope::backends::mpi {

/// A rank's transport over MPI's point-to-point messages: channel c is a tag of one communicator, tag 0
/// carries the ranks' words about their own end. Sends are synchronous (MPI_Issend), so that a post is done
/// when its receiver took it, as on every backend. A receiver looks at a message's size before it takes it
/// (MPI_Iprobe).
///
/// Waiting: where every rank has a core, MPI is asked again and again; where ranks are more than cores, the
/// processor is given away between two questions, and every eighth time for 10 µs at least. (MPICH 4.0 asks
/// without pause, which makes a small all_reduce of 4 ranks on 2 cores take 8 ms; so it takes 0.13 ms.)
class MpiTransport final : public comm::Transport,
                           public comm::NativeLibrary,
                           public comm::FaultActs,
                           public comm::CallRounds {
  public:
    /// `crowded`: more ranks than cores. `timeout`: how long one receive or wait may take while nobody
    /// failed; `long_waits` tells of those that take long.
    MpiTransport(const MeshscopeMpi& mpi, MeshscopeMpiHandle world, const MeshscopeMpiJob& job, bool crowded,
                 std::chrono::milliseconds timeout, comm::LongWaits long_waits = {{}, {}});
    ~MpiTransport() override;

    comm::Abilities abilities() override {
        return {.one_thread_a_rank = job_.one_thread != 0, .library = this, .faults = this, .rounds = this};
    }

    /// Throws InvalidArgument "comm.rank_outside_world", "mpi.too_many_channels" as well.
    Ticket post(GlobalRank dst, comm::Channel channel, Bytes data) override;
    /// MPI writes to a message's place, or into a buffer of the transport's, which `consume` reads.
    void receive_together(std::span<const comm::Expected> messages, comm::Channel channel,
                          const ConsumeTogether& consume) override;
    void wait(Ticket ticket) override;
    bool done(Ticket ticket) override;
    /// MPI cannot take a send back. Peers are told that this rank fails, so that they take what is still
    /// coming without looking at it; a second later MPI is not called any more, so that nothing reads the
    /// buffers.
    void withdraw() noexcept override;
    void give_up() noexcept override;
    void end_calls(comm::Channel first) override;
    /// Lets the peers, who wait for it, give up first: it is they who do not know.
    [[noreturn]] void stall() override;

    /// MPI's own collectives, in a communicator of the group's own; MPI hears that it went when the next is
    /// made, or when all has ended well.
    std::unique_ptr<comm::NativeCollectives> native(std::span<const GlobalRank> ranks,
                                                    comm::Channel channel) override;
    /// Runs one of them; waits as for a message, and may throw when MPI is not done with its memory. `memory`
    /// is then left to MPI for ever; `all`: every pointer of the call leads there. Where some lead to a
    /// caller's buffers MPI gets a second to end, and is not called any more after that.
    void collective(MeshscopeMpiHandle group, const MeshscopeMpiCall& call, std::shared_ptr<void> memory,
                    bool all);

    /// For MpiWorld: tells all peers, and waits until all bodies are over, taking what nobody wants any more;
    /// no longer than five seconds where one failed. All ends, by rank; those that never came have rank -1.
    std::vector<End> end_together(const End& mine);

  private:
    void note(comm::CallMoment moment, const comm::IssuedCall* call) override { calls_.note(moment, call); }

    struct Post {
        MeshscopeMpiHandle request{0};
        int32_t dst = -1;
        comm::Channel channel;
        bool open = false;
    };
    /// Bytes that MPI may still read, or write.
    struct Letter {
        std::vector<std::byte> bytes;
        MeshscopeMpiHandle request{0};
    };
    /// A message that is being taken beside the calls. Its sender may stop in the middle: MPI writes until it
    /// is done.
    struct Taking {
        std::unique_ptr<Letter> letter;  ///< null: none
        int32_t src = -1;
    };
    /// How often a rank ended its calls, and from which channel on it still sends.
    struct Rounds {
        int64_t ended = 0;
        comm::Channel first;
    };
    static constexpr std::chrono::milliseconds kLongestWithdrawal{1000};

    /// `channel`: what is waited for travels on it, and does not come any more once `peer` is over; none: it
    /// is on its way.
    template <class Ready>
    void wait_until(int32_t peer, std::optional<comm::Channel> channel, const Ready& ready);
    /// Whether nothing more comes from `peer` on `channel`.
    bool is_over(int32_t peer, comm::Channel channel) const;
    bool finished(MeshscopeMpiHandle& request);
    int32_t tag_of(comm::Channel channel) const;
    /// Waits for the next message of src, looks at its size, and begins to take it into `buffer`.
    MeshscopeMpiHandle begin_receive(int32_t src, comm::Channel channel, int64_t bytes, std::byte* buffer);
    /// Waits until all of it is there.
    void finish_receive(int32_t src, MeshscopeMpiHandle& request);
    std::byte* scratch(int64_t bytes);
    /// Of what was begun to be received and is not wanted any more: MPI writes until it is done. It is waited
    /// for for a second; after that MPI is not called any more, so that it writes into no caller's buffer,
    /// and the memory of scratch() is its.
    void abandon(std::span<MeshscopeMpiHandle> requests) noexcept;
    /// Tells MPI of the groups that went since the last one was made: members need not do it at the same time
    /// (neither library waits for them), and none does after a failure, when calls in them may stand.
    void free_groups();
    /// Whom a wait for `peer` is for; this rank itself: a collective of MPI's own.
    std::vector<int64_t> awaited(int32_t peer) const;
    /// Reads what peers said of their ends.
    void listen();
    void tell(const End& end);
    void drop_read_letters();
    /// Takes what comes, unread.
    void drain();
    /// Begins to take a message that was found.
    void begin(Taking& taking, const MeshscopeMpiMessage& message);
    /// Whether it is there, within `patience`.
    bool ends(Taking& taking, std::chrono::milliseconds patience);
    /// Tells the peers what it throws.
    template <class Failure>
    [[noreturn]] void fail(const Failure& error);
    [[noreturn]] void throw_aborted();
    void throw_if_aborted() {
        if (gave_up_ || failure_ || silent_) throw_aborted();
    }

    const MeshscopeMpi& mpi_;
    MeshscopeMpiHandle world_;
    MeshscopeMpiJob job_;
    bool crowded_;
    std::chrono::milliseconds timeout_;
    comm::CallLog calls_;
    comm::LongWaits long_waits_;
    std::vector<Post> posts_;
    std::vector<std::size_t> free_;
    std::vector<std::unique_ptr<Letter>> letters_;
    Taking heard_, drained_;
    std::unique_ptr<std::byte[]> scratch_;
    int64_t scratch_bytes_ = 0;
    std::vector<End> ends_;       ///< by rank; rank -1: has said nothing
    std::vector<Rounds> rounds_;  ///< by rank, as it said the last time
    int64_t rounds_ended_ = 0;    ///< how often this one did
    std::shared_ptr<DroppedGroups> dropped_ = std::make_shared<DroppedGroups>();
    std::optional<End> failure_;  ///< the first that was heard of
    std::atomic<bool> gave_up_{false};
    bool told_ = false;    ///< peers know that this rank fails
    bool silent_ = false;  ///< MPI is not called any more
    bool stuck_ = false;   ///< a collective of MPI's own never ended
};

}  // namespace meshscope::backends::mpi
