#include <array>
#include <atomic>
#include <numeric>
#include <span>

#include "tests/contract/harness.h"
#include "tests/contract/reference.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

// The collectives that move numbers without changing them. What each rank must hold is written down from the
// definition: rank r's buffer is input_of(dtype, r, …), so every element shows where it came from.

namespace {

constexpr std::array<DType, 6> kDTypes{DType::float32, DType::bfloat16, DType::float16,
                                       DType::int32,   DType::int64,    DType::uint8};
constexpr std::array<Algorithm, 2> kRingAndDirect{Algorithm::ring, Algorithm::direct};
constexpr std::array<Algorithm, 4> kAllGathers{Algorithm::ring, Algorithm::direct,
                                               Algorithm::recursive_doubling, Algorithm::bruck};
constexpr std::array<Algorithm, 4> kBroadcasts{Algorithm::ring, Algorithm::direct, Algorithm::ring_pipeline,
                                               Algorithm::scatter_all_gather};
constexpr std::array<Algorithm, 3> kAllToAlls{Algorithm::direct, Algorithm::pairwise, Algorithm::bruck};

struct Case {
    DType dtype;
    Algorithm algorithm;
    std::vector<int64_t> counts;  ///< elements of each rank's part
    bool even;
    std::string text() const {
        std::string words = std::string(name(dtype)) + " " + std::string(name(algorithm)) + " counts";
        for (const int64_t n : counts) words += " " + std::to_string(n);
        return words;
    }
};

std::vector<Case> cases_for(int32_t p, std::span<const Algorithm> algorithms) {
    std::vector<Case> cases;
    for (const DType dtype : kDTypes)
        for (const Algorithm algorithm : algorithms) {
            for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{p + 1}, int64_t{1000}})
                if (kEverySize || dtype == kDTypes[0] || n == p + 1)
                    cases.push_back(
                        {dtype, algorithm, std::vector<int64_t>(static_cast<std::size_t>(p), n), true});
            std::vector<int64_t> uneven;  // 3, 0, 7, 3, 0, 7 …: large, empty and small parts
            for (int32_t r = 0; r < p; ++r) uneven.push_back(r % 3 == 0 ? 3 : r % 3 == 1 ? 0 : 7);
            cases.push_back({dtype, algorithm, uneven, false});
        }
    return cases;
}

CallOptions options_of(const Case& c) {
    CallOptions options;
    options.algorithm = c.algorithm;
    return options;
}

