// TCP ranks on threads of this process: what the contract suite does not ask of every backend.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <thread>

#include "backends/tcp/socket.h"
#include "core/base/error.h"
#include "tests/contract/harness.h"
#include "tests/folder.h"
#include "tests/held_port.h"
#include "tests/patience.h"
#include "tests/tcp/world.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::contract;
using namespace tcp_world;
using backends::tcp::TcpOptions;
using backends::tcp::TcpWorld;
using backends::tcp::Token;
using std::chrono::milliseconds;
using test::thrown_id;
using Clock = std::chrono::steady_clock;

namespace {

std::vector<std::byte> pattern(std::size_t n, int32_t salt) {
    std::vector<std::byte> bytes(n);
    uint32_t x = static_cast<uint32_t>(salt) * 2'654'435'761U + 1;
    for (std::byte& b : bytes) b = static_cast<std::byte>((x = x * 1'664'525U + 1'013'904'223U) >> 24U);
    return bytes;
}

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
}

}  // namespace

TEST_CASE("messages of all sizes around the limits arrive whole, both ways at once, on several channels") {
    const std::vector<std::size_t> sizes{0,       1,       4096,    65'535,    65'536,       65'537,
                                         262'144, 999'999, 1 << 20, 3'000'001, (1 << 20) + 1};
    TcpThreadsWorld world(3);
    world.run([&](comm::Transport& transport) {
        const int32_t me = transport.rank().value;
        std::vector<std::vector<std::byte>> sent;
        std::vector<comm::Transport::Ticket> tickets;
        for (int32_t peer = 0; peer < 3; ++peer)
            for (std::size_t i = 0; peer != me && i < sizes.size(); ++i) {
                sent.push_back(pattern(sizes[i], me * 100 + static_cast<int32_t>(i)));
                tickets.push_back(transport.post(GlobalRank{peer}, comm::Channel{static_cast<int32_t>(i % 3)},
                                                 sent.back()));
            }
        // Channels do not wait for each other: taken in another order than sent.
        for (const int32_t channel : {2, 0, 1})
            for (int32_t peer = 2; peer >= 0; --peer)
                for (std::size_t i = 0; peer != me && i < sizes.size(); ++i) {
                    if (static_cast<int32_t>(i % 3) != channel) continue;
                    const auto expected = pattern(sizes[i], peer * 100 + static_cast<int32_t>(i));
                    transport.receive(
                        GlobalRank{peer}, comm::Channel{channel}, static_cast<int64_t>(sizes[i]),
                        [&](comm::Transport::Bytes bytes) {
                            if (!std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()))
                                throw std::runtime_error("different bytes than were sent");
                        });
                }
        for (const auto ticket : tickets) transport.wait(ticket);
    });
}

TEST_CASE("a rank can send to itself, as on threads") {
    TcpThreadsWorld world(2);
    world.run([&](comm::Transport& transport) {
        const auto bytes = pattern(100'000, 1);
        const auto ticket = transport.post(transport.rank(), kChannel, bytes);
        if (transport.done(ticket)) throw std::runtime_error("done before it was taken");
        transport.receive(transport.rank(), kChannel, 100'000, [&](comm::Transport::Bytes got) {
            if (got.data() != bytes.data()) throw std::runtime_error("copied");
        });
        transport.wait(ticket);
    });
}

TEST_CASE("a long message of the wrong size is found by either side before it is sent") {
    for (const bool receiver_first : {false, true})
        for (const auto& [sent, expected] : std::vector<std::pair<std::size_t, int64_t>>{
                 {200'000, 100'000}, {100'000, 200'000}, {200'000, 10}, {10, 200'000}}) {
            TcpThreadsWorld world(2);
            const auto bytes = pattern(sent, 0);
            const std::string id = thrown_id<CommError>([&] {
                world.run([&](comm::Transport& transport) {
                    const bool sender = transport.rank().value == 0;
                    if (sender == receiver_first) std::this_thread::sleep_for(milliseconds(5));
                    if (sender)
                        transport.wait(transport.post(GlobalRank{1}, kChannel, bytes));
                    else
                        transport.receive(GlobalRank{0}, kChannel, expected, [](auto) {});
                });
            });
            CHECK(id == "comm.size_mismatch");
            for (const std::exception_ptr& error : world.errors()) {
                CHECK(told(error, "sent_bytes").id == "comm.size_mismatch");
                CHECK(told(error, "sent_bytes").arg == std::to_string(sent));
                CHECK(told(error, "expected_bytes").arg == std::to_string(expected));
                CHECK_FALSE(told(error, "").secondary);
            }
        }
}

