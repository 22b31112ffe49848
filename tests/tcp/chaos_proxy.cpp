#include "tests/tcp/chaos_proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <thread>
#include <vector>

#include "backends/tcp/socket.h"

namespace meshscope::test {
namespace {

using namespace backends::tcp;
using std::chrono::milliseconds;

constexpr std::size_t kHeld = std::size_t{256} << 10;
// More would only take long: what can go wrong by splitting is over by then.
constexpr int64_t kSingleBytes = 1500;

/// A small generator of its own, so that a plan's seed decides everything.
class Draw {
  public:
    explicit Draw(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x1234567U) {}
    int64_t below(int64_t n) {
        state_ += 0x9E3779B97F4A7C15U;
        uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return static_cast<int64_t>((z ^ (z >> 31U)) % static_cast<uint64_t>(std::max<int64_t>(n, 1)));
    }

  private:
    uint64_t state_;
};

/// One direction of one connection.
struct Flow {
    std::vector<std::byte> held;
    int64_t passed = 0;     ///< bytes that went on
    int64_t strike_at = 0;  ///< where the one mischief happens
    bool struck = false;
    bool ended = false;  ///< the source has said its last
    Clock::time_point not_before{};
};

struct Connection {
    std::array<Fd, 2> sides;    ///< caller, server
    std::array<Flow, 2> flows;  ///< from the caller, from the server
    bool swallows = false;
    bool over = false;
};

}  // namespace

class ChaosProxy::Service {
  public:
    Service(const std::string& target, const Plan& plan)
        : target_(parse_address(target)),
          plan_(plan),
          draw_(plan.seed),
          listener_(listen_on({"127.0.0.1", 0})) {
        thread_ = std::thread([this] { serve(); });
    }
    ~Service() {
        raise(stop_);
        thread_.join();
    }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_of(listener_)); }

  private:
    void serve() {
        while (true) {
            std::vector<pollfd> files{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
            int wait_ms = -1;
            for (const Connection& one : connections_)
                for (std::size_t side = 0; side < 2; ++side) {
                    const Flow& in = one.flows[side];
                    const Flow& out = one.flows[1 - side];
                    short events = 0;
                    if (!in.ended && in.held.size() < kHeld) events = POLLIN;
                    if (!out.held.empty()) {
                        if (out.not_before > Clock::now())
                            wait_ms = 1;
                        else
                            events = static_cast<short>(events | POLLOUT);
                    }
                    // A file with nothing to ask is left out, or its hang-up would wake us for ever.
                    files.push_back({events == 0 ? -1 : one.sides[side].get(), events, 0});
                }
            ::poll(files.data(), files.size(), wait_ms);
            if (files[0].revents != 0) return;
            std::size_t at = 2;
            for (Connection& one : connections_)
                for (std::size_t side = 0; side < 2; ++side)
                    if (files[at++].revents != 0 && !one.over) take(one, side);
            for (Connection& one : connections_)
                for (std::size_t side = 0; side < 2 && !one.over; ++side) pass(one, side);
            connections_.remove_if([](const Connection& one) { return one.over; });
            if (files[1].revents != 0) accept();
        }
    }

    void accept() {
        int error = 0;
        Fd caller = accept_one(listener_, error);
        std::string reason;
        Fd server = connect_to(target_, Clock::now() + milliseconds(1'000), reason);
        if (!caller.open() || !server.open()) return;
        connections_.emplace_back();
        Connection& made = connections_.back();
        made.sides = {std::move(caller), std::move(server)};
        for (Flow& flow : made.flows) flow.strike_at = plan_.after + draw_.below(plan_.before - plan_.after);
        // One direction of every connection is spared, so that sides differ in what they see.
        made.flows[static_cast<std::size_t>(draw_.below(2))].struck = true;
    }

    void take(Connection& one, std::size_t side) {
        Flow& flow = one.flows[side];
        if (flow.ended || flow.held.size() >= kHeld) return;
        std::array<std::byte, 65536> bytes;
        const ssize_t n = ::recv(one.sides[side].get(), bytes.data(), bytes.size(), 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            flow.ended = true;
            return;
        }
        if (one.swallows) return;
        flow.held.insert(flow.held.end(), bytes.begin(), bytes.begin() + n);
        if (plan_.mischief == Mischief::delay && flow.not_before <= Clock::now())
            flow.not_before = Clock::now() + std::chrono::microseconds(draw_.below(3'000));
    }

    void pass(Connection& one, std::size_t side) {
        Flow& flow = one.flows[side];
        const Fd& to = one.sides[1 - side];
        while (!flow.held.empty() && flow.not_before <= Clock::now()) {
            auto n = static_cast<int64_t>(flow.held.size());
            const bool strikes = !flow.struck && flow.passed + n > flow.strike_at;
            if (strikes && plan_.mischief == Mischief::reset) return reset(one);
            if (strikes && plan_.mischief == Mischief::half_open) {
                one.swallows = true;
                one.flows[0].held.clear();
                one.flows[1].held.clear();
                return;
            }
            if (strikes && plan_.mischief == Mischief::flip) {
                const auto place =
                    static_cast<std::size_t>(std::max<int64_t>(flow.strike_at - flow.passed, 0));
                flow.held[place] ^= static_cast<std::byte>(1U << static_cast<unsigned>(draw_.below(8)));
                flow.struck = true;
            }
            if (plan_.mischief == Mischief::split && flow.passed < kSingleBytes) n = 1;
            const ssize_t sent =
                ::send(to.get(), flow.held.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL);
            if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (sent < 0) {
                one.over = true;
                return;
            }
            flow.passed += sent;
            flow.held.erase(flow.held.begin(), flow.held.begin() + sent);
        }
        if (flow.ended && flow.held.empty() && !one.swallows) {
            ::shutdown(to.get(), SHUT_WR);
            if (one.flows[1 - side].ended && one.flows[1 - side].held.empty()) one.over = true;
        }
        if (one.swallows && one.flows[0].ended && one.flows[1].ended) one.over = true;
    }

    static void reset(Connection& one) {
        const linger at_once{1, 0};
        for (Fd& side : one.sides) {
            ::setsockopt(side.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            side.close();
        }
        one.over = true;
    }

    Address target_;
    Plan plan_;
    Draw draw_;
    Fd listener_;
    Fd stop_ = make_event();
    std::list<Connection> connections_;
    std::thread thread_;
};

ChaosProxy::ChaosProxy(const std::string& target, const Plan& plan)
    : service_(std::make_unique<Service>(target, plan)) {}
ChaosProxy::~ChaosProxy() = default;

std::string ChaosProxy::address() const {
    return service_->address();
}

}  // namespace meshscope::test
