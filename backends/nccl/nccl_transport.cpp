#include "backends/nccl/nccl_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backends/nccl/nccl_calls.h"
#include "backends/nccl/nccl_side.h"
#include "core/base/error.h"
#include "core/comm/native.h"

namespace meshscope::backends::nccl {
namespace {

// Channels that no group has: far below those of the fingerprints.
constexpr comm::Channel kAgreement{-(1 << 30)};
constexpr comm::Channel kAlarm{-(1 << 30) - 1};

/// A device's identity at a fixed length.
using Identity = std::array<char, 96>;

std::span<const std::byte> bytes_of(const auto& value) {
    return std::as_bytes(std::span(&value, 1));
}

template <class T>
T receive_from(comm::Transport& transport, GlobalRank src, comm::Channel channel) {
    T value{};
    transport.receive(src, channel, sizeof(T),
                      [&](comm::Transport::Bytes bytes) { std::memcpy(&value, bytes.data(), sizeof(T)); });
    return value;
}

/// Sends the same value to some ranks, and waits until they took it.
template <class T>
void send_to(comm::Transport& transport, std::span<const GlobalRank> ranks, comm::Channel channel,
             const T& value) {
    std::vector<comm::Transport::Ticket> tickets;
    for (const GlobalRank rank : ranks) tickets.push_back(transport.post(rank, channel, bytes_of(value)));
    for (const auto ticket : tickets) transport.wait(ticket);
}

/// The group's handle on a side that the transport keeps.
class Handle final : public comm::NativeCollectives {
  public:
    explicit Handle(std::shared_ptr<NcclSide> side) : side_(std::move(side)) {}
    bool reduces(ReduceOp op, DType) const override { return has_reduction(op); }
    void run(const comm::IssuedCall& call) override { side_->run(call); }

