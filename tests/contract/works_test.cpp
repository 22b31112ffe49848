#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "tests/contract/harness.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

namespace {

/// Counts what is alive; freeing on another thread than the rank's would be a data race that TSan reports.
class Counter final : public MemorySink {
  public:
    void on_allocate(uint64_t, int64_t bytes, MemoryCategory, std::string_view) override { alive_ += bytes; }
    void on_free(uint64_t) override { ++freed_; }
    int64_t alive_ = 0;
    int32_t freed_ = 0;
};

}  // namespace

TEST_CASE("groups of a 2 x 2 mesh work side by side without touching each other") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto results = run_ranks(backend, 4, mode, [](Rank& rank) {
                const int32_t r = rank.rank();
                // rows {0,1}, {2,3} and columns {0,2}, {1,3}
                const auto row = rank.group(1 + r / 2, {r / 2 * 2, r / 2 * 2 + 1});
                const auto column = rank.group(3 + r % 2, {r % 2, r % 2 + 2}, Algorithm::direct);
                std::vector<float> out;
                for (int i = 0; i < 50; ++i) {
                    const auto own = static_cast<float>(1 << r) + static_cast<float>(16 * i);
                    const Tensor a = rank.floats({own});
                    const Tensor b = rank.floats({own});
                    Work in_row = row->all_reduce(a, ReduceOp::sum);
                    Work in_column = column->all_reduce(b, ReduceOp::sum);
                    in_column.wait();
                    in_row.wait();
                    out.push_back(floats_of(a)[0] - static_cast<float>(32 * i));
                    out.push_back(floats_of(b)[0] - static_cast<float>(32 * i));
                }
                return out;
            });
            // Ranks hold 1, 2, 4, 8: a sum names the members.
            const std::vector<std::pair<float, float>> expected{{3, 5}, {3, 10}, {12, 5}, {12, 10}};
            for (std::size_t r = 0; r < 4; ++r)
                for (std::size_t i = 0; i < 100; i += 2) {
                    REQUIRE(results[r][i] == expected[r].first);
                    REQUIRE(results[r][i + 1] == expected[r].second);
                }
        }
}

TEST_CASE("works may be waited for in any order, twice, or never") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto results = run_ranks(backend, 3, mode, [](Rank& rank) {
                const auto world = rank.world();
                std::vector<Tensor> tensors;
                std::vector<Work> works;
                for (int32_t i = 0; i < 12; ++i) {
                    tensors.push_back(rank.floats({static_cast<float>(i + rank.rank())}));
                    works.push_back(world->all_reduce(tensors.back(), ReduceOp::sum));
                }
                works[7].wait();
                works[7].wait();
                works[2].wait();
                works[0].wait();
                works.clear();
                rank.executor.finish();
                std::vector<float> out;
                for (const Tensor& t : tensors) out.push_back(floats_of(t)[0]);
                return out;
            });
            for (const auto& out : results)
                for (std::size_t i = 0; i < 12; ++i) REQUIRE(out[i] == static_cast<float>(3 * i + 3));
        }
}

TEST_CASE("a call that waits has its place behind those that were issued before it") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto results = run_ranks(backend, 3, mode, [](Rank& rank) {
                const auto world = rank.world();
                const Tensor t = rank.floats({1});
                const CallOptions waits{.async_op = false};
                world->all_reduce(t, ReduceOp::sum, waits);  // nothing is under way: 3
                std::vector<float> out{floats_of(t)[0]};
                Work first = world->all_reduce(t, ReduceOp::sum);               // 9
                Work second = world->all_reduce(t, ReduceOp::sum);              // 27
                const Work third = world->all_reduce(t, ReduceOp::sum, waits);  // 81
                out.push_back(floats_of(t)[0]);
                for (const bool done : {first.done(), second.done(), !third.valid()})
                    out.push_back(done ? 1.0F : 0.0F);
                const Tensor joined = rank.zeros(3);
                const Tensor own = rank.floats({static_cast<float>(rank.rank())});
                world->all_gather(joined, own, {}, waits);
                for (const float each : floats_of(joined)) out.push_back(each);
                return out;
            });
            for (const auto& out : results) REQUIRE(out == std::vector<float>{3, 81, 1, 1, 1, 0, 1, 2});
        }
}

TEST_CASE("a work keeps its tensors alive until it, or a later one, was waited for") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto results = run_ranks(backend, 2, mode, [](Rank& rank) {
                Counter sink;
                tensor::Allocator memory(rank.memory.device(), &sink);
                const auto world = rank.world();
                const auto issue = [&] {
                    const Tensor t =
                        memory.of(std::vector<float>{1}, {1}, MemoryCategory::communication, "t");
                    return world->all_reduce(t, ReduceOp::sum);
                };
                std::vector<int32_t> freed;
                Work a = issue();
                Work b = issue();
                Work c = issue();
                freed.push_back(sink.freed_);
                a.wait();
                freed.push_back(sink.freed_);
                c.wait();
                freed.push_back(sink.freed_);
                (void)issue();
                freed.push_back(sink.freed_);
                rank.executor.finish();
                freed.push_back(sink.freed_);
                return freed;
            });
            for (const auto& freed : results) REQUIRE(freed == std::vector<int32_t>{0, 1, 3, 3, 4});
        }
}

