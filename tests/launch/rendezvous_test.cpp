// The agents' common mind, with nodes in the place of processes.
#include "app/launch/rendezvous.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <thread>

#include "app/launch/decision.h"
#include "backends/tcp/store_server.h"
#include "core/base/error.h"
#include "tests/patience.h"
#include "tests/test.h"

using namespace meshscope::launch;
using meshscope::backends::tcp::StoreClient;
using meshscope::backends::tcp::StoreClientOptions;
using meshscope::backends::tcp::StoreServer;
using std::chrono::milliseconds;

namespace {

struct Store {
    StoreServer server{{}};
    StoreClientOptions at() const {
        StoreClientOptions options;
        options.address = server.address();
        return options;
    }
    StoreClient client{at()};
};

MeetingOptions leader(int32_t least, int32_t most) {
    MeetingOptions options;
    options.node_rank = 0;
    options.min_nodes = least;
    options.max_nodes = most;
    options.last_call = milliseconds(0);
    options.lost_after = milliseconds(600);
    return options;
}

MeetingOptions follower(int32_t node_rank) {
    MeetingOptions options = leader(1, 1);
    options.leads = false;
    options.node_rank = node_rank;
    return options;
}

Failure failure(int32_t rank, std::size_t text, std::size_t json) {
    Failure f;
    f.rank = rank;
    f.exit_code = 9;
    f.text = std::string(text, 't');
    f.json = std::string(json, 'j');
    return f;
}

/// Whether it holds, at the latest after the longest wait of a test.
bool until(const std::function<bool()>& holds) {
    const auto begin = std::chrono::steady_clock::now();
    while (!holds()) {
        if (std::chrono::steady_clock::now() - begin > meshscope::test::kGuard) return false;
        std::this_thread::sleep_for(milliseconds(20));
    }
    return true;
}

}  // namespace

TEST_CASE("who asks for room is heard, and what one that is gone had asked is not") {
    Store store;
    store.client.set("launch/waiting", "asked, and gave up");
    Rendezvous rendezvous(store.client, leader(1, 2));
    CHECK(rendezvous.meet(1).nodes == 1);
    CHECK_FALSE(rendezvous.must_stop());
    store.client.set("launch/waiting", "asks");
    CHECK(rendezvous.must_stop());
    RoundResult round;
    round.outcome = Outcome::stopped;
    const Decision decision = rendezvous.decide(round);
    CHECK(decision.next == Decision::Next::again);
    CHECK(decision.joined);
    CHECK(rendezvous.meet(1).round == 1);  // nobody came
    CHECK_FALSE(rendezvous.must_stop());
}

TEST_CASE("a node that waits for room goes on asking until it has a place") {
    Store store;
    Rendezvous first(store.client, leader(1, 2));
    CHECK(first.meet(1).nodes == 1);
    StoreClient other(store.at());
    std::atomic<bool> over{false};
    MeetingOptions options = follower(1);
    options.signal = [&] { return over.load() ? SIGTERM : 0; };
    auto second = std::async(std::launch::async, [&] { return Rendezvous(other, options).meet(2); });
    RoundResult round;
    round.outcome = Outcome::stopped;
    const bool asked = until([&] { return first.must_stop(); });
    if (asked) {
        CHECK(first.decide(round).next == Decision::Next::again);
        CHECK(first.meet(1).nodes == 2);  // it is waited for, though no last call was asked for
    }
    over = true;
    REQUIRE(asked);
    CHECK(second.get().node == 1);
}

TEST_CASE("a job that was suspended as a whole loses no node, and one that says nothing is lost") {
    Store store;
    StoreClient other(store.at());
    Rendezvous first(store.client, leader(2, 2)), second(other, follower(1));
    auto joined = std::async(std::launch::async, [&] { return second.meet(2); });
    CHECK(first.meet(1).nodes == 2);
    CHECK(joined.get().node == 1);
    CHECK_FALSE(second.must_stop());
    CHECK_FALSE(first.must_stop());
    std::this_thread::sleep_for(milliseconds(900));  // longer than lost_after; nobody runs, nobody looks
    CHECK_FALSE(first.must_stop());
    CHECK_FALSE(second.must_stop());
    CHECK_FALSE(first.must_stop());
    const auto begin = std::chrono::steady_clock::now();
    CHECK(until([&] { return first.must_stop(); }));  // the second says nothing any more
    CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(300));
}

