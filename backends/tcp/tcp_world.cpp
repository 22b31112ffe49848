#include "backends/tcp/tcp_world.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>
#include <vector>

#include "backends/tcp/heartbeat_thread.h"
#include "backends/tcp/limits.h"
#include "backends/tcp/rendezvous.h"
#include "backends/tcp/store_client.h"
#include "backends/tcp/store_server.h"
#include "backends/tcp/tcp_transport.h"
#include "backends/tcp/wrong_token_detector.h"
#include "core/base/cause.h"
#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/base/wait_notifier.h"
#include "core/comm/message_errors.h"

namespace meshscope::backends::tcp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenTries{20};
// While others are waited for: how long until it is asked whether this process was told to stop.
constexpr milliseconds kLook{100};
// With more ranks not all say for whom they wait.
constexpr int32_t kAllTell = 16;

/// Connects one rank of one run to its peers.
class Joining {
  public:
    Joining(const TcpOptions& options, uint64_t generation, HeartbeatThread& heartbeat,
            WorldStatus& world_status)
        : options_(options),
          generation_(generation),
          heartbeat_(heartbeat),
          world_status_(world_status),
          began_(Clock::now()),
          deadline_(began_ + options.timeouts.connect),
          notifier_(options.timeouts.unusual_meeting) {}

    /// Rank 0 reaches the store that it serves itself at once, or never.
    void meet() {
        const bool serves = options_.rank == 0 && options_.host_store;
        try {
            rendezvous_ = open_rendezvous(options_, generation_,
                                          serves ? std::min(deadline_, Clock::now() + kOwnStore) : deadline_);
        } catch (const CommError& error) {
            if (!serves || error.message().id != "tcp.cannot_connect") throw;
            throw InvalidArgument(with_cause(
                {"tcp.store_elsewhere", {{"init_method", options_.init_method}, {"bind", options_.bind}}},
                error.message()));
        }
    }

    void join(uint16_t port) {
        if (options_.world_size == 1) return;
        meet();
        rendezvous_->publish(own_address(port));
        // The higher rank calls, the lower one answers; so no two wait for each other.
        for (int32_t peer = 0; peer < options_.rank; ++peer)
            for (const LinkKind kind : {LinkKind::control, LinkKind::data})
                heartbeat_.add(peer, kind, call(peer, kind));
        std::vector<int32_t> missing;
        do {
            check_stopped();
            missing = heartbeat_.await_peers(std::min(deadline_, Clock::now() + kLook));
            if (!missing.empty()) tell_of(missing);
        } while (!missing.empty() && !world_status_.ended() && Clock::now() < deadline_);
        // Where all are connected, a failure meanwhile is left for the body to find: it began, as the others'
        // did.
        if (missing.empty()) return;
        if (world_status_.ended()) world_status_.throw_meaning();
        throw_missing(missing);
    }
    void forget() noexcept {
        if (rendezvous_) rendezvous_->forget();
    }

  private:
    /// How a call of a peer ended: there is a process, or was one, but it was not reached.
    struct Failure {
        std::string address, reason;
    };

    std::string own_address(uint16_t port) const {
        Address mine{options_.bind, port};
        if (is_any(mine.host) && !rendezvous_->own_host().empty()) mine.host = rendezvous_->own_host();
        return options_.advertise ? options_.advertise(mine.text()) : mine.text();
    }

