// Ranks that say that they have made their calls of a round (comm::end_calls), over TCP.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "tests/contract/harness.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::contract;
using comm::Channel;
using std::chrono::milliseconds;
using test::thrown_id;

namespace {

constexpr GlobalRank kZero{0}, kOne{1};
/// Calls travel below it, what ranks tell each other beside them from it on.
constexpr Channel kFirst{4};

/// Waits for what never comes, on a channel that goes on: until the other rank fails.
void wait_in_vain(comm::Transport& transport, GlobalRank peer) {
    transport.receive(peer, kFirst, 1, [](auto) {});
}

}  // namespace

TEST_CASE("a channel is before another with what belongs to it") {
    CHECK(Channel{3}.is_before(kFirst));
    CHECK(!kFirst.is_before(kFirst));
    CHECK(Channel{3}.of_fingerprints().is_before(kFirst));
    CHECK(!kFirst.of_fingerprints().is_before(kFirst));
    CHECK(Channel{3}.of_checksums().is_before(kFirst));
    CHECK(!kFirst.of_checksums().is_before(kFirst));
}

TEST_CASE("who waits in a call for a rank that has made its calls of the round is told at once") {
    for (const Channel channel : {Channel{2}, Channel{2}.of_fingerprints(), Channel{2}.of_checksums()})
        for (const bool receives : {true, false}) {
            INFO("channel " << channel.value << (receives ? ", waits for a message" : ", for a receipt"));
            const std::vector<std::byte> four(4);
            CHECK(thrown_id<CommError>([&] {
                      TcpThreadsWorld(2).run([&](comm::Transport& transport) {
                          if (transport.rank() == kZero) {
                              comm::end_calls(transport, kFirst);
                              wait_in_vain(transport, kOne);
                          } else if (receives) {
                              transport.receive(kZero, channel, 4, [](auto) {});
                          } else {
                              transport.wait(transport.post(kZero, channel, four));
                          }
                      });
                  }) == "comm.peer_finished");
        }
}

TEST_CASE(
    "what was sent before a round's end still arrives, and in the next round ranks wait for each other") {
    const std::vector<std::byte> few(100, std::byte{1}), many(300'000, std::byte{2});
    constexpr Channel kCalls{2};
    TcpThreadsWorld(2).run([&](comm::Transport& transport) {
        const auto rest = [] { std::this_thread::sleep_for(milliseconds(20)); };
        const auto receive = [&](GlobalRank from, Channel channel, const std::vector<std::byte>& expected) {
            transport.receive(from, channel, static_cast<int64_t>(expected.size()), [&](auto bytes) {
                if (!std::equal(bytes.begin(), bytes.end(), expected.begin()))
                    throw std::runtime_error("different bytes than were sent");
            });
        };
        if (transport.rank() == kZero) {
            const auto a = transport.post(kOne, kCalls, few), b = transport.post(kOne, kCalls, many);
            comm::end_calls(transport, kFirst);
            transport.wait(a);
            transport.wait(b);
            receive(kOne, kFirst, few);
            receive(kOne, kCalls, many);  // of the second round; the other one is late
        } else {
            rest();
            receive(kZero, kCalls, few);
            receive(kZero, kCalls, many);
            comm::end_calls(transport, kFirst);
            transport.wait(transport.post(kZero, kFirst, few));
            rest();
            transport.wait(transport.post(kZero, kCalls, many));
        }
    });
}
