// How a rank over MPI tells the others of its end, and hears of theirs.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/mpi/mpi_module.h"
#include "backends/mpi/mpi_transport.h"
#include "backends/mpi/patience.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/comm/aborted.h"
#include "core/comm/message_errors.h"

namespace meshscope::backends::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int32_t kEndTag = 0;
constexpr milliseconds kLongestEnd{5000};
constexpr milliseconds kLongestHearing{200};
/// How long one look takes at a message that came and is not all there: long for what moves, and short beside
/// the limits of those who look.
constexpr milliseconds kLongestTaking{20};

}  // namespace

MpiTransport::~MpiTransport() {
    // What MPI may still read or write outlives this object.
    const auto keep = [&](std::unique_ptr<Letter>& letter) {
        if (letter && letter->request.bits != 0 && (silent_ || !finished(letter->request)))
            static_cast<void>(letter.release());
    };
    for (auto& letter : letters_) keep(letter);
    keep(heard_.letter);
    keep(drained_.letter);
}

void MpiTransport::begin(Taking& taking, const MeshscopeMpiMessage& message) {
    auto letter = std::make_unique<Letter>();
    letter->bytes.resize(static_cast<std::size_t>(message.bytes));
    check(
        mpi_,
        mpi_.receive(world_, letter->bytes.data(), message.bytes, message.src, message.tag, &letter->request),
        "MPI_Irecv");
    taking = {std::move(letter), message.src};
}

bool MpiTransport::ends(Taking& taking, milliseconds patience) {
    std::optional<Clock::time_point> since;
    while (!finished(taking.letter->request)) {
        if (!since) since = Clock::now();
        if (Clock::now() - *since > patience) return false;
        sched_yield();
    }
    return true;
}

void MpiTransport::listen() {
    MeshscopeMpiMessage message;
    int32_t found = 0;
    while (!silent_) {
        if (!heard_.letter) {
            check(mpi_, mpi_.probe(world_, MESHSCOPE_MPI_ANY, kEndTag, &message, &found), "MPI_Iprobe");
            if (found == 0) return;
            begin(heard_, message);
        }
        if (!ends(heard_, kLongestTaking)) return;
        const End end = unpack_end(heard_.letter->bytes, heard_.src);
        heard_.letter.reset();
        if (end.rounds_ended > 0) {
            rounds_[static_cast<std::size_t>(end.rank)] = {end.rounds_ended, end.first};
            continue;
        }
        // What a rank throws in the end may be less than what it said of it when it happened.
        End& known = ends_[static_cast<std::size_t>(end.rank)];
        if (known.rank >= 0 && known.failed && !known.message.id.empty())
            known.over = known.over || end.over;
        else
            known = end;
        // A failure that only followed gives way to the one that it followed, and a word ahead to the whole
        // one.
        const bool better = !failure_ || (failure_->secondary && !end.secondary) ||
                            (failure_->rank == end.rank && failure_->message.id.empty());
        if (end.failed && better) failure_ = end;
    }
}

void MpiTransport::throw_aborted() {
    const GlobalRank me{job_.rank};
    withdraw();  // what was posted may go with whoever catches this
    if (gave_up_ || !failure_) throw CommError({"comm.gave_up", {{"rank", int64_t{job_.rank}}}}, me);
    // Ranks that only followed may be heard before the one that they followed, and that one fails before it
    // says why.
    const auto more_to_hear = [&] {
        return !silent_ && (failure_->secondary || failure_->message.id.empty());
    };
    for (const auto since = Clock::now(); more_to_hear() && Clock::now() - since < kLongestHearing;) {
        drain();  // a rank that waits until all it sent is taken says why after that
        usleep(50);
    }
    if (comm::is_own_size_mismatch(failure_->message, me)) throw CommError(failure_->message, me);
    comm::throw_aborted(me, failure_->rank, failure_->message);
}

bool MpiTransport::is_over(int32_t peer, comm::Channel channel) const {
    const auto at = static_cast<std::size_t>(peer);
    return ends_[at].over || (rounds_[at].ended > rounds_ended_ && channel.is_before(rounds_[at].first));
}

void MpiTransport::drop_read_letters() {
    for (std::size_t i = 0; i < letters_.size();) {
        MeshscopeMpiHandle& request = letters_[i]->request;
        if (request.bits != 0 && !finished(request)) {
            ++i;
            continue;
        }
        std::swap(letters_[i], letters_.back());
        letters_.pop_back();
    }
}

void MpiTransport::tell(const End& end) {
    if (silent_ || (told_ && !end.over)) return;
    told_ = told_ || end.failed;
    drop_read_letters();  // a checked run tells of every step
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
    if (silent_) return;
    if (!drained_.letter) {
        MeshscopeMpiMessage message;
        int32_t found = 0;
        check(mpi_, mpi_.probe(world_, MESHSCOPE_MPI_ANY, MESHSCOPE_MPI_ANY, &message, &found), "MPI_Iprobe");
        if (found == 0 || message.tag == kEndTag) return;
        begin(drained_, message);
    }
    if (ends(drained_, kLongestTaking)) drained_.letter.reset();
}

void MpiTransport::withdraw() noexcept {
    try {
        const auto open = [&] {
            for (Post& post : posts_)
                if (post.open && finished(post.request)) post.open = false;
            return std::ranges::any_of(posts_, &Post::open);
        };
        if (silent_ || !open()) return;
        tell({job_.rank, wall_ns(), true, failure_.has_value(), false, {}});
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

void MpiTransport::end_calls(comm::Channel first) {
    ++rounds_ended_;
    listen();  // a rank that never waits for long would leave what its peers say for MPI to keep
    End said;
    said.rounds_ended = rounds_ended_;
    said.first = first;
    tell(said);
}

void MpiTransport::stall() {
    for (const auto since = Clock::now(); Clock::now() - since < 2 * timeout_;) {
        listen();
        throw_if_aborted();
        usleep(5'000);
    }
    comm::wait_for_ever(*this);  // nobody waits for it: it must not hold up the world for ever
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
    if (std::ranges::all_of(ends_, [](const End& end) { return end.over && !end.failed; })) free_groups();
    return ends_;
}

}  // namespace meshscope::backends::mpi
