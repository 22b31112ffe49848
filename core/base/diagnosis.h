#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/kinds.h"

namespace meshscope {

/// What went wrong between ranks.
enum class DiagnosisKind : uint8_t {
    mismatch,  ///< the members of a group made different calls
    deadlock,  ///< ranks wait for each other in a ring
    missing,   ///< a rank that others wait for ended without making the call
    lost,      ///< a rank died
    stalled,   ///< a rank stopped, without ending
    corrupt,   ///< a message arrived with other bytes than were sent
    timeout    ///< a rank was not heard of for so long; why cannot be known
};

/// What is known of one rank at that moment.
enum class RankState : uint8_t { unknown, running, in_call, waiting, finished, lost, stalled };

std::string_view name(DiagnosisKind value);
std::string_view name(RankState value);

/// One call of a collective, as its rank made it. Ranks are global; an empty `op` means that there is none.
struct CallReport {
    std::string op;
    std::string group;                 ///< the mesh dim, or "world"
    std::vector<int32_t> group_ranks;  ///< its members
    int32_t sequence = -1;             ///< as trace::Event::sequence
    int32_t peer = -1;                 ///< root, or the other side of send and recv; -1: the op has none
    std::string reduce_op;             ///< "" where nothing is reduced
    std::string dtype;                 ///< "" where nothing is carried
    int64_t in_elements = 0, out_elements = 0;
    std::vector<int64_t> in_counts, out_counts;  ///< by group rank, where the op cuts its buffers
    double factor = 1.0;                         ///< premul_sum's
    std::string stream, algorithm, phase;
    int32_t step = -1;
    std::string source;  ///< "core/parallel/ddp/bucket.cpp:80"
};

struct RankReport {
    int32_t rank = -1;
    RankState state = RankState::unknown;
    CallReport call;         ///< what it is in; op "" when it is in none
    CallReport last;         ///< what it finished last
    int32_t waits_for = -1;  ///< the rank that must act before this one goes on
    /// Of the ranks that its call needs, those that ended, or went past it, without doing their part.
    std::vector<int32_t> missing = {};
};

/// Why ranks cannot go on together, for a person (sentence) and for a program (to_json).
struct Diagnosis {
    DiagnosisKind kind = DiagnosisKind::mismatch;
    std::vector<std::string> differs;  ///< mismatch: "op", "root", "reduce_op", "dtype", "count", "splits" …
    std::vector<int32_t> culprits;     ///< the ranks in the minority (all of them when it is a tie), or those
                                       ///< that are waited for in vain
    std::vector<int32_t> cycle;        ///< deadlock: 0, 1, 2 means 0 → 1 → 2 → 0
    std::vector<RankReport> ranks;     ///< what is known, ascending by rank
    bool certain = true;               ///< false: drawn from a clock, not from what the ranks do
};

/// The plain sentence: "comm.deadlock"; of waits in vain "comm.peer_finished" (for a collective),
/// "comm.never_received" (for a message's being taken), "comm.never_sent" (for one), "comm.peers_finished"
/// (several waits that are not the same); "diagnosis.mismatch", "diagnosis.mismatch_tie",
/// "diagnosis.mismatch_two", "diagnosis.lost", "diagnosis.stalled", "diagnosis.stalled_alone",
/// "diagnosis.corrupt", "diagnosis.timeout". Ranks are folded; a call is told once for all that make it.
Message sentence(const Diagnosis& diagnosis);

/// Whether a message is one of the sentences for waits in vain (DiagnosisKind::missing).
bool tells_of_missing(const std::string& id);
/// Whether a message tells what a rank saw between the ranks: what their calls have to do with each other, or
/// that it waited for another for too long. Whoever tells it has not failed itself.
bool is_seen_between_ranks(const std::string& id);

/// {"kind","certain","group","group_ranks","sequence","differs","culprits","cycle","ranks":[{"rank","state",
/// "waits_for","missing","call":{…},"last":{…}}…]}; what is not known is left out.
std::string to_json(const Diagnosis& diagnosis);

/// What a run that failed leaves in its trace: {"id","args":{…}} of the message, and "diagnosis" where the
/// error is a DiagnosedError. Of other exceptions what message_of() says.
std::string failure_json(const std::exception& error);

/// "all_reduce(sum, float32, in 8, out 8)", as one writes a call; "–" for none.
std::string signature(const CallReport& call);

/// "all_reduce(sum, float32, in 8, out 8) #3 of tp [0, 1], step 2 backward, core/x.cpp:80": the same words in
/// every language; "–" for no call.
std::string describe(const CallReport& call);

/// A diagnosis that is thrown. Every rank of the world gets the same one; `secondary` on those that were told
/// by another.
class DiagnosedError : public CommError {
  public:
    DiagnosedError(Diagnosis diagnosis, GlobalRank rank, bool secondary = false);
    /// With a sentence of the caller's own.
    DiagnosedError(Message message, Diagnosis diagnosis, GlobalRank rank, bool secondary = false);
    const Diagnosis& diagnosis() const noexcept { return diagnosis_; }

  private:
    Diagnosis diagnosis_;
};

/// A copy of an error that is a DiagnosedError; null for another, and for none. To be asked by the thread
/// that caught it: looking into an exception that another thread holds is not safe for all.
std::shared_ptr<const DiagnosedError> diagnosed(const std::exception_ptr& error);

}  // namespace meshscope