TEST_CASE("a wait that lasts too long names the ranks that did not come, and all stop") {
    // Rank 1 waits for rank 0 as long as rank 0 for rank 2: only one of them may run out of patience.
    TcpThreadsWorld world(3, [](TcpOptions& options) {
        if (options.rank == 0) options.timeouts.operation = milliseconds(150);
    });
    std::atomic<bool> sent{false}, over{false};
    CHECK(thrown_id<CommError>([&] {
              world.run([&](comm::Transport& transport) {
                  const int32_t me = transport.rank().value;
                  if (me == 0) {
                      while (!sent) std::this_thread::yield();
                      const std::vector<comm::Expected> all{{GlobalRank{1}, 4}, {GlobalRank{2}, 4}};
                      try {
                          transport.receive_together(all, kChannel, [](auto) {});
                      } catch (...) {
                          over = true;
                          throw;
                      }
                  }
                  const std::vector<std::byte> four(4);
                  if (me == 1) {
                      const auto ticket = transport.post(GlobalRank{0}, kChannel, four);
                      sent = true;
                      transport.wait(ticket);
                  }
                  // Rank 2 is alive and computes.
                  while (me == 2 && !over) std::this_thread::sleep_for(milliseconds(2));
                  transport.receive(GlobalRank{0}, kChannel, 1, [](auto) {});
              });
          }) != "nothing thrown");
    CHECK(told(world.errors()[0], "missing").id == "comm.operation_timeout");
    CHECK(told(world.errors()[0], "missing").arg == "[2]");
    // Rank 0 only waited: nobody is told that it failed.
    CHECK(told(world.errors()[2], "rank").id == "comm.operation_timeout");
    CHECK(told(world.errors()[2], "rank").arg == "0");
    CHECK(told(world.errors()[2], "rank").secondary);
}

TEST_CASE("whoever waits long says so and for whom, and a rank that stalls is not the one that gives up") {
    std::mutex mutex;
    std::vector<std::string> told_of;
    TcpThreadsWorld world(2, [&](TcpOptions& options) {
        options.timeouts.operation = milliseconds(400);
        options.timeouts.unusual = milliseconds(50);
        options.log = [&](const Message& message) {
            const std::lock_guard lock(mutex);
            told_of.push_back(message.id + " " + to_text(*message.find("rank")) + " " +
                              to_text(*message.find("peers")));
        };
    });
    CHECK(thrown_id<CommError>([&] {
              world.run([&](comm::Transport& transport) {
                  if (transport.rank().value == 1) comm::stall(transport);
                  std::this_thread::sleep_for(milliseconds(50));  // the other one has stalled before
                  transport.receive(GlobalRank{1}, kChannel, 4, [](auto) {});
              });
          }) == "comm.operation_timeout");
    CHECK(told(world.errors()[0], "missing").arg == "[1]");
    CHECK(told(world.errors()[1], "missing").id == "comm.operation_timeout");
    CHECK(told(world.errors()[1], "missing").secondary);
    CHECK(told_of.size() >= 2);
    CHECK(told_of.size() <= 4);  // 50, 100, 200 ms
    for (const std::string& line : told_of) CHECK(line == "comm.waiting_aside 0 [1]");
}

TEST_CASE("an unwaited receipt names the rank that did not take it") {
    TcpThreadsWorld world(2, [](TcpOptions& options) {
        if (options.rank == 0) options.timeouts.operation = milliseconds(100);
    });
    const auto bytes = pattern(100, 0);
    CHECK(thrown_id<CommError>([&] {
              world.run([&](comm::Transport& transport) {
                  if (transport.rank().value == 0)
                      transport.wait(transport.post(GlobalRank{1}, kChannel, bytes));
                  else
                      transport.receive(GlobalRank{0}, comm::Channel{9}, 100, [](auto) {});
              });
          }) == "comm.receipt_timeout");
    CHECK(told(world.errors()[0], "missing").arg == "[1]");
}