TEST_CASE("a leader whose own workers have ended is still told to stop by a signal, and tells the others") {
    Store store;
    StoreClient other(store.at());
    std::atomic<int> signal{0};
    MeetingOptions options = leader(2, 2);
    options.signal = [&] { return signal.load(); };
    Rendezvous first(store.client, options), second(other, follower(1));
    auto joined = std::async(std::launch::async, [&] { return second.meet(2); });
    CHECK(first.meet(1).nodes == 2);
    joined.get();
    auto decided = std::async(std::launch::async, [&] { return first.decide({}); });
    for (int i = 0; i < 10; ++i) {  // its workers go on
        CHECK_FALSE(second.must_stop());
        std::this_thread::sleep_for(milliseconds(20));
    }
    signal = SIGTERM;
    CHECK(until([&] { return second.must_stop(); }));
    RoundResult stopped;
    stopped.outcome = Outcome::stopped;
    CHECK(second.decide(stopped).next == Decision::Next::signalled);
    const Decision decision = decided.get();
    CHECK(decision.next == Decision::Next::signalled);
    CHECK(decision.exit_code == 128 + SIGTERM);
}

TEST_CASE("a node that joined and is gone again is not counted") {
    Store store;
    // As one does that is killed while it waits for others.
    store.client.add("launch/0/joined", 1);
    store.client.set("launch/0/node/0", "127.0.0.1 1 -1 5");
    store.client.set("launch/0/heartbeat/0", "7");
    store.client.add("launch/0/joined", 1);  // and before it could say who it is
    MeetingOptions options = leader(1, 3);
    options.last_call = milliseconds(1500);
    const Meeting meeting = Rendezvous(store.client, options).meet(1);
    CHECK(meeting.nodes == 1);
    CHECK(meeting.node == 0);
}

TEST_CASE("the leader takes part, though others than there is room for were quicker to join") {
    Store store;
    for (const char* i : {"0", "1"}) {
        store.client.add("launch/0/joined", 1);
        store.client.set(std::string("launch/0/node/") + i, "127.0.0.1 1 -1 5");
    }
    const Meeting meeting = Rendezvous(store.client, leader(1, 2)).meet(1);
    CHECK(meeting.nodes == 2);
    CHECK(meeting.node == 0);
    CHECK(store.client.get("launch/0/table") == "2 0 ");
}

TEST_CASE("of two nodes with one --node-rank the second is refused while the first lives") {
    Store store;
    StoreClient other(store.at());
    NodeClaim first(store.client, 1, milliseconds(2000)), second(other, 1, milliseconds(2000)),
        elsewhere(other, 2, milliseconds(2000));
    REQUIRE(first.take());
    CHECK(elsewhere.take());
    std::string told;
    bool taken = false;
    until([&] {
        first.keep();
        try {
            taken = second.take();
        } catch (const meshscope::InvalidArgument& error) {
            told = error.what();
        }
        return taken || !told.empty();
    });
    CHECK_FALSE(taken);
    CHECK(told == "launch.node_rank_taken(node_rank=1, host=127.0.0.1)");
    CHECK_NOTHROW(first.keep());
}

TEST_CASE("the place of a node that is gone, or has let it go, can be taken, and it hears of that") {
    Store store;
    StoreClient other(store.at());
    NodeClaim first(store.client, 1, milliseconds(300)), second(other, 1, milliseconds(300));
    REQUIRE(first.take());
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(until([&] { return second.take(); }));  // the first says nothing any more
    CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(300));
    CHECK_THROWS_AS(first.keep(), meshscope::InvalidArgument);
    second.let_go();
    NodeClaim third(other, 1, milliseconds(300));
    CHECK(third.take());
}

TEST_CASE("of many failures the store is told the first, with as much of their JSON as it takes") {
    RoundResult round;
    round.outcome = Outcome::failed;
    for (int32_t rank = 0; rank < 100; ++rank) round.failures.push_back(failure(rank, 2000, 4000));
    const std::string text = pack_result(round);
    CHECK(text.size() < 65536);
    const RoundResult told = unpack_result(text);
    REQUIRE(told.failures.size() > 10);
    CHECK(told.failures.size() < 100);
    CHECK(told.failures[0].text.size() == 1024);
    CHECK(told.failures[0].json.size() == 4000);
    CHECK(told.failures.back().rank == static_cast<int32_t>(told.failures.size()) - 1);
    Decision decision;
    decision.next = Decision::Next::given_up;
    decision.exit_code = 9;
    decision.restarts = 1;
    decision.max_restarts = 2;
    decision.lost = {3};
    decision.stopped = {4, 5};
    decision.joined = true;
    decision.failures = {failure(6, 3, 0)};
    const Decision read = unpack_decision(pack_decision(decision));
    CHECK(read.next == decision.next);
    CHECK(read.exit_code == 9);
    CHECK(read.restarts == 1);
    CHECK(read.max_restarts == 2);
    CHECK(read.lost == decision.lost);
    CHECK(read.stopped == decision.stopped);
    CHECK(read.joined);
    REQUIRE(read.failures.size() == 1);
    CHECK(read.failures[0].rank == 6);
    CHECK(read.failures[0].text == "ttt");
}
