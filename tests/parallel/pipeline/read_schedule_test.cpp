// Schedules that somebody wrote, held against what torch 2.15 and an independent unit-time simulator say of
// the same files (tests/golden/pipeline/expected.json).
#include "core/parallel/pipeline/read_schedule.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/parallel/pipeline/csv.h"
#include "core/parallel/pipeline/simulate.h"
#include "core/run/simulated_pipeline.h"
#include "core/trace/simulated.h"
#include "core/trace/validate.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::parallel::pipeline;
using nlohmann::json;

namespace {

const std::string kFolder = test::golden_folder() + "/pipeline/";

std::string text_of(const std::string& file) {
    std::ifstream in(kFolder + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

json expected() {
    return json::parse(text_of("expected.json")).at("files");
}

std::vector<Diagnostic> mistakes(const std::string& text) {
    try {
        read_schedule(text, "s.csv");
    } catch (const InputError& refusal) {
        return refusal.diagnostics();
    }
    return {};
}

/// "3:1 pipeline.too_early(rank=3, …)": where, and what.
std::vector<std::string> told(const std::string& text) {
    std::vector<std::string> lines;
    for (const Diagnostic& wrong : mistakes(text))
        lines.push_back(std::to_string(wrong.position.line) + ":" + std::to_string(wrong.position.column) +
                        " " + describe(wrong.message));
    return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("every right schedule is read, its ranks, stages, micro-batches and homes as torch has them") {
    const json files = expected();
    int right = 0;
    for (const auto& [file, facts] : files.items()) {
        if (!facts.at("valid").get<bool>()) continue;
        INFO(file);
        ++right;
        const ReadSchedule read = read_schedule(text_of(file), file);
        const ScheduleShape& shape = read.schedule.shape;
        CHECK(shape.ranks == facts["ranks"]);
        CHECK(shape.stages() == facts["stages"]);
        CHECK(shape.microbatches == facts["microbatches"]);
        for (const auto& [stage, rank] : facts["stage_to_rank"].items())
            CHECK(read.schedule.rank_of_stage.at(static_cast<std::size_t>(std::stoi(stage))) == rank);
    }
    CHECK(right == 8);
}

TEST_CASE("a simulated schedule takes the time, and idles as long, as an independent simulator says") {
    const json files = expected();
    for (const auto& [file, facts] : files.items()) {
        if (!facts.at("valid").get<bool>()) continue;
        INFO(file);
        const Timeline timeline = simulate(pairs_apart(read_schedule(text_of(file), file).schedule));
        const json& unit = facts["unit_time"];
        CHECK(timeline.makespan == Approx(unit["makespan"].get<double>()));
        CHECK(timeline.bubble_share == Approx(unit["bubble_fraction"].get<double>()).margin(1e-6));
        for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
            double busy = 0;
            for (const Span& span : timeline.ranks[rank]) busy += span.end - span.begin;
            CHECK(busy == Approx(unit["busy"][rank].get<double>()));
        }
    }
}

TEST_CASE("its record is one that every view can read, with a send and a receive at every border") {
    const json files = expected();
    for (const auto& [file, facts] : files.items()) {
        if (!facts.at("valid").get<bool>()) continue;
        INFO(file);
        const trace::Trace trace = run::simulate_schedule_file(kFolder + file);
        CHECK_NOTHROW(trace::validate(trace));
        CHECK(trace::is_simulated(trace.info));
        int64_t end_ns = 0, sends = 0, receives = 0, borders = 0;
        std::map<int32_t, int32_t> home;
        for (const auto& [stage, rank] : facts["stage_to_rank"].items()) home[std::stoi(stage)] = rank;
        for (const auto& [stage, rank] : home)
            if (home.contains(stage + 1) && home[stage + 1] != rank) borders += 2;
        for (const trace::RankTrace& rank : trace.ranks)
            for (const trace::Event& event : rank.events) {
                end_ns = std::max(end_ns, event.t_end_ns);
                if (event.kind != trace::EventKind::collective) continue;
                sends += event.op == CollectiveOp::send;
                receives += event.op == CollectiveOp::recv;
            }
        CHECK(end_ns == run::kSimulatedUnitNs * facts["unit_time"]["makespan"].get<int64_t>());
        CHECK(sends == borders * facts["microbatches"].get<int64_t>());
        CHECK(receives == sends);
        for (const trace::CollectiveInstance& call : trace::collectives(trace)) CHECK(call.ranks.size() == 2);
    }
}

TEST_CASE("a schedule of PyTorch's is called by its name, however its idle time is written") {
    CHECK(read_schedule(text_of("1f1b_p4_m8.csv"), "s.csv").kind == ScheduleKind::one_f_one_b);
    CHECK(read_schedule(text_of("torch215_dump_gpipe_p4_m4.csv"), "s.csv").kind == ScheduleKind::gpipe);
    CHECK(read_schedule(text_of("interleaved_1f1b_p4_v2_m8.csv"), "s.csv").kind ==
          ScheduleKind::interleaved_1f1b);
    CHECK(read_schedule(text_of("interleaved_1f1b_p2_v2_m4_comms.csv"), "s.csv").kind ==
          ScheduleKind::interleaved_1f1b);
    CHECK(read_schedule(text_of("zbv_p4_m8.csv"), "s.csv").kind == ScheduleKind::zbv_zero_bubble);
    CHECK(read_schedule(text_of("pytorch_dualpipev_4rank_10mb.csv"), "s.csv").kind ==
          ScheduleKind::dual_pipe_v);
    CHECK_FALSE(read_schedule(text_of("torchtitan_custom_schedule.csv"), "s.csv").kind);
    for (const std::string_view word : kScheduleNames) {
        const auto kind = *parse_schedule_kind(word);
        const Schedule made = make_schedule({kind, 4, default_stages_per_rank(kind), 8});
        CHECK(read_schedule(to_csv(made.order), "s.csv").kind == kind);
    }
}

TEST_CASE("each broken schedule is told at its line and column, with the rank and the action") {
    int wrong = 0;
    const json files = expected();
    for (const auto& [file, facts] : files.items())
        if (!facts.at("valid").get<bool>()) {
            INFO(file);
            ++wrong;
            CHECK_FALSE(mistakes(text_of(file)).empty());
        }
    CHECK(wrong == 7);
    CHECK(told(text_of("bad_token.csv")) == Lines{"3:13 pipeline.bad_action(text=2X3)"});
    CHECK(told(text_of("bad_backward_before_forward.csv")) ==
          Lines{"4:1 pipeline.too_early(rank=3, slot=0, action=3B0, needs=3F0)"});
    CHECK(told(text_of("bad_doubled_action.csv")) == Lines{"1:5 pipeline.twice(rank=0, slot=1, action=0F0)"});
    // Behind its forward, the field 1F5, it can stand.
    CHECK(told(text_of("bad_missing_backward.csv")) ==
          Lines{"2:33 pipeline.missing(action=1B5, rank=1, row=2)"});
    CHECK(told(text_of("bad_stage_on_two_ranks.csv")) ==
          Lines{"3:65 pipeline.wrong_rank(rank=2, slot=16, action=0F7, home=0, row=1)"});
}

TEST_CASE("ranks that wait for each other are told one by one, as the referee found them stuck") {
    const json stuck = expected()["bad_deadlock.csv"]["unit_time"]["stuck"];
    const std::vector<Diagnostic> found = mistakes(text_of("bad_deadlock.csv"));
    REQUIRE(found.size() == stuck.size());
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
        CHECK(found[rank].message.id == "pipeline.deadlock");
        CHECK(found[rank].position.line == static_cast<int>(rank) + 1);
        CHECK(std::get<std::string>(*found[rank].message.find("action")) ==
              stuck[std::to_string(rank)].get<std::string>());
    }
    // Rank 1 (line 2) runs 1B0 in its second field: it needs 2B0, which rank 2 has behind 2F1.
    CHECK(found[1].position.column == 5);
    CHECK(describe(found[1].hint) ==
          "pipeline.deadlock.right(rank=1, action=1B0, waits_for=2B0, other=2, before=2F1)");
}

TEST_CASE("PyTorch 2.15's own dump of 1F1B, one too high on the last rank, is known as such") {
    CHECK(told(text_of("torch215_dump_1f1b_p4_m8.csv")) ==
          Lines{"4:1 pipeline.dump_1f1b(first=3F1, last=3F8, right=3F0, end=3F7, action=3F1)"});
}

TEST_CASE("what is no schedule, has gaps, or cannot be shared out is told as that") {
    CHECK(told("") == Lines{"1:1 pipeline.not_a_schedule()"});
    CHECK(told("id,rank,step\n1,2,3\n") == Lines{"1:1 pipeline.not_a_schedule()"});
    CHECK(told("0UNSHARD\n") == Lines{"1:1 pipeline.not_a_schedule()"});
    CHECK(told("0F0,0B0\n2F0,2B0\n") == Lines{"2:1 pipeline.gap_stage(missing=1, action=2F0)"});
    CHECK(told("0F0,0B0, 0F2,0B2\n") == Lines{"1:10 pipeline.gap_microbatch(missing=1, action=0F2)"});
    CHECK(told("0F0,1F0,1B0,0B0\n2F0,2B0\n") ==
          Lines{"2:1 pipeline.uneven_stages(stages=3, ranks=2, action=2F0)"});
    CHECK(told("0F0\n1F0,1B0\n") == Lines{"1:1 pipeline.missing(action=0B0, rank=0, row=1)"});
    // A number that no list is as long as asks for no memory.
    CHECK(told("0F0,0B0,2147483646F2147483646\n").size() == 2);
    CHECK(mistakes("0F0,0X1,0X2,0X3,0X4,0X5,0X6,0X7,0X8,0X9,0X10,0X11,0X12,0X13,0X14\n").size() ==
          kMostMistakes + 1);
    // A byte order mark, spaces, Windows' line ends and empty rows at the end change nothing.
    CHECK(mistakes("\xEF\xBB\xBF"
                   "0F0, ,0B0\r\n,1F0 , 1B0\r\n\r\n\n")
              .empty());
}
