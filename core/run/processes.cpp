#include "core/run/processes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/base/clock.h"
#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/comm/schedule/run_schedule.h"
#include "core/comm/wire.h"
#include "core/trace/recorded.h"

namespace meshscope::run {
namespace {

constexpr int64_t kPiece = int64_t{1} << 22;
constexpr int64_t kMostBytes = int64_t{1} << 44;
constexpr int kClockQuestions = 8;

/// Tells machines apart, or rather their boots: processes with the same number have the same steady clock.
int64_t machine() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string text;
    std::getline(file, text);
    if (text.empty()) {
        std::array<char, 256> name{};
        if (gethostname(name.data(), name.size() - 1) == 0) text = name.data();
    }
    Crc32c crc;
    crc.add(text.data(), text.size());
    return int64_t{crc.value()};
}

}  // namespace

Processes::Processes(comm::Transport& transport, const mesh::DeviceMesh& mesh, const GroupTable& groups)
    : transport_(transport) {
    for (int32_t r = 0; r < transport.world_size(); ++r) world_.push_back({r});
    for (const int64_t rank : mesh.ranks(GlobalRank{0})) members_.push_back({static_cast<int32_t>(rank)});
    std::ranges::sort(members_);
    const auto first = 2 * static_cast<int32_t>(groups.groups.size());  // a group takes two channels
    votes_ = {first};
    words_ = {first + 1};
    pairs_ = {first + 2};
}

int64_t Processes::said_by_first_of(std::span<const GlobalRank> ranks, comm::Channel channel, int64_t mine) {
    const auto me = static_cast<int32_t>(std::ranges::find(ranks, transport_.rank()) - ranks.begin());
    comm::Wire wire(transport_, ranks, me, channel, DType::int64, nullptr, -1);
    auto* const bytes = reinterpret_cast<std::byte*>(&mine);
    comm::run_schedule(wire, Algorithm::tree, {.op = CollectiveOp::broadcast, .elements = 1}, ReduceOp::none,
                       bytes, bytes);
    return mine;
}

bool Processes::first_says(bool mine) {
    return said_by_first_of(members_, votes_, mine ? 1 : 0) != 0;
}

int64_t Processes::rank0_says(int64_t mine) {
    return said_by_first_of(world_, words_, mine);
}

void Processes::agree(const StartedWith& mine) {
    const auto differs = [this](const char* id, const char* what, auto&&... more) {
        return CommError({id,
                          {{"rank", int64_t{transport_.rank().value}},
                           {"what", std::string(what)},
                           std::forward<decltype(more)>(more)...}},
                         transport_.rank());
    };
    const auto same_file = [&](const char* what, int64_t checksum) {
        if (checksum != rank0_says(checksum)) throw differs("run.processes_differ_file", what);
    };
    const auto same = [&](const char* what, int64_t own, const auto& words) {
        const int64_t first = rank0_says(own);
        if (own != first)
            throw differs("run.processes_differ", what, MessageArg{"mine", words(own)},
                          MessageArg{"first", words(first)});
    };
    const auto number = [](int64_t n) { return n; };
    same_file("scenario", mine.scenario);
    same("world_size", mine.world_size, number);
    same("steps_done", mine.steps_done, number);
    same("level", mine.level,
         [](int64_t level) { return std::string(trace::name(static_cast<trace::Level>(level))); });
    same_file("algorithm", mine.algorithm);
    same("checked", mine.checked, [](int64_t on) { return std::string(on != 0 ? "true" : "false"); });
}

void Processes::send(GlobalRank to, std::span<const std::byte> bytes) {
    transport_.wait(transport_.post(to, pairs_, bytes));
}

int64_t Processes::receive_number(GlobalRank from) {
    int64_t number = 0;
    transport_.receive(from, pairs_, sizeof number,
                       [&](auto bytes) { std::memcpy(&number, bytes.data(), sizeof number); });
    return number;
}

int64_t Processes::start_clock() {
    const int64_t start_ns = steady_ns();
    const int64_t here = machine();
    if (is_first()) {
        for (std::size_t r = 1; r < world_.size(); ++r) {
            const bool same = receive_number(world_[r]) == here;
            send_number(world_[r], int64_t{same ? 1 : 0});
            send_number(world_[r], start_ns);
            for (int i = 0; !same && i < kClockQuestions; ++i) {
                receive_number(world_[r]);
                send_number(world_[r], steady_ns());
            }
        }
        return start_ns;
    }
    const GlobalRank first{0};
    send_number(first, here);
    const bool same = receive_number(first) == 1;
    const int64_t theirs_at_start = receive_number(first);
    if (same) return theirs_at_start;
    int64_t quickest = -1, ahead = 0;  // how far rank 0's clock is ahead of ours
    for (int i = 0; i < kClockQuestions; ++i) {
        const int64_t asked = steady_ns();
        send_number(first, asked);
        const int64_t theirs = receive_number(first);
        const int64_t round_trip = steady_ns() - asked;
        if (quickest >= 0 && round_trip >= quickest) continue;
        quickest = round_trip;
        ahead = theirs - (asked + round_trip / 2);
    }
    return theirs_at_start - ahead;
}

void Processes::send_to_first(std::span<const std::byte> bytes) {
    const GlobalRank first{0};
    const auto all = static_cast<int64_t>(bytes.size());
    send_number(first, all);
    for (int64_t at = 0; at < all; at += kPiece)
        send(first, bytes.subspan(static_cast<std::size_t>(at),
                                  static_cast<std::size_t>(std::min(kPiece, all - at))));
}

std::vector<std::byte> Processes::receive_from(GlobalRank rank) {
    const int64_t all = receive_number(rank);
    if (all < 0 || all > kMostBytes)
        throw CommError({"run.hand_over_damaged", {{"rank", int64_t{rank.value}}}}, transport_.rank());
    std::vector<std::byte> bytes;
    for (int64_t at = 0; at < all; at += kPiece)
        transport_.receive(rank, pairs_, std::min(kPiece, all - at),
                           [&](auto piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
    return bytes;
}

}  // namespace meshscope::run