std::vector<int64_t> counts_of(const Case& c) {
    return c.even ? std::vector<int64_t>{} : c.counts;
}
int64_t sum_of(const std::vector<int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

/// All ranks' parts, one after the other.
Bytes joined(const Case& c) {
    Bytes all;
    for (std::size_t r = 0; r < c.counts.size(); ++r) {
        const Bytes part = input_of(c.dtype, static_cast<int32_t>(r), c.counts[r]);
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

/// Runs every case on p ranks by `body(rank, world, case)` and compares with `expected(case, rank)`.
template <class Body, class Expected>
void check_cases(const Body& body, const Expected& expected,
                 std::span<const Algorithm> algorithms = kRingAndDirect) {
    for (const std::string& backend : backends_under_test())
        for (const int32_t p : {1, 2, 3, 4, 5, 6, 7, 8, 11}) {
            if (!has_ranks(p)) continue;
            const auto cases = sampled(cases_for(p, algorithms), p);
            const auto results = run_ranks(
                backend, p, p % 2 == 0 ? Mode::helper_thread : Mode::inline_in_wait, [&](Rank& rank) {
                    const auto world = rank.world();
                    std::vector<Bytes> out;
                    for (const Case& c : cases) out.push_back(body(rank, *world, c));
                    return out;
                });
            for (std::size_t i = 0; i < cases.size(); ++i)
                for (const int32_t r : judged_ranks(p)) {
                    INFO(backend << " p=" << p << " rank " << r << ": " << cases[i].text());
                    REQUIRE((results[static_cast<std::size_t>(r)][i] == expected(cases[i], r, p)));
                }
        }
}

int64_t mine(const Case& c, int32_t rank) {
    return c.counts[static_cast<std::size_t>(rank)];
}

}  // namespace

TEST_CASE("all_gather joins every rank's part, even, uneven or empty") {
    check_cases(
        [](Rank& rank, comm::ProcessGroup& world, const Case& c) {
            const Tensor in = rank.tensor(input_of(c.dtype, rank.rank(), mine(c, rank.rank())), c.dtype);
            const Tensor out = rank.zeros(sum_of(c.counts), c.dtype);
            world.all_gather(out, in, counts_of(c), options_of(c)).wait();
            return bytes_of(out);
        },
        [](const Case& c, int32_t, int32_t) { return joined(c); }, kAllGathers);
}

TEST_CASE("all_gather takes an input that is its own part of the output") {
    check_cases(
        [](Rank& rank, comm::ProcessGroup& world, const Case& c) {
            const Tensor out = rank.zeros(sum_of(c.counts), c.dtype);
            const auto first = std::accumulate(c.counts.begin(), c.counts.begin() + rank.rank(), int64_t{0});
            const Tensor in = out.slice(first, mine(c, rank.rank()));
            const Bytes numbers = input_of(c.dtype, rank.rank(), mine(c, rank.rank()));
            tensor::write_bytes(in, numbers.data());
            world.all_gather(out, in, counts_of(c), options_of(c)).wait();
            return bytes_of(out);
        },
        [](const Case& c, int32_t, int32_t) { return joined(c); }, kAllGathers);
}

TEST_CASE("gather joins the parts on the root alone") {
    check_cases(
        [](Rank& rank, comm::ProcessGroup& world, const Case& c) {
            const int32_t root = rank.world_size() / 2;
            const Tensor in = rank.tensor(input_of(c.dtype, rank.rank(), mine(c, rank.rank())), c.dtype);
            const Tensor out = rank.rank() == root ? rank.zeros(sum_of(c.counts), c.dtype) : Tensor{};
            world.gather(out, in, GroupRank{root}, counts_of(c), options_of(c)).wait();
            return out.defined() ? bytes_of(out) : Bytes{};
        },
        [](const Case& c, int32_t r, int32_t p) { return r == p / 2 ? joined(c) : Bytes{}; });
}

TEST_CASE("scatter gives every rank its part of the root's buffer") {
    check_cases(
        [](Rank& rank, comm::ProcessGroup& world, const Case& c) {
            const int32_t root = rank.world_size() - 1;
            const Tensor in = rank.rank() == root ? rank.tensor(joined(c), c.dtype) : Tensor{};
            const Tensor out = rank.zeros(mine(c, rank.rank()), c.dtype);
            world.scatter(out, in, GroupRank{root}, counts_of(c), options_of(c)).wait();
            return bytes_of(out);
        },
        [](const Case& c, int32_t r, int32_t) { return input_of(c.dtype, r, mine(c, r)); });
}

TEST_CASE("broadcast copies the root's buffer to everyone, from any root") {
    for (const bool last : {false, true})
        check_cases(
            [last](Rank& rank, comm::ProcessGroup& world, const Case& c) {
                const int32_t root = last ? rank.world_size() - 1 : rank.world_size() / 2;
                const Tensor t = rank.tensor(input_of(c.dtype, rank.rank(), c.counts[0]), c.dtype);
                world.broadcast(t, GroupRank{root}, options_of(c)).wait();
                return bytes_of(t);
            },
            [last](const Case& c, int32_t, int32_t p) {
                return input_of(c.dtype, last ? p - 1 : p / 2, c.counts[0]);
            },
            kBroadcasts);
}

TEST_CASE("all_to_all transposes parts: what r sends to q is what q gets from r") {
    // Rank r gives rank q (r + 2q) % 4 elements in the uneven cases, so the matrix is not symmetric.
    const auto amount = [](const Case& c, int32_t from, int32_t to) {
        return c.even ? c.counts[0] : int64_t{(from + 2 * to) % 4};
    };
    const auto sent = [amount](const Case& c, int32_t from, int32_t to) {
        return input_of(c.dtype, 100 * from + to, amount(c, from, to));
    };
    check_cases(
        [&](Rank& rank, comm::ProcessGroup& world, const Case& c) {
            std::vector<int64_t> in_counts;
            std::vector<int64_t> out_counts;
            Bytes in;
            int64_t out_elements = 0;
            for (int32_t q = 0; q < rank.world_size(); ++q) {
                out_elements += amount(c, q, rank.rank());
                in_counts.push_back(amount(c, rank.rank(), q));
                out_counts.push_back(amount(c, q, rank.rank()));
                const Bytes part = sent(c, rank.rank(), q);
                in.insert(in.end(), part.begin(), part.end());
            }
            if (c.even) in_counts = {}, out_counts = {};  // as Bruck's needs it
            const Tensor out = rank.zeros(out_elements, c.dtype);
            world.all_to_all(out, rank.tensor(in, c.dtype), out_counts, in_counts, options_of(c)).wait();
            return bytes_of(out);
        },
        [&](const Case& c, int32_t r, int32_t p) {
            Bytes out;
            for (int32_t q = 0; q < p; ++q) {
                const Bytes part = sent(c, q, r);
                out.insert(out.end(), part.begin(), part.end());
            }
            return out;
        },
        kAllToAlls);
}

TEST_CASE("send and recv carry buffers of any size between any pair, in order") {
    check_cases(
        [](Rank& rank, comm::ProcessGroup& world, const Case& c) {
            // Everyone posts two messages to the next rank before it takes those of the rank before.
            const int32_t p = rank.world_size();
            if (p == 1) return input_of(c.dtype, 0, mine(c, 0));
            const int32_t next = (rank.rank() + 1) % p;
            const int32_t previous = (rank.rank() + p - 1) % p;
            const Tensor first = rank.tensor(input_of(c.dtype, rank.rank(), mine(c, rank.rank())), c.dtype);
            const Tensor second = rank.tensor(input_of(c.dtype, rank.rank(), 2), c.dtype);
            comm::Work sent[] = {world.send(first, GroupRank{next}), world.send(second, GroupRank{next})};
            const Tensor a = rank.zeros(mine(c, previous), c.dtype);
            const Tensor b = rank.zeros(2, c.dtype);
            world.recv(a, GroupRank{previous}).wait();
            world.recv(b, GroupRank{previous}).wait();
            for (comm::Work& each : sent) each.wait();
            return bytes_of(b) == input_of(c.dtype, previous, 2) ? bytes_of(a) : Bytes{};
        },
        [](const Case& c, int32_t r, int32_t p) {
            const int32_t previous = (r + p - 1) % p;
            return input_of(c.dtype, previous, mine(c, previous));
        });
}

TEST_CASE("nobody leaves a barrier before everybody has come") {
    for (const std::string& backend : backends_under_test())
        for (const Algorithm algorithm : kRingAndDirect)
            for (int32_t p = 1; p <= 8; ++p) {
                if (!kOneProcess) continue;  // which has a number in common
                std::atomic<int32_t> come{0};
                const auto seen = run_ranks(backend, p, Mode::inline_in_wait, [&](Rank& rank) {
                    const auto world = rank.world(algorithm);
                    std::vector<int32_t> counts;
                    for (int32_t i = 0; i < 20; ++i) {
                        come.fetch_add(1);
                        world->barrier().wait();
                        counts.push_back(come.load());
                        world->barrier().wait();
                    }
                    return counts;
                });
                for (const auto& counts : seen)
                    for (int32_t i = 0; i < 20; ++i)
                        REQUIRE(counts[static_cast<std::size_t>(i)] == (i + 1) * p);
            }
}
