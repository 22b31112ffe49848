// Messages that a rank goes through block by block, while ranks that are near and others send them.
#include <algorithm>
#include <stdexcept>

#include "tests/contract/tcp_threads_world.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;
using backends::tcp::TcpOptions;

namespace {

constexpr comm::Channel kChannel{0};
constexpr std::size_t kBytes = 5'000'003;

std::vector<std::byte> bytes_of(int32_t rank, int message) {
    std::vector<std::byte> bytes(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + i / 509 + static_cast<std::size_t>(rank * 11 + message));
    return bytes;
}

/// A message of every other rank.
std::vector<comm::Expected> expected_by(const comm::Transport& transport) {
    std::vector<comm::Expected> all;
    for (int32_t r = 0; r < transport.world_size(); ++r)
        if (r != transport.rank().value) all.push_back({GlobalRank{r}, static_cast<int64_t>(kBytes)});
    return all;
}

}  // namespace

TEST_CASE("blocks are the same bytes of every message, whether its sender is near or behind a socket") {
    TcpThreadsWorld world(4, [](TcpOptions& options) { options.near_memory = options.rank != 2; });
    world.run([](comm::Transport& transport) {
        for (int m = 0; m < 3; ++m) {
            const auto mine = bytes_of(transport.rank().value, m);
            const auto expected = expected_by(transport);
            std::vector<comm::Transport::Ticket> tickets;
            for (const auto& each : expected) tickets.push_back(transport.post(each.src, kChannel, mine));
            std::vector<std::vector<std::byte>> got(expected.size());
            transport.receive_by_blocks(expected, kChannel, [&](auto block, int64_t offset) {
                for (std::size_t i = 0; i < block.size(); ++i) {
                    if (got[i].size() != static_cast<std::size_t>(offset)) throw std::runtime_error("offset");
                    got[i].insert(got[i].end(), block[i].begin(), block[i].end());
                }
            });
            for (const auto ticket : tickets) transport.wait(ticket);
            for (std::size_t i = 0; i < expected.size(); ++i)
                if (got[i] != bytes_of(expected[i].src.value, m)) throw std::runtime_error("bytes");
        }
    });
    for (const std::exception_ptr& error : world.errors()) CHECK_FALSE(error);
}

TEST_CASE("who fails at a block has taken the messages, as one who fails at a whole one has") {
    TcpThreadsWorld world(3, [](TcpOptions& options) {
        options.near_memory = options.rank != 2;
        options.local_world_size = 10'000;  // more than there are cores: nothing is lent
    });
    world.run([](comm::Transport& transport) {
        if (transport.rank() != GlobalRank{0}) {
            for (int m = 0; m < 2; ++m) {
                const auto mine = bytes_of(transport.rank().value, m);
                transport.wait(transport.post(GlobalRank{0}, kChannel, mine));
            }
            return;
        }
        int blocks = 0;
        try {
            transport.receive_by_blocks(expected_by(transport), kChannel, [&](auto, int64_t) {
                if (++blocks == 2) throw std::runtime_error("enough");
            });
        } catch (const std::runtime_error&) {
        }
        if (blocks != 2) throw std::runtime_error("it came at once");
        transport.receive_together(expected_by(transport), kChannel, [](auto data) {
            for (std::size_t i = 0; i < data.size(); ++i)
                if (!std::ranges::equal(data[i], bytes_of(static_cast<int32_t>(i) + 1, 1)))
                    throw std::runtime_error("not the next message");
        });
    });
    for (const std::exception_ptr& error : world.errors()) CHECK_FALSE(error);
}
