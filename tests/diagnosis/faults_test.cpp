#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/run/dry.h"
#include "core/run/run.h"
#include "core/scenario/scenario.h"
#include "core/trace/query.h"
#include "core/trace/store.h"
#include "tests/diagnosis/harness.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

/// Three ranks, three steps of DDP: in each step one all_reduce of one bucket.
const std::string kDdp =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 3\nglobal_batch "
    "= 6\n"
    "[mesh]\nshape = [3]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n";
const std::string kFsdp =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 3\nglobal_batch "
    "= 6\n"
    "[mesh]\nshape = [3]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n";

struct Ended {
    std::string id;  ///< of the error; "" when the run came to its end
    Diagnosis diagnosis;
    std::shared_ptr<const trace::Trace> partial;
    run::RunResult result;
};

Ended run_it(const std::string& toml, run::RunOptions options = {}) {
    Ended ended;
    options.on_failure = [&](const std::shared_ptr<const trace::Trace>& trace) { ended.partial = trace; };
    try {
        ended.result = run::run_scenario(scenario::parse_scenario(toml, "faults.toml"),
                                         *backends::make_registry(), options);
    } catch (const DiagnosedError& error) {
        ended.id = error.message().id;
        ended.diagnosis = error.diagnosis();
    } catch (const Error& error) {
        ended.id = error.message().id;
    }
    return ended;
}

std::string fault(const std::string& kind, int32_t rank, int32_t step, const std::string& more = "") {
    return "[[faults]]\nkind = \"" + kind + "\"\nrank = " + std::to_string(rank) +
           "\nstep = " + std::to_string(step) + "\n" + more;
}

const RankReport& report_of(const Diagnosis& d, int32_t rank) {
    return *std::find_if(d.ranks.begin(), d.ranks.end(), [&](const auto& each) { return each.rank == rank; });
}

}  // namespace

TEST_CASE("a killed rank is named, with what it was doing, wherever it dies") {
    for (const std::string& scenario : {kDdp, kFsdp})
        for (int32_t rank = 0; rank < 3; ++rank)
            for (const char* where :
                 {"", "phase = \"forward\"\n", "phase = \"backward\"\n", "phase = \"optimizer\"\n",
                  "at = 0\n", "phase = \"backward\"\nhop = 1\n"}) {
                INFO("rank " << rank << ", " << where);
                const Ended ended = run_it(scenario + fault("kill", rank, 1, where));
                CHECK(ended.id == "diagnosis.lost");
                CHECK(ended.diagnosis.kind == DiagnosisKind::lost);
                CHECK(ended.diagnosis.culprits == std::vector<int32_t>{rank});
                REQUIRE(ended.diagnosis.ranks.size() == 3);
                CHECK(report_of(ended.diagnosis, rank).state == RankState::lost);
                // Step 0 was whole.
                REQUIRE(ended.partial);
                CHECK(ended.partial->info.steps >= 1);
                CHECK(ended.partial->info.failure.find("\"kind\":\"lost\"") != std::string::npos);
            }
}

TEST_CASE("a rank that dies inside a collective is said to be in that collective") {
    const Ended ended = run_it(kDdp + fault("kill", 1, 2, "phase = \"backward\"\nhop = 2\n"));
    const CallReport& call = report_of(ended.diagnosis, 1).call;
    CHECK(call.op == "all_reduce");
    CHECK(call.step == 2);
    CHECK(call.phase == "backward");
    CHECK(call.source.find("core/parallel/ddp/") == 0);
}

TEST_CASE("a stalled rank is found without a clock, and told from a dead one") {
    for (const char* where : {"", "phase = \"backward\"\n", "phase = \"optimizer\"\n"}) {
        const Ended ended = run_it(kFsdp + fault("stall", 2, 1, where));
        CHECK(ended.diagnosis.kind == DiagnosisKind::stalled);
        CHECK(ended.diagnosis.culprits == std::vector<int32_t>{2});
        CHECK(report_of(ended.diagnosis, 2).state == RankState::stalled);
    }
    // The last thing it should do: the others end, and only it is left.
    const Ended last = run_it(kDdp + fault("stall", 0, 2, "phase = \"optimizer\"\n"));
    CHECK(last.diagnosis.kind == DiagnosisKind::stalled);
    CHECK(last.diagnosis.culprits == std::vector<int32_t>{0});
}

