#include "tests/trace/example.h"
#include "tests/trace/enter.h"

#include <array>
#include <utility>

namespace meshscope::trace::example {
namespace {

RankRecord record(int32_t rank, Level level) {
    Recorder r(GlobalRank{rank}, level, 0);
    const std::array<float, 2> own{1.5F + static_cast<float>(rank), -0.25F};
    const std::array<float, 2> other{1.5F + static_cast<float>(1 - rank), -0.25F};
    const std::array<float, 4> all{1.5F, -0.25F, 2.5F, -0.25F};

    r.on_allocate(1, 16, MemoryCategory::sharded_parameters, "net1.weight");
    // net1.weight has 3 rows of 1 on two ranks: 2 and 1, and a row of padding.
    r.keep_parameter(
        "net1.weight", "net1",
        {.rows = 3, .columns = 1, .n_rows = 3, .n_columns = 1, .first = 2 * rank, .elements = 2 - rank});
    if (rank == 1)
        r.keep_parameter("net1.weight", "net1",
                         {.padding = 1,
                          .rows = 3,
                          .columns = 1,
                          .n_rows = 3,
                          .n_columns = 1,
                          .first = 3,
                          .elements = 1,
                          .first_in_shard = 1});
    r.keep_parameter("", "net1", {.padding = 1, .elements = 2, .first_in_shard = 2});
    r.set_step(0);
    r.set_phase(Phase::forward);
    const int32_t first = r.begin_compute("linear", "net1");
    r.end_compute(first, 64, 48);

    Event gather;
    gather.op = CollectiveOp::all_gather;
    gather.stream = Stream::all_gather;
    gather.group = 0;
    gather.sequence = 0;
    gather.in_elements = 2;
    gather.out_elements = 4;
    gather.padding = rank;
    r.depend(Stream::all_gather, first);
    const int32_t event = trace::example::enter(r, gather, {"fsdp2.unshard.forward", "net2", false},
                                                std::source_location::current());
    r.on_allocate(2, 16, MemoryCategory::unsharded_parameters, "all_gather net2");
    r.begin_collective(event, Algorithm::ring);
    r.add_snapshot(event, SnapshotKind::input, own);
    Hop hop;
    hop.event = event;
    hop.src = 1 - rank;
    hop.dst = rank;
    hop.chunk = 1 - rank;
    hop.offset = 2 * (1 - rank);
    hop.elements = 2;
    hop.bytes = 8;
    hop.t_begin_ns = r.running_ns();
    hop.t_end_ns = r.running_ns();
    r.add_hop(hop, other);
    r.add_snapshot(event, SnapshotKind::output, all);
    r.end_collective(event, 8);

    r.depend(Stream::compute, event);
    r.set_phase(Phase::backward);
    r.end_compute(r.begin_compute("linear", "net2"), 64, 48);
    r.on_free(2);
    return r.take();
}

}  // namespace

std::vector<RankRecord> records(Level level) {
    std::vector<RankRecord> all;
    all.push_back(record(0, level));
    all.push_back(record(1, level));
    return all;
}

RunInfo info() {
    RunInfo info;
    info.title_en = "Two ranks";
    info.title_zh = "两个 rank";
    info.scenario = "[train]\nsteps = 1\n";
    info.scenario_path = "two.toml";
    info.engine_version = "0.1.0";
    info.world_size = 2;
    info.mesh_shape = {2};
    info.mesh_names = {"shard"};
    info.mesh_ranks = {0, 1};
    info.node_of_rank = {0, 1};
    info.steps = 1;
    info.losses = {0.12345678901234567};
    info.grad_norms = {3.0};
    return info;
}

std::vector<Group> groups() {
    return {{"shard", {0, 1}}, {"world", {0, 1}}};
}

Trace merged(Level level) {
    return merge(info(), groups(), records(level));
}

Trace large(int32_t ranks, int32_t events, int32_t hops) {
    RunInfo run;
    run.world_size = ranks;
    run.steps = 10;
    for (int32_t s = 0; s < run.steps; ++s) run.losses.push_back(1.0 / (s + 1));
    Group world{"world", {}};
    for (int32_t r = 0; r < ranks; ++r) world.ranks.push_back(r);
    std::vector<RankRecord> all;
    for (int32_t rank = 0; rank < ranks; ++rank) {
        RankRecord record;
        record.strings = {"", "linear", "net1", "fsdp2.unshard.forward", "core/x.cpp:1", "net1.weight"};
        int64_t time = rank;
        for (int32_t i = 0; i < events; ++i) {
            Event e;
            e.id = i;
            e.step = static_cast<int32_t>(int64_t{i} * run.steps / events);
            e.phase = Phase::forward;
            e.unit = 2;
            e.t_issue_ns = time;
            e.t_begin_ns = time + 10;
            e.t_end_ns = time + 1000;
            time += 2000;
            if (i % 2 == 0) {
                e.name = 1;
                e.flops = 100 + i;
            } else {
                e.kind = EventKind::collective;
                e.op = CollectiveOp::all_gather;
                e.stream = Stream::all_gather;
                e.rule = 3;
                e.source = 4;
                e.group = 0;
                e.sequence = i / 2;
                e.in_elements = 4;
                e.out_elements = 4 * ranks;
                e.sent_bytes = 16 * (ranks - 1);
                for (int32_t h = 0; h < hops; ++h) {
                    Hop hop;
                    hop.event = i;
                    hop.round = hop.chunk = h;
                    hop.src = (rank + ranks - 1) % ranks;
                    hop.dst = rank;
                    hop.offset = 4 * h;
                    hop.elements = 4;
                    hop.bytes = 16;
                    hop.t_begin_ns = time;
                    hop.t_end_ns = time + h;
                    hop.values = static_cast<int64_t>(record.values.size());
                    if (h % 2 == 1) {  // one of three elements, and one that passes through
                        hop.n_pieces = 2;
                        hop.pieces = static_cast<int64_t>(record.pieces.size());
                        record.pieces.push_back({h, 4 * h, 3});
                        record.pieces.push_back({0, -1, 1});
                    }
                    record.hops.push_back(hop);
                    for (int v = 0; v < 4; ++v) record.values.push_back(static_cast<float>(h + v) / 3.0F);
                }
            }
            if (i > 0) record.dependencies.push_back({i, i - 1});
            const int64_t bytes = i % 2 == 0 ? 64 : -64;
            record.memory.push_back({i, e.step, Phase::forward, MemoryCategory::activations, 5,
                                     static_cast<uint64_t>(i / 2), bytes, time});
            record.events.push_back(e);
        }
        all.push_back(std::move(record));
    }
    return merge(std::move(run), {std::move(world)}, std::move(all));
}

}  // namespace meshscope::trace::example