    Fd call(int32_t peer, LinkKind kind) {
        Hello hello;
        hello.kind = kind;
        hello.from = options_.rank;
        hello.to = peer;
        hello.world_size = options_.world_size;
        hello.generation = generation_;
        hello.run_id = options_.run_id;
        WrongTokenDetector wrong_token;
        Failure last;
        bool left_one = false;  // a try that the peer may still take for us
        while (true) {
            if (world_status_.ended()) world_status_.throw_meaning();
            check_stopped();
            if (Clock::now() >= deadline_) throw_not_reached(peer, last);
            const std::optional<std::string> address = rendezvous_->look_up(peer);
            if (!address) {
                if (is_time_to_tell()) tell_of(absent(peer));
                continue;
            }
            std::string reason;
            const Deadline soon = std::min(deadline_, Clock::now() + kHandshakeTime);
            Fd socket = connect_to(parse_address(*address), soon, reason);
            if (socket.open()) {
                hello.nonce = random_bytes();
                const Refusal refusal = shake_hands(socket, options_.token, hello, soon);
                if (refusal == Refusal::none) return socket;
                if (wrong_token.is_settled_by(refusal))
                    throw InvalidArgument(
                        {"tcp.token_differs",
                         {{"rank", int64_t{options_.rank}}, {"peer", int64_t{peer}}, {"address", *address}}});
                // The peer knows the token, and says that we do not fit. That does not change by waiting.
                const bool for_good = refusal == Refusal::world_size ||
                                      (refusal == Refusal::duplicate && !left_one) ||
                                      refusal == Refusal::rank || refusal == Refusal::run_id;
                if (for_good)
                    throw CommError({"tcp.peer_refused",
                                     {{"rank", int64_t{options_.rank}},
                                      {"peer", int64_t{peer}},
                                      {"reason", std::string(to_word(refusal))}}},
                                    GlobalRank{options_.rank});
                left_one = left_one || refusal == Refusal::too_slow || refusal == Refusal::closed ||
                           refusal == Refusal::unanswered;
                reason = to_word(refusal);
            }
            // A try that the deadline cut short says less than the one before.
            if (last.reason.empty() || Clock::now() < deadline_) last = {*address, reason};
            if (is_time_to_tell()) tell_of_call(peer, last);
            std::this_thread::sleep_for(wrong_token.pause(kBetweenTries));
        }
    }

    void check_stopped() const {
        if (options_.stopped()) throw Cancelled({"tcp.stopped_joining", {{"rank", int64_t{options_.rank}}}});
    }

    int64_t waited_ms() const {
        return std::chrono::duration_cast<milliseconds>(Clock::now() - began_).count();
    }

    bool is_time_to_tell() const { return options_.log && milliseconds(waited_ms()) >= notifier_.next(); }

    /// Says for whom this rank waits, when it is time. Of many ranks, whose words mostly go to one screen,
    /// only the lowest that is there.
    void tell_of(const std::vector<int32_t>& missing) {
        if (!is_time_to_tell()) return;
        const milliseconds waited(waited_ms());
        notifier_.is_due(waited);
        int32_t lower = 0;
        for (const int32_t rank : missing) lower += rank < options_.rank ? 1 : 0;
        if (options_.world_size > kAllTell && lower < options_.rank) return;
        Message message = about(missing);
        message.id = "tcp.awaits_ranks";
        message.args.push_back({"waited_s", WaitNotifier::seconds(waited)});
        message.args.push_back({"timeout_s", WaitNotifier::seconds(options_.timeouts.connect)});
        options_.log(message);
    }

    void tell_of_call(int32_t peer, const Failure& last) {
        const milliseconds waited(waited_ms());
        notifier_.is_due(waited);
        options_.log({"tcp.still_calling",
                      {{"rank", int64_t{options_.rank}},
                       {"peer", int64_t{peer}},
                       {"address", last.address},
                       {"reason", last.reason},
                       {"waited_s", WaitNotifier::seconds(waited)},
                       {"timeout_s", WaitNotifier::seconds(options_.timeouts.connect)}}});
    }

    /// Of a rank that waits for `peer`'s address: all whose addresses are not there.
    std::vector<int32_t> absent(int32_t peer) const {
        const auto there = rendezvous_->published();
        if (!there) return {peer};
        std::vector<int32_t> absent;
        for (int32_t rank = 0; rank < options_.world_size; ++rank)
            if (rank == peer || (rank != options_.rank && std::ranges::find(*there, rank) == there->end()))
                absent.push_back(rank);
        return absent;
    }

    Message about(const std::vector<int32_t>& missing) const {
        return {"",
                {{"rank", int64_t{options_.rank}},
                 {"missing", std::vector<int64_t>(missing.begin(), missing.end())},
                 {"n_missing", static_cast<int64_t>(missing.size())},
                 {"world_size", int64_t{options_.world_size}},
                 {"init_method", options_.init_method}}};
    }

