// Messages that a rank takes together, of ranks that are near and of others.
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

TEST_CASE("messages that are taken together are whole, whether a sender is near or behind a socket") {
    TcpThreadsWorld world(4, [](TcpOptions& options) { options.near_memory = options.rank != 2; });
    world.run([](comm::Transport& transport) {
        for (int m = 0; m < 3; ++m) {
            const auto mine = bytes_of(transport.rank().value, m);
            const auto expected = expected_by(transport);
            std::vector<comm::Transport::Ticket> tickets;
            for (const auto& each : expected) tickets.push_back(transport.post(each.src, kChannel, mine));
            std::vector<std::vector<std::byte>> got(expected.size());
            transport.receive_together(expected, kChannel, [&](auto data) {
                for (std::size_t i = 0; i < data.size(); ++i) got[i].assign(data[i].begin(), data[i].end());
            });
            for (const auto ticket : tickets) transport.wait(ticket);
            for (std::size_t i = 0; i < expected.size(); ++i)
                if (got[i] != bytes_of(expected[i].src.value, m)) throw std::runtime_error("bytes");
        }
    });
    for (const std::exception_ptr& error : world.errors()) CHECK_FALSE(error);
}

TEST_CASE("who fails while it reads messages has taken them: the next are the next") {
    TcpThreadsWorld world(3, [](TcpOptions& options) { options.near_memory = options.rank != 2; });
    world.run([](comm::Transport& transport) {
        if (transport.rank() != GlobalRank{0}) {
            for (int m = 0; m < 2; ++m) {
                const auto mine = bytes_of(transport.rank().value, m);
                transport.wait(transport.post(GlobalRank{0}, kChannel, mine));
            }
            return;
        }
        bool failed = false;
        try {
            transport.receive_together(expected_by(transport), kChannel,
                                       [](auto) { throw std::runtime_error("enough"); });
        } catch (const std::runtime_error&) {
            failed = true;
        }
        if (!failed) throw std::runtime_error("nothing was thrown");
        transport.receive_together(expected_by(transport), kChannel, [](auto data) {
            for (std::size_t i = 0; i < data.size(); ++i)
                if (!std::ranges::equal(data[i], bytes_of(static_cast<int32_t>(i) + 1, 1)))
                    throw std::runtime_error("not the next message");
        });
    });
    for (const std::exception_ptr& error : world.errors()) CHECK_FALSE(error);
}
