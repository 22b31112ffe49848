#include "backends/mpi/mpi_transport.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/mpi/mpi_module.h"
#include "backends/mpi/native_side.h"
#include "backends/mpi/patience.h"
#include "core/base/clock.h"
#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/comm/message_errors.h"

namespace meshscope::backends::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// What a peer sent or acknowledged before its last word may come after it: MPI keeps the order of messages,
// not that of its own parts of long ones.
constexpr milliseconds kStragglers{50};

}  // namespace

MpiTransport::MpiTransport(const MeshscopeMpi& mpi, MeshscopeMpiHandle world, const MeshscopeMpiJob& job,
                           bool crowded, milliseconds timeout, comm::LongWaits long_waits)
    : Transport({job.rank}, job.size),
      mpi_(mpi),
      world_(world),
      job_(job),
      crowded_(crowded),
      timeout_(timeout),
      long_waits_(std::move(long_waits)),
      ends_(static_cast<std::size_t>(job.size)),
      rounds_(static_cast<std::size_t>(job.size)) {}

bool MpiTransport::finished(MeshscopeMpiHandle& request) {
    int32_t done = 0;
    check(mpi_, mpi_.test(&request, &done), "MPI_Test");
    return done != 0;
}

int32_t MpiTransport::tag_of(comm::Channel channel) const {
    // Three kinds of channels, each counted from 0, take turns; nobody sends on the one that a stalled rank
    // waits on.
    constexpr int32_t kTensors = 0, kFingerprints = 1, kChecksums = 2;
    if (channel.value == comm::Channel::kChecksums - 1) return job_.most_tag;
    int64_t number = channel.value, kind = kTensors;
    if (channel.value < 0)
        number = -1 - int64_t{channel.value}, kind = kFingerprints;
    else if (channel.value >= comm::Channel::kChecksums)
        number = channel.value - comm::Channel::kChecksums, kind = kChecksums;
    const int64_t tag = 1 + 3 * number + kind;
    if (tag >= job_.most_tag)
        throw InvalidArgument({"mpi.too_many_channels",
                               {{"channel", int64_t{channel.value}}, {"most", int64_t{job_.most_tag} / 3}}});
    return static_cast<int32_t>(tag);
}

template <class Failure>
void MpiTransport::fail(const Failure& error) {
    // The world ends here, not when this rank's body does: the peers need not wait for that.
    tell({job_.rank, wall_ns(), true, false, false, error.message()});
    withdraw();
    throw error;
}

std::vector<int64_t> MpiTransport::awaited(int32_t peer) const {
    if (peer != job_.rank) return {peer};
    // A collective of MPI's own, in which it is for MPI to know who waits for whom.
    std::vector<int64_t> others;
    if (const auto& group = calls_.doing().group)
        for (const GlobalRank member : group->ranks)
            if (member != rank()) others.push_back(member.value);
    return others;
}

template <class Ready>
void MpiTransport::wait_until(int32_t peer, std::optional<comm::Channel> channel, const Ready& ready) {
    Patience patience(crowded_);
    std::optional<Clock::time_point> since, over_since;
    while (!ready()) {
        patience.once();
        if (!patience.now_and_then()) continue;
        listen();
        throw_if_aborted();
        if (channel && is_over(peer, *channel) && !over_since) over_since = Clock::now();
        if (over_since && Clock::now() - *over_since > kStragglers && !ready())
            fail(DiagnosedError(comm::missing_diagnosis(rank(), calls_, GlobalRank{peer}, world_size()),
                                rank()));
        if (!since) since = Clock::now();
        const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - *since);
        if (waited >= long_waits_.next()) long_waits_.look(waited, rank(), awaited(peer), calls_);
        if (waited <= timeout_) continue;
        const std::vector<int64_t> missing = awaited(peer);
        const GlobalRank first{missing.empty() ? peer : static_cast<int32_t>(missing.front())};
        fail(DiagnosedError({"mpi.timeout",
                             {{"rank", int64_t{job_.rank}},
                              {"missing", missing},
                              {"doing", describe(comm::report_of(calls_.doing()))},
                              {"waited_ms", int64_t{waited.count()}}}},
                            comm::timeout_diagnosis(rank(), calls_, first, world_size()), rank()));
    }
}

comm::Transport::Ticket MpiTransport::post(GlobalRank dst, comm::Channel channel, Bytes data) {
    comm::check_rank(dst, job_.size);
    const int32_t tag = tag_of(channel);
    throw_if_aborted();
    if (free_.empty()) {
        free_.push_back(posts_.size());
        posts_.emplace_back();
    }
    const std::size_t index = free_.back();
    Post& made = posts_[index];
    made = {{0}, dst.value, channel, false};
    check(mpi_,
          mpi_.send(world_, data.data(), static_cast<int64_t>(data.size()), dst.value, tag, &made.request),
          "MPI_Issend");
    made.open = true;
    free_.pop_back();
    return static_cast<Ticket>(index);
}

