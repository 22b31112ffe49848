#include "core/comm/cost.h"

#include <algorithm>

#include "core/comm/choice.h"
#include "tests/contract/harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;
using comm::CostQuery;

namespace {

struct Case {
    CollectiveOp op;
    Algorithm algorithm;
    int64_t n;  ///< elements; where ranks have parts: of a rank's part
    bool uneven = false;
    std::string text() const {
        return std::string(name(op)) + " " + std::string(name(algorithm)) + " n=" + std::to_string(n) +
               (uneven ? " uneven" : "");
    }
};

std::vector<Case> cases_for() {
    std::vector<Case> cases;
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
        for (const CollectiveOp op :
             {CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::all_reduce, CollectiveOp::gather,
              CollectiveOp::all_gather, CollectiveOp::scatter, CollectiveOp::reduce_scatter,
              CollectiveOp::all_to_all, CollectiveOp::send, CollectiveOp::barrier}) {
            for (const int64_t n : {0, 1, 5, 840, 3001}) cases.push_back({op, algorithm, n});
            cases.push_back({op, algorithm, 4, true});
        }
    // What else an op has of its own. 50000 elements make pipelines of more than their least chunks.
    for (const CollectiveOp op :
         {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
          CollectiveOp::broadcast, CollectiveOp::all_to_all})
        for (const Algorithm algorithm : comm::algorithms_of(op)) {
            if (algorithm == Algorithm::ring || algorithm == Algorithm::direct) continue;
            for (const int64_t n : {0, 1, 5, 840, 3001}) cases.push_back({op, algorithm, n});
            if (op == CollectiveOp::all_reduce || op == CollectiveOp::broadcast)
                cases.push_back({op, algorithm, 200003});
            else
                cases.push_back({op, algorithm, 4, true});
        }
    return cases;
}

std::vector<int64_t> counts_of(const Case& c, int32_t p) {
    std::vector<int64_t> counts;
    for (int32_t r = 0; r < p; ++r) counts.push_back(c.uneven ? (r * c.n) % 7 : c.n);
    return counts;
}

int64_t sum_of(const std::vector<int64_t>& counts) {
    int64_t sum = 0;
    for (const int64_t n : counts) sum += n;
    return sum;
}

/// Issues the case on this rank; send goes from the first rank to the last.
void issue(Rank& rank, comm::ProcessGroup& world, const Case& c) {
    const int32_t p = rank.world_size();
    const int32_t root = p / 2;
    const auto counts = counts_of(c, p);
    const int64_t mine = counts[static_cast<std::size_t>(rank.rank())];
    const Tensor part = rank.zeros(mine);
    const Tensor whole = rank.zeros(sum_of(counts));
    CallOptions options;
    options.algorithm = c.algorithm;
    switch (c.op) {
        case CollectiveOp::broadcast:
            world.broadcast(rank.zeros(c.n), GroupRank{root}, options).wait();
            break;
        case CollectiveOp::reduce:
            world.reduce(rank.zeros(c.n), GroupRank{root}, ReduceOp::sum, options).wait();
            break;
        case CollectiveOp::all_reduce:
            world.all_reduce(rank.zeros(c.n), ReduceOp::sum, options).wait();
            break;
        case CollectiveOp::gather:
            world.gather(whole, part, GroupRank{root}, counts, options).wait();
            break;
        case CollectiveOp::all_gather:
            world.all_gather(whole, part, counts, options).wait();
            break;
        case CollectiveOp::scatter:
            world.scatter(part, whole, GroupRank{root}, counts, options).wait();
            break;
        case CollectiveOp::reduce_scatter:
            world.reduce_scatter(part, whole, ReduceOp::sum, counts, options).wait();
            break;
        case CollectiveOp::all_to_all: {
            // Rank r sends counts[q] to q: so everyone gets counts[r] from each.
            const std::vector<int64_t> received(static_cast<std::size_t>(p), mine);
            if (c.uneven)
                world.all_to_all(rank.zeros(mine * p), whole, received, counts, options).wait();
            else
                world.all_to_all(rank.zeros(mine * p), whole, {}, {}, options).wait();
            break;
        }
        case CollectiveOp::send:
            if (rank.rank() == 0 && p > 1) world.send(rank.zeros(c.n), GroupRank{p - 1}, options).wait();
            if (rank.rank() == p - 1 && p > 1) world.recv(rank.zeros(c.n), GroupRank{0}, options).wait();
            break;
        default:
            world.barrier(options).wait();
    }
}

CostQuery query_of(const Case& c, int32_t p, int32_t r, CollectiveOp op) {
    CostQuery query;
    query.op = op;
    query.algorithm = comm::choose_algorithm(op, c.algorithm, p, {.counts_named = c.uneven});
    query.group_size = p;
    query.group_rank = r;
    query.root = p / 2;
    const auto counts = counts_of(c, p);
    const bool parts = op == CollectiveOp::gather || op == CollectiveOp::all_gather ||
                       op == CollectiveOp::scatter || op == CollectiveOp::reduce_scatter ||
                       op == CollectiveOp::all_to_all;
    query.elements = parts ? sum_of(counts) : c.n;
    if (parts && c.uneven) {
        query.counts = counts;
        query.received_counts.assign(static_cast<std::size_t>(p), counts[static_cast<std::size_t>(r)]);
    }
    return query;
}

}  // namespace

