#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "backends/tcp/token.h"
#include "core/base/message.h"
#include "core/comm/long_waits.h"

namespace meshscope::backends::tcp {

/// Takes what whoever watches the job should know and is no failure: a connection that was refused and why, a
/// rank that has waited long. Called from any thread, also from those that let the peers in: it must not wait
/// for a reader. Empty: nobody watches.
using Log = std::function<void(const Message&)>;

struct Timeouts {
    /// From the start until all ranks are connected. 256 ranks on two cores take more than a minute.
    std::chrono::milliseconds connect{300'000};
    /// The longest that one receive or wait may take while all peers are alive. Neither here nor below does
    /// the time count in which this process was itself stopped.
    std::chrono::milliseconds operation{300'000};
    /// After so long a wait the log is told of it, and then seldom (comm::LongWaits).
    std::chrono::milliseconds unusual = WaitNotifier::kFirst;
    /// The same while the ranks meet.
    std::chrono::milliseconds unusual_meeting = WaitNotifier::kMeeting;
    /// How long a peer may say nothing before it counts as gone; a tenth of it lies between two heartbeats.
    std::chrono::milliseconds heartbeat{10'000};
};

/// How one rank joins a world of processes.
struct TcpOptions {
    int32_t rank = 0;
    int32_t world_size = 1;
    /// How many ranks share this machine's cores; 0 = all. Decides whether waiting ranks spin.
    int32_t local_world_size = 0;
    /// "tcp://host:port": a store there. "file:///path": a file that all ranks can open and lock. The caller
    /// turns env:// into tcp:// itself.
    std::string init_method;
    /// Long messages between ranks of one machine are copied from the sender's memory, in jobs with a token,
    /// where the system lets us (see Offer). False: every byte goes through the sockets.
    bool near_memory = true;
    /// With tcp://: rank 0 serves the store itself, on `bind` and the port of init_method. False when a
    /// launcher serves it.
    bool host_store = true;
    /// Address to listen on. Anything but loopback needs a token.
    std::string bind = "127.0.0.1";
    /// Turns the address that this rank listens on, "host:port", into the one its peers shall use. Empty:
    /// unchanged, but for a `bind` to all addresses, where the one towards the store is used; with a file
    /// there is none, and that is refused.
    std::function<std::string(const std::string&)> advertise;
    Token token;
    /// Tells this job from others; at most 64 bytes. Ranks of another run id are refused.
    std::string run_id;
    /// Counts restarts of the same job, so that what an earlier try left in the store or file is not used.
    int32_t attempt = 0;
    Timeouts timeouts;
    Log log;
    /// Whether this process was told to stop; asked while the ranks meet, once a second at least.
    std::function<bool()> stopped = [] { return false; };
};

}  // namespace meshscope::backends::tcp
