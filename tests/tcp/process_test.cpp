// TCP ranks as real processes: killed, stopped, and gone.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "backends/tcp/tcp_world.h"
#include "core/base/error.h"
#include "tests/folder.h"
#include "tests/patience.h"
#include "tests/tcp/processes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using backends::tcp::TcpOptions;
using backends::tcp::TcpWorld;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr comm::Channel kChannel{0};

TcpOptions options_of(const Folder& folder, int32_t rank, int32_t n) {
    TcpOptions options;
    options.rank = rank;
    options.world_size = n;
    options.init_method = "file://" + folder.file("meet");
    options.run_id = "processes";
    return options;
}

/// Every rank sends each other a message of `bytes`, and takes theirs, `times` times.
void exchange(comm::Transport& transport, std::size_t bytes, int times) {
    const std::vector<std::byte> data(bytes, std::byte{7});
    for (int i = 0; i < times; ++i) {
        std::vector<comm::Transport::Ticket> tickets;
        std::vector<comm::Expected> expected;
        for (int32_t r = 0; r < transport.world_size(); ++r) {
            if (r == transport.rank().value) continue;
            tickets.push_back(transport.post(GlobalRank{r}, kChannel, data));
            expected.push_back({GlobalRank{r}, static_cast<int64_t>(bytes)});
        }
        transport.receive_together(expected, kChannel, [](auto) {});
        for (const auto ticket : tickets) transport.wait(ticket);
    }
}

/// A job with a token, of ranks that count on a core each: what goes one way is offered and its end lent.
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
/// looks at every byte of the blocks that it is handed.
void exchange_by_blocks(comm::Transport& transport, int messages) {
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
        std::size_t next = 0;
        transport.receive_by_blocks(expected, kChannel, [&](auto block, int64_t offset) {
            if (static_cast<std::size_t>(offset) != next) throw std::runtime_error("not the next block");
            for (std::size_t r = 0; r < block.size(); ++r)
                for (std::size_t i = 0; i < block[r].size(); ++i)
                    if (block[r][i] != nth_byte(salt(r), next + i))
                        throw std::runtime_error("byte " + std::to_string(next + i));
            next += block[0].size();
        });
        if (next != data.size()) throw std::runtime_error("it ends at " + std::to_string(next));
        for (const auto ticket : tickets) transport.wait(ticket);
    }
}

int sockets_of(pid_t pid) {
    int n = 0;
    std::error_code gone;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone))
        n += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:");
    return n;
}

void mark(const Folder& folder, const std::string& name) {
    std::ofstream(folder.path / name) << 1;
}
void await_mark(const Folder& folder, const std::string& name) {
    while (!std::filesystem::exists(folder.path / name)) std::this_thread::sleep_for(milliseconds(2));
}

}  // namespace

