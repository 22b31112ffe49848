#include <array>
#include <numeric>
#include <span>

#include "core/comm/choice.h"
#include "tests/contract/harness.h"
#include "tests/contract/reference.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

namespace {

constexpr double kFactor = 0.3;
/// Where all_reduce alone has the others.
constexpr std::array kRingAndDirect{Algorithm::ring, Algorithm::direct};

struct Case {
    DType dtype;
    ReduceOp op;
    Algorithm algorithm;
    int64_t n;
    std::string text() const {
        return std::string(name(dtype)) + " " + std::string(name(op)) + " " + std::string(name(algorithm)) +
               " n=" + std::to_string(n);
    }
};

/// Every dtype and reduce op by these algorithms; sizes about p, and one of 1000. `large` adds direct's
/// two-round sizes.
std::vector<Case> cases_for(int32_t p, std::span<const Algorithm> algorithms) {
    std::vector<Case> cases;
    for (const DType dtype :
         {DType::float32, DType::bfloat16, DType::float16, DType::int32, DType::int64, DType::uint8})
        for (const ReduceOp op : reduce_ops_of(dtype))
            for (const Algorithm algorithm : algorithms) {
                for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{p - 1}, int64_t{p}, int64_t{p + 1}})
                    if (kEverySize || n == p + 1 || op == ReduceOp::sum)
                        cases.push_back({dtype, op, algorithm, n});
                if (op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::premul_sum)
                    cases.push_back({dtype, op, algorithm, 1000});
            }
    // Beyond direct_one_round_bytes() the direct all_reduce goes another way, to the same bits.
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16, DType::int32})
        for (const Algorithm algorithm : algorithms) cases.push_back({dtype, ReduceOp::sum, algorithm, 5001});
    return cases;
}

std::vector<Bytes> inputs_of(const Case& c, int32_t p, int64_t n) {
    std::vector<Bytes> inputs;
    for (int32_t r = 0; r < p; ++r) inputs.push_back(input_of(c.dtype, r, n));
    return inputs;
}

CallOptions options_of(const Case& c) {
    CallOptions options;
    options.algorithm = c.algorithm;
    options.factor = kFactor;
    return options;
}

}  // namespace

TEST_CASE("all_reduce gives every rank the reference's bits") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend))
            for (int32_t p = 1; p <= 8; ++p) {
                if (!kEverySize && backend != "fibers" && (mode == Mode::helper_thread) != (p % 2 == 0))
                    continue;
                const auto cases = sampled(cases_for(p, comm::algorithms_of(CollectiveOp::all_reduce)), p);
                const auto results = run_ranks(backend, p, mode, [&](Rank& rank) {
                    const auto world = rank.world();
                    std::vector<Bytes> out;
                    for (const Case& c : cases) {
                        const Tensor t = rank.tensor(input_of(c.dtype, rank.rank(), c.n), c.dtype);
                        world->all_reduce(t, c.op, options_of(c)).wait();
                        out.push_back(bytes_of(t));
                    }
                    return out;
                });
                for (std::size_t i = 0; i < cases.size(); ++i) {
                    const Case& c = cases[i];
                    const Bytes expected =
                        reduced(c.dtype, c.op, kFactor, inputs_of(c, p, c.n),
                                order_of(CollectiveOp::all_reduce, c.algorithm), chunks_of(c.n, p));
                    for (const int32_t r : judged_ranks(p)) {
                        INFO(backend << " p=" << p << " rank " << r << ": " << c.text());
                        REQUIRE((results[static_cast<std::size_t>(r)][i] == expected));
                    }
                }
            }
}

