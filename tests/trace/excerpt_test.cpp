#include "core/trace/excerpt.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/time/clock.h"
#include "core/trace/query.h"
#include "core/trace/recorded.h"
#include "core/trace/store.h"
#include "core/trace/trace_bytes.h"
#include "tests/parallel/run_helper.h"
#include "tests/test.h"
#include "tests/trace/folder.h"

using namespace meshscope;
using trace::StepRange;

namespace {

/// FSDP on two ranks, five steps: an optimizer's state that stays allocated, collectives with numbers.
const trace::Trace& five_steps() {
    static const auto run = test::run_text(R"(
format = 1
model = { kind = "toy", seed = 1 }
data = { kind = "regression", samples = 8, seed = 1 }
train = { steps = 5, global_batch = 8 }
optimizer = { kind = "adamw", lr = 0.1 }
mesh = { shape = [2], names = ["shard"] }
parallel = { data = "fsdp2", units = [["net1"], ["net2"]] }
record = { level = "values" }
)");
    return *run.trace;
}

/// What a query gives, one line a row.
std::vector<std::string> rows(const trace::Trace& trace, const std::string& sql) {
    std::vector<std::string> lines;
    for (const auto& row : trace::TraceDatabase(trace).query(sql).rows) {
        std::string line;
        for (const trace::Cell& cell : row) line += trace::to_text(cell) + "|";
        lines.push_back(line);
    }
    return lines;
}

std::string refusal(const trace::Trace& trace, StepRange steps) {
    try {
        static_cast<void>(trace::excerpt(trace, steps));
    } catch (const InvalidArgument& error) {
        return error.message().id;
    }
    return "";
}

}  // namespace

TEST_CASE("an excerpt holds what the run recorded of its steps, and of them alone") {
    const trace::Trace& whole = five_steps();
    const trace::Trace part = trace::excerpt(whole, {2, 4});
    CHECK(trace::excerpt_of(part) == StepRange{2, 4});
    CHECK_FALSE(trace::excerpt_of(whole));
    for (const char* columns :
         {"rank, step, phase, op, mesh_dim, sequence, in_elements, bytes, algorithm, hops, unit, rule FROM "
          "collectives",
          "rank, step, phase, name, unit, flops, t_end_ns - t_begin_ns FROM compute"}) {
        const std::string select = std::string("SELECT ") + columns;
        INFO(select);
        CHECK(rows(part, select + " ORDER BY rank, id") ==
              rows(whole, select + " WHERE step IN (2, 3) ORDER BY rank, id"));
    }
    // Numbers that travelled, and those of buffers, are still those of their collectives.
    const std::string numbers =
        "SELECT c.rank, c.step, c.op, b.side, b.numbers FROM buffers b JOIN collectives c "
        "ON c.rank = b.rank AND c.id = b.collective WHERE c.step IN (2, 3) ORDER BY c.rank, c.id, b.side";
    CHECK(rows(part, numbers) == rows(whole, numbers));
    CHECK(rows(part, numbers).size() > 10);
    CHECK(rows(part, "SELECT count(*) FROM dependencies") != rows(part, "SELECT 0"));
    // The run's facts stay; of steps that were left out nothing is known.
    CHECK(part.info.steps == 5);
    CHECK(part.info.losses == whole.info.losses);
    CHECK(rows(part, "SELECT step FROM steps WHERE bytes IS NULL") ==
          std::vector<std::string>{"0|", "1|", "4|"});
}

TEST_CASE("the ledger of an excerpt begins with what was allocated and not yet freed") {
    const trace::Trace& whole = five_steps();
    const trace::Trace part = trace::excerpt(whole, {2, 4});
    for (const char* sql :
         {"SELECT rank, max(total_bytes) FROM memory WHERE step IN (2, 3) GROUP BY rank",
          "SELECT rank, category, sum(delta_bytes) FROM memory WHERE step <= 3 GROUP BY rank, category "
          "HAVING sum(delta_bytes) > 0"}) {
        INFO(sql);
        CHECK(rows(part, sql) == rows(whole, sql));
        CHECK(rows(part, sql).size() >= 2);
    }
    CHECK(part.ranks[0].memory.size() < whole.ranks[0].memory.size());
}

