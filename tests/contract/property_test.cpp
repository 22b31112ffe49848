// Collectives drawn at random: op, algorithm, ranks, sizes, dtype, reduce op, root and nodes. Every rank
// draws the same from one seed; a failure prints it. MESHSCOPE_SEED runs one seed alone.
#include <array>
#include <cstdlib>
#include <random>

#include "core/comm/choice.h"
#include "core/comm/cost.h"
#include "tests/contract/harness.h"
#include "tests/contract/reference.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

namespace {

constexpr std::array kOps{CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                          CollectiveOp::broadcast,  CollectiveOp::reduce,     CollectiveOp::gather,
                          CollectiveOp::scatter,    CollectiveOp::all_to_all};
constexpr std::array kDTypes{DType::float32, DType::bfloat16, DType::float16,
                             DType::int32,   DType::int64,    DType::uint8};

struct Drawn {
    CollectiveOp op = CollectiveOp::all_reduce;
    Algorithm algorithm = Algorithm::ring;
    DType dtype = DType::float32;
    ReduceOp reduce_op = ReduceOp::sum;
    int32_t root = 0;
    std::vector<int64_t> counts;  ///< a rank's part; all_reduce, broadcast, reduce: counts[0] is n
    bool uneven = false;
    std::vector<int32_t> node_of;

    std::string text() const {
        std::string words = std::string(name(op)) + " " + std::string(name(algorithm)) + " " +
                            std::string(name(dtype)) + " " + std::string(name(reduce_op)) + " root " +
                            std::to_string(root) + " counts";
        for (const int64_t n : counts) words += " " + std::to_string(n);
        words += " nodes";
        for (const int32_t n : node_of) words += " " + std::to_string(n);
        return words;
    }
};

class Dice {
  public:
    explicit Dice(uint32_t seed) : random_(seed) {}
    int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
    template <class T>
    auto one_of(const T& list) {
        return list[static_cast<std::size_t>(below(static_cast<int64_t>(list.size())))];
    }

