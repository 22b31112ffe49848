#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/schedule/step.h"

namespace meshscope::comm::own {

/// More ranks than anyone writes an algorithm down for: who is in which sum is followed for all of them.
inline constexpr int32_t kMostRanks = 256;
/// Chunks that a rank's buffers hold together, and steps of all ranks.
inline constexpr int32_t kMostChunks = 1 << 16;
inline constexpr int64_t kMostSteps = int64_t{1} << 20;
/// Chunks that all steps together name.
inline constexpr int64_t kMostCarried = int64_t{1} << 22;

/// The buffers that a file's steps name, in chunks.
enum class Place : uint8_t {
    data,    ///< the full buffer: what an in-place algorithm works on
    input,   ///< as the call gave it; nothing is written there
    output,  ///< a buffer apart from `data`: a reduce_scatter's own part, an all_to_all's result
    scratch
};

/// `count` chunks that stand side by side.
struct Chunks {
    Place place = Place::data;
    int32_t first = 0;
    int32_t count = 1;
    friend bool operator==(const Chunks&, const Chunks&) = default;
};

/// A step of one rank, as a file says it.
struct FileStep {
    Step::Kind kind = Step::Kind::send;  ///< send, receive, reduce, copy, add
    int32_t peer = -1;
    int32_t round = 0;
    int32_t line = 0;     ///< of the file
    Chunks chunks;        ///< sent; written
    Chunks own;           ///< of reduce, copy and add: what is combined or copied
    bool packed = false;  ///< of a send
    bool is_added = false;
    std::size_t carried = 0;  ///< where in RankSteps::carried its chunks stand
};

/// A rank's, in the order in which it takes them.
struct RankSteps {
    std::vector<FileStep> steps;
    /// Which chunk of the full buffer each one is that a step moves; an all_to_all's: sender · chunks + its
    /// place there. -1: nothing was ever written there.
    std::vector<int32_t> carried;
};

/// What a step finds that a correct algorithm never does. The result may be right all the same; it is
/// refused, because how many numbers the step moves is not known.
struct Slip {
    enum class Kind : uint8_t {
        unwritten,  ///< reads chunk `chunk` of a buffer where nothing was written
        mixed,      ///< adds chunk `chunk` of the full buffer to chunk `other`
        count,      ///< takes `chunk` chunks where the message has `other`
    };
    Kind kind = Kind::unwritten;
    int32_t rank = 0;
    int32_t line = 0;
    int32_t chunk = 0, other = 0;
};

/// An algorithm of a file for a certain number of ranks.
class Program {
  public:
    CollectiveOp op = CollectiveOp::all_reduce;
    int32_t ranks = 2;
    int32_t chunks = 2;   ///< of the full buffer; an all_to_all's: of one rank's
    int32_t scratch = 0;  ///< chunks of scratch that a rank has
    int32_t rounds = 0;
    bool input_is_kept = false;  ///< an all_reduce that reads `input` while it writes `data`
    bool result_in_data =
        true;  ///< a reduce_scatter's own part, an all_to_all's: copied to the output at the end
    std::vector<RankSteps> by_rank;
    std::optional<Slip> slip;  ///< the first

    /// Says one rank's steps for a call of any size; gives the number of rounds. `lines`, where not null,
    /// gets the line of each step that is said, -1 for those that the file does not name. Cost: O(steps of
    /// the rank).
    int32_t say(const ScheduleQuery& query, const StepSink& sink,
                std::vector<int32_t>* lines = nullptr) const;
};

/// Puts a program together from its steps, in an order in which all ranks together can take them; follows
/// which chunk stands where.
class ProgramBuilder {
  public:
    explicit ProgramBuilder(Program& program);

    /// The n-th message from one rank to another is the n-th that is received.
    void send(int32_t rank, int32_t peer, int32_t round, int32_t line, const Chunks& chunks);
    /// Nothing of `own`: it replaces what stands at `chunks`.
    void receive(int32_t rank, int32_t peer, int32_t round, int32_t line, const Chunks& chunks,
                 const std::optional<Chunks>& own = std::nullopt);
    /// chunks = own, or own + what stands there.
    void copy(int32_t rank, int32_t round, int32_t line, const Chunks& chunks, const Chunks& own, bool adds);

    /// Sends leave as copies where one of the steps after them writes there: all later ones, or those of the
    /// same round alone (where a later round begins when all of this one was received).
    enum class Pack : uint8_t { before_any_write, before_writes_of_the_round };
    void finish(Pack pack);
    int64_t steps() const { return steps_; }
    bool is_full() const { return steps_ >= kMostSteps || carried_ >= kMostCarried; }

  private:
    struct Sent {
        std::vector<int32_t> chunks;
    };
    std::size_t slot(const Chunks& chunks, int32_t i) const;
    std::vector<int32_t> read(int32_t rank, int32_t line, const Chunks& chunks);
    std::vector<int32_t> summed(int32_t rank, int32_t line, std::vector<int32_t> comes,
                                const std::vector<int32_t>& own);
    void write(int32_t rank, const Chunks& chunks, const std::vector<int32_t>& what);
    void add(int32_t rank, FileStep step, const std::vector<int32_t>& carried);
    void note(const Slip& slip);
    void fill(int32_t rank);
    void mark_sums(RankSteps& rank) const;
    void pack(RankSteps& rank, Pack pack) const;
    void check_written();

    Program& program_;
    std::vector<std::vector<int32_t>> holds_;  ///< by rank: which chunk each slot holds
    std::map<std::pair<int32_t, int32_t>, std::deque<Sent>> under_way_;
    int64_t steps_ = 0, carried_ = 0;
};

}  // namespace meshscope::comm::own
