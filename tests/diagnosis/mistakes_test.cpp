#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/diagnosis/judge.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::diagnosis;

namespace {

constexpr double kMostMs = 20'000;  // a guard against hangs; the real figure is printed

}  // namespace

TEST_CASE("every mistake of the table is diagnosed, on every rank alike, with the rank and the op named") {
    const std::string backend = GENERATE(as<std::string>(), "threads", "fibers");
    const std::vector<Mistake> table = mistakes();
    CHECK(table.size() >= 60);
    double slowest_ms = 0;
    std::string slowest;
    int worlds = 0;
    for (const Mistake& mistake : table)
        for (int32_t n = std::max(2, mistake.least_ranks); n <= 8; ++n)
            for (const int32_t odd : {0, n - 1}) {
                const Outcome outcome =
                    run_program(backend, {n}, true, [&](Place& p) { mistake.program(p, odd); });
                ++worlds;
                INFO(mistake.name << ", " << n << " ranks, odd " << odd);
                std::string first;
                bool all = true;
                for (int32_t r = 0; r < n; ++r) {
                    const auto& told = outcome.told[static_cast<std::size_t>(r)];
                    const std::string& words = outcome.words[static_cast<std::size_t>(r)];
                    if (mistake.ends && words.empty()) continue;  // it had nothing more to do
                    if (!told) UNSCOPED_INFO("rank " << r << ": " << words);
                    all &= told.has_value();
                    if (!told) continue;
                    // One diagnosis for all, not each its own.
                    if (first.empty()) first = to_json(*told);
                    CHECK(to_json(*told) == first);
                }
                CHECK(all);
                CHECK_FALSE(first.empty());
                const auto found = std::find_if(outcome.told.begin(), outcome.told.end(),
                                                [](const auto& told) { return told.has_value(); });
                if (found == outcome.told.end()) continue;
                CHECK(lacking(mistake, **found, n, odd) == "");
                CHECK(outcome.slowest_ms < kMostMs);
                if (outcome.slowest_ms > slowest_ms) {
                    slowest_ms = outcome.slowest_ms;
                    slowest = mistake.name + ", " + std::to_string(n) + " ranks";
                }
            }
    std::printf("%zu mistakes in %d worlds of %s: the slowest diagnosis took %.2f ms (%s)\n", table.size(),
                worlds, backend.c_str(), slowest_ms, slowest.c_str());
}

TEST_CASE("a program without a mistake is not accused, whatever it calls") {
    for (int32_t n = 1; n <= 8; ++n)
        for (const auto mode : {StreamExecutor::Mode::inline_in_wait, StreamExecutor::Mode::helper_thread}) {
            const Outcome outcome = run_program(
                "threads", {n}, true,
                [](Place& p) {
                    const auto world = p.world(), other = p.world(1, Algorithm::direct);
                    const int32_t r = p.rank(), size = p.ranks();
                    const GroupRank next{(r + 1) % size}, before{(r + size - 1) % size};
                    std::vector<int64_t> counts(static_cast<std::size_t>(size)), mine = counts;
                    for (int32_t i = 0; i < size; ++i) {
                        counts[static_cast<std::size_t>(i)] = i;
                        mine[static_cast<std::size_t>(i)] = r;
                    }
                    const int64_t all = int64_t{size} * (size - 1) / 2;
                    for (int i = 0; i < 3; ++i) {
                        Work a = world->all_reduce(p.zeros(7), ReduceOp::sum);
                        Work b = other->all_gather(p.zeros(all), p.zeros(r), counts);
                        world->reduce_scatter(p.zeros(r), p.zeros(all), ReduceOp::max, counts).wait();
                        // Rank i gives each rank what that one's number says.
                        other->all_to_all(p.zeros(int64_t{r} * size), p.zeros(all), mine, counts).wait();
                        world->gather(r == 0 ? p.zeros(all) : Tensor(), p.zeros(r), GroupRank{0}, counts)
                            .wait();
                        world->scatter(p.zeros(r), r == 0 ? p.zeros(all) : Tensor(), GroupRank{0}, counts)
                            .wait();
                        world->broadcast(p.zeros(i), GroupRank{size - 1}).wait();
                        if (size > 1) {
                            // Its own line, its own stream: neither is compared.
                            CallOptions options{};
                            options.stream = r % 2 == 0 ? Stream::p2p : Stream::compute;
                            Work sent = world->send(p.zeros(5), next, options);
                            world->recv(p.zeros(5), before).wait();
                            sent.wait();
                        }
                        a.wait();
                        b.wait();
                        if (r == 0)
                            world->barrier().wait();
                        else
                            world->barrier().wait();
                    }
                },
                mode);
            for (const std::string& words : outcome.words) CHECK(words.empty());
        }
}

