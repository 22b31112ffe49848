// A bad network between the ranks, and between them and the store: whatever it does, a run gives right
// numbers or an error, and never lasts much longer than its time-outs. Every seed is one run; the seed of a
// failing one is printed. MESHSCOPE_SEEDS says how many, MESHSCOPE_FIRST_SEED where to begin.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/base/error.h"
#include "tests/contract/tcp_threads_world.h"
#include "tests/patience.h"
#include "tests/tcp/chaos_proxy.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using backends::tcp::TcpOptions;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

int64_t from_environment(const char* name, int64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoll(text);
}

std::byte expected_byte(int32_t src, int round, std::size_t place) {
    return static_cast<std::byte>(static_cast<std::size_t>(src * 31 + round * 7) + place * 13);
}

struct WrongBytes {};

/// Every rank sends every other three messages a round, short and long; whoever gets a wrong byte throws.
void work(comm::Transport& transport) {
    const int32_t me = transport.rank().value;
    for (int round = 0; round < 3; ++round)
        for (const std::size_t n : {std::size_t{50}, std::size_t{700}, std::size_t{70'000}}) {
            std::vector<std::byte> mine(n);
            for (std::size_t i = 0; i < n; ++i) mine[i] = expected_byte(me, round, i);
            std::vector<comm::Transport::Ticket> tickets;
            std::vector<comm::Expected> expected;
            for (int32_t r = 0; r < transport.world_size(); ++r) {
                if (r == me) continue;
                tickets.push_back(transport.post(GlobalRank{r}, comm::Channel{round}, mine));
                expected.push_back({GlobalRank{r}, static_cast<int64_t>(n)});
            }
            transport.receive_together(
                expected, comm::Channel{round}, [&](std::span<const comm::Transport::Bytes> all) {
                    for (std::size_t k = 0; k < all.size(); ++k)
                        for (std::size_t i = 0; i < n; ++i)
                            if (all[k][i] != expected_byte(expected[k].src.value, round, i))
                                throw WrongBytes{};
                });
            for (const auto ticket : tickets) transport.wait(ticket);
        }
}

enum class Outcome : uint8_t { right, error, wrong };

struct Run {
    Outcome outcome = Outcome::right;
    std::string words;
    milliseconds took{};
};

Run run_once(uint64_t seed, Mischief mischief, bool at_store) {
    const int32_t n = 2 + static_cast<int32_t>(seed / 7 % 2);
    const bool harmless = mischief <= Mischief::split;
    std::mutex mutex;
    std::vector<std::unique_ptr<ChaosProxy>> proxies;
    const auto behind_proxy = [&](const std::string& address, uint64_t which) {
        // Most strike on established links; every fourth while they shake hands.
        ChaosProxy::Plan plan;
        plan.mischief = mischief;
        plan.seed = seed * 16 + which;
        plan.after = seed % 4 == 0 || at_store ? 0 : 300;
        plan.before = at_store ? 700 : seed % 8 < 4 ? 2'000 : 200'000;
        const std::lock_guard lock(mutex);
        proxies.push_back(std::make_unique<ChaosProxy>(address, plan));
        return proxies.back()->address();
    };
    Run run;
    {
        contract::TcpThreadsWorld world(n, [&](TcpOptions& options) {
            options.log = [](const Message&) {};
            // Three runs in four send all bytes through the proxy, the fourth says where long ones lie.
            options.near_memory = seed % 4 == 3;
            options.timeouts.connect = milliseconds(harmless ? 20'000 : 300);
            options.timeouts.operation = milliseconds(harmless ? 20'000 : 150);
            options.timeouts.heartbeat = milliseconds(harmless ? 20'000 : 60);
            const auto rank = static_cast<uint64_t>(options.rank);
            if (at_store) {
                const std::string method = options.init_method.substr(6);
                options.init_method = "tcp://" + behind_proxy(method, rank);
            } else {
                options.advertise = [&, rank](const std::string& address) {
                    return behind_proxy(address, rank);
                };
            }
        });
        const auto begin = Clock::now();
        try {
            world.run(work);
        } catch (const WrongBytes&) {
            run.outcome = Outcome::wrong;
        } catch (const CommError& error) {
            run.outcome = Outcome::error;
            run.words = error.what();
        } catch (const std::exception& error) {
            run.outcome = Outcome::wrong;
            run.words = error.what();
        }
        run.took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    }
    return run;
}

/// Runs seeds, several at a time (each waits most of its time), and checks each.
void run_seeds(Mischief mischief, bool at_store, int64_t n_seeds, milliseconds limit) {
    const int64_t first = from_environment("MESHSCOPE_FIRST_SEED", 1);
    std::vector<Run> runs(static_cast<std::size_t>(n_seeds));
    std::vector<std::atomic<bool>> in_time(runs.size());
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> workers;
    for (int i = 0; i < 6; ++i)
        workers.emplace_back([&] {
            for (std::size_t at = next++; at < runs.size(); at = next++) {
                const auto once = [&] {
                    runs[at] = run_once(static_cast<uint64_t>(first) + at, mischief, at_store);
                    return runs[at].outcome == Outcome::wrong ? milliseconds(0) : runs[at].took;
                };
                in_time[at] = kept(limit, once);
            }
        });
    for (std::thread& worker : workers) worker.join();
    int64_t n_errors = 0;
    for (std::size_t at = 0; at < runs.size(); ++at) {
        const Run& run = runs[at];
        INFO("seed " << first + static_cast<int64_t>(at) << ", mischief " << static_cast<int>(mischief)
                     << ", " << run.words);
        REQUIRE(run.outcome != Outcome::wrong);
        REQUIRE(in_time[at]);
        if (mischief <= Mischief::split) REQUIRE(run.outcome == Outcome::right);
        n_errors += run.outcome == Outcome::error ? 1 : 0;
    }
    // The proxy really does something.
    if (!at_store && mischief > Mischief::split && n_seeds >= 20) CHECK(n_errors > n_seeds / 4);
}

constexpr int64_t kSeeds = 1'000;

}  // namespace

TEST_CASE("a network that delays or splits what it carries harms nothing") {
    const int64_t n = from_environment("MESHSCOPE_SEEDS", kSeeds);
    run_seeds(Mischief::none, false, n / 50, milliseconds(20'000));
    run_seeds(Mischief::delay, false, n / 20, milliseconds(20'000));
    run_seeds(Mischief::split, false, n / 20, milliseconds(20'000));
    run_seeds(Mischief::delay, true, n / 50, milliseconds(20'000));
    run_seeds(Mischief::split, true, n / 50, milliseconds(20'000));
}

TEST_CASE("a network that resets connections leads to an error or to right numbers") {
    const int64_t n = from_environment("MESHSCOPE_SEEDS", kSeeds);
    run_seeds(Mischief::reset, false, n * 3 / 10, milliseconds(5'000));
    run_seeds(Mischief::reset, true, n / 50, milliseconds(5'000));
}

TEST_CASE("a network that swallows everything leads to an error in time") {
    const int64_t n = from_environment("MESHSCOPE_SEEDS", kSeeds);
    run_seeds(Mischief::half_open, false, n / 20, milliseconds(5'000));
}

TEST_CASE("a network that flips bits never leads to a wrong number") {
    const int64_t n = from_environment("MESHSCOPE_SEEDS", kSeeds);
    run_seeds(Mischief::flip, false, n * 4 / 10, milliseconds(5'000));
    run_seeds(Mischief::flip, true, n / 50, milliseconds(5'000));
}
