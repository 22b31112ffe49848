// PowerSGD: what travels, and that two thin matrices say what the algorithm promises.
#include "core/parallel/ddp/powersgd.h"

#include <cmath>

#include "backends/registry.h"
#include "core/base/random.h"
#include "core/comm/transport_group.h"
#include "core/tensor/kernels.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using Rows = std::vector<std::string>;

namespace {

std::string powersgd(int64_t ranks, const std::string& numbers) {
    return "[mesh]\nshape = [" + std::to_string(ranks) +
           "]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\nddp_hook = "
           "\"powersgd\"\n[parallel.powersgd]\n" +
           numbers + "\n";
}

using Numbers = std::vector<float>;

/// Hands one gradient after the other, matrices (n, m), to PowerSGD on one rank; gives back what it made of
/// each.
std::vector<Numbers> compressed(const parallel::PowerSgdOptions& options, int64_t n, int64_t m,
                                const std::vector<Numbers>& gradients) {
    std::vector<Numbers> made;
    const auto world = backends::make_registry()->open("threads", {1});
    world->run([&](comm::Transport& transport) {
        const auto device = tensor::make_cpu_device();
        tensor::Allocator memory(*device, nullptr);
        comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
        comm::TransportGroup group(executor, 0, "replicate", {GlobalRank{0}}, comm::Channel{0}, nullptr);
        parallel::RankContext context;
        context.allocator = &memory;
        parallel::PowerSgd hook(options, context, group);
        for (const Numbers& gradient : gradients) {
            const auto flat = memory.of(gradient, {n * m}, MemoryCategory::communication, "bucket 0");
            const parallel::FullBucket bucket{0, true, "bucket 0", flat, {flat.view({n, m})}};
            hook.launch(bucket);
            hook.finish(bucket);
            const auto data = flat.data<float>();
            made.emplace_back(data.begin(), data.end());
        }
        executor.finish();
    });
    return made;
}

Numbers random_numbers(int64_t count, uint64_t stream) {
    Numbers numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(normal(5, stream, i));
    return numbers;
}

/// Σ_k left_k · right_kᵀ: a matrix of that rank.
Numbers of_rank(int64_t rank, int64_t n, int64_t m) {
    Numbers sum(static_cast<std::size_t>(n * m), 0.0F);
    for (int64_t k = 0; k < rank; ++k) {
        const Numbers left = random_numbers(n, static_cast<uint64_t>(2 * k)),
                      right = random_numbers(m, static_cast<uint64_t>(2 * k + 1));
        for (std::size_t i = 0; i < left.size(); ++i)
            for (std::size_t j = 0; j < right.size(); ++j) sum[i * right.size() + j] += left[i] * right[j];
    }
    return sum;
}

double distance(const Numbers& a, const Numbers& b) {
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(double(a[i]) - double(b[i]), 2);
    return std::sqrt(squares);
}
double length(const Numbers& a) {
    return distance(a, Numbers(a.size(), 0.0F));
}

parallel::PowerSgdOptions at_once(int64_t rank, bool feedback, bool warm) {
    parallel::PowerSgdOptions options;
    options.matrix_approximation_rank = rank;
    options.start_iteration = 0;
    options.error_feedback = feedback;
    options.warm_start = warm;
    return options;
}

}  // namespace

TEST_CASE("from its first iteration on PowerSGD sends the rest, P and Q, before it whole buckets") {
    // Three layers of weights (10, 6) and (6, 10) with biases 10 and 6: P and Q of rank 1 are 16 elements a
    // weight.
    const auto result = run_text(mlp_scenario(powersgd(2, "start_iteration = 3"), kMomentumSgd));
    CHECK(collectives_of(*result.trace, 1, 0) == Rows{"AR 408"});
    CHECK(collectives_of(*result.trace, 1, 2) == Rows{"AR 408"});
    for (const int32_t step : {3, 9})
        CHECK(collectives_of(*result.trace, 1, step) == Rows{"AR 48", "AR 48", "AR 48"});
    // (10 + 6) · 2 · 2 is no less than 60: at rank 2 nothing is compressed, and empty sums travel.
    const auto two = run_text(
        mlp_scenario(powersgd(2, "start_iteration = 2\nmatrix_approximation_rank = 2"), kMomentumSgd));
    CHECK(collectives_of(*two.trace, 0, 5) == Rows{"AR 408", "AR 0", "AR 0"});
}