TEST_CASE("a ring of waits is found while other ranks still run") {
    // Ranks 0 and 1 wait for each other; rank 2 computes until it learns of that.
    std::atomic<bool> told{false};
    const Outcome outcome = run_program("threads", {3}, true, [&](Place& p) {
        const auto world = p.world();
        if (p.rank() == 2) {
            const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
            while (!told && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
            return;
        }
        try {
            world->recv(p.zeros(1), GroupRank{1 - p.rank()}).wait();
        } catch (...) {
            told = true;
            throw;
        }
    });
    CHECK(told);
    REQUIRE(outcome.told[0].has_value());
    CHECK(outcome.told[0]->kind == DiagnosisKind::deadlock);
    CHECK(outcome.told[0]->cycle == std::vector<int32_t>{0, 1});
    CHECK(report_of(*outcome.told[0], 2)->state == RankState::running);
}

TEST_CASE("without the check, what other systems do is what happens: the mistake itself") {
    // sum against max: every rank gets an answer and no error, and it is half the one, half the other. This
    // is why calls are compared.
    std::vector<std::vector<float>> answer(2);
    const Outcome outcome = run_program("threads", {2}, false, [&](Place& p) {
        const auto mine = static_cast<float>(p.rank() + 1);
        const float both[] = {mine, mine};
        const Tensor t = p.memory.of(both, {2}, MemoryCategory::temporaries, "test");
        p.world()->all_reduce(t, p.rank() == 0 ? ReduceOp::sum : ReduceOp::max).wait();
        answer[static_cast<std::size_t>(p.rank())] = {t.data<float>()[0], t.data<float>()[1]};
    });
    CHECK(outcome.words[0].empty());
    CHECK(outcome.words[1].empty());
    const std::set<float> seen{answer[0][0], answer[0][1], answer[1][0], answer[1][1]};
    CHECK(seen == std::set<float>{2, 3});
}

TEST_CASE("what the comparison costs a call is printed") {
    constexpr int kCalls = 2000;
    for (const int32_t n : {2, 4}) {
        double us[2] = {0, 0};
        for (const bool checked : {false, true}) {
            std::vector<double> each(static_cast<std::size_t>(n));
            // Without checksums: they cost by the byte, the comparison by the call.
            const auto world = backends::make_registry()->open("threads", {n});
            world->run([&](comm::Transport& transport) {
                const auto device = tensor::make_cpu_device();
                tensor::Allocator memory(*device);
                StreamExecutor executor(transport, StreamExecutor::Mode::inline_in_wait);
                Place p{transport, executor, memory, checked};
                const auto group = p.world();
                const Tensor t = p.zeros(256);
                group->barrier().wait();
                const auto started = std::chrono::steady_clock::now();
                for (int i = 0; i < kCalls; ++i) group->all_reduce(t, ReduceOp::sum).wait();
                each[static_cast<std::size_t>(p.rank())] =
                    std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - started)
                        .count() /
                    kCalls;
                executor.finish();
            });
            us[checked ? 1 : 0] = *std::max_element(each.begin(), each.end());
        }
        CHECK(us[0] > 0);
        std::printf("all_reduce of 1 KiB on %d ranks: %.1f us, compared across ranks %.1f us (+%.1f)\n", n,
                    us[0], us[1], us[1] - us[0]);
    }
}