TEST_CASE("recorded hops and bytes are those that the cards state, for 1 to 8 ranks") {
    for (const std::string& backend : backends_under_test())
        for (const int32_t p : {1, 2, 3, 4, 5, 6, 7, 8, 11}) {
            if (!kEverySize && p > 4 && p != 7) continue;
            if (!has_ranks(p)) continue;
            const auto cases = sampled(cases_for(), p);
            std::vector<trace::RankRecord> records;
            run_ranks(
                backend, p, Mode::inline_in_wait,
                [&](Rank& rank) {
                    const auto world = rank.world();
                    for (std::size_t i = 0; i < cases.size(); ++i) {
                        rank.recorder.set_step(static_cast<int32_t>(i));
                        issue(rank, *world, cases[i]);
                    }
                    return 0;
                },
                &records);
            std::vector<int64_t> rounds(cases.size(), 0);
            const std::vector<int32_t> judged = judged_ranks(p);
            for (const int32_t r : judged) {
                const trace::RankRecord& record = records[static_cast<std::size_t>(r)];
                const auto hops = hops_of_events(record);
                for (const trace::Event& event : record.events) {
                    const Case& c = cases[static_cast<std::size_t>(event.step)];
                    INFO(backend << " p=" << p << " rank " << r << ": " << c.text());
                    comm::Cost seen;
                    bool sound = true;
                    for (const trace::Hop& hop : hops[static_cast<std::size_t>(event.id)]) {
                        ++seen.hops;
                        seen.bytes_received += hop.bytes;
                        seen.rounds = std::max<int64_t>(seen.rounds, hop.round + 1);
                        sound = sound && hop.dst == r && hop.src != r && hop.bytes == 4 * hop.elements &&
                                event.t_begin_ns <= hop.t_begin_ns && hop.t_begin_ns <= hop.t_end_ns &&
                                hop.t_end_ns <= event.t_end_ns;
                    }
                    seen.bytes_sent = event.sent_bytes;
                    const CostQuery query = query_of(c, p, r, event.op);
                    const comm::Cost stated = comm::cost(query);
                    REQUIRE(sound);
                    REQUIRE(event.algorithm == query.algorithm);
                    const auto numbers = [](const comm::Cost& x) {
                        return std::vector<int64_t>{x.hops, x.bytes_sent, x.bytes_received};
                    };
                    REQUIRE(numbers(seen) == numbers(stated));
                    int64_t& most = rounds[static_cast<std::size_t>(event.step)];
                    most = std::max(most, seen.rounds);
                }
            }
            for (std::size_t i = 0; i < cases.size(); ++i) {
                INFO(backend << " p=" << p << ": " << cases[i].text());
                const int64_t stated = comm::cost(query_of(cases[i], p, 0, cases[i].op)).rounds;
                // Of the ranks one has the most.
                REQUIRE((judged.size() == static_cast<std::size_t>(p) ? rounds[i] == stated
                                                                      : rounds[i] <= stated));
            }
        }
}

TEST_CASE("the formulas give the textbook's bytes where p divides n, and PyTorch's step totals") {
    const auto sent = [](CollectiveOp op, int32_t p, int32_t rank, int64_t elements) {
        CostQuery query;
        query.op = op;
        query.group_size = p;
        query.group_rank = rank;
        query.elements = elements;
        query.algorithm = comm::choose_algorithm(op, Algorithm::ring, p);
        return comm::cost(query).bytes_sent;
    };
    for (int32_t p = 2; p <= 8; ++p)
        for (const CollectiveOp op :
             {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
              CollectiveOp::all_to_all, CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::gather,
              CollectiveOp::scatter}) {
            const int64_t n = 840;  // a multiple of 1 … 8
            int64_t all = 0;
            for (int32_t r = 0; r < p; ++r) all += sent(op, p, r, n);
            INFO(name(op) << " p=" << p);
            CHECK(static_cast<double>(all) / p == Approx(comm::textbook_bytes_sent(op, p, 4.0 * 840)));
        }
    // ToyModel on 4 ranks, float32, ring: DDP's 165 gradients cost 990 bytes a rank (the chunks of 42, 42,
    // 42, 39 make it 984 on two ranks and 996 on two); FSDP2's padded 132 and 88, two gathers and a scatter
    // each, 1980.
    int64_t ddp = 0;
    for (int32_t r = 0; r < 4; ++r) ddp += sent(CollectiveOp::all_reduce, 4, r, 165);
    CHECK(ddp == 4 * 990);
    CHECK(sent(CollectiveOp::all_reduce, 4, 0, 165) == 984);
    CHECK(2 * sent(CollectiveOp::all_gather, 4, 0, 132) + 2 * sent(CollectiveOp::all_gather, 4, 0, 88) +
              sent(CollectiveOp::reduce_scatter, 4, 0, 132) + sent(CollectiveOp::reduce_scatter, 4, 0, 88) ==
          1980);
    CHECK(comm::bus_factor(CollectiveOp::all_reduce, 4) == 1.5);
    CHECK(comm::bus_factor(CollectiveOp::all_gather, 4) == 0.75);
    CHECK(comm::bus_factor(CollectiveOp::broadcast, 4) == 1.0);
}
