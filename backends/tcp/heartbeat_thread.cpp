#include "backends/tcp/heartbeat_thread.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/base/start_thread.h"

namespace meshscope::backends::tcp {
namespace {

using std::chrono::milliseconds;

// Long enough for every living peer's heartbeat to answer, short beside a restart.
constexpr milliseconds kMostFarewell{1'000};

/// Whether the other side of a link that is not read yet has gone.
bool is_dead(const Fd& socket) {
    std::byte one{};
    const ssize_t n = ::recv(socket.get(), &one, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace

HeartbeatThread::HeartbeatThread(Setup setup, Fd listener, WorldStatus& world_status)
    : setup_(std::move(setup)),
      world_status_(world_status),
      beat_every_(std::clamp(std::min(setup_.heartbeat, setup_.operation) / 10, milliseconds(5),
                             milliseconds(1'000))),
      links_(static_cast<std::size_t>(setup_.world_size)),
      data_(links_.size()),
      has_data_(links_.size()),
      next_beat_(Clock::now()),
      looked_(next_beat_) {
    acceptor_ = std::make_unique<ConnectionAcceptor>(
        std::move(listener), links_.size() + kSpareStrangers, setup_.token, setup_.run_id,
        [this](const Hello& hello) { return judge(hello); },
        [this](Fd socket, const Hello& hello) { welcome(std::move(socket), hello); }, setup_.log);
    thread_ = start_thread([this] { serve(); });
}

HeartbeatThread::~HeartbeatThread() {
    close();
}

Refusal HeartbeatThread::judge(const Hello& hello) const {
    if (hello.kind == LinkKind::store) return Refusal::rank;
    if (hello.world_size != setup_.world_size) return Refusal::world_size;
    if (hello.generation != setup_.generation) return Refusal::generation;
    // The higher rank opens the connection.
    if (hello.to != setup_.rank || hello.from <= setup_.rank || hello.from >= setup_.world_size)
        return Refusal::rank;
    const auto from = static_cast<std::size_t>(hello.from);
    // A peer that never got our welcome tries again.
    if (hello.kind == LinkKind::control) {
        const Link& known = links_[from];
        const bool takes_its_place = !known.socket.open() || (known.words == 0 && is_dead(known.socket));
        return takes_its_place ? Refusal::none : Refusal::duplicate;
    }
    return has_data_[from] && (!data_[from].open() || !is_dead(data_[from])) ? Refusal::duplicate
                                                                             : Refusal::none;
}

void HeartbeatThread::welcome(Fd socket, const Hello& hello) {
    add_locked(hello.from, hello.kind, std::move(socket));
}

void HeartbeatThread::add_locked(int32_t peer, LinkKind kind, Fd socket) {
    const auto at = static_cast<std::size_t>(peer);
    if (kind == LinkKind::control) {
        links_[at] = Link{};
        links_[at].socket = std::move(socket);
    } else {
        data_[at] = std::move(socket);
        has_data_[at] = true;
    }
    links_[at].heard = Clock::now();
    changed_.notify_all();
}

void HeartbeatThread::add(int32_t peer, LinkKind kind, Fd socket) {
    {
        const std::lock_guard lock(mutex_);
        add_locked(peer, kind, std::move(socket));
        // The first words, at once: from the first on our end is told as that (see gone), the second says
        // that both links are here (see is_here_locked).
        append_frame(link(peer).output, {.type = FrameType::beat});
        flush(peer);
    }
    raise(world_status_.heartbeat_event());  // a new file to poll
}

bool HeartbeatThread::is_here_locked(int32_t peer) const {
    const auto at = static_cast<std::size_t>(peer);
    const bool was_called_by_us = peer < setup_.rank;
    return links_[at].socket.open() && has_data_[at] && (was_called_by_us || links_[at].words >= 2);
}

std::vector<int32_t> HeartbeatThread::missing_locked() const {
    std::vector<int32_t> missing;
    for (int32_t r = 0; r < setup_.world_size; ++r)
        if (is_peer(r) && !is_here_locked(r)) missing.push_back(r);
    return missing;
}

std::vector<int32_t> HeartbeatThread::await_peers(Deadline deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return world_status_.ended() || missing_locked().empty(); });
    std::vector<int32_t> missing = missing_locked();
    if (missing.empty()) acceptor_->close();
    lock.unlock();
    raise(world_status_.heartbeat_event());
    return missing;
}

std::vector<Fd> HeartbeatThread::take_data_links() {
    const std::lock_guard lock(mutex_);
    return std::exchange(data_, {});
}

std::vector<milliseconds> HeartbeatThread::silences() {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    std::vector<milliseconds> silences(links_.size());
    for (int32_t r = 0; r < setup_.world_size; ++r) {
        Link& one = link(r);
        if (!is_peer(r) || !one.socket.open()) continue;
        hear(r, now);  // what has come counts, whether or not the thread had its turn
        if (!one.done && !one.ended_well)
            silences[static_cast<std::size_t>(r)] = std::chrono::duration_cast<milliseconds>(now - one.heard);
    }
    return silences;
}

bool HeartbeatThread::all_ended_locked() const {
    for (int32_t r = 0; r < setup_.world_size; ++r) {
        const Link& one = links_[static_cast<std::size_t>(r)];
        if (is_peer(r) && !(one.ended_well && one.output.empty())) return false;
    }
    return said_bye_;
}

void HeartbeatThread::exchange_byes() {
    std::unique_lock lock(mutex_);
    wants_bye_ = true;
    raise(world_status_.heartbeat_event());
    changed_.wait(lock, [&] { return world_status_.ended() || all_ended_locked(); });
}

void HeartbeatThread::close() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        close_by_ = Clock::now() + std::min(kMostFarewell, setup_.heartbeat);
        acceptor_->close();
    }
    raise(world_status_.heartbeat_event());
    thread_.join();
    for (Link& one : links_) one.socket.close();
}

void HeartbeatThread::serve() {
    std::vector<pollfd> files;
    std::vector<int32_t> peers;
    while (true) {
        Deadline next;
        {
            const std::lock_guard lock(mutex_);
            const auto now = Clock::now();
            speak(now);
            if (world_status_.ended() || all_ended_locked()) changed_.notify_all();
            if (may_stop(now)) return;
            next = next_deadline(now);
            files.assign(1, {world_status_.heartbeat_event().get(), POLLIN, 0});
            peers.clear();
            for (int32_t r = 0; r < setup_.world_size; ++r) {
                const Link& one = link(r);
                if (!one.socket.open() || one.done) continue;
                files.push_back({one.socket.get(),
                                 static_cast<short>(one.output.empty() ? POLLIN : POLLIN | POLLOUT), 0});
                peers.push_back(r);
            }
            acceptor_->watch(files);
        }
        ::poll(files.data(), files.size(), ms_until(next));
        if (files[0].revents != 0) lower(world_status_.heartbeat_event());
        const std::lock_guard lock(mutex_);
        // Taken before reading: what came while this process was stopped is heard before anyone is judged.
        const auto now = Clock::now();
        leave_out_pause(now);
        for (std::size_t i = 0; i < peers.size(); ++i)
            if ((files[i + 1].revents & (POLLIN | POLLERR | POLLHUP)) != 0) hear(peers[i], now);
        if (files.size() > 1 + peers.size()) acceptor_->serve(std::span(files).subspan(1 + peers.size()));
        judge_silence(now);
    }
}

Deadline HeartbeatThread::next_deadline(Clock::time_point now) const {
    Deadline next = std::min(next_beat_, acceptor_->next_deadline());
    if (close_by_) next = std::min(next, *close_by_);
    return std::max(next, now);
}

void HeartbeatThread::hear(int32_t peer, Clock::time_point now) {
    Link& one = link(peer);
    std::array<std::byte, 4096> bytes;
    while (!one.done) {
        const ssize_t n = ::recv(one.socket.get(), bytes.data(), bytes.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n <= 0) return gone(peer);
        one.heard = now;
        one.cutter.push(ByteSpan(bytes).first(static_cast<std::size_t>(n)));
        while (const std::optional<Frame> frame = one.cutter.next()) on_frame(peer, *frame);
        if (one.cutter.fault() != FrameFault::none) return gone(peer);
    }
}

void HeartbeatThread::on_frame(int32_t peer, const Frame& frame) {
    Link& one = link(peer);
    if (++one.words <= 2) changed_.notify_all();
    if (frame.header.type == FrameType::bye) one.ended_well = true;
    if (frame.header.type == FrameType::abort) {
        one.told_failure = true;
        if (std::optional<FirstCause> cause = decode_cause(frame.payload))
            world_status_.told(std::move(*cause));
        else
            world_status_.told({peer, {}});
    }
}

void HeartbeatThread::gone(int32_t peer) {
    Link& one = link(peer);
    if (peer > setup_.rank && one.words == 0) {
        // It gave up before our welcome came, and calls again.
        one = Link{};
        return;
    }
    one.done = true;
    one.output.clear();
    if (!one.ended_well && !one.told_failure) world_status_.lost(peer);
}

void HeartbeatThread::speak(Clock::time_point now) {
    const bool beats = now >= next_beat_;
    if (beats) next_beat_ = now + beat_every_;
    const bool bye = wants_bye_ && !said_bye_;
    said_bye_ = said_bye_ || bye;
    std::optional<FirstCause> cause;
    if (world_status_.ended()) cause = world_status_.cause();
    for (int32_t r = 0; r < setup_.world_size; ++r) {
        Link& one = link(r);
        if (!one.socket.open() || one.done || one.half_closed) continue;
        const bool has_both = has_data_[static_cast<std::size_t>(r)];
        if (beats && has_both && one.output.empty()) append_frame(one.output, {.type = FrameType::beat});
        if (bye) append_frame(one.output, {.type = FrameType::bye});
        if (cause && (!one.said_abort || (cause->known() && !one.said_why))) {
            append_frame(one.output, {.type = FrameType::abort}, encode(*cause));
            one.said_abort = true;
            one.said_why = cause->known();
        }
        flush(r);
    }
}

void HeartbeatThread::flush(int32_t peer) {
    Link& one = link(peer);
    // What a peer said before it went is still to be read; hear() judges then.
    if (!send_some(one.socket, one.output)) one.output.clear();
}

void HeartbeatThread::leave_out_pause(Clock::time_point now) {
    const auto gap = now - std::exchange(looked_, now);
    // A turn takes one beat at the most. After a longer one this process may have been stopped with all the
    // others, who have not had the time to beat again. The gap then counts as one beat, so that a machine on
    // which every turn is late still finds who is silent.
    if (gap <= 2 * beat_every_) return;
    for (Link& one : links_) one.heard = std::min(one.heard + (gap - beat_every_), now);
}

void HeartbeatThread::judge_silence(Clock::time_point now) {
    for (int32_t r = 0; r < setup_.world_size; ++r) {
        const Link& one = link(r);
        if (!is_peer(r) || !is_here_locked(r) || one.done || one.ended_well ||
            now - one.heard <= setup_.heartbeat)
            continue;
        world_status_.silent(r, std::chrono::duration_cast<milliseconds>(now - one.heard));
        return;
    }
}

bool HeartbeatThread::may_stop(Clock::time_point now) {
    if (!close_by_) return false;
    if (now >= *close_by_) return true;
    bool all_done = true;
    for (Link& one : links_) {
        if (!one.socket.open() || one.done) continue;
        all_done = false;
        // Half-closed: the other side sees the end, and its own end tells us that it has read everything. To
        // close at once could drop what is still on its way.
        if (one.output.empty() && !one.half_closed) {
            ::shutdown(one.socket.get(), SHUT_WR);
            one.half_closed = true;
        }
    }
    return all_done;
}

}  // namespace meshscope::backends::tcp