TEST_CASE("reduce_scatter gives each rank its part of the reference's bits") {
    for (const std::string& backend : backends_under_test())
        for (int32_t p = 1; p <= 8; ++p) {
            const auto cases = sampled(cases_for(p, comm::algorithms_of(CollectiveOp::reduce_scatter)), p);
            const auto results = run_ranks(backend, p, Mode::inline_in_wait, [&](Rank& rank) {
                const auto world = rank.world();
                std::vector<Bytes> out;
                for (const Case& c : cases) {
                    const Tensor in = rank.tensor(input_of(c.dtype, rank.rank(), c.n * p), c.dtype);
                    const Bytes before = bytes_of(in);
                    const Tensor t = rank.zeros(c.n, c.dtype);
                    world->reduce_scatter(t, in, c.op, {}, options_of(c)).wait();
                    out.push_back(before == bytes_of(in) ? bytes_of(t)
                                                         : Bytes{});  // the input is not written
                }
                return out;
            });
            for (std::size_t i = 0; i < cases.size(); ++i) {
                const Case& c = cases[i];
                const Bytes expected =
                    reduced(c.dtype, c.op, kFactor, inputs_of(c, p, c.n * p),
                            order_of(CollectiveOp::reduce_scatter, c.algorithm), chunks_of(c.n * p, p));
                for (const int32_t r : judged_ranks(p)) {
                    INFO(backend << " p=" << p << " rank " << r << ": " << c.text());
                    REQUIRE(
                        (results[static_cast<std::size_t>(r)][i] == piece(expected, c.dtype, r * c.n, c.n)));
                }
            }
        }
}

