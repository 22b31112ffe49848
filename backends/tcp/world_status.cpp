#include "backends/tcp/world_status.h"

#include <utility>

#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/comm/aborted.h"
#include "core/comm/message_errors.h"

namespace meshscope::backends::tcp {
namespace {

// From a rank's giving up to its body's end, where its error is seen.
constexpr std::chrono::milliseconds kExplanation{200};

bool is_loss(const std::string& id) {
    return id == "comm.peer_lost" || id.starts_with("comm.peer_silent");
}

/// A silence, whoever saw it first, as it meets this rank.
Message seen_from(int32_t rank, const Message& silence, const Awaiting& awaiting) {
    const MessageValue *const peer = silence.find("peer"), *const ms = silence.find("silent_ms");
    const auto *const who = peer ? std::get_if<int64_t>(peer) : nullptr, *const how_long =
                                                                             ms ? std::get_if<int64_t>(ms)
                                                                                : nullptr;
    if (who == nullptr || how_long == nullptr) return silence;  // it came over the network
    return silence_of(static_cast<int32_t>(*who), std::chrono::milliseconds(*how_long), rank, awaiting);
}

}  // namespace

Message silence_of(int32_t peer, std::chrono::milliseconds silence, int32_t rank, const Awaiting& awaiting) {
    Message message{
        "comm.peer_silent_idle",
        {{"peer", int64_t{peer}}, {"silent_ms", int64_t{silence.count()}}, {"rank", int64_t{rank}}}};
    if (awaiting.what == Awaiting::What::nothing) return message;
    message.id = awaiting.what == Awaiting::What::message ? "comm.peer_silent" : "comm.peer_silent_receipt";
    message.args.push_back({"awaited", awaiting.ranks});
    message.args.push_back({"channel", int64_t{awaiting.channel}});
    message.args.push_back({"bytes", awaiting.bytes});
    return message;
}

WorldStatus::WorldStatus(int32_t rank) : rank_(rank) {}

void WorldStatus::end_locked(Origin origin, FirstCause cause) {
    if (origin_ != Origin::none) return;
    origin_ = origin;
    cause_ = std::move(cause);
    ended_.store(true, std::memory_order_release);
    raise(rank_event_);
    raise(heartbeat_event_);
}

void WorldStatus::fail(std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    if (origin_ == Origin::none) {
        end_locked(Origin::own, {rank_, message_of(error)});
        own_error_ = std::move(error);
    } else if (origin_ == Origin::own && !own_error_ && error) {
        cause_ = {rank_, message_of(error)};
        own_error_ = std::move(error);
        raise(heartbeat_event_);  // the peers were told that it failed; now they can be told why
    }
}

void WorldStatus::told(FirstCause cause) {
    const std::lock_guard lock(mutex_);
    const bool says_more = origin_ == Origin::told && !cause_.known() && cause.rank == cause_.rank;
    if (!says_more) return end_locked(Origin::told, std::move(cause));
    cause_ = std::move(cause);
    says_more_.notify_all();
}

void WorldStatus::lost(int32_t peer) {
    const std::lock_guard lock(mutex_);
    end_locked(Origin::seen,
               {rank_, {"comm.peer_lost", {{"peer", int64_t{peer}}, {"rank", int64_t{rank_}}}}});
}

void WorldStatus::silent(int32_t peer, std::chrono::milliseconds silence) {
    const std::lock_guard lock(mutex_);
    end_locked(Origin::seen, {rank_, silence_of(peer, silence, rank_, {})});
}

void WorldStatus::hear_out() const {
    std::unique_lock lock(mutex_);
    says_more_.wait_for(lock, kExplanation, [&] { return origin_ != Origin::told || cause_.known(); });
}

WorldStatus::Origin WorldStatus::origin() const {
    const std::lock_guard lock(mutex_);
    return origin_;
}

FirstCause WorldStatus::cause() const {
    const std::lock_guard lock(mutex_);
    return cause_;
}

std::exception_ptr WorldStatus::own_error() const {
    const std::lock_guard lock(mutex_);
    return own_error_;
}

void WorldStatus::throw_meaning(const Awaiting& awaiting) const {
    hear_out();
    const Origin from = origin();
    const FirstCause why = cause();
    const GlobalRank me{rank_};
    if (from == Origin::own) {
        if (const std::exception_ptr error = own_error()) std::rethrow_exception(error);
    }
    if (why.message.id == "comm.peer_silent_idle")
        throw CommError(seen_from(rank_, why.message, awaiting), me);
    if (is_loss(why.message.id)) throw CommError(why.message, me);
    if (comm::is_own_size_mismatch(why.message, me)) throw CommError(why.message, me);
    comm::throw_aborted(me, why.rank, why.message);
}

}  // namespace meshscope::backends::tcp
