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

int sockets_of(pid_t pid) {
    int n = 0;
    std::error_code gone;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone))
        n += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:");
    return n;
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

TEST_CASE("when a wait is too long the rank that gives no sign of life is named, whoever was waited for") {
    const Folder folder;
    Processes ranks(3, [&](int32_t rank) {
        TcpOptions options = options_of(folder, rank, 3);
        options.timeouts.operation = milliseconds(2'000);  // sooner over than the heartbeat's
        TcpWorld(options).run([&](comm::Transport& transport) {
            exchange(transport, 8, 1);
            mark(folder, "up" + std::to_string(rank));
            transport.receive(GlobalRank{(rank + 1) % 3}, comm::Channel{5}, 12, [](auto) {});
        });
        return std::string("fine");
    });
    for (const char* up : {"up0", "up1", "up2"}) await_mark(folder, up);
    ranks.signal(2, SIGSTOP);  // rank 0 waits for rank 1, which waits for rank 2
    for (const int32_t rank : {0, 1}) {
        const std::string told = ranks.wait(rank).outcome;
        INFO(told);
        CHECK(told.starts_with("!comm.peer_silent(peer=2,"));
    }
    ranks.signal(2, SIGCONT);
    ranks.wait(2);
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
        // It listens, and is connected to rank 0 for the heartbeat: with the third it calls again, for the
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
