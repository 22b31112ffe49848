#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/rendezvous.h"
#include "app/launch/writer.h"
#include "core/base/message.h"

namespace meshscope::launch {

/// Environment variables that workers of `meshscope launch` find beside PyTorch's.
inline constexpr const char* kStoreVariable = "MESHSCOPE_STORE";    ///< "host:port" of the rendezvous store
inline constexpr const char* kRoundVariable = "MESHSCOPE_ROUND";    ///< how manyth start of the workers it is
inline constexpr const char* kResumeVariable = "MESHSCOPE_RESUME";  ///< "auto" from the second start on
inline constexpr const char* kBindVariable = "MESHSCOPE_BIND";      ///< the address to listen on
inline constexpr const char* kMarkVariable = "MESHSCOPE_LAUNCH_ID";  ///< marks all that a launcher started

struct LaunchOptions {
    std::vector<std::string> command;
    MeetingOptions meeting;
    std::string
        endpoint;  ///< "host:port" of the store; of the leader its port may be 0; "" = this machine, any port
    std::string bind = "127.0.0.1";
    std::string run_id;   ///< "" = a random one; with an endpoint "job", which all nodes then have
    std::string log_dir;  ///< "" = no logs; else log_dir/round/rank/{stdout,stderr}.log
    bool force = false;   ///< append also to logs that no job of ours has left there
    std::string report;   ///< where the report of failures goes as JSON; "" = nowhere
    bool prefixes = true;
    bool own_output = false;  ///< workers write where this process writes
    /// Where the command stands for all ranks, which it starts itself on this machine (mpiexec): no ranks'
    /// variables are set then, and it is watched whether it sees them die.
    std::optional<Starter> starter;
    std::vector<std::pair<std::string, std::string>> environment;  ///< added to every worker's
    /// The job's own: when this process is killed, they are removed with all that lies in them.
    std::vector<std::string> folders;
    /// What is to be said while it goes: where the store is, failures, restarts. Called by the store's thread
    /// as well; must not wait.
    std::function<void(const Message&)> tell = [](const Message&) {};
    std::function<int()> signal = [] { return 0; };
};

struct LaunchResult {
    /// Of the root cause; 128 + signal where this process was told to stop, or whoever read its output has
    /// gone (SIGPIPE).
    int32_t exit_code = 0;
    int32_t restarts = 0;
    std::vector<Failure> failures;  ///< of the last round, by cause
};

/// Starts the workers of this node, again as often as it is allowed, and returns when the job is over.
/// However it ends, kill -9 of this process included, no process that the workers started is left two seconds
/// later, and none of its files for temporary use. Nothing waits for whoever reads `out` and `err` (see
/// Writer; one and the same, where both lead to one file); the caller finishes them. Call from the main
/// thread. Throws what Rendezvous, StoreServer, FileLimit and start() throw.
LaunchResult launch_workers(const LaunchOptions& options, Writer& out, Writer& err);

/// A port that was free a moment ago, on loopback. 0 when the system has none.
int32_t free_port();

}  // namespace meshscope::launch
