#include "core/base/error.h"
#include "core/tensor/dtype.h"
#include "tests/contract/harness.h"
#include "tests/contract/reference.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

namespace {

constexpr double kFactor = 0.3;

struct Case {
    DType dtype;
    ReduceOp op;
    int64_t n;
    std::string text() const {
        return std::string(name(dtype)) + " " + std::string(name(op)) + " n=" + std::to_string(n);
    }
};

bool nccl_has(ReduceOp op) {
    return op != ReduceOp::band && op != ReduceOp::bor && op != ReduceOp::bxor;
}

std::vector<Case> cases_for(int32_t p) {
    std::vector<Case> cases;
    for (const DType dtype :
         {DType::float32, DType::bfloat16, DType::float16, DType::int32, DType::int64, DType::uint8})
        for (const ReduceOp op : reduce_ops_of(dtype))
            for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{p}, int64_t{257}})
                if (nccl_has(op)) cases.push_back({dtype, op, n});
    return cases;
}

/// NCCL is given premul_sum's factor in the numbers' own type.
double factor_of(DType dtype) {
    const auto value = static_cast<float>(kFactor);
    if (dtype == DType::bfloat16)
        return static_cast<double>(tensor::from_bfloat16(tensor::to_bfloat16(value)));
    if (dtype == DType::float16) return static_cast<double>(tensor::from_float16(tensor::to_float16(value)));
    return kFactor;
}

CallOptions options() {
    CallOptions made;
    made.factor = kFactor;
    return made;
}

/// The stand-in adds in the ranks' order.
Bytes expected_of(const Case& c, int32_t p, int64_t n) {
    std::vector<Bytes> inputs;
    for (int32_t r = 0; r < p; ++r) inputs.push_back(input_of(c.dtype, r, n));
    return reduced(c.dtype, c.op, factor_of(c.dtype), inputs, Order::by_rank, {});
}

}  // namespace

TEST_CASE("all_reduce, reduce and reduce_scatter give the reference's bits for every dtype and reduce op") {
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread})
        for (int32_t p = 1; p <= 8; ++p) {
            if (mode == Mode::helper_thread && p % 3 != 1) continue;
            const auto cases = cases_for(p);
            const int32_t root = p / 2;
            struct Got {
                Bytes whole, at_root, part;
            };
            const auto results = run_ranks("nccl over threads", p, mode, [&](Rank& rank) {
                const auto world = rank.world();
                std::vector<Got> out;
                for (const Case& c : cases) {
                    const Bytes mine = input_of(c.dtype, rank.rank(), c.n);
                    const Tensor a = rank.tensor(mine, c.dtype);
                    world->all_reduce(a, c.op, options()).wait();
                    const Tensor b = rank.tensor(mine, c.dtype);
                    world->reduce(b, GroupRank{root}, c.op, options()).wait();
                    const Tensor in = rank.tensor(input_of(c.dtype, rank.rank(), c.n * p), c.dtype);
                    const Bytes before = bytes_of(in);
                    const Tensor part = rank.zeros(c.n, c.dtype);
                    world->reduce_scatter(part, in, c.op, {}, options()).wait();
                    out.push_back(
                        {bytes_of(a), bytes_of(b), before == bytes_of(in) ? bytes_of(part) : Bytes{}});
                }
                return out;
            });
            for (std::size_t i = 0; i < cases.size(); ++i) {
                const Case& c = cases[i];
                const Bytes sums = expected_of(c, p, c.n), all = expected_of(c, p, c.n * p);
                for (int32_t r = 0; r < p; ++r) {
                    INFO("p=" << p << " rank " << r << ": " << c.text());
                    const Got& got = results[static_cast<std::size_t>(r)][i];
                    REQUIRE((got.whole == sums));
                    REQUIRE((got.at_root == (r == root ? sums : input_of(c.dtype, r, c.n))));
                    REQUIRE((got.part == piece(all, c.dtype, r * c.n, c.n)));
                }
            }
        }
}

TEST_CASE("reduce_scatter takes uneven parts, empty ones too, and may write into its own input") {
    for (const int32_t p : {1, 2, 3, 5, 8})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::premul_sum}) {
            std::vector<int64_t> counts, firsts;
            int64_t n = 0;
            for (int32_t r = 0; r < p; ++r) {
                firsts.push_back(n);
                n += counts.emplace_back(r % 3 == 0 ? 5 : r % 3 == 1 ? 0 : 17);
            }
            const auto results = run_ranks("nccl over threads", p, Mode::inline_in_wait, [&](Rank& rank) {
                const auto me = static_cast<std::size_t>(rank.rank());
                const Tensor in = rank.tensor(input_of(DType::float32, rank.rank(), n), DType::float32);
                const Tensor out = in.slice(firsts[me], counts[me]);
                rank.world()->reduce_scatter(out, in, op, counts, options()).wait();
                return bytes_of(out);
            });
            const Bytes sums = expected_of({DType::float32, op, n}, p, n);
            for (int32_t r = 0; r < p; ++r) {
                const auto place = static_cast<std::size_t>(r);
                INFO("p=" << p << " rank " << r << " " << name(op));
                REQUIRE((results[place] == piece(sums, DType::float32, firsts[place], counts[place])));
            }
        }
}

TEST_CASE("the reductions that NCCL lacks are refused before anything travels, on one rank as on two") {
    for (const int32_t p : {1, 2}) {
        const auto refusals = run_ranks("nccl over threads", p, Mode::inline_in_wait, [&](Rank& rank) {
            std::vector<std::string> words;
            const auto world = rank.world();
            for (const ReduceOp op : {ReduceOp::band, ReduceOp::bor, ReduceOp::bxor}) try {
                    world->all_reduce(rank.zeros(3, DType::int32), op);
                    words.emplace_back("taken");
                } catch (const InvalidArgument& error) {
                    words.push_back(error.message().id);
                }
            return words;
        });
        for (const auto& words : refusals) CHECK(words == std::vector<std::string>(3, "comm.native_dtype"));
    }
}