  private:
    std::mt19937 random_;
};

int64_t draw_size(Dice& dice, int32_t p) {
    const std::array<int64_t, 7> sizes{0, 1, p - 1, p, p + 1, 1 + dice.below(300), 2000 + dice.below(3000)};
    return dice.one_of(sizes);
}

Drawn draw(Dice& dice, int32_t p) {
    Drawn d;
    d.op = dice.one_of(kOps);
    // Any wish, also one the op has not, and the choice by size.
    d.algorithm = static_cast<Algorithm>(1 + dice.below(kAlgorithms - 2));
    d.dtype = dice.one_of(kDTypes);
    d.reduce_op = dice.one_of(reduce_ops_of(d.dtype));
    d.root = static_cast<int32_t>(dice.below(p));
    const bool parts =
        d.op != CollectiveOp::all_reduce && d.op != CollectiveOp::broadcast && d.op != CollectiveOp::reduce;
    d.uneven = parts && dice.below(2) == 0;
    const int64_t n = draw_size(dice, p);
    for (int32_t r = 0; r < p; ++r) d.counts.push_back(d.uneven ? dice.below(40) * dice.below(2) : n);
    // Numbered as they come, as the reference takes them.
    int32_t nodes = 0;
    const bool told = dice.below(2) == 0;
    for (int32_t r = 0; r < p && told; ++r) {
        const auto node = static_cast<int32_t>(dice.below(nodes + 1));
        nodes = std::max(nodes, node + 1);
        d.node_of.push_back(node);
    }
    if (told && nodes == 1) d.node_of.clear();
    return d;
}

/// Elements that `from` gives `to` in an all_to_all: no symmetric matrix.
int64_t amount(const Drawn& d, int32_t from, int32_t to) {
    if (!d.uneven) return d.counts[0];
    const auto p = static_cast<int32_t>(d.counts.size());
    return d.counts[static_cast<std::size_t>((from + 2 * to) % p)];
}

int64_t sum_of(const Drawn& d) {
    int64_t sum = 0;
    for (const int64_t n : d.counts) sum += n;
    return sum;
}

Bytes joined(const std::vector<Bytes>& pieces) {
    Bytes all;
    for (const Bytes& each : pieces) all.insert(all.end(), each.begin(), each.end());
    return all;
}

/// Runs it on this rank and gives what the rank then has.
Bytes perform(Rank& rank, const Drawn& d) {
    const int32_t p = rank.world_size(), me = rank.rank();
    const auto world = rank.world(Algorithm::ring, d.node_of);
    CallOptions options;
    options.algorithm = d.algorithm;
    options.factor = 0.3;
    const int64_t mine = d.counts[static_cast<std::size_t>(me)], all = sum_of(d);
    const std::vector<int64_t> counts = d.uneven ? d.counts : std::vector<int64_t>{};
    const GroupRank root{d.root};
    const bool at_root = me == d.root;
    const Tensor own = rank.tensor(input_of(d.dtype, me, mine), d.dtype);
    const Tensor part = rank.zeros(mine, d.dtype);
    switch (d.op) {
        case CollectiveOp::all_reduce:
            world->all_reduce(own, d.reduce_op, options).wait();
            return bytes_of(own);
        case CollectiveOp::broadcast:
            world->broadcast(own, root, options).wait();
            return bytes_of(own);
        case CollectiveOp::reduce:
            world->reduce(own, root, d.reduce_op, options).wait();
            return bytes_of(own);
        case CollectiveOp::all_gather: {
            const Tensor out = rank.zeros(all, d.dtype);
            world->all_gather(out, own, counts, options).wait();
            return bytes_of(out);
        }
        case CollectiveOp::gather: {
            const Tensor out = at_root ? rank.zeros(all, d.dtype) : Tensor{};
            world->gather(out, own, root, counts, options).wait();
            return at_root ? bytes_of(out) : Bytes{};
        }
        case CollectiveOp::reduce_scatter:
            world
                ->reduce_scatter(part, rank.tensor(input_of(d.dtype, me, all), d.dtype), d.reduce_op, counts,
                                 options)
                .wait();
            return bytes_of(part);
        case CollectiveOp::scatter: {
            const Tensor in = at_root ? rank.tensor(input_of(d.dtype, me, all), d.dtype) : Tensor{};
            world->scatter(part, in, root, counts, options).wait();
            return bytes_of(part);
        }
        default: {
            std::vector<int64_t> leaving, coming;
            std::vector<Bytes> pieces;
            int64_t out_elements = 0;
            for (int32_t q = 0; q < p; ++q) {
                leaving.push_back(amount(d, me, q));
                coming.push_back(amount(d, q, me));
                out_elements += coming.back();
                pieces.push_back(input_of(d.dtype, 100 * me + q, leaving.back()));
            }
            if (!d.uneven) leaving.clear(), coming.clear();
            const Tensor out = rank.zeros(out_elements, d.dtype);
            world->all_to_all(out, rank.tensor(joined(pieces), d.dtype), coming, leaving, options).wait();
            return bytes_of(out);
        }
    }
}

/// What the ranks must have, by plain loops.
std::vector<Bytes> expected_of(const Drawn& d, int32_t p, Algorithm ran) {
    const auto at = [](int32_t r) { return static_cast<std::size_t>(r); };
    const auto inputs = [&](int64_t n) {
        std::vector<Bytes> all;
        for (int32_t r = 0; r < p; ++r) all.push_back(input_of(d.dtype, r, n < 0 ? d.counts[at(r)] : n));
        return all;
    };
    const auto sums = [&](int64_t n, const std::vector<int32_t>& chunks) {
        const Order order = p == 1 ? Order::by_rank : order_of(d.op, ran);
        return reduced(d.dtype, d.reduce_op, 0.3, inputs(n), order, chunks,
                       d.op == CollectiveOp::reduce ? d.root : 0, d.node_of);
    };
    std::vector<Bytes> out(at(p));
    int64_t first = 0;
    std::vector<int32_t> part_of;
    for (int32_t r = 0; r < p; ++r)
        part_of.insert(part_of.end(), static_cast<std::size_t>(d.counts[at(r)]), r);
    for (int32_t r = 0; r < p; ++r) {
        const int64_t mine = d.counts[at(r)];
        switch (d.op) {
            case CollectiveOp::all_reduce:
                out[at(r)] = r == 0 ? sums(mine, chunks_of(mine, p)) : out[0];
                break;
            case CollectiveOp::broadcast:
                out[at(r)] = input_of(d.dtype, d.root, mine);
                break;
            case CollectiveOp::reduce:
                out[at(r)] = r == d.root ? sums(mine, chunks_of(mine, p)) : input_of(d.dtype, r, mine);
                break;
            case CollectiveOp::all_gather:
                out[at(r)] = joined(inputs(-1));
                break;
            case CollectiveOp::gather:
                out[at(r)] = r == d.root ? joined(inputs(-1)) : Bytes{};
                break;
            case CollectiveOp::reduce_scatter:
                out[at(r)] = piece(sums(sum_of(d), part_of), d.dtype, first, mine);
                break;
            case CollectiveOp::scatter:
                out[at(r)] = piece(input_of(d.dtype, d.root, sum_of(d)), d.dtype, first, mine);
                break;
            default:
                for (int32_t q = 0; q < p; ++q) {
                    const Bytes part = input_of(d.dtype, 100 * q + r, amount(d, q, r));
                    out[at(r)].insert(out[at(r)].end(), part.begin(), part.end());
                }
        }
        first += mine;
    }
    return out;
}

/// The seeds of this run: some fixed ones, or the one that the environment names.
std::vector<uint32_t> seeds() {
    if (const char* named = std::getenv("MESHSCOPE_SEED"))
        return {static_cast<uint32_t>(std::strtoul(named, nullptr, 10))};
    std::vector<uint32_t> all;
    for (uint32_t seed = 1; seed <= (test::kSanitizer ? 9 : 27); ++seed) all.push_back(seed);
    return all;
}

}  // namespace