MeshscopeMpiHandle MpiTransport::begin_receive(int32_t src, comm::Channel channel, int64_t bytes,
                                               std::byte* buffer) {
    const int32_t tag = tag_of(channel);
    MeshscopeMpiMessage message;
    wait_until(src, channel, [&] {
        int32_t found = 0;
        check(mpi_, mpi_.probe(world_, src, tag, &message, &found), "MPI_Iprobe");
        return found != 0;
    });
    if (message.bytes != bytes) {
        // Both hold a broken stream now.
        fail(comm::size_mismatch(GlobalRank{src}, rank(), channel, message.bytes, bytes, rank()));
    }
    MeshscopeMpiHandle request{0};
    check(mpi_, mpi_.receive(world_, buffer, bytes, src, tag, &request), "MPI_Irecv");
    return request;
}

void MpiTransport::finish_receive(int32_t src, MeshscopeMpiHandle& request) {
    // A peer may say that its calls are over while the rest of a long message is under way.
    wait_until(src, std::nullopt, [&] { return finished(request); });
}

std::byte* MpiTransport::scratch(int64_t bytes) {
    if (bytes > scratch_bytes_) {
        scratch_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
        scratch_bytes_ = bytes;
    }
    return scratch_.get();
}

void MpiTransport::abandon(std::span<MeshscopeMpiHandle> requests) noexcept {
    try {
        const auto since = Clock::now();
        for (MeshscopeMpiHandle& request : requests)
            while (!silent_ && !finished(request)) {
                drain();
                usleep(50);
                silent_ = Clock::now() - since > kLongestWithdrawal;
            }
    } catch (...) {
        silent_ = true;
    }
    if (!silent_) return;
    static_cast<void>(scratch_.release());
    scratch_bytes_ = 0;
}

void MpiTransport::receive_together(std::span<const comm::Expected> expected, comm::Channel channel,
                                    const ConsumeTogether& consume) {
    int64_t all = 0;
    for (const comm::Expected& each : expected) {
        comm::check_rank(each.src, job_.size);
        if (each.place == nullptr) all += each.bytes;
    }
    throw_if_aborted();
    std::byte* at = scratch(all);
    std::vector<Bytes> spans;
    std::vector<MeshscopeMpiHandle> requests;
    try {
        for (const comm::Expected& each : expected) {
            std::byte* const to = each.place != nullptr ? each.place : at;
            requests.push_back(begin_receive(each.src.value, channel, each.bytes, to));
            spans.emplace_back(to, static_cast<std::size_t>(each.bytes));
            if (each.place == nullptr) at += each.bytes;
        }
        for (std::size_t i = 0; i < requests.size(); ++i) finish_receive(expected[i].src.value, requests[i]);
    } catch (...) {
        // MPI writes into the buffer until what has begun is finished.
        abandon(requests);
        throw;
    }
    consume(spans);
}

bool MpiTransport::done(Ticket ticket) {
    Post& post = posts_.at(static_cast<std::size_t>(ticket));
    if (!post.open || failure_ || gave_up_ || silent_) return true;
    if (!finished(post.request)) return false;
    post.open = false;
    return true;
}

void MpiTransport::wait(Ticket ticket) {
    const auto index = static_cast<std::size_t>(ticket);
    Post& post = posts_.at(index);
    if (post.open) {
        wait_until(post.dst, post.channel, [&] { return finished(post.request); });
        post.open = false;
        // A peer that fails takes what is coming without looking at it; it said so before.
        listen();
        throw_if_aborted();
    }
    free_.push_back(index);
}

std::unique_ptr<comm::NativeCollectives> MpiTransport::native(std::span<const GlobalRank> ranks,
                                                              comm::Channel channel) {
    free_groups();
    std::vector<int32_t> members;
    for (const GlobalRank r : ranks) members.push_back(r.value);
    MeshscopeMpiHandle group{0};
    check(mpi_,
          mpi_.group(world_, members.data(), static_cast<int32_t>(members.size()), tag_of(channel), &group),
          "MPI_Comm_create_group");
    const auto me = static_cast<int32_t>(std::ranges::find(ranks, rank()) - ranks.begin());
    return std::make_unique<NativeSide>(*this, group, dropped_, static_cast<int32_t>(ranks.size()), me);
}

void MpiTransport::collective(MeshscopeMpiHandle group, const MeshscopeMpiCall& call,
                              std::shared_ptr<void> memory, bool all) {
    throw_if_aborted();
    MeshscopeMpiHandle request{0};
    check(mpi_, mpi_.collective(group, &call, &request), "MPI collective");
    try {
        wait_until(job_.rank, std::nullopt, [&] { return finished(request); });
    } catch (...) {
        stuck_ = true;
        if (!all) abandon({&request, 1});
        if (all || silent_) static_cast<void>(new std::shared_ptr<void>(std::move(memory)));
        throw;
    }
}

void MpiTransport::free_groups() {
    if (failure_ || gave_up_ || silent_ || stuck_) return;
    for (MeshscopeMpiHandle& group : dropped_->take()) check(mpi_, mpi_.close(&group), "MPI_Comm_free");
}

}  // namespace meshscope::backends::mpi
