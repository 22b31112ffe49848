// Pipelines that really run: whatever the schedule, training is the training of one rank; what travels, what
// is held, and how long ranks stand idle are what the papers say.
#include <cmath>
#include <map>
#include <set>

#include "core/parallel/pipeline/schedule.h"
#include "core/time/clock.h"
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using meshscope::parallel::pipeline::ScheduleKind;

namespace {

std::string mlp(int layers, const std::string& mesh_and_parallel, const std::string& train = "") {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = " + std::to_string(layers) +
           "\nseed = 7\n[data]\nkind = \"regression\"\nseed = 3\n[train]\nsteps = 4\nglobal_batch = 48\n" +
           train + "[optimizer]\nkind = \"adamw\"\nlr = 0.003\n" + mesh_and_parallel;
}

std::string pipeline(const std::string& kind, int ranks, int microbatches, const std::string& more = "") {
    return "[mesh]\nshape = [" + std::to_string(ranks) + "]\nnames = [\"pp\"]\n[parallel]\nschedule = \"" +
           kind + "\"\nmicrobatches = " + std::to_string(microbatches) + "\n" + more;
}

std::vector<std::string> schedules() {
    const auto& names = parallel::pipeline::kScheduleNames;
    return {names.begin(), names.end()};
}

/// How many allocations with this label were alive at once on a rank in a step.
int64_t most_alive(const trace::Trace& trace, int32_t rank, int32_t step, const std::string& label) {
    std::set<uint64_t> alive;
    std::size_t most = 0;
    for (const trace::MemoryChange& change : trace.ranks[static_cast<std::size_t>(rank)].memory) {
        if (change.delta_bytes < 0)
            alive.erase(change.allocation);
        else if (trace.text(change.label) == label && change.step == step)
            alive.insert(change.allocation);
        most = std::max(most, alive.size());
    }
    return static_cast<int64_t>(most);
}

/// The run's trace with costs that the papers' drawings assume: a layer's forward, input gradient and weight
/// gradient take a millisecond each (that of its second linear), everything else nothing.
trace::Trace with_unit_costs(trace::Trace trace) {
    for (trace::RankTrace& rank : trace.ranks)
        for (trace::Event& event : rank.events) {
            const std::string_view name = trace.strings[event.name];
            const bool counts =
                event.kind == trace::EventKind::compute &&
                (name == "linear" || name == "linear.input_grad" || name == "linear.weight_grad") &&
                trace.strings[event.unit].ends_with(".down");
            event.flops = counts ? 1000000 : 0;
            event.touched_bytes = 0;
        }
    return trace;
}

}  // namespace

TEST_CASE("every schedule trains like one rank, on 2 and on 4 ranks, layers even and uneven") {
    test::Sample sample(3);
    for (const int layers : {4, 8, 9}) {
        const auto alone = run_text(mlp(layers, one_rank()));
        for (const std::string& kind : schedules())
            for (const int ranks : {2, 4}) {
                const auto parsed = *parallel::pipeline::parse_schedule_kind(kind);
                if (ranks * parallel::pipeline::default_stages_per_rank(parsed) > layers) continue;
                if (!sample.takes()) continue;
                INFO(kind << " on " << ranks << " ranks, " << layers << " layers");
                check_equal(run_text(mlp(layers, pipeline(kind, ranks, 8))), alone);
            }
    }
}

TEST_CASE("three stages a rank, clipping, and micro-batches of one sample") {
    const auto alone = run_text(mlp(6, one_rank(), "clip_norm = 0.5\n"));
    check_equal(
        run_text(mlp(6, pipeline("Interleaved1F1B", 2, 12, "stages_per_rank = 3\n"), "clip_norm = 0.5\n")),
        alone);
    check_equal(run_text(mlp(6, pipeline("InterleavedZeroBubble", 2, 48, "stages_per_rank = 3\n"),
                             "clip_norm = 0.5\n")),
                alone);
    const auto clipped = run_text(mlp(6, pipeline("1f1b", 3, 4), "clip_norm = 0.5\n"));
    check_equal(clipped, alone);
    CHECK(clipped.trace->info.grad_norms.size() == 4);
}

TEST_CASE("pipelines go together with DDP, FSDP2 and HSDP") {
    test::Sample sample(3);
    const auto alone = run_text(mlp(4, one_rank(), "clip_norm = 0.5\n"));
    for (const std::string& kind : schedules()) {
        const std::string rest = "schedule = \"" + kind + "\"\nmicrobatches = 4\n";
        for (const std::string& mesh :
             {std::string(
                  "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"replicate\"]\n[parallel]\ndata = \"ddp\"\n"),
              std::string(
                  "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"),
              std::string(
                  "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"
                  "reshard_after_forward = false\n"),
              std::string(
                  "[mesh]\nshape = [2, 2, 2]\nnames = [\"replicate\", \"pp\", \"shard\"]\n[parallel]\ndata = "
                  "\"fsdp2\"\n")}) {
            if (!sample.takes()) continue;
            INFO(kind << "\n" << mesh);
            check_equal(run_text(mlp(4, mesh + rest, "clip_norm = 0.5\n")), alone);
        }
    }
}