TEST_CASE("collectives drawn at random give the reference's bits, and send what their cards state") {
    for (const std::string& backend : backends_under_test())
        for (const uint32_t seed : seeds()) {
            Dice first(seed);
            const std::array<int32_t, 9> ranks{1, 2, 3, 4, 5, 6, 7, 8, 11};
            const int32_t p = ranks[seed % ranks.size()];
            std::vector<Drawn> drawn;
            for (int i = 0; i < 60; ++i) drawn.push_back(draw(first, p));
            std::vector<trace::RankRecord> records;
            const Mode mode = seed % 2 == 0 ? Mode::helper_thread : Mode::inline_in_wait;
            const auto results = run_ranks(
                backend, p, mode,
                [&](Rank& rank) {
                    std::vector<Bytes> out;
                    for (const Drawn& d : drawn) {
                        rank.recorder.set_step(static_cast<int32_t>(out.size()));
                        out.push_back(perform(rank, d));
                    }
                    return out;
                },
                &records);
            std::vector<std::vector<std::vector<trace::Hop>>> hops;
            for (const trace::RankRecord& record : records) hops.push_back(hops_of_events(record));
            for (std::size_t i = 0; i < drawn.size(); ++i) {
                const Drawn& d = drawn[i];
                const trace::Event& event = records[0].events[i];
                const std::vector<Bytes> expected = expected_of(d, p, event.algorithm);
                INFO(backend << " MESHSCOPE_SEED=" << seed << " call " << i << " p=" << p << ": " << d.text()
                             << " ran " << name(event.algorithm));
                int64_t sent = 0, received = 0;
                for (int32_t r = 0; r < p; ++r) {
                    const auto& record = records[static_cast<std::size_t>(r)];
                    REQUIRE(record.events[i].algorithm == event.algorithm);  // all choose alike
                    REQUIRE(
                        (results[static_cast<std::size_t>(r)][i] == expected[static_cast<std::size_t>(r)]));
                    sent += record.events[i].sent_bytes;
                    for (const trace::Hop& hop : hops[static_cast<std::size_t>(r)][i]) received += hop.bytes;
                }
                REQUIRE(sent == received);
            }
        }
}
