#include "backends/mpi/mpi_transport.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "backends/mpi/mpi_module.h"
#include "backends/mpi/native_side.h"
#include "core/base/diagnosis.h"
#include "core/base/error.h"
#include "core/base/quick_clock.h"
#include "core/comm/told_by_all.h"

namespace meshscope::backends::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int32_t kEndTag = 0;
constexpr milliseconds kLongestWithdrawal{1000};
constexpr milliseconds kLongestEnd{5000};
constexpr milliseconds kLongestHearing{200};
// What a peer sent or acknowledged before its last word may come after it: MPI keeps the order of messages,
// not that of its own parts of long ones.
constexpr milliseconds kStragglers{50};

CommError mismatch(int32_t src, int32_t dst, comm::Channel channel, int64_t sent, int64_t expected,
                   int32_t on) {
    return CommError({"comm.size_mismatch",
                      {{"src", int64_t{src}},
                       {"dst", int64_t{dst}},
                       {"channel", int64_t{channel.value}},
                       {"sent_bytes", sent},
                       {"expected_bytes", expected}}},
                     GlobalRank{on});
}

/// Whether a message of the first of them, sent by `rank`, had a size that its receiver did not expect.
bool is_mismatch_of(const Message& message, int32_t rank) {
    const MessageValue* const src = message.id == "comm.size_mismatch" ? message.find("src") : nullptr;
    const auto* const number = src != nullptr ? std::get_if<int64_t>(src) : nullptr;
    return number != nullptr && *number == rank;
}

}  // namespace

/// What a rank does between two questions to MPI.
class MpiTransport::Patience {
  public:
    explicit Patience(bool crowded) : crowded_(crowded) {}
    void once() {
        ++asked_;
        // With a core of one's own giving it away costs nothing; somebody else may want it all the same.
        if (!crowded_ && asked_ < kAlone) return;
        sched_yield();
        if (asked_ % 8 == 0 && (crowded_ || asked_ > 100 * kAlone)) usleep(10);
    }
    /// Now and then: the clock is looked at, peers are listened to.
    bool now_and_then() const { return crowded_ ? asked_ % 8 == 0 : asked_ % 256 == 0; }

  private:
    static constexpr int64_t kAlone = 1000;  ///< questions before anybody else is thought of
    bool crowded_;
    int64_t asked_ = 0;
};

MpiTransport::MpiTransport(const MeshscopeMpi& mpi, MeshscopeMpiHandle world, const MeshscopeMpiJob& job,
                           bool crowded, milliseconds timeout)
    : mpi_(mpi),
      world_(world),
      job_(job),
      crowded_(crowded),
      timeout_(timeout),
      ends_(static_cast<std::size_t>(job.size)),
      rounds_(static_cast<std::size_t>(job.size)) {}

MpiTransport::~MpiTransport() {
    // Letters that MPI may still read outlive this object.
    for (auto& letter : letters_)
        if (letter->request.bits != 0 && (silent_ || !finished(letter->request)))
            static_cast<void>(letter.release());
}

bool MpiTransport::finished(MeshscopeMpiHandle& request) {
    int32_t done = 0;
    check(mpi_, mpi_.test(&request, &done), "MPI_Test");
    return done != 0;
}

