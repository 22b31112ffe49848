#include "backends/tcp/tcp_transport.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/comm/message_errors.h"

namespace meshscope::backends::tcp {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A message of a peer that runs comes within this; sleeping and being woken costs more.
constexpr microseconds kSpinAlone{300};
// Where ranks share cores every turn is given away, so this is not time that a peer lacks.
constexpr microseconds kSpinShared{100};
// A closed data link: whether the peer failed, ended or died, its control link tells in no time.
constexpr milliseconds kExplanation{200};
constexpr milliseconds kFlush{2'000};
// On a busy machine a living peer's heartbeat may be late by less.
constexpr milliseconds kLeastSilence{500};
constexpr uint32_t kFateEvent = UINT32_MAX;
constexpr std::size_t kFewLinks = 4;

}  // namespace

TcpTransport::TcpTransport(const TcpOptions& options, std::vector<Fd> links, WorldStatus& world_status,
                           Silences silences)
    : Transport({options.rank}, options.world_size),
      rank_(options.rank),
      world_status_(world_status),
      silences_(std::move(silences)),
      long_waits_(options.log, options.timeouts.operation, options.timeouts.unusual),
      operation_timeout_(options.timeouts.operation),
      heartbeat_timeout_(options.timeouts.heartbeat),
      look_every_(std::clamp(operation_timeout_ / 10, milliseconds(5), milliseconds(1'000))),
      links_(static_cast<std::size_t>(options.world_size)),
      watched_for_room_(links_.size()),
      watched_(links_.size()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const int32_t here = options.local_world_size > 0 ? options.local_world_size : options.world_size;
    const bool share_cores = here > static_cast<int32_t>(std::thread::hardware_concurrency());
    spin_ = share_cores ? kSpinShared : kSpinAlone;
    if (!epoll_.open()) throw IoError({"tcp.no_descriptor", {{"reason", std::string(std::strerror(errno))}}});
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = kFateEvent;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, world_status_.rank_event().get(), &event);
    for (std::size_t r = 0; r < links.size(); ++r) {
        if (!links[r].open()) continue;
        // An offer makes this rank read memory for a peer, which without a token may be another user's.
        const bool near = options.near_memory && !options.token.empty() && is_near(links[r]);
        links_[r] = std::make_unique<Link>(std::move(links[r]), static_cast<int32_t>(r), rooms_, near);
        event.data.u32 = static_cast<uint32_t>(r);
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, links_[r]->socket().get(), &event);
        watched_[r] = true;
    }
}

TcpTransport::~TcpTransport() = default;

template <class Failure>
void TcpTransport::fail(const Failure& error) {
    // The world ends here, not when this rank's body does: the peers need not wait for that.
    world_status_.fail(std::make_exception_ptr(error));
    withdraw();
    throw error;
}

void TcpTransport::throw_mismatch(int32_t src, int32_t dst, comm::Channel channel, int64_t sent,
                                  int64_t expected) {
    fail(comm::size_mismatch(GlobalRank{src}, GlobalRank{dst}, channel, sent, expected, rank()));
}

void TcpTransport::throw_finished(int32_t peer) {
    withdraw();
    throw DiagnosedError(comm::missing_diagnosis(rank(), calls_, GlobalRank{peer}, world_size()), rank());
}

std::optional<std::pair<GlobalRank, milliseconds>> TcpTransport::silent_peer() const {
    const std::vector<milliseconds> silences = silences_();
    const auto longest = std::ranges::max_element(silences);
    const milliseconds least = std::max(kLeastSilence, std::min(operation_timeout_, heartbeat_timeout_) / 2);
    if (longest == silences.end() || *longest < least) return std::nullopt;
    return std::pair(GlobalRank{static_cast<int32_t>(longest - silences.begin())}, *longest);
}

void TcpTransport::throw_late(const Awaiting& awaiting) {
    // The one that is awaited may itself wait for one that has stopped.
    if (const auto silent = silent_peer()) {
        const auto [peer, silence] = *silent;
        fail(DiagnosedError(silence_of(peer.value, silence, rank_, awaiting),
                            comm::timeout_diagnosis(rank(), calls_, peer, world_size()), rank()));
    }
    const char* const id =
        awaiting.what == Awaiting::What::message ? "comm.operation_timeout" : "comm.receipt_timeout";
    const GlobalRank first{awaiting.ranks.empty() ? rank_ : static_cast<int32_t>(awaiting.ranks.front())};
    milliseconds heard{0};
    const std::vector<milliseconds> silences = silences_();
    for (const int64_t rank : awaiting.ranks)
        heard = std::max(heard, silences[static_cast<std::size_t>(rank)]);
    fail(DiagnosedError({id,
                         {{"rank", int64_t{rank_}},
                          {"missing", awaiting.ranks},
                          {"doing", describe(comm::report_of(calls_.doing()))},
                          {"waited_ms", int64_t{operation_timeout_.count()}},
                          {"heard_ms", int64_t{heard.count()}},
                          {"channel", int64_t{awaiting.channel}},
                          {"bytes", awaiting.bytes}}},
                        comm::timeout_diagnosis(rank(), calls_, first, world_size()), rank()));
}

void TcpTransport::throw_end(const Awaiting& awaiting) {
    withdraw();
    try {
        world_status_.throw_meaning(awaiting);
    } catch (const CommError& error) {
        const bool gone = error.message().id == "comm.peer_lost";
        const bool silent = error.message().id.starts_with("comm.peer_silent");
        const MessageValue* const said = error.message().find("peer");
        if ((!gone && !silent) || said == nullptr) throw;
        const GlobalRank peer{static_cast<int32_t>(std::get<int64_t>(*said))};
        throw DiagnosedError(error.message(),
                             gone ? comm::lost_diagnosis(rank(), calls_, peer, world_size())
                                  : comm::timeout_diagnosis(rank(), calls_, peer, world_size()),
                             rank(), error.secondary());
    }
}

void TcpTransport::check_link(Link& one, const Awaiting& awaiting) {
    if (one.fault() != FrameFault::none)
        fail(CommError({"comm.frame_damaged",
                        {{"src", int64_t{one.peer()}},
                         {"dst", int64_t{rank_}},
                         {"fault", std::string(to_word(one.fault()))}}},
                       rank()));
    if (const auto& mismatch = one.mismatch()) {
        const Outgoing& out = *mismatch->out;
        throw_mismatch(rank_, out.dst, out.channel, static_cast<int64_t>(out.data.size()),
                       mismatch->expected);
    }
    if (!one.closed() || one.finished()) return;
    // It did not say that it ends. Its heartbeat says why, or its control link is broken as well.
    const Deadline until = Clock::now() + std::min(kExplanation, heartbeat_timeout_);
    while (!world_status_.ended() && Clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
    world_status_.lost(one.peer());
    throw_end(awaiting);
}

void TcpTransport::check(const Awaiting& awaiting) {
    if (world_status_.ended()) throw_end(awaiting);
    for (const auto& one : links_)
        if (one) check_link(*one, awaiting);
}

bool TcpTransport::pump_all() {
    bool moved = false;
    if (links_.size() <= kFewLinks) {
        for (const auto& one : links_)
            if (one) moved = one->pump() || moved;
        return moved;
    }
    // With many links, asking the system once which of them have something beats asking each.
    for (const auto& one : links_)
        if (one && one->wants_to_write()) moved = one->flush() || moved;
    return pump_ready(0) || moved;
}

bool TcpTransport::pump_ready(int milliseconds) {
    std::array<epoll_event, 32> events{};
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
    bool moved = false;
    for (int i = 0; i < n; ++i) {
        const uint32_t which = events[static_cast<std::size_t>(i)].data.u32;
        if (which == kFateEvent) continue;
        Link& one = *links_[which];
        moved = one.pump() || moved;
        if (one.closed()) watch(one);
    }
    return moved;
}

void TcpTransport::watch(Link& one) {
    const auto at = static_cast<std::size_t>(one.peer());
    if (!watched_[at]) return;
    if (one.closed()) {
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, one.socket().get(), nullptr);
        watched_[at] = false;
        return;
    }
    if (one.wants_to_write() == watched_for_room_[at]) return;
    watched_for_room_[at] = one.wants_to_write();
    epoll_event event{};
    event.events = watched_for_room_[at] ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u32 = static_cast<uint32_t>(at);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, one.socket().get(), &event);
}

void TcpTransport::sleep(Deadline until) {
    for (const auto& one : links_)
        if (one) watch(*one);
    pump_ready(ms_until(until));
}

void TcpTransport::wait_until(const Awaiting& awaiting, const std::function<bool()>& ready) {
    Clock::time_point began{}, idle_since{}, looked{};
    while (true) {
        const bool moved = pump_all();
        if (ready()) {
            // A message that came is worth more than the news that somebody failed, but not when the world's
            // end was known first: then all ranks must see it in the same calls.
            if (world_status_.ended()) check(awaiting);
            return;
        }
        check(awaiting);
        if (moved) {
            idle_since = {};
            continue;
        }
        const auto now = Clock::now();
        if (began == Clock::time_point{}) began = looked = now;
        // After so late a look this process may have been stopped with all the others, who have not had the
        // time to go on. That counts as one look, so that a machine on which all is late finds an end, too.
        if (const auto gap = now - std::exchange(looked, now); gap > 2 * look_every_)
            began += gap - look_every_;
        if (idle_since == Clock::time_point{}) idle_since = now;
        const auto waited = std::chrono::duration_cast<milliseconds>(now - began);
        if (waited >= operation_timeout_) throw_late(awaiting);
        long_waits_.look(waited, rank(), awaiting.ranks, calls_);
        if (now - idle_since < spin_) {
            std::this_thread::yield();
            continue;
        }
        sleep(std::min(now + look_every_, began + std::min(operation_timeout_, long_waits_.next())));
    }
}

TcpTransport::Ticket TcpTransport::post(GlobalRank dst, comm::Channel channel, Bytes data) {
    comm::check_rank(dst, world_size());
    if (world_status_.ended()) check({});
    if (free_.empty()) {
        free_.push_back(outgoing_.size());
        outgoing_.emplace_back();
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    Outgoing& out = outgoing_[index];
    out = {};
    out.dst = dst.value;
    out.channel = channel;
    out.data = data;
    if (dst.value == rank_) {
        out.state = Outgoing::State::unconfirmed;
        to_self_.push_back({channel, index});
    } else {
        link(dst.value)->post(out);
    }
    return static_cast<Ticket>(index);
}

bool TcpTransport::done(Ticket ticket) {
    const Outgoing& out = outgoing(ticket);
    if (out.state != Outgoing::State::done && !world_status_.ended()) pump_all();
    return out.state == Outgoing::State::done || world_status_.ended();
}

void TcpTransport::wait(Ticket ticket) {
    const Outgoing& out = outgoing(ticket);
    const auto is_done = [&] { return out.state == Outgoing::State::done; };
    if (!is_done()) {
        const Awaiting awaiting{
            Awaiting::What::receipt, {out.dst}, out.channel.value, static_cast<int64_t>(out.data.size())};
        const auto is_over = [&] {
            return is_done() ||
                   (out.dst != rank_ && link(out.dst)->takes_no_more(out.channel, rounds_ended_));
        };
        wait_until(awaiting, std::cref(is_over));
        if (!is_done()) throw_finished(out.dst);
    }
    free_.push_back(static_cast<std::size_t>(ticket));
}

void TcpTransport::withdraw() noexcept {
    to_self_.clear();
    const Deadline until = Clock::now() + kFlush;
    for (Outgoing& out : outgoing_) {
        if (out.state == Outgoing::State::unused || out.state == Outgoing::State::done) continue;
        if (out.dst == rank_) {
            out.state = Outgoing::State::done;
            continue;
        }
        Link& to = *link(out.dst);
        // A piece that is half-way out must be finished while the peer reads, or the stream ends there.
        while (!to.take_back(out)) {
            if (world_status_.ended() || Clock::now() >= until) {
                to.break_off();
                continue;
            }
            to.flush_piece();
            std::this_thread::yield();
        }
    }
}

void TcpTransport::give_up() noexcept {
    world_status_.fail(nullptr);
}

void TcpTransport::end_calls(comm::Channel first) {
    ++rounds_ended_;
    for (const auto& one : links_)
        if (one && !one->closed()) one->say_calls_ended(first);
}

void TcpTransport::stall() {
    for (const auto since = Clock::now(); Clock::now() - since < 2 * operation_timeout_;) {
        if (world_status_.ended()) throw_end({});
        std::this_thread::sleep_for(milliseconds(5));
    }
    comm::wait_for_ever(*this);  // nobody waits for it: it must not hold up the world for ever
}

void TcpTransport::finish() {
    for (const auto& one : links_)
        if (one && !one->closed()) one->say_finished();
    Awaiting awaiting{Awaiting::What::receipt, {}, 0, 0};
    wait_until(awaiting, [&] {
        awaiting.ranks.clear();
        for (const auto& one : links_)
            if (one && !one->closed() && one->wants_to_write()) awaiting.ranks.push_back(one->peer());
        return awaiting.ranks.empty();
    });
}

}  // namespace meshscope::backends::tcp