TEST_CASE("a late rank harms nothing: the same numbers, later") {
    const Ended good = run_it(kDdp);
    const Ended late = run_it(kDdp + fault("delay", 1, 1, "ms = 30\n"));
    REQUIRE(late.id.empty());
    CHECK(late.result.wall_ns >= 30'000'000);
    for (std::size_t i = 0; i < good.result.parameters.size(); ++i)
        CHECK(good.result.parameters[i].numbers == late.result.parameters[i].numbers);
}

TEST_CASE("unchecked, the rank that has a fault goes the others' way in every algorithm") {
    run::RunOptions unchecked;
    unchecked.checked = false;
    for (const char* algorithm : {"ring", "direct", "tree", "auto"}) {
        INFO(algorithm);
        const std::string scenario = kDdp + "algorithm = \"" + algorithm + "\"\n";
        const Ended good = run_it(scenario, unchecked);
        const Ended late = run_it(scenario + fault("delay", 1, 1, "ms = 1\n"), unchecked);
        CHECK(late.id.empty());
        for (std::size_t i = 0; i < good.result.parameters.size(); ++i)
            CHECK(good.result.parameters[i].numbers == late.result.parameters[i].numbers);
        // Its next calls have the same shape: only the end shows it.
        const Ended left_out = run_it(scenario + fault("skip", 1, 1, "phase = \"backward\"\n"), unchecked);
        CHECK(left_out.diagnosis.culprits == std::vector<int32_t>{1});
        // Who waits for it is in step 2; the others may not have got there.
        CHECK(std::ranges::any_of(left_out.diagnosis.ranks,
                                  [](const RankReport& each) { return each.call.step == 2; }));
    }
}

TEST_CASE("a bit that changes on the way is found by its checksum: unchecked it changes the numbers") {
    const std::string flip = fault("corrupt", 2, 1, "phase = \"backward\"\n");
    const Ended found = run_it(kDdp + flip);
    CHECK(found.id == "diagnosis.corrupt");
    CHECK(found.diagnosis.kind == DiagnosisKind::corrupt);
    CHECK(report_of(found.diagnosis, 2).call.op == "all_reduce");

    const Ended good = run_it(kDdp), silent = run_it(kDdp + "[run]\nchecked = false\n" + flip);
    REQUIRE(silent.id.empty());
    bool differs = false;
    for (std::size_t i = 0; i < good.result.parameters.size(); ++i)
        differs |= good.result.parameters[i].numbers != silent.result.parameters[i].numbers;
    CHECK(differs);
}

TEST_CASE("a mismatched call ends on all ranks with the field and the rank named") {
    struct Case {
        const char* field;
        const std::string& scenario;
        const char* where;
        const char* differs;
    };
    const Case cases[] = {
        {"op", kDdp, "phase = \"backward\"\n", "op"},
        {"reduce_op", kDdp, "phase = \"backward\"\n", "reduce_op"},
        {"dtype", kDdp, "phase = \"backward\"\n", "dtype"},
        {"count", kDdp, "phase = \"backward\"\n", "count"},
        {"op", kFsdp, "phase = \"forward\"\n", "op"},
        {"op", kFsdp, "phase = \"backward\"\nrule = \"fsdp2.reduce_scatter.gradients\"\n", "op"},
        {"dtype", kFsdp, "phase = \"forward\"\n", "dtype"},
        {"count", kFsdp, "phase = \"forward\"\n", "count"},
    };
    for (const Case& each : cases) {
        INFO(each.field << " " << each.where);
        const Ended ended =
            run_it(each.scenario +
                   fault("mismatch", 1, 1, std::string("field = \"") + each.field + "\"\n" + each.where));
        CHECK(ended.diagnosis.kind == DiagnosisKind::mismatch);
        CHECK(ended.diagnosis.culprits == std::vector<int32_t>{1});
        CHECK(std::find(ended.diagnosis.differs.begin(), ended.diagnosis.differs.end(), each.differs) !=
              ended.diagnosis.differs.end());
    }
    const Ended no_root = run_it(kDdp + fault("mismatch", 1, 1, "field = \"root\"\nphase = \"backward\"\n"));
    CHECK(no_root.id == "fault.no_field");
}