TEST_CASE("a send before a collective meets a recv after it") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto results = run_ranks(backend, 2, mode, [](Rank& rank) {
                const auto world = rank.world();
                const Tensor sum = rank.floats({1});
                const Tensor message = rank.floats({rank.rank() == 0 ? 7.0F : 0.0F});
                if (rank.rank() == 0) {
                    Work sent = world->send(message, GroupRank{1});
                    world->all_reduce(sum, ReduceOp::sum).wait();
                    sent.wait();
                } else {
                    world->all_reduce(sum, ReduceOp::sum).wait();
                    world->recv(message, GroupRank{0}).wait();
                }
                return std::vector<float>{floats_of(sum)[0], floats_of(message)[0]};
            });
            for (const auto& out : results) REQUIRE(out == std::vector<float>{2, 7});
        }
}

TEST_CASE("a buffer may be changed once a send that does not wait has run, though nobody has received it") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto results = run_ranks(backend, 2, mode, [](Rank& rank) {
                const auto world = rank.world();
                const Tensor t = rank.floats({5});
                if (rank.rank() == 0) {
                    Work sent = world->send(t, GroupRank{1});
                    sent.run();
                    tensor::fill_numbers<float>(t, [](std::span<float> n) { n[0] = -1; });
                    world->barrier().wait();
                    sent.wait();
                } else {
                    world->barrier().wait();
                    world->recv(t, GroupRank{0}).wait();
                }
                return floats_of(t)[0];
            });
            REQUIRE(results == std::vector<float>{-1, 5});
        }
}

TEST_CASE("a send that waits ends only when its receiver has its numbers") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend))
            for (const bool async_op : {false, true}) {
                if (!kOneProcess) continue;  // which has a flag in common
                // An isend over NCCL is at its end when its numbers were copied (docs/gpu.md).
                if (async_op && backend.starts_with("nccl")) continue;
                std::atomic<bool> about_to_receive{false}, was_too_early{false};
                run_ranks(backend, 2, mode, [&](Rank& rank) {
                    const auto world = rank.world();
                    const Tensor t = rank.floats({5});
                    if (rank.rank() == 0) {
                        world->send(t, GroupRank{1}, {.async_op = async_op}).wait();
                        if (!about_to_receive) was_too_early = true;
                    } else {
                        std::this_thread::sleep_for(std::chrono::milliseconds(20));
                        about_to_receive = true;
                        world->recv(t, GroupRank{0}).wait();
                    }
                    return floats_of(t)[0];
                });
                CHECK_FALSE(was_too_early.load());
            }
}

TEST_CASE("two ranks that post a send and a recv each before they wait do not wait in a ring") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto results = run_ranks(backend, 2, mode, [](Rank& rank) {
                const auto world = rank.world();
                const GroupRank other{1 - rank.rank()};
                const Tensor mine = rank.floats({static_cast<float>(rank.rank())}), theirs = rank.zeros(1);
                Work sent = world->send(mine, other);
                Work received = world->recv(theirs, other);
                sent.wait();
                received.wait();
                return floats_of(theirs)[0];
            });
            REQUIRE(results == std::vector<float>{1, 0});
        }
}

TEST_CASE("64 ranks on whatever cores there are finish a thousand small collectives") {
    for (const std::string& backend : backends_under_test()) {
        const auto results = run_ranks(backend, 64, Mode::inline_in_wait, [](Rank& rank) {
            const auto world = rank.world(Algorithm::ring);
            const auto pair = rank.group(1 + rank.rank() / 2, {rank.rank() / 2 * 2, rank.rank() / 2 * 2 + 1});
            float sum = 0;
            for (int i = 0; i < 500; ++i) {
                const Tensor t = rank.floats({1});
                pair->all_reduce(t, ReduceOp::sum).wait();
                sum += floats_of(t)[0];
            }
            const Tensor t = rank.floats(std::vector<float>(100, 1));
            world->all_reduce(t, ReduceOp::sum).wait();
            return sum + floats_of(t)[99];
        });
        for (const float sum : results) REQUIRE(sum == 1064);
    }
}

TEST_CASE("the same run gives the same bits a hundred times") {
    for (const std::string& backend : backends_under_test())
        for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
            std::vector<std::vector<std::byte>> first;
            for (int i = 0; i < (test::kSanitizer ? 20 : 100); ++i) {
                const auto results = run_ranks(
                    backend, 4, i % 2 == 0 ? Mode::inline_in_wait : Mode::helper_thread, [&](Rank& rank) {
                        std::vector<float> numbers;
                        for (int k = 0; k < 257; ++k)
                            numbers.push_back(1.0F / static_cast<float>(3 + k + 1000 * rank.rank()));
                        const Tensor t = rank.floats(numbers);
                        rank.world(algorithm)->all_reduce(t, ReduceOp::avg).wait();
                        return bytes_of(t);
                    });
                if (i == 0) first = results;
                REQUIRE((results == first));
                REQUIRE((results[0] == results[3]));
            }
        }
}