TEST_CASE("an excerpt can be played, written, read and cut again, and its time begins with it") {
    const trace::Trace part = trace::excerpt(five_steps(), {1, 4});
    const time::Clock clock = time::modelled(part, time::classroom());
    CHECK(clock.end_ns > 0);
    CHECK(time::span_of_step(part, clock, 2).end_ns > time::span_of_step(part, clock, 2).begin_ns);
    int64_t first = part.ranks[0].events[0].t_issue_ns;
    for (const trace::RankTrace& rank : part.ranks)
        for (const trace::Event& event : rank.events) first = std::min(first, event.t_issue_ns);
    CHECK(first == 0);
    const trace::example::Folder folder;
    trace::write_trace(part, folder.file("part.mscope"));
    CHECK(trace::identical(trace::read_trace(folder.file("part.mscope")), part));
    trace::example::put(folder.file("made.mscope"), trace::trace_bytes(part));
    CHECK(trace::identical(trace::read_trace(folder.file("made.mscope")), part));
    CHECK(trace::excerpt_of(trace::excerpt(part, {2, 3})) == StepRange{2, 3});
    CHECK(refusal(part, {0, 2}) == "trace.no_such_steps");
    CHECK(refusal(part, {3, 5}) == "trace.no_such_steps");
}

TEST_CASE("set-up goes with the first step, and a run that went on from a checkpoint is no excerpt") {
    const auto ddp = test::run_text(R"(
format = 1
model = { kind = "toy", seed = 1 }
data = { kind = "regression", samples = 8, seed = 1 }
train = { steps = 3, global_batch = 8 }
optimizer = { kind = "sgd", lr = 0.1 }
mesh = { shape = [2], names = ["replicate"] }
parallel = { data = "ddp" }
)");
    REQUIRE(ddp.trace->ranks[0].events[0].step == -1);
    CHECK(trace::excerpt(*ddp.trace, {0, 1}).ranks[0].events[0].step == -1);
    CHECK(trace::excerpt(*ddp.trace, {1, 2}).ranks[0].events[0].step == 1);
    trace::Trace later = five_steps();  // as one that resumed after two steps
    const trace::Trace part = trace::excerpt(later, {2, 5});
    for (std::size_t r = 0; r < later.ranks.size(); ++r) {
        later.ranks[r] = part.ranks[r];
        for (trace::Event& event : later.ranks[r].events)
            for (int64_t* t : {&event.t_issue_ns, &event.t_begin_ns, &event.t_end_ns}) *t += 1000;
    }
    CHECK(trace::first_recorded_step(later) == 2);
    CHECK_FALSE(trace::excerpt_of(later));
    CHECK(trace::excerpt_of(part) == StepRange{2, 5});
}

TEST_CASE("which steps fit is counted in events") {
    const trace::Trace& whole = five_steps();
    const auto events = [](const trace::Trace& trace) {
        int64_t n = 0;
        for (const trace::RankTrace& rank : trace.ranks) n += static_cast<int64_t>(rank.events.size());
        return n;
    };
    const trace::Trace begin = trace::excerpt(whole, {0, 2}), end = trace::excerpt(whole, {2, 5});
    CHECK(events(begin) + events(end) == events(whole));
    CHECK(trace::excerpt_of(begin) == StepRange{0, 2});
    CHECK(trace::excerpt_of(end) == StepRange{2, 5});
    CHECK(trace::longest_excerpt(whole, 0, events(begin)) == StepRange{0, 2});
    CHECK(trace::longest_excerpt(whole, 0, events(begin) - 1) == StepRange{0, 1});
    CHECK(trace::longest_excerpt(whole, 2, events(whole)) == StepRange{2, 5});
    CHECK_FALSE(trace::longest_excerpt(whole, 2, 10));
    for (const StepRange wrong : {StepRange{2, 2}, {3, 2}, {-1, 2}, {4, 6}}) {
        INFO(wrong.first << ':' << wrong.end);
        CHECK(refusal(whole, wrong) == "trace.no_such_steps");
    }
    CHECK(trace::step_range("10:20") == StepRange{10, 20});
    for (const char* wrong : {"", "10", "10:", ":20", "20:10", "5:5", "-1:4", "1:2:3", "1-4", "1:99999999999"})
        CHECK_FALSE(trace::step_range(wrong));
}
