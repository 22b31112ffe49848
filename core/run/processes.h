#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/comm/transport.h"
#include "core/mesh/device_mesh.h"
#include "core/run/groups.h"

namespace meshscope::run {

/// What every process of a run must have been started with. One that differs would train something else, or
/// wait for ever.
struct StartedWith {
    int64_t scenario = 0;    ///< a checksum of the scenario's text
    int64_t world_size = 0;  ///< ranks that it wants
    int64_t steps_done = 0;  ///< by the checkpoint it goes on from
    int64_t level = 0;       ///< how much it records
    int64_t algorithm = 0;   ///< a checksum of the file that holds its algorithm; 0: none
    int64_t checked = 0;     ///< whether calls are compared across ranks
};

/// What the ranks of a run tell each other beside the collectives of training, where each is a process: who
/// began with what, when time 0 was, whether to go on, and at the end everything they made, to rank 0. One
/// object a rank. Its messages travel on channels of their own and stand in no record.
///
/// Used between collectives only: by the rank's thread before the training and after it, by
/// StreamExecutor::run_in_turn during it.
class Processes {
  public:
    /// `transport` outlives it. Channels behind those of `groups` are taken.
    Processes(comm::Transport& transport, const mesh::DeviceMesh& mesh, const GroupTable& groups);

    bool is_first() const { return transport_.rank().value == 0; }

    /// Every rank calls it. Throws CommError on a rank whose start differs from rank 0's:
    /// "run.processes_differ" (this rank, in what, its own value and rank 0's), or "run.processes_differ_file"
    /// where what differs is a file's content. Cost: a broadcast of a number for each member of StartedWith.
    void agree(const StartedWith& mine);

    /// Every rank calls it: this rank's steady clock when rank 0 called it, which becomes time 0. On one
    /// machine all processes have the same steady clock, and the answer is exact. A rank on another machine
    /// (another boot id) asks rank 0 eight times what time it is and believes the quickest answer: off by
    /// half of that round trip at most.
    int64_t start_clock();

    /// Every rank of the mesh calls it: what the first of them says.
    bool first_says(bool mine);
    /// Every rank of the world calls it: what rank 0 says.
    int64_t rank0_says(int64_t mine);

    /// Says that this rank has made all its calls of a step, or of the training: peers that wait for it in
    /// one must not wait on while it waits for their word, or hands over what it made.
    void end_calls() { comm::end_calls(transport_, votes_); }

    /// Sends `bytes` to rank 0, which must call receive_from for this rank.
    void send_to_first(std::span<const std::byte> bytes);
    /// On rank 0. Whole, however long it is; taken in pieces as they come, so that a wrong length asks for no
    /// memory. Throws CommError ("run.hand_over_damaged") for a length that none has.
    std::vector<std::byte> receive_from(GlobalRank rank);

  private:
    int64_t said_by_first_of(std::span<const GlobalRank> ranks, comm::Channel channel, int64_t mine);
    void send(GlobalRank to, std::span<const std::byte> bytes);
    template <class T>
    void send_number(GlobalRank to, T number) {
        send(to, std::as_bytes(std::span(&number, 1)));
    }
    int64_t receive_number(GlobalRank from);

    comm::Transport& transport_;
    std::vector<GlobalRank> world_, members_;  ///< ascending; the members are those in the mesh
    comm::Channel votes_, words_, pairs_;
};

}  // namespace meshscope::run
