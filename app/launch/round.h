#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/failure.h"
#include "app/launch/started_ranks.h"
#include "app/launch/worker.h"
#include "app/launch/writer.h"
#include "core/base/message.h"

namespace meshscope::launch {

/// A worker to be started, and where it stands.
struct Job {
    Command command;
    int32_t rank = 0, local_rank = 0;
    std::string error_file;  ///< of its last words
    std::string log;         ///< a folder for its output, "" for none
    /// Where the command stands for all ranks and starts them itself.
    std::optional<Starter> starter;
};

/// Why a round came to its end.
enum class Outcome : uint8_t {
    finished,  ///< every worker ended with exit code 0
    failed,    ///< one did not; the others were stopped
    stopped,   ///< `ask` said so; all were stopped
    signalled  ///< this process was told to stop; the signal was passed on
};

/// Failure::id of a starter (mpiexec) that a signal ended, not one of its ranks.
inline constexpr const char* kStarterKilled = "launch.starter_killed";

struct RoundResult {
    Outcome outcome = Outcome::finished;
    std::vector<Failure> failures;  ///< by cause; of `failed` only
    int signal = 0;                 ///< of `signalled`
};

struct RoundOptions {
    int32_t node = 0;
    bool prefixes = true;                   ///< each line behind its rank
    std::chrono::milliseconds grace{5000};  ///< between SIGTERM and SIGKILL
    /// How long a starter may go on while not all of its ranks are there. Both MPIs' notice the death of a
    /// rank, and have ended, after six seconds at most.
    std::chrono::milliseconds patience{10000};
    /// The mark that all processes of the job find in their environment: its variable and value.
    std::pair<std::string, std::string> mark;
    /// What is to be said: "launch.starter_stuck", "launch.starter_idle" {program, seconds},
    /// "launch.log_ends" {path, reason}.
    std::function<void(const Message&)> tell = [](const Message&) {};
    /// Asked ten times a second until all workers have ended: whether all is to be stopped, for a reason that
    /// the asker knows.
    std::function<bool()> ask = [] { return false; };
    /// The signal that this process got, or 0. Workers get it too, but SIGTERM in the place of SIGPIPE,
    /// which says something of this process's output only.
    std::function<int()> signal = [] { return 0; };
};

/// Starts the workers, passes their output on, and returns when all have ended: by themselves, or stopped
/// because one failed. Nothing that they started, in their process groups, is left. Does not wait for whoever
/// reads `out` and `err` (one and the same, where both lead to one file): what they have no room for stays in
/// the workers' pipes, and is added when all have ended.
RoundResult run_round(const std::vector<Job>& jobs, const RoundOptions& options, Writer& out, Writer& err);

}  // namespace meshscope::launch
