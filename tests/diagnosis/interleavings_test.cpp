#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

#include "core/comm/choice.h"
#include "core/comm/interleaving_scheduler.h"
#include "tests/diagnosis/harness.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::diagnosis;

// Every collective, by every algorithm it has, on 2 to 4 ranks, in random orders of the ranks' steps. Numbers
// are small whole ones, so that every order of summation gives the same sum.

namespace {

/// Interleavings a collective: 10^4 (fewer under a sanitizer), or what MESHSCOPE_INTERLEAVINGS says (10^6 for
/// a long night).
int64_t interleavings() {
    const char* asked = std::getenv("MESHSCOPE_INTERLEAVINGS");
    return asked != nullptr ? std::max<int64_t>(1, std::atoll(asked)) : MESHSCOPE_DEFAULT_INTERLEAVINGS;
}

constexpr int64_t kN = 3;  ///< elements a rank

/// Rank r's k-th number.
float number(int32_t r, int64_t k) {
    return static_cast<float>(10 * r + k + 1);
}

std::vector<float> numbers(int32_t r, int64_t n) {
    std::vector<float> made;
    for (int64_t k = 0; k < n; ++k) made.push_back(number(r, k));
    return made;
}

std::vector<float> read(const Tensor& t) {
    const auto data = t.data<float>();
    return {data.begin(), data.end()};
}

/// One call, and what this rank must have then: empty where it gets nothing.
struct Answer {
    std::vector<float> got, wanted;
};

Answer call(CollectiveOp op, Algorithm algorithm, Place& p, TransportGroup& g) {
    const int32_t r = p.rank(), n_ranks = p.ranks(), root = n_ranks - 1;
    CallOptions options{};
    options.algorithm = algorithm;
    const auto make = [&](const std::vector<float>& values) {
        return p.memory.of(values, {static_cast<int64_t>(values.size())}, MemoryCategory::temporaries, "t");
    };
    std::vector<float> sums;
    for (int64_t k = 0; k < kN * n_ranks; ++k) {
        float sum = 0;
        for (int32_t i = 0; i < n_ranks; ++i) sum += number(i, k);
        sums.push_back(sum);
    }
    const auto part = [&](const std::vector<float>& whole, int32_t which) {
        return std::vector<float>(whole.begin() + which * kN, whole.begin() + (which + 1) * kN);
    };
    std::vector<float> all;
    for (int32_t i = 0; i < n_ranks; ++i)
        for (int64_t k = 0; k < kN; ++k) all.push_back(number(i, k));
    const Tensor mine = make(numbers(r, kN)), out = p.zeros(kN * n_ranks), small = p.zeros(kN);
    const Tensor whole = make(numbers(r, kN * n_ranks));
    switch (op) {
        case CollectiveOp::broadcast:
            g.broadcast(mine, GroupRank{root}, options).wait();
            return {read(mine), numbers(root, kN)};
        case CollectiveOp::reduce:
            g.reduce(whole, GroupRank{root}, ReduceOp::sum, options).wait();
            if (r != root) return {};
            return {read(whole), sums};
        case CollectiveOp::all_reduce:
            g.all_reduce(whole, ReduceOp::sum, options).wait();
            return {read(whole), sums};
        case CollectiveOp::gather:
            g.gather(r == root ? out : Tensor(), mine, GroupRank{root}, {}, options).wait();
            if (r != root) return {};
            return {read(out), all};
        case CollectiveOp::all_gather:
            g.all_gather(out, mine, {}, options).wait();
            return {read(out), all};
        case CollectiveOp::scatter:
            g.scatter(small, r == root ? whole : Tensor(), GroupRank{root}, {}, options).wait();
            return {read(small), part(numbers(root, kN * n_ranks), r)};
        case CollectiveOp::reduce_scatter:
            g.reduce_scatter(small, whole, ReduceOp::sum, {}, options).wait();
            return {read(small), part(sums, r)};
        case CollectiveOp::all_to_all: {
            g.all_to_all(out, whole, {}, {}, options).wait();
            std::vector<float> wanted;
            for (int32_t i = 0; i < n_ranks; ++i)
                for (const float x : part(numbers(i, kN * n_ranks), r)) wanted.push_back(x);
            return {read(out), wanted};
        }
        case CollectiveOp::send:
        case CollectiveOp::recv: {
            const GroupRank next{(r + 1) % n_ranks}, before{(r + n_ranks - 1) % n_ranks};
            Work sent = g.send(mine, next, options);
            g.recv(small, before, options).wait();
            sent.wait();
            return {read(small), numbers(before.value, kN)};
        }
        case CollectiveOp::barrier:
            break;
    }
    g.barrier(options).wait();
    return {};
}

/// The algorithm that a group really runs when it is asked for one; none when that one is refused.
Algorithm really_run(CollectiveOp op, Algorithm asked, int32_t ranks) {
    std::vector<Algorithm> ran(static_cast<std::size_t>(ranks), Algorithm::none);
    run_program("threads", {ranks}, false, [&](Place& p) {
        trace::Recorder recorder(p.transport.rank(), trace::Level::collectives, 0);
        p.recorder = &recorder;
        const auto world = p.world(0, asked);
        call(op, asked, p, *world);
        p.executor.finish();
        ran[static_cast<std::size_t>(p.rank())] = recorder.take().events.at(0).algorithm;
    });
    return ran[0];
}

/// The algorithms that there are for this op.
std::vector<Algorithm> algorithms_of(CollectiveOp op, int32_t ranks) {
    std::vector<Algorithm> found;
    for (uint8_t a = 1; name(static_cast<Algorithm>(a)) != "unknown"; ++a) {
        const Algorithm runs = really_run(op, static_cast<Algorithm>(a), ranks);
        if (runs != Algorithm::none && std::find(found.begin(), found.end(), runs) == found.end())
            found.push_back(runs);
    }
    return found;
}

/// As `run --schedule` takes it; a call takes some 24 steps of a rank.
std::string schedule(int32_t ranks, uint64_t seed, bool pct) {
    return pct ? "pct:" + std::to_string(seed) + ":3:" + std::to_string(24 * ranks)
               : "random:" + std::to_string(seed);
}

/// Which ranks take these turns. Fibers take the same ones, without a wake-up each that a busy machine is
/// late with; some are taken by threads, and all where those are what is looked at.
std::string backend_of(uint64_t seed) {
    return test::kThreadSanitizer || seed % 16 < 2 ? "threads" : "fibers";
}

/// One world, one seed, one call a rank. What went wrong, in words; "" when nothing did.
std::string run_one(CollectiveOp op, Algorithm algorithm, int32_t ranks, uint64_t seed, bool pct) {
    const auto scheduler = comm::make_scheduler(schedule(ranks, seed, pct));
    std::vector<Answer> answers(static_cast<std::size_t>(ranks));
    const Outcome outcome = run_program(backend_of(seed), {ranks, scheduler.get()}, false, [&](Place& p) {
        const auto world = p.world(0, algorithm);
        answers[static_cast<std::size_t>(p.rank())] = call(op, algorithm, p, *world);
    });
    for (std::size_t r = 0; r < answers.size(); ++r) {
        if (!outcome.words[r].empty()) return "rank " + std::to_string(r) + ": " + outcome.words[r];
        if (answers[r].got != answers[r].wanted) return "rank " + std::to_string(r) + " has wrong numbers";
    }
    return "";
}

constexpr CollectiveOp kOps[] = {
    CollectiveOp::broadcast,  CollectiveOp::reduce,  CollectiveOp::all_reduce,     CollectiveOp::gather,
    CollectiveOp::all_gather, CollectiveOp::scatter, CollectiveOp::reduce_scatter, CollectiveOp::all_to_all,
    CollectiveOp::send,       CollectiveOp::barrier};

}  // namespace

