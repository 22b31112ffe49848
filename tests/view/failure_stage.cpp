#include "tests/view/failure_stage.h"

#include <algorithm>
#include <utility>

#include "backends/registry.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"

namespace meshscope::test::failure {
namespace {

const std::string kDdp =
    "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\n"
    "shape = [4]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n[[faults]]\n";

const std::string kAllReduce = "rule = \"ddp.bucket.all_reduce\"\n";

/// Each of four ranks first sends to the next.
std::string ring_of_sends() {
    std::string text = "format = 1\n[mesh]\nshape = [4]\nnames = [\"pp\"]\n";
    for (const char* op : {"send", "recv"})
        for (int rank = 0; rank < 4; ++rank)
            text += "[[call]]\nop = \"" + std::string(op) +
                    "\"\nelements = 4\nsrc = " + std::to_string(rank) +
                    "\ndst = " + std::to_string((rank + 1) % 4) + "\n";
    return text;
}

}  // namespace

const std::string kHsdp =
    "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\n"
    "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"
    "units = [[\"net1\"], [\"net2\"]]\n[[faults]]\nkind = \"kill\"\nrank = 3\nstep = 1\n"
    "rule = \"fsdp2.reduce_scatter.gradients\"\nunit = \"net2\"\n[hardware]\nranks_per_node = 2\n";

std::shared_ptr<const trace::Trace> record_of(const std::string& text) {
    std::shared_ptr<const trace::Trace> trace;
    run::RunOptions options;
    options.on_failure = [&](const std::shared_ptr<const trace::Trace>& so_far) { trace = so_far; };
    try {
        return run::run_scenario(scenario::parse_scenario(text, "failure.toml"), *backends::make_registry(),
                                 options)
            .trace;
    } catch (const CommError&) {
        return trace;
    }
}

std::shared_ptr<const trace::Trace> record_of(const Diagnosis& diagnosis, const std::vector<int64_t>& shape) {
    std::vector<std::string> names{"replicate", "shard"};
    names.resize(shape.size());
    TraceBuilder builder(shape, names);
    const auto ranks = static_cast<int32_t>(builder.trace().ranks.size());
    std::vector<int32_t> all;
    for (int32_t r = 0; r < ranks; ++r) all.push_back(r);
    const int32_t group = builder.add_group("world", all);
    for (const int32_t r : all) {
        builder.compute(r, "linear", "net1", Phase::forward, 100);
        trace::Event call;
        call.id = 1;
        call.kind = trace::EventKind::collective;
        call.op = CollectiveOp::all_reduce;
        call.reduce_op = ReduceOp::sum;
        call.algorithm = Algorithm::ring;
        call.group = group;
        call.sequence = 0;
        call.in_elements = call.out_elements = 8;
        auto& events = builder.trace().ranks[static_cast<std::size_t>(r)].events;
        call.t_issue_ns = call.t_begin_ns = call.t_end_ns = events.back().t_end_ns;
        events.push_back(call);
    }
    builder.trace().info.failure = failure_json(DiagnosedError(diagnosis, GlobalRank{0}));
    builder.trace().info.world_size = ranks;
    return std::make_shared<trace::Trace>(builder.take());
}

RankReport waits_for(int32_t rank, int32_t other) {
    RankReport report;
    report.rank = rank;
    report.state = RankState::waiting;
    report.waits_for = other;
    return report;
}

std::vector<int64_t> who_waits(const view::Picture& picture) {
    std::vector<int64_t> who;
    for (const view::Shape* shape : find(picture, "wait"))
        if (shape->stroke_style == view::Stroke::dotted) who.push_back(shape->id.a);
    std::sort(who.begin(), who.end());
    return who;
}

void check_texts(const view::Picture& picture, const view::TextMeasure& measure) {
    const auto problems = test::text_problems(picture, measure);
    CHECK((problems.empty() ? "" : problems[0]) == "");
}

const std::map<std::string, std::string>& kinds() {
    static const std::map<std::string, std::string> all{
        {"lost", kHsdp},
        {"mismatch", kDdp + "kind = \"mismatch\"\nfield = \"count\"\nrank = 1\nstep = 1\n" + kAllReduce},
        {"missing", kDdp + "kind = \"skip\"\nrank = 2\nstep = 1\n" + kAllReduce},
        {"stalled", kDdp + "kind = \"stall\"\nrank = 2\nstep = 1\n"},
        {"corrupt", kDdp + "kind = \"corrupt\"\nrank = 1\nstep = 1\nphase = \"backward\"\nat = 0\n"},
        {"deadlock", ring_of_sends()}};
    return all;
}

}  // namespace meshscope::test::failure