TEST_CASE("and with their finer settings") {
    const auto alone = run_text(mlp(4, one_rank(), "clip_norm = 0.5\n"));
    for (const std::string kind : {"1F1B", "InterleavedZeroBubble"})
        for (const std::string keys : {"shape = [2, 2]\nnames = [\"pp\", \"replicate\"]\n[parallel]\ndata = "
                                       "\"ddp\"\ngradient_as_bucket_view = true\nddp_hook = \"allreduce\"\n",
                                       "shape = [2, 2]\nnames = [\"pp\", \"replicate\"]\n[parallel]\ndata = "
                                       "\"ddp\"\nstatic_graph = true\n",
                                       "shape = [2, 2]\nnames = [\"pp\", \"replicate\"]\n[parallel]\ndata = "
                                       "\"ddp\"\nfind_unused_parameters = true\n",
                                       "shape = [2, 4]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = "
                                       "\"fsdp2\"\nreshard_after_forward = 2\ncpu_offload = true\n"}) {
            INFO(kind << "\n" << keys);
            check_equal(
                run_text(
                    mlp(4, "[mesh]\n" + std::string(keys) + "schedule = \"" + kind + "\"\nmicrobatches = 4\n",
                        "clip_norm = 0.5\n")),
                alone);
        }
}

TEST_CASE("each edge between ranks is crossed once a micro-batch and direction: the turn of a V is not") {
    for (const std::string& kind : schedules()) {
        const auto result = run_text(mlp(8, pipeline(kind, 4, 8)));
        const trace::Trace& trace = *result.trace;
        const bool single = kind == "GPipe" || kind == "1F1B";
        const bool turns = kind == "ZBVZeroBubble" || kind == "DualPipeV";
        const int64_t edges = single ? 3 : turns ? 6 : 7;
        std::map<std::string, int64_t> by_rule;
        for (const trace::RankTrace& rank : trace.ranks)
            for (const trace::Event& event : rank.events)
                if (event.kind == trace::EventKind::collective && event.step == 1) {
                    ++by_rule[std::string(trace.text(event.rule))];
                    CHECK(event.stream == Stream::p2p);
                    CHECK(event.in_elements + event.out_elements == 48 / 8 * 4);
                    CHECK(trace.groups[static_cast<std::size_t>(event.group)].ranks ==
                          std::vector<int32_t>{0, 1, 2, 3});
                }
        INFO(kind);
        CHECK(by_rule == std::map<std::string, int64_t>{{"pp.send.activation", edges * 8},
                                                        {"pp.recv.activation", edges * 8},
                                                        {"pp.send.gradient", edges * 8},
                                                        {"pp.recv.gradient", edges * 8}});
    }
}

TEST_CASE("GPipe's first rank holds the activations of all micro-batches, 1F1B's those of p") {
    const auto held = [](const std::string& kind, int32_t rank) {
        return most_alive(*run_text(mlp(4, pipeline(kind, 4, 8))).trace, rank, 1,
                          "layers." + std::to_string(rank) + " gelu_tanh output");
    };
    for (const int32_t rank : {0, 1, 2, 3}) {
        CHECK(held("GPipe", rank) == 8);
        CHECK(held("1F1B", rank) == 4 - rank);
    }
}

TEST_CASE("only a stage's own parameters and optimizer state live on its rank") {
    const auto result = run_text(mlp(4, pipeline("1f1b", 2, 4)));
    for (const int32_t rank : {0, 1})
        for (const trace::MemoryChange& change : result.trace->ranks[static_cast<std::size_t>(rank)].memory) {
            const std::string label(result.trace->text(change.label));
            if (!label.starts_with("layers.")) continue;
            CHECK((label[7] - '0') / 2 == rank);
        }
    CHECK(result.parameters.size() == 16);
}

TEST_CASE("on the modelled clock, without communication cost, bubbles are those of the formulas") {
    test::Sample sample(4);
    time::Profile profile;
    profile.name = "drawing";
    profile.flops_per_s = 1e9;
    profile.memory_bytes_per_s = 1e18;
    profile.bandwidth_inside_bytes_per_s = 1e18;
    profile.bandwidth_between_bytes_per_s = 1e18;
    for (const int ranks : {2, 4})
        for (const int microbatches : {8, 16})
            for (const std::string& kind : schedules()) {
                if (kind == "DualPipeV") continue;  // no formula where forward and backward do not overlap
                if (!sample.takes()) continue;
                const bool single = kind == "GPipe" || kind == "1F1B";
                const bool zero_bubble = kind == "InterleavedZeroBubble" || kind == "ZBVZeroBubble";
                const int layers = single ? ranks : 2 * ranks;
                const auto result = run_text(mlp(layers, pipeline(kind, ranks, microbatches)));
                const trace::Trace trace = with_unit_costs(*result.trace);
                const time::Interval step = time::span_of_step(trace, time::modelled(trace, profile), 1);
                INFO(kind << " on " << ranks << " ranks, " << microbatches << " micro-batches");
                const double units = static_cast<double>(step.end_ns - step.begin_ns) / 1e6;
                const double p = ranks, m = microbatches, work = (single ? 3 : 6) * m;
                const double idle = zero_bubble ? p - 1 : 3 * (p - 1);
                CHECK(units == Approx(work + idle).epsilon(1e-4));
                CHECK(1 - work / units == Approx(idle / (work + idle)).epsilon(1e-2));
            }
}