TEST_CASE("a rank that computes is alive: its heart beats while it is in no call") {
    // A heart that beats only in calls is late each time.
    const auto is_alive = [] {
        TcpThreadsWorld world(2, [](TcpOptions& options) { options.timeouts.heartbeat = milliseconds(300); });
        return thrown_id<CommError>([&] {
                   world.run([](comm::Transport& transport) {
                       if (transport.rank().value == 1) std::this_thread::sleep_for(milliseconds(900));
                       exchange_ranks(transport);
                   });
               }) == "nothing thrown";
    };
    CHECK((is_alive() || is_alive() || is_alive()));
}

TEST_CASE("the first cause reaches a rank that is in no call, with id and arguments") {
    TcpThreadsWorld world(3);
    const auto begin = Clock::now();
    const std::string id = thrown_id<Error>([&] {
        world.run([&](comm::Transport& transport) {
            if (transport.rank().value == 1)
                throw InvalidArgument({"mesh.larger_than_world", {{"ranks", int64_t{8}}}});
            std::this_thread::sleep_for(milliseconds(50));
            exchange_ranks(transport);
        });
    });
    CHECK(id == "mesh.larger_than_world");
    for (const std::size_t other : {0U, 2U}) {
        CHECK(told(world.errors()[other], "rank").id == "comm.aborted");
        CHECK(told(world.errors()[other], "cause.id").arg == "mesh.larger_than_world");
        CHECK(told(world.errors()[other], "cause.ranks").arg == "8");
        CHECK(told(world.errors()[other], "rank").arg == "1");
    }
    CHECK(Clock::now() - begin < test::kGuard);
}

TEST_CASE("a rank that gives up before it can say why is asked for it") {
    const auto is_known = [] {
        TcpThreadsWorld world(3);
        CHECK(thrown_id<Error>([&] {
                  world.run([&](comm::Transport& transport) {
                      if (transport.rank().value == 1) {
                          // As what it holds does, when an error passes it on its way to the body's end.
                          transport.give_up();
                          std::this_thread::sleep_for(milliseconds(20));
                          throw InvalidArgument({"mesh.larger_than_world", {{"ranks", int64_t{8}}}});
                      }
                      // One waits for it in a call, the other has come to its own end.
                      if (transport.rank().value == 0)
                          transport.receive(GlobalRank{1}, kChannel, 4, [](auto) {});
                  });
              }) == "mesh.larger_than_world");
        bool known = true;
        for (const std::size_t other : {0U, 2U})
            known = known && told(world.errors()[other], "rank").id == "comm.aborted" &&
                    told(world.errors()[other], "cause.id").arg == "mesh.larger_than_world";
        return known;
    };
    // It is not waited for without end; a busy machine may be late.
    CHECK((is_known() || is_known() || is_known()));
}

TEST_CASE("rank 0 can serve the store itself, and a world can be run many times over") {
    const test::HeldPort port;
    std::vector<std::exception_ptr> errors(3);
    std::vector<std::thread> threads;
    for (int32_t r = 0; r < 3; ++r)
        threads.emplace_back([&, r] {
            try {
                TcpOptions options;
                options.rank = r;
                options.world_size = 3;
                options.init_method = "tcp://127.0.0.1:" + port.text();
                TcpWorld world(options);
                for (int i = 0; i < 5; ++i) world.run(exchange_ranks);
            } catch (...) {
                errors[static_cast<std::size_t>(r)] = std::current_exception();
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors) CHECK(told(error, "").id == "nothing");
}

TEST_CASE("a hundred worlds leave no file and no thread behind, failed ones neither") {
    const auto once = [](int i) {
        TcpThreadsWorld world(2);
        try {
            world.run([&](comm::Transport& transport) {
                exchange_ranks(transport);
                if (i % 3 == 0 && transport.rank().value == 1) throw std::runtime_error("failed");
            });
        } catch (const std::exception&) {
        }
    };
    once(0);
    const std::ptrdiff_t before = open_files();
    for (int i = 0; i < 100; ++i) once(i);
    CHECK(open_files() == before);
    CHECK(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                        std::filesystem::directory_iterator()) <= 2);  // a sanitizer may have one of its own
}