void MpiTransport::check_rank(GlobalRank peer) const {
    if (peer.value < 0 || peer.value >= job_.size)
        throw InvalidArgument(
            {"comm.rank_outside_world", {{"rank", int64_t{peer.value}}, {"world_size", int64_t{job_.size}}}});
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

void MpiTransport::listen() {
    MeshscopeMpiMessage message;
    int32_t found = 0;
    while (true) {
        check(mpi_, mpi_.probe(world_, MESHSCOPE_MPI_ANY, kEndTag, &message, &found), "MPI_Iprobe");
        if (found == 0) return;
        std::vector<std::byte> bytes(static_cast<std::size_t>(message.bytes));
        MeshscopeMpiHandle request{0};
        check(mpi_, mpi_.receive(world_, bytes.data(), message.bytes, message.src, kEndTag, &request),
              "MPI_Irecv");
        while (!finished(request)) sched_yield();
        const End end = unpack_end(bytes, message.src);
        if (end.rounds_ended > 0) {
            rounds_[static_cast<std::size_t>(message.src)] = {end.rounds_ended, end.first};
            continue;
        }
        // What a rank throws in the end may be less than what it said of it when it happened.
        End& known = ends_[static_cast<std::size_t>(message.src)];
        if (known.rank >= 0 && known.failed && !known.words.empty())
            known.over = known.over || end.over;
        else
            known = end;
        // A failure that only followed gives way to the one that it followed, and a word ahead to the whole
        // one.
        const bool better = !failure_ || (failure_->secondary && !end.secondary) ||
                            (failure_->rank == end.rank && failure_->words.empty());
        if (end.failed && better) failure_ = end;
    }
}

void MpiTransport::throw_aborted() {
    const GlobalRank me{job_.rank};
    withdraw();  // what was posted may go with whoever catches this
    if (gave_up_) throw CommError({"comm.gave_up", {{"rank", int64_t{job_.rank}}}}, me);
    // Ranks that only followed may be heard before the one that they followed, and that one fails before it
    // says why.
    const auto more_to_hear = [&] { return failure_->secondary || failure_->words.empty(); };
    for (const auto since = Clock::now(); more_to_hear() && Clock::now() - since < kLongestHearing;) {
        drain();  // a rank that waits until all it sent is taken says why after that
        usleep(50);
    }
    if (is_mismatch_of(failure_->message, job_.rank)) throw CommError(failure_->message, me);
    // What the ranks' calls have to do with each other is the same sentence on every rank.
    if (comm::is_told_by_all(failure_->message)) throw CommError(failure_->message, me, true);
    const int64_t first = failure_->rank;
    if (failure_->words.empty()) throw CommError({"comm.aborted_unknown", {{"rank", first}}}, me, true);
    throw CommError({"comm.aborted", {{"rank", first}, {"cause", failure_->words}}}, me, true);
}

void MpiTransport::throw_if_aborted() {
    if (gave_up_ || failure_) throw_aborted();
}

template <class Failure>
void MpiTransport::fail(const Failure& error) {
    // The world ends here, not when this rank's body does: the peers need not wait for that.
    tell({job_.rank, wall_ns(), true, false, false, error.message(), error.what()});
    withdraw();
    throw error;
}

bool MpiTransport::is_over(int32_t peer, comm::Channel channel) const {
    const auto at = static_cast<std::size_t>(peer);
    return ends_[at].over || (rounds_[at].ended > rounds_ended_ && channel.is_before(rounds_[at].first));
}

template <class Ready>
void MpiTransport::wait_until(int32_t peer, comm::Channel channel, const Ready& ready) {
    Patience patience(crowded_);
    std::optional<Clock::time_point> since, over_since;
    while (!ready()) {
        patience.once();
        if (!patience.now_and_then()) continue;
        listen();
        throw_if_aborted();
        if (is_over(peer, channel) && !over_since) over_since = Clock::now();
        if (over_since && Clock::now() - *over_since > kStragglers && !ready())
            fail(DiagnosedError(comm::missing_diagnosis(rank(), calls_, GlobalRank{peer}, world_size()),
                                rank()));
        if (!since) since = Clock::now();
        const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - *since);
        if (waited <= timeout_) continue;
        fail(DiagnosedError(
            {"mpi.timeout",
             {{"rank", int64_t{job_.rank}}, {"peer", int64_t{peer}}, {"waited_ms", int64_t{waited.count()}}}},
            comm::timeout_diagnosis(rank(), calls_, GlobalRank{peer}, world_size()), rank()));
    }
}

comm::Transport::Ticket MpiTransport::post(GlobalRank dst, comm::Channel channel, Bytes data) {
    check_rank(dst);
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
        fail(mismatch(src, job_.rank, channel, message.bytes, bytes, job_.rank));
    }
    MeshscopeMpiHandle request{0};
    check(mpi_, mpi_.receive(world_, buffer, bytes, src, tag, &request), "MPI_Irecv");
    return request;
}

std::byte* MpiTransport::scratch(int64_t bytes) {
    if (bytes > scratch_bytes_) {
        scratch_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
        scratch_bytes_ = bytes;
    }
    return scratch_.get();
}

void MpiTransport::receive(GlobalRank src, comm::Channel channel, int64_t bytes, const Consume& consume) {
    const comm::Expected expected{src, bytes};
    receive_together(std::span(&expected, 1), channel,
                     [&](std::span<const Bytes> data) { consume(data[0]); });
}

void MpiTransport::receive_at(GlobalRank src, comm::Channel channel, std::span<std::byte> to,
                              const Consume& consume) {
    check_rank(src);
    throw_if_aborted();
    MeshscopeMpiHandle request =
        begin_receive(src.value, channel, static_cast<int64_t>(to.size()), to.data());
    Patience patience(crowded_);
    while (!finished(request)) patience.once();
    consume(to);
}

void MpiTransport::receive_together(std::span<const comm::Expected> expected, comm::Channel channel,
                                    const ConsumeTogether& consume) {
    int64_t all = 0;
    for (const comm::Expected& each : expected) {
        check_rank(each.src);
        all += each.bytes;
    }
    throw_if_aborted();
    std::byte* at = scratch(all);
    std::vector<Bytes> spans;
    std::vector<MeshscopeMpiHandle> requests;
    for (const comm::Expected& each : expected) {
        requests.push_back(begin_receive(each.src.value, channel, each.bytes, at));
        spans.emplace_back(at, static_cast<std::size_t>(each.bytes));
        at += each.bytes;
    }
    // What has begun is finished even when somebody fails: MPI writes into the buffer until then.
    for (MeshscopeMpiHandle& request : requests) {
        Patience patience(crowded_);
        while (!finished(request)) patience.once();
    }
    consume(spans);
}

