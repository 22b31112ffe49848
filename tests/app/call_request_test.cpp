// A recorded collective run alone, with another size: the scenario that is made of it, and its run.
#include <algorithm>
#include <memory>

#include "app/gui/session/runner.h"
#include "app/gui/session/sandbox_actions.h"
#include "core/scenario/scenario.h"
#include "core/time/read_profile.h"
#include "machine.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::session;
using test::Machine;
using test::with_lesson;

TEST_CASE("a call of another size is a scenario of its own, run on the same hardware") {
    Machine m = with_lesson();
    auto faster = std::make_shared<Document>(*m.state.document);
    faster->hardware = time::named_profile("a100");
    m.act(ShowDocument{faster});
    const trace::Trace& trace = *m.state.document->trace;
    for (const CollectiveOp op :
         {CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::all_reduce}) {
        INFO(name(op));
        const auto& events = trace.ranks[0].events;
        const auto event = std::ranges::find_if(events, [&](const trace::Event& e) {
            return e.kind == trace::EventKind::collective && e.op == op && e.group >= 0;
        });
        REQUIRE(event != events.end());
        const AskCall asked{{0, event->id}, Algorithm::ring, 1 << 16};
        REQUIRE(can_run_alone(m.state, asked.call));
        const auto request = call_request(m.state, asked);
        REQUIRE(request);
        const auto scenario = scenario::parse_scenario(request->text, request->path);
        CHECK(scenario.hardware.name == "a100");
        CHECK(scenario.calls.size() == 1);

        const auto run = run_text(*request, {}, nullptr);
        CHECK(run->hardware.name == "a100");
        CHECK(run->modelled.profile == "a100");
        const auto members = trace.groups[static_cast<std::size_t>(event->group)].ranks.size();
        REQUIRE(run->trace->ranks.size() == members);
        for (const trace::RankTrace& rank : run->trace->ranks) {
            REQUIRE(rank.events.size() == 1);
            const trace::Event& made = rank.events[0];
            CHECK(made.op == op);
            CHECK(made.algorithm == Algorithm::ring);
            CHECK(made.reduce_op == event->reduce_op);
            CHECK(4 * std::max(made.in_elements, made.out_elements) == 1 << 16);
        }
    }
}

TEST_CASE("one call at a time is run, and its run comes to the front") {
    Machine m = with_lesson();
    const auto& events = m.state.document->trace->ranks[0].events;
    const auto event = std::ranges::find(events, CollectiveOp::all_gather, &trace::Event::op);
    REQUIRE(event != events.end());
    const AskCall asked{{0, event->id}, Algorithm::direct, 1 << 10};
    m.act(asked);
    REQUIRE(m.effects.run);
    REQUIRE(m.state.running);
    const RunRequest request = *m.effects.run;
    m.effects.run.reset();
    m.act(asked);
    CHECK_FALSE(m.effects.run);
    m.act(ShowRunning{});
    m.act(RunEnded{request, run_text(request, {}, nullptr)});
    CHECK(m.state.runs.size() == 2);
    CHECK(m.state.document == m.state.runs[1]);
    CHECK(m.state.document->name == "all_gather · direct · 1024 B");
}