TEST_CASE("ranks that are processes work together") {
    const Folder folder;
    Processes ranks(4, [&](int32_t rank) {
        TcpWorld(options_of(folder, rank, 4)).run([](comm::Transport& transport) {
            exchange(transport, 10, 50);
            exchange(transport, 500'000, 5);
        });
        return std::string("fine");
    });
    for (int32_t r = 0; r < 4; ++r) CHECK(ranks.wait(r).outcome == "fine");
}

TEST_CASE("long messages that go one way are whole, whoever wrote their ends, and stay as they are") {
    const Folder folder;
    Processes ranks(2, [&](int32_t rank) {
        TcpWorld(near_options(folder, rank)).run([](comm::Transport& transport) {
            send_one_way(transport, 60);
        });
        return std::string("fine");
    });
    for (int32_t r = 0; r < 2; ++r) CHECK(ranks.wait(r).outcome == "fine");
}

TEST_CASE(
    "messages that are read by blocks are whole, and their senders may change them when they are told") {
    const Folder folder;
    Processes ranks(3, [&](int32_t rank) {
        TcpWorld(near_options(folder, rank, 3)).run([](comm::Transport& transport) {
            exchange_by_blocks(transport, 9);
        });
        return std::string("fine");
    });
    for (int32_t r = 0; r < 3; ++r) CHECK(ranks.wait(r).outcome == "fine");
}

TEST_CASE("a rank that is killed, or stopped for too long, while memory is read or written is told of") {
    for (const auto work : {send_one_way, exchange_by_blocks})
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

TEST_CASE("kill -9 of a rank is told by all others within a second, with its name, in whatever they are") {
    for (const int32_t victim : {0, 2})
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{4} << 20}) {
            const auto until_all_know = [&] {
                const Folder folder;
                Processes ranks(3, [&](int32_t rank) {
                    TcpWorld(options_of(folder, rank, 3)).run([&](comm::Transport& transport) {
                        exchange(transport, bytes, 2);
                        mark(folder, "up" + std::to_string(rank));
                        exchange(transport, bytes, 1'000'000);
                    });
                    return std::string("fine");
                });
                for (const char* up : {"up0", "up1", "up2"}) await_mark(folder, up);
                const auto killed = steady_clock::now();
                ranks.signal(victim, SIGKILL);
                steady_clock::duration longest{};
                for (int32_t r = 0; r < 3; ++r) {
                    const Processes::Ended ended = ranks.wait(r);
                    if (r == victim) {
                        CHECK(WIFSIGNALED(ended.status));
                        continue;
                    }
                    CHECK(ended.outcome.starts_with("!comm.peer_lost(peer=" + std::to_string(victim) + ","));
                    longest = std::max(longest, ended.when - killed);
                }
                return longest;
            };
            CHECK(kept(milliseconds(1'000), until_all_know));
        }
}

TEST_CASE("a rank that sleeps or computes learns of a death when it calls again, and ends cleanly") {
    const Folder folder;
    Processes ranks(2, [&](int32_t rank) {
        TcpWorld(options_of(folder, rank, 2)).run([&](comm::Transport& transport) {
            exchange(transport, 8, 1);
            mark(folder, "up" + std::to_string(rank));
            if (rank == 1) std::this_thread::sleep_for(std::chrono::hours(1));
            await_mark(folder, "killed");
            const std::byte one{};
            transport.post(GlobalRank{1}, kChannel, {&one, 1});
            transport.receive(GlobalRank{1}, kChannel, 1, [](auto) {});
        });
        return std::string("fine");
    });
    await_mark(folder, "up0");
    await_mark(folder, "up1");
    ranks.signal(1, SIGKILL);
    CHECK(ranks.wait(1).outcome.empty());
    mark(folder, "killed");
    CHECK(ranks.wait(0).outcome.starts_with("!comm.peer_lost(peer=1,"));
}

TEST_CASE("a rank stopped for half a second is waited for") {
    const Folder folder;
    Processes ranks(3, [&](int32_t rank) {
        TcpOptions options = options_of(folder, rank, 3);
        options.timeouts.heartbeat = milliseconds(3'000);
        TcpWorld(options).run([&](comm::Transport& transport) {
            mark(folder, "up" + std::to_string(rank));
            const auto end = steady_clock::now() + milliseconds(900);
            // All make the same number of rounds: rank 0 says when it is over.
            for (bool more = true; more;) {
                exchange(transport, 1'000, 1);
                if (rank == 0) {
                    more = steady_clock::now() < end;
                    const std::byte word{static_cast<unsigned char>(more)};
                    for (int32_t r = 1; r < 3; ++r)
                        transport.wait(transport.post(GlobalRank{r}, kChannel, {&word, 1}));
                } else {
                    transport.receive(GlobalRank{0}, kChannel, 1,
                                      [&](comm::Transport::Bytes word) { more = word[0] != std::byte{0}; });
                }
            }
        });
        return std::string("fine");
    });
    for (const char* up : {"up0", "up1", "up2"}) await_mark(folder, up);
    ranks.signal(1, SIGSTOP);
    std::this_thread::sleep_for(milliseconds(500));
    ranks.signal(1, SIGCONT);
    for (int32_t r = 0; r < 3; ++r) CHECK(ranks.wait(r).outcome == "fine");
}

TEST_CASE("a rank stopped for longer than the time-out is told as silent, with what was waited for") {
    constexpr milliseconds kSilence{800};
    const auto until_told = [&] {
        const Folder folder;
        Processes ranks(2, [&](int32_t rank) {
            TcpOptions options = options_of(folder, rank, 2);
            options.timeouts.heartbeat = kSilence;
            TcpWorld(options).run([&](comm::Transport& transport) {
                exchange(transport, 8, 1);
                mark(folder, "up" + std::to_string(rank));
                transport.receive(GlobalRank{1 - rank}, comm::Channel{5}, 12, [](auto) {});
            });
            return std::string("fine");
        });
        await_mark(folder, "up0");
        await_mark(folder, "up1");
        const auto stopped = steady_clock::now();
        ranks.signal(1, SIGSTOP);
        const Processes::Ended told = ranks.wait(0);
        const std::string begin = "!comm.peer_silent(peer=1, silent_ms=";
        REQUIRE(told.outcome.starts_with(begin));
        CHECK(std::stoll(told.outcome.substr(begin.size())) >= kSilence.count());
        CHECK(told.outcome.find("rank=0, awaited=[1], channel=5, bytes=12)") != std::string::npos);
        // What was stopped learns, when it goes on, that the others have ended without it.
        ranks.signal(1, SIGCONT);
        const Processes::Ended late = ranks.wait(1);
        CHECK(late.outcome.starts_with("!comm.peer_"));
        return told.when - stopped;
    };
    // Then it gives its peers as long again to say their farewell, a second at most.
    CHECK(kept(kSilence + milliseconds(500) + kSilence, until_told));
}

TEST_CASE("ranks that are all stopped for longer than their time-outs, and then continued, go on") {
    for (const bool one_stays : {false, true}) {
        INFO(one_stays);
        const Folder folder;
        Processes ranks(3, [&](int32_t rank) {
            TcpOptions options = options_of(folder, rank, 3);
            options.timeouts.heartbeat = options.timeouts.operation = milliseconds(1'000);
            if (one_stays) options.timeouts.operation = kGuard;  // it is the silence that is found
            TcpWorld(options).run([&](comm::Transport& transport) {
                exchange(transport, 8, 1);
                mark(folder, "up" + std::to_string(rank));
                if (rank == 0) await_mark(folder, "over");  // the others are in a call meanwhile
                exchange(transport, 8, 1);
            });
            return std::string("fine");
        });
        for (const char* up : {"up0", "up1", "up2"}) await_mark(folder, up);
        for (int32_t r = 0; r < 3; ++r) ranks.signal(r, SIGSTOP);
        std::this_thread::sleep_for(milliseconds(2'500));
        for (int32_t r = 0; r < 3; ++r)
            if (!(one_stays && r == 2)) ranks.signal(r, SIGCONT);
        std::this_thread::sleep_for(milliseconds(50));  // what they wait for is not there at once
        mark(folder, "over");
        for (int32_t r = 0; r < 2; ++r) {
            const std::string told = ranks.wait(r).outcome;
            INFO(told);
            CHECK((one_stays ? told.starts_with("!comm.peer_silent") && told.find("(peer=2,") != told.npos
                             : told == "fine"));
        }
        ranks.signal(2, SIGCONT);
        const std::string last = ranks.wait(2).outcome;
        CHECK((last == "fine") != one_stays);
    }
}

TEST_CASE("a rank that is killed while the others still join does not make them wait for their time-out") {
    const auto until_told = [&] {
        const Folder folder;
        Processes ranks(3, [&](int32_t rank) {
            TcpOptions options = options_of(folder, rank, 3);
            options.timeouts.connect = milliseconds(40'000);
            if (rank == 2) {  // never joins
                await_mark(folder, "over");
                return std::string("fine");
            }
            TcpWorld(options).run([](comm::Transport&) {});
            return std::string("fine");
        });
        // It listens, and is connected to rank 0 for the pulse: with the third it calls again, for the
        // messages.
        const auto begin = steady_clock::now();
        while (sockets_of(ranks.pid(1)) < 3 && steady_clock::now() - begin < kGuard)
            std::this_thread::sleep_for(milliseconds(2));
        const auto killed = steady_clock::now();
        ranks.signal(1, SIGKILL);
        const Processes::Ended ended = ranks.wait(0);
        CHECK(ended.outcome.starts_with("!comm.peer_lost(peer=1,"));
        mark(folder, "over");
        return ended.when - killed;
    };
    CHECK(kept(milliseconds(1'000), until_told));
}

TEST_CASE("no file of a world is open in a program that a rank starts") {
    const Folder folder;
    Processes ranks(2, [&](int32_t rank) {
        std::string bad;
        TcpWorld(options_of(folder, rank, 2)).run([&](comm::Transport& transport) {
            exchange(transport, 8, 1);
            for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
                const int fd = std::stoi(entry.path().filename().string());
                std::error_code gone;
                const std::string what = std::filesystem::read_symlink(entry.path(), gone).string();
                const int flags = ::fcntl(fd, F_GETFD);
                const bool ours = what.starts_with("socket:") || what.find("event") != std::string::npos;
                if (ours && flags >= 0 && (flags & FD_CLOEXEC) == 0) bad += what + " ";
            }
            exchange(transport, 8, 1);
        });
        return bad.empty() ? std::string("fine") : bad;
    });
    for (int32_t r = 0; r < 2; ++r) CHECK(ranks.wait(r).outcome == "fine");
}