TEST_CASE("a bit that the message does not have is refused, and says how many it has") {
    const std::string call =
        "format = 1\n[mesh]\nshape = [3]\n[[call]]\nop = \"broadcast\"\nroot = 0\nelements = 2\n";
    const auto with_bit = [&](const std::string& bit) {
        return run_it(call + fault("corrupt", 1, 0, "at = 0\n" + (bit.empty() ? "" : "bit = " + bit + "\n")));
    };
    CHECK(with_bit("").id == "diagnosis.corrupt");
    CHECK(with_bit("63").id == "diagnosis.corrupt");
    const Ended beyond = with_bit("64");
    CHECK(beyond.id == "fault.no_bit");
}

TEST_CASE("whatever is wrong with a call that has a root, on the root or not, it is told as a mismatch") {
    for (const char* op : {"broadcast", "reduce", "gather", "scatter"})
        for (const char* field : {"op", "root", "dtype", "count", "reduce_op"})
            for (const int32_t rank : {0, 1, 2}) {
                const bool reduces = std::string(op) == "reduce";
                if (std::string(field) == "reduce_op" && !reduces) continue;
                INFO(op << " " << field << " on rank " << rank);
                const std::string call = "format = 1\n[mesh]\nshape = [3]\n[[call]]\nop = \"" +
                                         std::string(op) + "\"\nroot = 1\nelements = 6\n";
                const Ended ended = run_it(
                    call + fault("mismatch", rank, 0, "field = \"" + std::string(field) + "\"\nat = 0\n"));
                CHECK(ended.id == "diagnosis.mismatch");
                CHECK(ended.diagnosis.culprits == std::vector<int32_t>{rank});
            }
}

TEST_CASE("a call that is left out, or made twice, is found") {
    // Left out in the last step: the rank ends while the others wait.
    const Ended early = run_it(kDdp + fault("skip", 1, 2, "phase = \"backward\"\n"));
    CHECK(early.id == "comm.peer_finished");
    CHECK(early.diagnosis.kind == DiagnosisKind::missing);
    CHECK(early.diagnosis.culprits == std::vector<int32_t>{1});
    // Left out between others: the rank's next call meets the one it left out.
    const Ended between = run_it(kFsdp + fault("skip", 1, 1, "phase = \"forward\"\nat = 1\n"));
    CHECK_FALSE(between.id.empty());
    const Ended twice = run_it(kDdp + fault("repeat", 1, 2, "phase = \"backward\"\n"));
    CHECK_FALSE(twice.id.empty());
    CHECK(twice.diagnosis.kind == DiagnosisKind::missing);
}

TEST_CASE("a fault that meets no call is told, with the calls there were") {
    try {
        run::run_scenario(
            scenario::parse_scenario(kDdp + fault("kill", 1, 1, "phase = \"backward\"\nat = 40\n"), "f.toml"),
            *backends::make_registry());
        FAIL("it ran");
    } catch (const InputError& error) {
        REQUIRE(error.diagnostics().size() == 1);
        const Diagnostic& found = error.diagnostics()[0];
        CHECK(found.message.id == "run.fault_never_came");
        CHECK(std::get<int64_t>(*found.message.find("calls")) >= 1);
        CHECK(found.position.line > 0);
    }
}

TEST_CASE("what was recorded up to a failure is a valid trace, on disk too") {
    const test::Folder folder;
    for (const std::string& what : {fault("kill", 1, 1, "phase = \"backward\"\nhop = 1\n"),
                                    fault("stall", 0, 2), fault("skip", 2, 2, "phase = \"backward\"\n"),
                                    fault("mismatch", 1, 1, "field = \"count\"\nphase = \"forward\"\n")}) {
        INFO(what);
        const Ended ended = run_it(kFsdp + what);
        REQUIRE(ended.partial);
        const trace::Trace& trace = *ended.partial;
        CHECK(trace.ranks.size() == 3);
        std::size_t events = 0;
        for (const trace::RankTrace& rank : trace.ranks) {
            events += rank.events.size();
            for (const trace::Event& event : rank.events) CHECK(event.t_end_ns >= event.t_begin_ns);
        }
        CHECK(events > 10);
        const std::string path = folder.file("partial.mscope");
        trace::write_trace(trace, path);
        const trace::Trace back = trace::read_trace(path);
        CHECK(trace::identical(back, trace));
        CHECK(back.info.failure == trace.info.failure);
        CHECK(back.info.failure.find("\"id\"") != std::string::npos);
    }
}