TEST_CASE("parts that travel in many blocks are reduced to the reference's bits, all of them") {
    // By these, ranks work on what they receive while it comes; no size is a whole number of blocks.
    for (const std::string& backend : backends_under_test())
        for (const int32_t p : {2, 3, 4}) {
            std::vector<Case> cases{{DType::bfloat16, ReduceOp::avg, Algorithm::direct, 75'013},
                                    {DType::uint8, ReduceOp::max, Algorithm::direct, 150'007}};
            if (p == 3) cases.push_back({DType::float32, ReduceOp::sum, Algorithm::direct, 1'100'003});
            const auto results = run_ranks(backend, p, Mode::inline_in_wait, [&](Rank& rank) {
                const auto world = rank.world();
                std::vector<Bytes> out;
                for (const Case& c : cases) {
                    const Bytes input = input_of(c.dtype, rank.rank(), c.n * p);
                    const Tensor all = rank.tensor(input, c.dtype), in = rank.tensor(input, c.dtype);
                    const Tensor part = rank.zeros(c.n, c.dtype), rooted = rank.tensor(input, c.dtype);
                    world->all_reduce(all, c.op, options_of(c)).wait();
                    world->reduce_scatter(part, in, c.op, {}, options_of(c)).wait();
                    world->reduce(rooted, GroupRank{p - 1}, c.op, options_of(c)).wait();
                    for (const Tensor& t : {all, part, rooted}) out.push_back(bytes_of(t));
                }
                return out;
            });
            for (std::size_t i = 0; i < cases.size(); ++i) {
                const Case& c = cases[i];
                const Bytes expected = reduced(c.dtype, c.op, kFactor, inputs_of(c, p, c.n * p),
                                               Order::by_rank, chunks_of(c.n * p, p));
                for (const int32_t r : judged_ranks(p)) {
                    INFO(backend << " p=" << p << " rank " << r << ": " << c.text());
                    const auto& got = results[static_cast<std::size_t>(r)];
                    CHECK((got[3 * i] == expected));
                    CHECK((got[3 * i + 1] == piece(expected, c.dtype, r * c.n, c.n)));
                    if (r == p - 1) CHECK((got[3 * i + 2] == expected));
                }
            }
        }
}

TEST_CASE("two levels follow the nodes that the group was told, of any sizes and in any order") {
    const std::vector<std::vector<int32_t>> layouts{
        {0, 0, 1, 1},       {0, 1, 0, 1},          {0, 0, 0, 1},          {0, 1, 2, 3, 4},
        {0, 0, 0, 1, 1, 1}, {0, 1, 1, 0, 2, 1, 0}, {0, 0, 0, 0, 1, 1, 2}, {0, 0, 1, 1, 2, 2, 3, 3}};
    for (const std::string& backend : backends_under_test())
        for (const auto& layout : sampled(layouts, 1)) {
            const auto p = static_cast<int32_t>(layout.size());
            for (const DType dtype : {DType::float32, DType::bfloat16, DType::int64})
                for (const int64_t n : {int64_t{1}, int64_t{p}, int64_t{61}, int64_t{1000}}) {
                    const Case c{dtype, dtype == DType::int64 ? ReduceOp::sum : ReduceOp::avg,
                                 Algorithm::two_level, n};
                    const auto results = run_ranks(backend, p, Mode::inline_in_wait, [&](Rank& rank) {
                        const Tensor t = rank.tensor(input_of(dtype, rank.rank(), n), dtype);
                        rank.world(Algorithm::two_level, layout)->all_reduce(t, c.op).wait();
                        return bytes_of(t);
                    });
                    const Bytes expected =
                        reduced(dtype, c.op, 1, inputs_of(c, p, n), Order::two_level, {}, 0, layout);
                    for (const int32_t r : judged_ranks(p)) {
                        INFO(backend << " p=" << p << " first nodes " << layout[0] << layout[1] << ": "
                                     << c.text());
                        REQUIRE((results[static_cast<std::size_t>(r)] == expected));
                    }
                }
        }
}

TEST_CASE("reduce_scatter by halving takes uneven parts, empty ones too, and may write into its own input") {
    for (const std::string& backend : backends_under_test())
        for (const int32_t p : {2, 3, 4, 5, 6, 7, 8, 11})
            for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
                if (!has_ranks(p)) continue;
                std::vector<int64_t> counts;
                int64_t n = 0;
                for (int32_t r = 0; r < p; ++r)
                    n += counts.emplace_back(r % 3 == 0 ? 5 : r % 3 == 1 ? 0 : 17);
                const auto results = run_ranks(backend, p, Mode::inline_in_wait, [&](Rank& rank) {
                    const Tensor in = rank.tensor(input_of(DType::bfloat16, rank.rank(), n), DType::bfloat16);
                    int64_t first = 0;
                    for (int32_t r = 0; r < rank.rank(); ++r) first += counts[static_cast<std::size_t>(r)];
                    const Tensor out = in.slice(first, counts[static_cast<std::size_t>(rank.rank())]);
                    rank.world(Algorithm::recursive_halving)->reduce_scatter(out, in, op, counts).wait();
                    return bytes_of(out);
                });
                const Case c{DType::bfloat16, op, Algorithm::recursive_halving, n};
                const Bytes expected = reduced(c.dtype, op, 1, inputs_of(c, p, n), Order::far, {});
                for (const int32_t r : judged_ranks(p)) {
                    INFO(backend << " p=" << p << " rank " << r << " " << name(op));
                    const int64_t first = std::accumulate(counts.begin(), counts.begin() + r, int64_t{0});
                    REQUIRE((results[static_cast<std::size_t>(r)] ==
                             piece(expected, c.dtype, first, counts[static_cast<std::size_t>(r)])));
                }
            }
}

TEST_CASE("reduce gives the root the reference's bits and leaves the others' buffers alone") {
    for (const std::string& backend : backends_under_test())
        for (int32_t p = 1; p <= 8; ++p)
            for (const int32_t root : {0, p / 2, p - 1}) {
                const auto cases = sampled(cases_for(p, kRingAndDirect), p);
                const auto results = run_ranks(backend, p, Mode::inline_in_wait, [&](Rank& rank) {
                    const auto world = rank.world();
                    std::vector<Bytes> out;
                    for (const Case& c : cases) {
                        const Tensor t = rank.tensor(input_of(c.dtype, rank.rank(), c.n), c.dtype);
                        world->reduce(t, GroupRank{root}, c.op, options_of(c)).wait();
                        out.push_back(bytes_of(t));
                    }
                    return out;
                });
                for (std::size_t i = 0; i < cases.size(); ++i) {
                    const Case& c = cases[i];
                    const Order order = c.algorithm == Algorithm::direct ? Order::by_rank : Order::tree;
                    const Bytes expected =
                        reduced(c.dtype, c.op, kFactor, inputs_of(c, p, c.n), order, chunks_of(c.n, p), root);
                    for (const int32_t r : judged_ranks(p)) {
                        INFO(backend << " p=" << p << " root " << root << " rank " << r << ": " << c.text());
                        REQUIRE((results[static_cast<std::size_t>(r)][i] ==
                                 (r == root ? expected : input_of(c.dtype, r, c.n))));
                    }
                }
            }
}