    [[noreturn]] void throw_missing(const std::vector<int32_t>& missing) const {
        Message message = about(missing);
        message.id = "tcp.ranks_missing";
        message.args.push_back({"waited_ms", waited_ms()});
        throw CommError(std::move(message), GlobalRank{options_.rank});
    }

    [[noreturn]] void throw_not_reached(int32_t peer, const Failure& last) const {
        if (last.address.empty()) throw_missing(absent(peer));
        throw CommError({"tcp.rank_not_reached",
                         {{"rank", int64_t{options_.rank}},
                          {"peer", int64_t{peer}},
                          {"address", last.address},
                          {"waited_ms", waited_ms()},
                          {"reason", last.reason}}},
                        GlobalRank{options_.rank});
    }

    const TcpOptions& options_;
    uint64_t generation_;
    HeartbeatThread& heartbeat_;
    WorldStatus& world_status_;
    Clock::time_point began_;
    Deadline deadline_;
    std::unique_ptr<Rendezvous> rendezvous_;
    WaitNotifier notifier_;
};

}  // namespace

TcpWorld::TcpWorld(TcpOptions options) : options_(std::move(options)) {
    if (options_.world_size < 1)
        throw InvalidArgument({"backend.world_size", {{"world_size", int64_t{options_.world_size}}}});
    comm::check_rank(GlobalRank{options_.rank}, options_.world_size);
    check_exposure(options_.bind, options_.token, options_.run_id);
    const InitMethod method = parse_init_method(options_.init_method);
    // A store shows each rank the address that it is reached from; a file does not, and to take one of
    // several interfaces by guess may be wrong for one pair of ranks only.
    if (!method.file.empty() && is_any(options_.bind) && !options_.advertise && options_.world_size > 1)
        throw InvalidArgument(
            {"tcp.no_own_address", {{"bind", options_.bind}, {"init_method", options_.init_method}}});
    if (options_.rank != 0 || !options_.host_store || method.store.empty()) return;
    StoreServerOptions store;
    store.bind = options_.bind;
    store.port = parse_address(method.store).port;
    store.token = options_.token;
    store.run_id = options_.run_id;
    store.log = options_.log;
    store_ = std::make_unique<StoreServer>(store);
}

TcpWorld::~TcpWorld() = default;

void TcpWorld::run(const std::function<void(comm::Transport&)>& body) {
    const uint64_t generation = (static_cast<uint64_t>(static_cast<uint32_t>(options_.attempt)) << 32U) |
                                static_cast<uint32_t>(runs_++);
    first_cause_.reset();
    WorldStatus world_status(options_.rank);
    Fd listener = listen_on({options_.bind, 0});
    const uint16_t port = port_of(listener);
    HeartbeatThread heartbeat(
        {options_.rank, options_.world_size, generation, options_.run_id, options_.token,
         options_.timeouts.heartbeat, options_.log, options_.timeouts.operation},
        std::move(listener), world_status);
    Joining joining(options_, generation, heartbeat, world_status);
    std::exception_ptr thrown;
    try {
        joining.join(port);
        TcpTransport transport(options_, heartbeat.take_data_links(), world_status,
                               [&] { return heartbeat.silences(); });
        try {
            body(transport);
            transport.withdraw();
            transport.finish();
            heartbeat.exchange_byes();
        } catch (...) {
            // The peers hear why before the links break.
            thrown = std::current_exception();
            world_status.fail(thrown);
            transport.withdraw();
            world_status.hear_out();
            heartbeat.close();
        }
    } catch (...) {
        thrown = std::current_exception();
        world_status.fail(thrown);
    }
    joining.forget();
    world_status.hear_out();
    heartbeat.close();
    if (!world_status.ended()) return;
    first_cause_ = world_status.cause();
    // The transport may have said more of the world's end than others know: in which call it met this rank.
    if (world_status.origin() != WorldStatus::Origin::own && diagnosed(thrown))
        std::rethrow_exception(thrown);
    world_status.throw_meaning();
}

}  // namespace meshscope::backends::tcp