TEST_CASE("what pays is PyTorch's _should_compress") {
    CHECK(parallel::PowerSgd::pays(10, 6, 1, 2));
    CHECK_FALSE(parallel::PowerSgd::pays(10, 6, 2, 2));
    CHECK_FALSE(parallel::PowerSgd::pays(10, 1, 1, 2));
    CHECK_FALSE(parallel::PowerSgd::pays(4, 4, 1, 2));  // 16 < 16 does not hold
}

TEST_CASE("a matrix of the approximation's rank comes back as it was, one of more loses something") {
    for (const int64_t rank : {1, 2, 3, 4}) {
        const Numbers gradient = of_rank(rank, 40, 30);
        const auto same = compressed(at_once(rank, false, false), 40, 30, {gradient});
        CHECK(distance(same[0], gradient) < 1e-4 * length(gradient));
        const auto less = compressed(at_once(rank, false, false), 40, 30, {of_rank(rank + 1, 40, 30)});
        CHECK(distance(less[0], of_rank(rank + 1, 40, 30)) > 0.05 * length(gradient));
    }
}

TEST_CASE("what compression lost is not lost: with error feedback later steps send it") {
    const Numbers gradient = of_rank(3, 40, 30), nothing(gradient.size(), 0.0F);
    std::vector<Numbers> steps(12, nothing);
    steps[0] = gradient;
    const auto sum = [](const std::vector<Numbers>& made) {
        Numbers total(made[0].size(), 0.0F);
        for (const Numbers& each : made)
            for (std::size_t i = 0; i < total.size(); ++i) total[i] += each[i];
        return total;
    };
    const auto fed = compressed(at_once(1, true, true), 40, 30, steps);
    CHECK(distance(fed[0], gradient) > 0.1 * length(gradient));
    CHECK(distance(sum(fed), gradient) < 0.01 * length(gradient));
    const auto unfed = compressed(at_once(1, false, true), 40, 30, steps);
    CHECK(distance(sum(unfed), gradient) > 0.1 * length(gradient));
    CHECK(length(unfed[1]) == 0);
}

TEST_CASE("a warm start is a power iteration: the same gradient again is said better") {
    // Singular values lie close enough that one multiplication with a random Q does not find the largest.
    const Numbers gradient = of_rank(12, 40, 30);
    const std::vector<Numbers> steps(15, gradient);
    const auto warm = compressed(at_once(1, false, true), 40, 30, steps);
    CHECK(distance(warm[14], gradient) < distance(warm[0], gradient));
    for (std::size_t s = 1; s < steps.size(); ++s)
        CHECK(distance(warm[s], gradient) <= distance(warm[s - 1], gradient) * (1 + 1e-5));
    const auto cold = compressed(at_once(1, false, false), 40, 30, steps);
    double mean = 0;
    for (const Numbers& each : cold) mean += distance(each, gradient) / 15;
    CHECK(distance(warm[14], gradient) < mean);
    CHECK(compressed(at_once(1, false, true), 40, 30, steps) == warm);
    parallel::PowerSgdOptions other = at_once(1, false, false);
    other.seed = 1;
    CHECK(compressed(other, 40, 30, steps) != cold);
}

TEST_CASE("one sample's gradient is an outer product: with rank 2 two ranks of a sample each train exactly") {
    const auto scenario = [](const std::string& rest) {
        return "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 2\nseed = "
               "7\n[data]\nkind "
               "= \"regression\"\nsamples = 40\nseed = 3\n[train]\nsteps = 6\nglobal_batch = "
               "2\n[optimizer]\n" +
               kMomentumSgd + "\n" + rest;
    };
    const auto alone = run_text(scenario(one_rank()));
    for (const std::string more :
         {"", "warm_start = false\n", "warm_start = false\nerror_feedback = false\n"}) {
        const auto two = run_text(scenario(powersgd(
            2, "start_iteration = 2\nmatrix_approximation_rank = 2\nmin_compression_rate = 1.5\n" + more)));
        CHECK(collectives_of(*two.trace, 0, 4) == Rows{"AR 32", "AR 64", "AR 64"});
        check_equal(two, alone);
    }
}
