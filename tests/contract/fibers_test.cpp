// What is the fibers' own: one thread, an order that is always the same, exceptions that stay with their
// rank.
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/base/one_process.h"
#include "tests/contract/harness.h"
#include "tests/contract/outcome.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

TEST_CASE("fibers all run on the thread that asked for them, also a thousand of them") {
    const int32_t n = test::kSanitizer ? 64 : 1024;
    std::set<std::thread::id> threads;
    const auto sums = run_ranks("fibers", n, Mode::helper_thread, [&](Rank& rank) {
        threads.insert(std::this_thread::get_id());
        const Tensor t = rank.floats({static_cast<float>(rank.rank())});
        rank.world(Algorithm::recursive_doubling)->all_reduce(t, ReduceOp::sum).wait();
        return floats_of(t)[0];
    });
    CHECK(threads == std::set<std::thread::id>{std::this_thread::get_id()});
    const float sum = static_cast<float>(n) * static_cast<float>(n - 1) / 2;
    CHECK(std::ranges::count(sums, sum) == n);
}

TEST_CASE("a fiber goes on until it has to wait, so the order of what ranks do is always the same") {
    const auto order = [] {
        std::string said;
        run_ranks("fibers", 3, Mode::inline_in_wait, [&](Rank& rank) {
            const auto world = rank.world();
            for (int i = 0; i < 3; ++i) {
                said += static_cast<char>('a' + rank.rank());
                said += static_cast<char>('a' + rank.rank());
                world->barrier().wait();
            }
            return 0;
        });
        return said;
    };
    const std::string once = order();
    CHECK(once.starts_with("aabbcc"));
    CHECK(order() == once);
}

TEST_CASE("a rank that waits in a catch block, or in a destructor, finds its own exception when it goes on") {
    struct AtItsEnd {
        Rank& rank;
        int& on_their_way;
        ~AtItsEnd() {
            rank.world()->barrier().wait();
            on_their_way = std::uncaught_exceptions();
        }
    };
    const auto said = run_ranks("fibers", 4, Mode::inline_in_wait, [](Rank& rank) {
        std::string text;
        int on_their_way = 0;
        try {
            try {
                // The odd ones wait while their exception is on its way, the others with none.
                const AtItsEnd end{rank, on_their_way};
                if (rank.rank() % 2 == 1) throw std::runtime_error("of " + std::to_string(rank.rank()));
            } catch (...) {
                rank.world()->barrier().wait();
                throw;
            }
            rank.world()->barrier().wait();
            text = "nothing";
        } catch (const std::exception& error) {
            rank.world()->barrier().wait();
            text = error.what();
        }
        if (rank.rank() % 2 == 0) rank.world()->barrier().wait();
        return text + ", " + std::to_string(on_their_way);
    });
    CHECK(said == std::vector<std::string>{"nothing, 0", "of 1, 1", "nothing, 0", "of 3, 1"});
}

TEST_CASE("a world of fibers can be run again, and from within a rank of another") {
    const auto world = open_world("fibers", 2);
    for (int i = 0; i < 2; ++i) {
        int32_t inner = 0, outer = 0;
        world->run([&](comm::Transport& transport) {
            ++outer;
            open_world("fibers", 3)->run([&](comm::Transport& own) {
                ++inner;
                const GlobalRank next{(own.rank().value + 1) % 3}, before{(own.rank().value + 2) % 3};
                const std::byte data{7};
                const auto ticket = own.post(next, {0}, {&data, 1});
                own.receive(before, {0}, 1, [](auto) {});
                own.wait(ticket);
            });
            const GlobalRank other{1 - transport.rank().value};
            const auto ticket = transport.post(other, {0}, {});
            transport.receive(other, {0}, 0, [](auto) {});
            transport.wait(ticket);
        });
        CHECK(inner == 6);
        CHECK(outer == 2);
    }
}

TEST_CASE("the backends of one process are those that the registry opens whole") {
    for (const std::string_view backend : kOneProcessBackends)
        CHECK(open_world(std::string(backend), 2)->whole());
    CHECK(is_of_one_process("fibers"));
    CHECK_FALSE(is_of_one_process("tcp"));
    CHECK_FALSE(is_of_one_process(""));
}