bool MpiTransport::done(Ticket ticket) {
    Post& post = posts_.at(static_cast<std::size_t>(ticket));
    if (!post.open || failure_ || gave_up_) return true;
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

void MpiTransport::tell(const End& end) {
    if (silent_ || (told_ && !end.over)) return;
    told_ = told_ || end.failed;
    const std::vector<std::byte> bytes = pack(end);
    for (int32_t r = 0; r < job_.size; ++r) {
        if (r == job_.rank) continue;
        letters_.push_back(std::make_unique<Letter>(Letter{bytes, {0}}));
        Letter& letter = *letters_.back();
        check(mpi_,
              mpi_.send_buffered(world_, letter.bytes.data(), static_cast<int64_t>(bytes.size()), r, kEndTag,
                                 &letter.request),
              "MPI_Isend");
    }
}

void MpiTransport::drain() {
    listen();
    MeshscopeMpiMessage message;
    int32_t found = 0;
    check(mpi_, mpi_.probe(world_, MESHSCOPE_MPI_ANY, MESHSCOPE_MPI_ANY, &message, &found), "MPI_Iprobe");
    if (found == 0 || message.tag == kEndTag) return;
    std::vector<std::byte> bytes(static_cast<std::size_t>(message.bytes));
    MeshscopeMpiHandle request{0};
    check(mpi_, mpi_.receive(world_, bytes.data(), message.bytes, message.src, message.tag, &request),
          "MPI_Irecv");
    while (!finished(request)) sched_yield();
}

void MpiTransport::withdraw() noexcept {
    try {
        const auto open = [&] {
            for (Post& post : posts_)
                if (post.open && finished(post.request)) post.open = false;
            return std::ranges::any_of(posts_, &Post::open);
        };
        if (silent_ || !open()) return;
        tell({job_.rank, wall_ns(), true, failure_.has_value(), false, {}, ""});
        const auto since = Clock::now();
        while (open()) {
            drain();
            usleep(50);
            if (Clock::now() - since < kLongestWithdrawal) continue;
            silent_ = true;
            return;
        }
    } catch (...) {
        silent_ = true;
    }
}

void MpiTransport::give_up() noexcept {
    gave_up_ = true;
}

std::unique_ptr<comm::NativeCollectives> MpiTransport::native(std::span<const GlobalRank> ranks,
                                                              comm::Channel channel) {
    std::vector<int32_t> members;
    for (const GlobalRank r : ranks) members.push_back(r.value);
    MeshscopeMpiHandle group{0};
    check(mpi_,
          mpi_.group(world_, members.data(), static_cast<int32_t>(members.size()), tag_of(channel), &group),
          "MPI_Comm_create_group");
    const auto me = static_cast<int32_t>(std::ranges::find(ranks, rank()) - ranks.begin());
    return std::make_unique<NativeSide>(*this, group, static_cast<int32_t>(ranks.size()), me);
}

void MpiTransport::collective(MeshscopeMpiHandle group, MeshscopeMpiCall call) {
    throw_if_aborted();
    call.blocking = crowded_ ? 0 : 1;
    MeshscopeMpiHandle request{0};
    check(mpi_, mpi_.collective(group, &call, &request), "MPI collective");
    if (call.blocking == 0) wait_until(job_.rank, {}, [&] { return finished(request); });
}

void MpiTransport::end_calls(comm::Channel first) {
    ++rounds_ended_;
    End said;
    said.rounds_ended = rounds_ended_;
    said.first = first;
    tell(said);
}

std::vector<End> MpiTransport::end_together(const End& mine) {
    if (silent_) return ends_;
    withdraw();
    if (silent_) return ends_;
    tell(mine);
    ends_[static_cast<std::size_t>(job_.rank)] = mine;
    std::optional<Clock::time_point> since;
    Patience patience(true);
    while (!std::ranges::all_of(ends_, &End::over)) {
        listen();
        patience.once();
        // While all is well, a message that comes now is one that nobody wants: its sender must learn that.
        if (!mine.failed && !failure_) continue;
        drain();
        if (!since) since = Clock::now();
        if (Clock::now() - *since > kLongestEnd) break;
    }
    for (auto& letter : letters_)
        while (std::ranges::all_of(ends_, &End::over) && !finished(letter->request)) drain();
    return ends_;
}

}  // namespace meshscope::backends::mpi
