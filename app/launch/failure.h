#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/message.h"

namespace meshscope::launch {

/// How a worker failed.
struct Failure {
    int32_t rank = 0, local_rank = 0, node = 0;
    int32_t exit_code = 0;  ///< 128 + signal where one ended it
    int64_t time_ns =
        0;             ///< of the system clock: when it failed, by its own word, else when its end was seen
    std::string id;    ///< of the message that it left; "" where it left none
    std::string text;  ///< what it said; "" where it left nothing, see last_words()
    std::string json;  ///< the same as the program's own JSON; "" where it left none
    bool secondary = false;  ///< only followed another's failure
};

/// "launch.ended_by_signal" {signal, name}; the name is "SIGKILL" and its like.
Message ended_by_signal(int signal);
/// Why, as far as it is known: "launch.said" {text}, ended_by_signal(), "launch.said_nothing".
Message last_words(const Failure& failure);
/// Whether it tells what its rank saw between the ranks, such as a wait that took too long, and no failure of
/// the rank's own.
bool only_saw(const Failure& failure);
/// A line on a failure, with its cause inside: "launch.failed", of one that only_saw() "launch.ended_first",
/// of all that came later "launch.failed_too" {rank, node, code}.
Message line_on(const Failure& failure, const Message& cause);

/// A file for a worker's last words (TORCHELASTIC_ERROR_FILE), in torchrun's form with ours beside:
/// {"message": {"message", "extraInfo": {"timestamp"}}, "meshscope": {"id", "exit_code", "time_ns",
/// "secondary", "json"}}. The processes of one worker (mpiexec's) share the file: it is replaced as a whole,
/// a cause replaces what only followed, and of two causes the earlier stays (but for two in the same moment).
/// Nothing happens where it cannot be written: the exit code still tells.
void write_error_file(const std::string& path, const Failure& failure);

/// Fills in what a worker left in its file, its exit code too unless a signal ended it; torchrun's own form
/// is understood as well. Nothing where there is none.
void read_error_file(const std::string& path, Failure& failure);

/// Whether starting again cannot help: the same numbers come out again, the machine has no more memory, the
/// scenario or its algorithm would be refused again, or the checkpoint's folder holds what is not this
/// program's ("checkpoint.not_ours").
bool is_final(const Failure& failure);

/// Whether it followed from another's failure, as far as its message tells: a rank that was aborted, or lost
/// a peer or its store.
bool follows(const Failure& failure);
/// Whether it tells, as JSON too, what its rank itself saw of the end of rank `lost`.
bool tells_of_loss(const Failure& failure, int32_t lost);

/// Puts the root cause first: of the failures that are no consequence of another's (a rank that another's end
/// stopped, or that lost a peer), the first in time; the others are marked secondary and follow by time. A
/// worker that a signal killed said nothing, and its end is seen late: it counts as earlier than those that
/// said they lost a peer.
void order_by_cause(std::vector<Failure>& failures);

/// The whole report: {"run_id", "restarts", "root_cause": {…}, "errors": [{"rank", "local_rank", "node",
/// "exit_code", "time", "id", "text", "secondary"}…]}, errors in the order of order_by_cause; "text" and "id"
/// are null where a worker left nothing.
std::string report_json(const std::string& run_id, int32_t restarts, const std::vector<Failure>& failures);

}  // namespace meshscope::launch