  private:
    std::shared_ptr<NcclSide> side_;
};

}  // namespace

NcclTransport::NcclTransport(comm::Transport& inner, const Library& library, RankDevice& device,
                             Timeouts timeouts, bool share_devices)
    : ForwardingTransport(inner), library_(library), device_(device), timeouts_(timeouts) {
    check_devices(share_devices);
    alarm_ = post(rank(), kAlarm, {});
    alarm_set_ = true;
    Ranks all;
    for (int32_t r = 0; r < world_size(); ++r) all.push_back(GlobalRank{r});
    const Doing making = doing("init", "world");
    const MeshscopeNcclId id = shared_id(all, kAgreement, making);
    auto world =
        std::make_shared<Communicator>(library_, id, world_size(), rank().value, device_.ordinal(), making);
    world->wait(timeouts_.connect, making, [this] { interrupted(); });
    communicators_.push_back(world);
    by_ranks_[all] = std::move(world);
    scratch_ = device_.allocate(sizeof(int32_t));
}

NcclTransport::~NcclTransport() {
    // What was not closed is aborted; groups that still hold a side have nothing to run any more.
    sides_.clear();
    by_ranks_.clear();
    communicators_.clear();
    if (scratch_ != nullptr) device_.free(scratch_);
}

void NcclTransport::check_devices(bool share_devices) {
    struct Verdict {
        int32_t rank = -1, other = -1;
    };
    Identity mine{};
    device_.identity().copy(mine.data(), mine.size() - 1);
    Verdict verdict;
    std::vector<GlobalRank> others;
    for (int32_t r = 1; r < world_size(); ++r) others.push_back(GlobalRank{r});
    if (rank().value == 0) {
        std::vector<Identity> all{mine};
        for (const GlobalRank other : others)
            all.push_back(receive_from<Identity>(inner_, other, kAgreement));
        for (std::size_t a = 0; a < all.size() && verdict.rank < 0; ++a)
            for (std::size_t b = a + 1; b < all.size() && verdict.rank < 0; ++b)
                if (all[a][0] != 0 && all[a] == all[b])
                    verdict = {static_cast<int32_t>(a), static_cast<int32_t>(b)};
        send_to(inner_, others, kAgreement, verdict);
    } else {
        const GlobalRank first{0};
        send_to(inner_, {&first, 1}, kAgreement, mine);
        verdict = receive_from<Verdict>(inner_, first, kAgreement);
    }
    if (verdict.rank < 0 || (share_devices && library_.can_share_devices())) return;
    throw InvalidArgument({"nccl.duplicate_gpu",
                           {{"rank", int64_t{verdict.rank}},
                            {"other", int64_t{verdict.other}},
                            {"version", library_.version_text()}}});
}

void NcclTransport::interrupted() {
    for (const auto& side : sides_) side->check();
    if (done(alarm_)) wait(alarm_);  // throws: nobody takes it, so it is done only when the world ends
}

MeshscopeNcclId NcclTransport::make_id(const Doing& doing) const {
    MeshscopeNcclId id{};
    if (const int code = library_.table->unique_id(library_.handle, &id); code != 0)
        throw_result(library_, code, doing);
    return id;
}

MeshscopeNcclId NcclTransport::shared_id(std::span<const GlobalRank> ranks, comm::Channel channel,
                                         const Doing& doing) {
    if (ranks.front() != rank()) return receive_from<MeshscopeNcclId>(inner_, ranks.front(), channel);
    const MeshscopeNcclId id = make_id(doing);
    send_to(inner_, ranks.subspan(1), channel, id);
    return id;
}

void NcclTransport::announce_groups(std::span<const std::vector<GlobalRank>> groups) {
    std::vector<const Ranks*> layer;
    std::vector<const Ranks*> seen;
    const auto taken = [&](const Ranks& group) {
        return std::ranges::any_of(layer, [&](const Ranks* other) {
            return std::ranges::find_first_of(group, *other) != group.end();
        });
    };
    for (const Ranks& group : groups) {
        const bool known = static_cast<int32_t>(group.size()) == world_size() ||
                           std::ranges::any_of(seen, [&](const Ranks* other) { return *other == group; });
        if (known) continue;
        if (taken(group)) {
            split(layer);
            layer.clear();
        }
        layer.push_back(&group);
        seen.push_back(&group);
    }
    if (!layer.empty()) split(layer);
}

void NcclTransport::split(const std::vector<const Ranks*>& layer) {
    int32_t color = -1, key = 0;
    for (std::size_t g = 0; g < layer.size(); ++g) {
        const auto place = std::ranges::find(*layer[g], rank());
        if (place == layer[g]->end()) continue;
        color = static_cast<int32_t>(g);
        key = static_cast<int32_t>(place - layer[g]->begin());
    }
    std::shared_ptr<Communicator> part = communicators_.front()->split(
        color, key, timeouts_, doing("split", "world"), [this] { interrupted(); });
    if (!part) return;
    communicators_.push_back(part);
    by_ranks_[*layer[static_cast<std::size_t>(color)]] = std::move(part);
}

std::unique_ptr<comm::NativeCollectives> NcclTransport::native(std::span<const GlobalRank> ranks,
                                                               comm::Channel channel) {
    Ranks members(ranks.begin(), ranks.end());
    std::shared_ptr<Communicator> communicator;
    if (const auto known = by_ranks_.find(members); known != by_ranks_.end()) {
        communicator = known->second;
    } else {
        const Doing making = doing("init", "");
        const MeshscopeNcclId id = shared_id(members, channel, making);
        const auto me = static_cast<int32_t>(std::ranges::find(members, rank()) - members.begin());
        communicator = std::make_shared<Communicator>(library_, id, static_cast<int32_t>(members.size()), me,
                                                      device_.ordinal(), making);
        communicator->wait(timeouts_.connect, making, [this] { interrupted(); });
        communicators_.push_back(communicator);
    }
    sides_.push_back(std::make_shared<NcclSide>(*this, std::move(members), channel, communicator));
    return std::make_unique<Handle>(sides_.back());
}

void NcclTransport::settle() {
    for (const auto& side : sides_) side->settle();
}

void NcclTransport::finish() {
    for (const auto& side : sides_) side->settle();
    // Those that send close on their own threads, so two that sent to each other do not wait in a ring.
    for (const auto& side : sides_) side->begin_close();
    for (const auto& side : sides_) side->close();
    // The world's last: the others came from it.
    std::ranges::rotate(communicators_, communicators_.begin() + 1);
    for (const auto& communicator : communicators_)
        communicator->close(timeouts_.connect, doing("finalize", ""), [this] { interrupted(); });
    receive(rank(), kAlarm, 0, [](Bytes) {});
    wait(alarm_);
}

}  // namespace meshscope::backends::nccl