TEST_CASE("every collective gives the right numbers in every order of the ranks that is tried") {
    for (const CollectiveOp op : kOps) {
        std::vector<std::pair<Algorithm, int32_t>> kinds;
        for (int32_t ranks = 2; ranks <= 4; ++ranks)
            for (const Algorithm algorithm : algorithms_of(op, ranks)) kinds.emplace_back(algorithm, ranks);
        REQUIRE(kinds.size() >= 3);
        const auto started = std::chrono::steady_clock::now();
        const int64_t n = interleavings();
        int wrong = 0;
        for (int64_t i = 0; i < n && wrong < 3; ++i) {
            const auto [algorithm, ranks] = kinds[static_cast<std::size_t>(i) % kinds.size()];
            const auto seed = static_cast<uint64_t>(i) / kinds.size();
            const bool pct = seed % 2 == 1;
            const std::string words = run_one(op, algorithm, ranks, seed, pct);
            if (words.empty()) continue;
            ++wrong;
            FAIL_CHECK(name(op) << " by " << name(algorithm) << " on " << ranks << " ranks, schedule "
                                << schedule(ranks, seed, pct) << " on " << backend_of(seed) << ": " << words);
        }
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
        std::printf("%s: %lld interleavings, seeds 0 to %lld, of %zu algorithms and sizes in %.2f s\n",
                    std::string(name(op)).c_str(), static_cast<long long>(n),
                    static_cast<long long>(n / static_cast<int64_t>(kinds.size())), kinds.size(), seconds);
    }
}
