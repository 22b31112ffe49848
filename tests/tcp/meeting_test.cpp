// How TCP ranks find each other, and what they are told when they do not.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
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

TEST_CASE("a rank that knows another token is told so early, by whichever side it is") {
    const test::Folder folder;
    const auto join = [&](int32_t rank, const Token& token, const std::string& method) {
        TcpOptions options;
        options.rank = rank;
        options.world_size = 2;
        options.init_method = method;
        options.token = token;
        options.timeouts.connect = rank == 0 ? milliseconds(5'000) : test::kGuard;
        return thrown_id<Error>([&] { TcpWorld(options).run([](comm::Transport&) {}); });
    };
    const test::HeldPort port;
    for (const std::string& method : {"file://" + folder.file("meet"), "tcp://127.0.0.1:" + port.text()}) {
        std::string first, second;
        std::thread other([&] { first = join(0, Token::random(), method); });
        const auto begin = Clock::now();
        second = join(1, Token::random(), method);
        const auto took = Clock::now() - begin;
        other.join();
        CHECK(second == (method.starts_with("file") ? "tcp.token_differs" : "tcp.store_token_differs"));
        CHECK(took < test::kGuard / 2);
        CHECK(first == "tcp.ranks_missing");  // a stranger cannot end its job
    }
}

TEST_CASE("a file is enough to meet, and ranks leave nothing in it") {
    const test::Folder folder;
    const std::string path = folder.file("meet");
    for (const int32_t n : {1, 2, 5})
        for (const std::exception_ptr& error : run_by_file(path, n, "a run", exchange_ranks))
            CHECK(told(error, "").id == "nothing");
    CHECK(test::content(path).empty());
}

TEST_CASE("what a killed run left in the file does no harm") {
    const test::Folder folder;
    const std::string path = folder.file("meet");
    // The same run's address that nobody listens on any more, another run's, and rubbish.
    const std::string run = "x61 0 ";
    std::ofstream(path) << run << "0 127.0.0.1:1\n"
                        << run << "1 127.0.0.1:1\nx62 0 0 127.0.0.1:2\nx61 0\n\xff\n";
    for (const std::exception_ptr& error : run_by_file(path, 3, "a", exchange_ranks))
        CHECK(told(error, "").id == "nothing");
    CHECK(test::content(path) == "x62 0 0 127.0.0.1:2\nx61 0\n\xff\n");
}

TEST_CASE("ranks of two runs that meet in one file do not mix") {
    const test::Folder folder;
    const std::string path = folder.file("meet");
    std::vector<std::exception_ptr> a, b;
    std::thread other([&] { a = run_by_file(path, 3, "a", exchange_ranks); });
    b = run_by_file(path, 2, "b", exchange_ranks);
    other.join();
    for (const std::exception_ptr& error : a) CHECK(told(error, "").id == "nothing");
    for (const std::exception_ptr& error : b) CHECK(told(error, "").id == "nothing");
}

TEST_CASE("ranks that do not come are named when the time is over") {
    const test::Folder folder;
    TcpOptions options;
    options.rank = 1;
    options.world_size = 3;
    options.init_method = "file://" + folder.file("meet");
    options.timeouts.connect = milliseconds(300);
    std::exception_ptr error;
    try {
        TcpWorld(options).run([](comm::Transport&) {});
    } catch (...) {
        error = std::current_exception();
    }
    CHECK(told(error, "missing").id == "tcp.ranks_missing");
    CHECK(told(error, "missing").arg == "[0, 2]");
    options.rank = 0;
    try {
        TcpWorld(options).run([](comm::Transport&) {});
    } catch (...) {
        error = std::current_exception();
    }
    CHECK(told(error, "missing").arg == "[1, 2]");
}

TEST_CASE("a rank that waits for others to join says soon where, and which of them are missing") {
    const test::HeldPort port;
    const test::Folder folder;
    for (const std::string& method : {"file://" + folder.file("meet"), "tcp://127.0.0.1:" + port.text()}) {
        std::mutex mutex;
        std::map<int32_t, std::string> said;
        const std::string right = "[1, 3] " + method;
        // Until all three have said what is right; one that joined early may first have missed more.
        const auto all_said = [&] {
            const std::lock_guard lock(mutex);
            return said[0] == right && said[2] == right && said[4] == right;
        };
        std::atomic<bool> done = false;
        const auto join = [&](int32_t rank) {
            TcpOptions options;
            options.rank = rank;
            options.world_size = 5;
            options.init_method = method;
            options.timeouts.connect = test::kGuard;
            options.timeouts.unusual_meeting = milliseconds(1'000);
            options.stopped = [&] {
                if (all_said()) done = true;
                return done.load();
            };
            options.log = [&, rank](const Message& message) {
                const std::lock_guard lock(mutex);
                if (message.id == "tcp.awaits_ranks" && said[rank] != right)
                    said[rank] =
                        to_text(*message.find("missing")) + " " + to_text(*message.find("init_method"));
            };
            return thrown_id<Error>([&] { TcpWorld(options).run([](comm::Transport&) {}); });
        };
        std::vector<std::thread> ranks;
        for (const int32_t rank : {0, 2, 4}) ranks.emplace_back([&, rank] { join(rank); });
        for (std::thread& rank : ranks) rank.join();
        // Rank 2 and rank 4 call rank 0 and then wait for rank 1.
        for (const int32_t rank : {0, 2, 4}) CHECK(said[rank] == right);
    }
}

TEST_CASE("a rank that came but is not reached is told with its address and why") {
    const test::HeldPort closed;                                                // where nobody listens
    const backends::tcp::Fd deaf = backends::tcp::listen_on({"127.0.0.1", 0});  // takes nobody in
    for (const auto& [there, reason] : {std::pair{closed.number(), std::string("Connection refused")},
                                        std::pair{port_of(deaf), std::string("too_slow")}}) {
        const test::Folder folder;
        const std::string address = "127.0.0.1:" + std::to_string(there);
        const auto join = [&](int32_t rank) {
            TcpOptions options;
            options.rank = rank;
            options.world_size = 2;
            options.init_method = "file://" + folder.file("meet");
            options.advertise = [&](const std::string&) { return address; };
            options.timeouts.connect = milliseconds(1'000);
            std::exception_ptr error;
            try {
                TcpWorld(options).run([](comm::Transport&) {});
            } catch (...) {
                error = std::current_exception();
            }
            return error;
        };
        std::exception_ptr answers, calls;
        std::thread other([&] { answers = join(0); });
        calls = join(1);
        other.join();
        CHECK(told(calls, "reason").id == "tcp.rank_not_reached");
        CHECK(told(calls, "reason").arg == reason);
        CHECK(told(calls, "peer").arg == "0");
        CHECK(told(calls, "address").arg == address);
        CHECK(told(answers, "missing").id == "tcp.ranks_missing");
    }
}

TEST_CASE("options that cannot work are refused before anything is opened") {
    TcpOptions good;
    good.init_method = "file:///tmp/meet";
    const auto refusal = [&](auto change) {
        TcpOptions options = good;
        change(options);
        return thrown_id<InvalidArgument>([&] { TcpWorld world(options); });
    };
    CHECK(refusal([](TcpOptions& o) { o.world_size = 0; }) == "backend.world_size");
    CHECK(refusal([](TcpOptions& o) { o.rank = 1; }) == "comm.rank_outside_world");
    CHECK(refusal([](TcpOptions& o) { o.rank = -1; }) == "comm.rank_outside_world");
    CHECK(refusal([](TcpOptions& o) { o.bind = "0.0.0.0"; }) == "tcp.token_required");
    CHECK(refusal([](TcpOptions& o) { o.bind = "192.0.2.1"; }) == "tcp.token_required");
    // Nobody on another machine could use what such a rank would leave in the file.
    const auto on_all = [](TcpOptions& o, const char* bind) {
        o.bind = bind;
        o.token = Token::random();
        o.world_size = 2;
    };
    for (const char* bind : {"0.0.0.0", "::", ""}) {
        CHECK(refusal([&](TcpOptions& o) { on_all(o, bind); }) == "tcp.no_own_address");
        CHECK(refusal([&](TcpOptions& o) {
                  on_all(o, bind);
                  o.advertise = [](const std::string& address) { return address; };
              }) == "nothing thrown");
    }
    CHECK(refusal([](TcpOptions& o) { o.run_id = std::string(65, 'r'); }) == "tcp.run_id_too_long");
    for (const char* method : {"", "env://", "tcp://", "file://relative", "http://a:1", "/a"})
        CHECK(refusal([&](TcpOptions& o) { o.init_method = method; }) != "nothing thrown");
    for (const char* address :
         {"tcp://a", "tcp://a:", "tcp://a:x", "tcp://a:70000", "tcp://:1", "tcp://a:b:1"})
        CHECK(refusal([&](TcpOptions& o) { o.init_method = address; }) == "tcp.address_malformed");
}