TEST_CASE("a right run records the same, checked or not, stepped or free, and is not marked as failed") {
    // (DDP's set-up broadcasts over memory that nobody has written, and records what lay there.)
    for (const std::string& scenario : {kFsdp, kFsdp + "reshard_after_forward = false\n"}) {
        const auto free = run_it(scenario + "[run]\nchecked = false\n");
        REQUIRE(free.id.empty());
        CHECK(free.result.trace->info.failure.empty());
        for (const char* schedule : {"", "random:3", "pct:4:3"})
            for (const bool checked : {false, true}) {
                run::RunOptions options;
                options.schedule = schedule;
                options.checked = checked;
                const auto other = run_it(scenario + "[run]\nchecked = false\n", options);
                REQUIRE(other.id.empty());
                INFO(schedule << ", checked " << checked);
                CHECK(trace::identical(*free.result.trace, *other.result.trace, trace::Ignore::times));
            }
    }
}

TEST_CASE("a lesson of a fault has its trace and its error: SQL sees why it ended") {
    const auto scenario = scenario::parse_scenario(
        kFsdp + fault("skip", 1, 2, "phase = \"backward\"\nrule = \"fsdp2.reduce_scatter.gradients\"\n"),
        "f.toml");
    const run::RunResult result = run::run_up_to_failure(scenario, *backends::make_registry());
    REQUIRE(result.trace);
    CHECK(result.failure);
    CHECK(result.parameters.empty());
    const trace::TraceDatabase db(*result.trace);
    const auto kind =
        db.query("SELECT json_extract(value, '$.diagnosis.kind') FROM meta WHERE key = 'failure'");
    REQUIRE(kind.rows.size() == 1);
    // Which calls were left alone: the number of members that made each.
    const auto alone = db.query(
        "SELECT count(*) FROM (SELECT group_id, sequence, count(*) AS made, max(group_size) AS members "
        "FROM collectives WHERE op NOT IN ('send', 'recv') GROUP BY group_id, sequence HAVING made < "
        "members)");
    REQUIRE(alone.rows.size() == 1);
    // A scenario that asks for no fault is run as ever: its failure is an exception.
    CHECK_FALSE(run::run_up_to_failure(scenario::parse_scenario(kFsdp, "f.toml"), *backends::make_registry())
                    .failure);
}

TEST_CASE("what is recorded of a run that fails does not depend on which rank was slow") {
    const std::string rule = "rule = \"ddp.bucket.all_reduce\"\n";
    const std::string late = "ms = 150\n";
    for (const char* kind : {"skip", "kill"}) {
        const std::string broken = kDdp + fault(kind, 2, 1, rule);
        const auto recorded = [&](const std::string& delay) {
            Ended ended = run_it(broken + delay);
            REQUIRE(ended.partial);
            trace::Trace trace = *ended.partial;
            trace.info.scenario.clear();  // names the delay
            return trace;
        };
        const trace::Trace quick = recorded("");
        // In the middle of a call, and before one: others are long through, or stuck, meanwhile.
        for (const int32_t rank : {0, 1})
            for (const std::string& where :
                 {rule + "hop = 1\n", rule + "hop = 3\n", std::string("phase = \"backward\"\n"),
                  std::string("phase = \"forward\"\n")}) {
                INFO(kind << ", rank " << rank << " late, " << where);
                const trace::Trace slow = recorded(fault("delay", rank, 1, late + where));
                CHECK(trace::identical(quick, slow, trace::Ignore::times));
            }
    }
}

TEST_CASE("a dry run asks what would be done: no fault happens to it") {
    const auto scenario = scenario::parse_scenario(kFsdp + fault("kill", 1, 1), "f.toml");
    const auto dry = run::run_dry(scenario).trace;
    REQUIRE(dry);
    CHECK(dry->info.failure.empty());
}

TEST_CASE("only threads can be stepped") {
    run::RunOptions options;
    options.schedule = "random:1";
    options.backend = "elsewhere";
    CHECK(run_it(kDdp, options).id == "run.cannot_step");
}
