#include "tests/view/really_run.h"

#include <algorithm>

#include "tests/contract/harness.h"
#include "tests/contract/reference.h"

namespace meshscope::test {

Ran really_run(CollectiveOp op, Algorithm algorithm, const std::vector<int64_t>& counts,
               std::vector<int32_t> node_of) {
    const auto p = static_cast<int32_t>(counts.size());
    const bool even = std::all_of(counts.begin(), counts.end(), [&](int64_t n) { return n == counts[0]; });
    int64_t n = 0;
    for (const int64_t each : counts) n += each;
    const auto body = [&](contract::Rank& rank) {
        rank.recorder.set_step(0);
        comm::CallOptions options;
        options.algorithm = algorithm;
        const auto world = rank.world(Algorithm::ring, node_of);
        const int64_t mine = counts[static_cast<std::size_t>(rank.rank())];
        const auto numbers = [&](int64_t elements) {
            return rank.tensor(contract::input_of(DType::float32, rank.rank(), elements), DType::float32);
        };
        const auto named = even ? std::vector<int64_t>{} : counts;
        if (op == CollectiveOp::all_gather)
            world->all_gather(rank.zeros(n), numbers(mine), named, options).wait();
        else if (op == CollectiveOp::reduce_scatter)
            world->reduce_scatter(rank.zeros(mine), numbers(n), ReduceOp::sum, named, options).wait();
        else if (op == CollectiveOp::broadcast)
            world->broadcast(numbers(n), GroupRank{p / 2}, options).wait();
        else if (op == CollectiveOp::all_to_all)
            world->all_to_all(rank.zeros(n), numbers(n), {}, {}, options).wait();
        else
            world->all_reduce(numbers(n), ReduceOp::sum, options).wait();
        return 0;
    };
    std::vector<trace::RankRecord> records;
    contract::run_ranks("threads", p, contract::Mode::inline_in_wait, body, &records);
    trace::RunInfo info;
    info.world_size = p;
    info.steps = 1;
    info.level = trace::Level::values;
    info.mesh_shape = {p};
    info.mesh_names = {"dim"};
    trace::Group group;
    group.mesh_dim = "dim";
    for (int32_t r = 0; r < p; ++r) {
        group.ranks.push_back(r);
        info.mesh_ranks.push_back(r);
        info.node_of_rank.push_back(node_of.empty() ? 0 : node_of[static_cast<std::size_t>(r)]);
    }
    Ran ran{trace::merge(info, {group}, std::move(records)), {}};
    ran.instance = trace::collectives(ran.trace)[0];
    return ran;
}

std::vector<int64_t> even(int32_t p, int64_t n) {
    return std::vector<int64_t>(static_cast<std::size_t>(p), n);
}

}  // namespace meshscope::test
