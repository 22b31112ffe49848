// TCP ranks as real processes of one machine, which read each other's memory.
#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "backends/tcp/tcp_world.h"
#include "tests/folder.h"
#include "tests/tcp/processes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using backends::tcp::TcpOptions;
using backends::tcp::TcpWorld;
using std::chrono::milliseconds;

namespace {

constexpr comm::Channel kChannel{0};

/// A job with a token, of ranks that count on a core each: what is long is offered.
TcpOptions near_options(const Folder& folder, int32_t rank, int32_t n = 2) {
    TcpOptions options = options_of(folder, rank, n);
    options.local_world_size = 1;
    options.token = backends::tcp::Token::from_hex(std::string(64, 'a'));
    return options;
}

std::byte nth_byte(int message, std::size_t i) {
    return static_cast<std::byte>(static_cast<std::size_t>(message) * 37 + i * 13 + i / 4099);
}

/// Rank 0 sends long messages of several sizes, from one buffer that it fills anew as soon as it may, and is
/// now and then somewhere else when one is taken; rank 1 looks at every byte, twice.
void send_one_way(comm::Transport& transport, int messages) {
    std::vector<std::byte> data;
    for (int m = 0; m < messages; ++m) {
        data.resize((std::size_t{1} << 20) * static_cast<std::size_t>(1 + m % 4) +
                    static_cast<std::size_t>(m % 3) * 1001);
        if (transport.rank() == GlobalRank{0}) {
            for (std::size_t i = 0; i < data.size(); ++i) data[i] = nth_byte(m, i);
            const auto ticket = transport.post(GlobalRank{1}, kChannel, data);
            if (m % 5 == 4) std::this_thread::sleep_for(milliseconds(2));
            transport.wait(ticket);
            continue;
        }
        std::ranges::fill(data, std::byte{0});
        transport.receive_at(GlobalRank{0}, kChannel, data, [](auto) {});
        for (int look = 0; look < 2; ++look)
            for (std::size_t i = 0; i < data.size(); ++i)
                if (data[i] != nth_byte(m, i)) throw std::runtime_error("byte " + std::to_string(i));
    }
}

/// Every rank, itself among them, gets a long message from each, fills its own anew as soon as it may, and
/// looks at every byte of what it is handed.
void exchange(comm::Transport& transport, int messages) {
    std::vector<std::byte> data;
    for (int m = 0; m < messages; ++m) {
        const auto salt = [&](std::size_t rank) { return m * 5 + static_cast<int>(rank); };
        data.resize(2'500'000 * static_cast<std::size_t>(1 + m % 3) + 77);
        for (std::size_t i = 0; i < data.size(); ++i)
            data[i] = nth_byte(salt(static_cast<std::size_t>(transport.rank().value)), i);
        std::vector<comm::Transport::Ticket> tickets;
        std::vector<comm::Expected> expected;
        for (int32_t r = 0; r < transport.world_size(); ++r) {
            tickets.push_back(transport.post(GlobalRank{r}, kChannel, data));
            expected.push_back({GlobalRank{r}, static_cast<int64_t>(data.size())});
        }
        transport.receive_together(expected, kChannel, [&](auto received) {
            for (std::size_t r = 0; r < received.size(); ++r)
                for (std::size_t i = 0; i < received[r].size(); ++i)
                    if (received[r][i] != nth_byte(salt(r), i))
                        throw std::runtime_error("byte " + std::to_string(i));
        });
        for (const auto ticket : tickets) transport.wait(ticket);
    }
}

}  // namespace

TEST_CASE("long messages that go one way are whole and stay as they are") {
    const Folder folder;
    Processes ranks(2, [&](int32_t rank) {
        TcpWorld(near_options(folder, rank)).run([](comm::Transport& transport) {
            send_one_way(transport, 60);
        });
        return std::string("fine");
    });
    for (int32_t r = 0; r < 2; ++r) CHECK(ranks.wait(r).outcome == "fine");
}

TEST_CASE("messages that all send to all are whole, and their senders may change them when they are told") {
    const Folder folder;
    Processes ranks(3, [&](int32_t rank) {
        TcpWorld(near_options(folder, rank, 3)).run([](comm::Transport& transport) {
            exchange(transport, 9);
        });
        return std::string("fine");
    });
    for (int32_t r = 0; r < 3; ++r) CHECK(ranks.wait(r).outcome == "fine");
}

TEST_CASE("a rank that is killed, or stopped for too long, while memory is read is told of") {
    for (const auto work : {send_one_way, exchange})
        for (int turn = 0; turn < 8; ++turn) {
            const int signal = turn % 2 == 0 ? SIGKILL : SIGSTOP;
            const int delay = turn / 2;
            const Folder folder;
            Processes ranks(2, [&](int32_t rank) {
                TcpOptions options = near_options(folder, rank);
                options.timeouts.heartbeat = milliseconds(500);
                TcpWorld(options).run([&](comm::Transport& transport) {
                    work(transport, 1);
                    mark(folder, "up" + std::to_string(rank));
                    work(transport, 1'000'000);
                });
                return std::string("fine");
            });
            for (const char* up : {"up0", "up1"}) await_mark(folder, up);
            std::this_thread::sleep_for(std::chrono::microseconds(700 * delay));
            ranks.signal(0, signal);
            const std::string told = ranks.wait(1).outcome;
            INFO(told);
            // Silent while a message of it is waited for, or its word that it took one.
            CHECK(told.starts_with(signal == SIGKILL ? "!comm.peer_lost" : "!comm.peer_silent"));
            CHECK(told.find("(peer=0,") != std::string::npos);
            if (signal == SIGSTOP) ranks.signal(0, SIGCONT);
            ranks.wait(0);
        }
}
