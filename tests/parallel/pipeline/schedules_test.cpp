// Pipeline schedules against PyTorch's own orders, and their times against the formulas of the papers.
#include "core/parallel/pipeline/schedule.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/parallel/pipeline/csv.h"
#include "core/parallel/pipeline/simulate.h"
#include "core/parallel/pipeline/validate.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::parallel::pipeline;
using nlohmann::json;

namespace {

json golden_schedules() {
    std::ifstream in(test::golden_folder() + "/misc.json");
    return json::parse(in).at("pipeline_schedules");
}

/// A rank's slots as misc.json writes them.
json as_json(const std::vector<Slot>& slots) {
    json row = json::array();
    for (const Slot& slot : slots) row.push_back(slot ? json(to_text(*slot)) : json());
    return row;
}

std::string failure(const ScheduleShape& shape) {
    const auto reason = why_impossible(shape);
    return reason ? describe(*reason) : "";
}

std::string validation(const Schedule& schedule) {
    try {
        validate(schedule);
    } catch (const InvalidArgument& refusal) {
        return refusal.message().id;
    }
    return "";
}

constexpr std::array<std::array<int32_t, 2>, 4> kSizes{{{2, 4}, {4, 8}, {4, 16}, {8, 32}}};

}  // namespace

TEST_CASE("every schedule that PyTorch answered comes out action for action, slot for slot") {
    const json golden = golden_schedules();
    REQUIRE(golden.size() == 9);
    for (const json& entry : golden) {
        const auto kind = parse_schedule_kind(entry["schedule"].get<std::string>());
        REQUIRE(kind);
        const Schedule schedule =
            make_schedule({*kind, entry["pp"], entry["stages_per_rank"], entry["microbatches"]});
        for (std::size_t rank = 0; rank < schedule.order.size(); ++rank) {
            INFO(entry["schedule"] << " rank " << rank);
            CHECK(as_json(schedule.order[rank]) == entry["order"][std::to_string(rank)]);
        }
        CHECK(entry["order"].size() == schedule.order.size());
    }
}

TEST_CASE("GPipe and 1F1B stand in slots as their papers draw them") {
    const auto row = [](ScheduleKind kind, int32_t rank) {
        return as_json(make_schedule({kind, 3, 1, 4}).order[static_cast<std::size_t>(rank)]).dump();
    };
    CHECK(row(ScheduleKind::gpipe, 0) ==
          R"(["0F0","0F1","0F2","0F3",null,null,null,null,"0B0","0B1","0B2","0B3"])");
    CHECK(row(ScheduleKind::gpipe, 2) == R"([null,null,"2F0","2F1","2F2","2F3","2B0","2B1","2B2","2B3"])");
    CHECK(row(ScheduleKind::one_f_one_b, 0) ==
          R"(["0F0","0F1","0F2",null,null,"0B0","0F3","0B1",null,"0B2",null,"0B3"])");
    CHECK(row(ScheduleKind::one_f_one_b, 2) ==
          R"([null,null,"2F0","2B0","2F1","2B1","2F2","2B2","2F3","2B3"])");
}

TEST_CASE("1F1B holds F0 on the last rank, which PyTorch's exported order forgets") {
    const Schedule schedule = make_schedule({ScheduleKind::one_f_one_b, 4, 1, 8});
    CHECK(to_text(schedule.order[3][3]) == "3F0");
    CHECK(validation(schedule).empty());
}

TEST_CASE("makespans are those of PyTorch's orders and of the papers' formulas") {
    for (const auto& [ranks, microbatches] : kSizes) {
        INFO(ranks << " ranks, " << microbatches << " micro-batches");
        const auto makespan = [&](ScheduleKind kind) {
            return simulate(make_schedule({kind, ranks, default_stages_per_rank(kind), microbatches}))
                .makespan;
        };
        const double p = ranks, m = microbatches;
        CHECK(makespan(ScheduleKind::gpipe) == 3 * (m + p - 1));
        CHECK(makespan(ScheduleKind::one_f_one_b) == 3 * (m + p - 1));
        CHECK(makespan(ScheduleKind::interleaved_1f1b) == 6 * m + 3 * (p - 1));
        CHECK(makespan(ScheduleKind::looped_bfs) == 6 * m + 3 * (p - 1));
        CHECK(makespan(ScheduleKind::interleaved_zero_bubble) == 6 * m + (p - 1));
        CHECK(makespan(ScheduleKind::zbv_zero_bubble) == 6 * m + (p - 1));
    }
    // The figures of the formulas, written out.
    const auto at = [](ScheduleKind kind, int32_t ranks, int32_t m) {
        return simulate(make_schedule({kind, ranks, default_stages_per_rank(kind), m})).makespan;
    };
    CHECK(at(ScheduleKind::gpipe, 2, 4) == 15);
    CHECK(at(ScheduleKind::gpipe, 8, 32) == 117);
    CHECK(at(ScheduleKind::interleaved_1f1b, 4, 8) == 57);
    CHECK(at(ScheduleKind::looped_bfs, 8, 32) == 213);
    CHECK(at(ScheduleKind::zbv_zero_bubble, 4, 16) == 99);
    CHECK(at(ScheduleKind::interleaved_zero_bubble, 8, 32) == 199);
}

TEST_CASE("bubble shares are (p-1)/(m+p-1), and (p-1)/(vm+p-1) when interleaved") {
    for (const auto& [ranks, microbatches] : kSizes) {
        const double p = ranks, m = microbatches;
        const auto share = [&](ScheduleKind kind, int32_t stages_per_rank) {
            return simulate(make_schedule({kind, ranks, stages_per_rank, microbatches})).bubble_share;
        };
        CHECK(share(ScheduleKind::gpipe, 1) == Approx((p - 1) / (m + p - 1)));
        CHECK(share(ScheduleKind::one_f_one_b, 1) == Approx((p - 1) / (m + p - 1)));
        for (const int32_t v : {2, 3})
            CHECK(share(ScheduleKind::interleaved_1f1b, v) == Approx((p - 1) / (v * m + p - 1)));
        // ZB1P: (p-1)(F + B - 2W) idle where F = I = W, so (p-1) of 6m + p - 1 for two stages a rank.
        CHECK(share(ScheduleKind::zbv_zero_bubble, 2) == Approx((p - 1) / (6 * m + p - 1)));
    }
}

TEST_CASE("every schedule of every possible size is valid") {
    for (int kind = 0; kind < kScheduleKinds; ++kind)
        for (int32_t ranks = 1; ranks <= 6; ++ranks)
            for (int32_t stages = 1; stages <= 3; ++stages)
                for (int32_t microbatches = 1; microbatches <= 14; ++microbatches) {
                    const ScheduleShape shape{static_cast<ScheduleKind>(kind), ranks, stages, microbatches};
                    if (why_impossible(shape)) continue;
                    INFO(name(shape.kind) << " " << ranks << " " << stages << " " << microbatches);
                    CHECK(validation(make_schedule(shape)) == "");
                }
}

TEST_CASE("what a schedule cannot run is refused with the nearest possible values") {
    using K = ScheduleKind;
    CHECK(failure({K::one_f_one_b, 4, 1, 3}) ==
          "pipeline.microbatches_least(schedule=1F1B, ranks=4, stages=4, microbatches=3, least=4, "
          "most_ranks=3)");
    CHECK(failure({K::dual_pipe_v, 2, 2, 3}) ==
          "pipeline.microbatches_least(schedule=DualPipeV, ranks=2, stages=4, microbatches=3, least=4, "
          "most_ranks=1)");
    CHECK(
        failure({K::interleaved_1f1b, 4, 2, 9}) ==
        "pipeline.microbatches_rounds(schedule=Interleaved1F1B, ranks=4, microbatches=9, rounds=2, below=8, "
        "above=10)");
    CHECK(failure({K::interleaved_1f1b, 4, 2, 10}).empty());  // PyTorch's own examples
    CHECK(failure({K::interleaved_1f1b, 4, 2, 3}).empty());
    CHECK(failure({K::zbv_zero_bubble, 2, 3, 4}) ==
          "pipeline.stages_per_rank(schedule=ZBVZeroBubble, found=3, wanted=2)");
    CHECK(failure({K::gpipe, 2, 2, 4}) == "pipeline.stages_per_rank(schedule=GPipe, found=2, wanted=1)");
    CHECK(failure({K::gpipe, 0, 1, 4}).starts_with("pipeline.sizes"));
    CHECK_THROWS_AS(make_schedule({K::one_f_one_b, 4, 1, 3}), InvalidArgument);
}

TEST_CASE("a schedule that does not train is refused, with the reason") {
    const Schedule right = make_schedule({ScheduleKind::gpipe, 2, 1, 2});
    // Slots: rank 0: F0 F1 - - B0 B1, rank 1: - F0 F1 B0 B1.
    Schedule wrong = right;
    std::swap(wrong.order[0][0], wrong.order[0][4]);
    CHECK(validation(wrong) == "pipeline.too_early");
    wrong = right;
    wrong.order[1][1].reset();
    wrong.order[1][3].reset();
    CHECK(validation(wrong) == "pipeline.missing");
    wrong = right;
    wrong.order[1][2] = wrong.order[1][1];
    CHECK(validation(wrong) == "pipeline.twice");
    wrong = right;
    wrong.order[0][0]->stage = 1;
    CHECK(validation(wrong) == "pipeline.wrong_rank");
    wrong = right;
    wrong.order[0][0]->microbatch = 2;
    CHECK(validation(wrong) == "pipeline.no_such_microbatch");
    wrong = right;
    wrong.order[0][0]->stage = 2;
    CHECK(validation(wrong) == "pipeline.no_such_stage");
    wrong = right;
    wrong.order.pop_back();
    CHECK(validation(wrong) == "pipeline.ranks");
    // Each rank alone is in order, together they wait for each other: rank 0 wants B0 before it sends F1,
    // rank 1 wants F1 before it does B0.
    wrong = right;
    wrong.order[0] = {right.order[0][0], right.order[0][4], right.order[0][1], right.order[0][5]};
    CHECK(validation(wrong) == "pipeline.deadlock");
}

TEST_CASE("action text is read and written as PyTorch's") {
    for (const char* text :
         {"2F0", "0B12", "3I1", "3W1", "1UNSHARD", "1RESHARD", "4SEND_F1", "4RECV_F0", "2SEND_B3", "2RECV_B3",
          "5WAIT_SEND_F2", "0REDUCE_GRAD", "0WAIT_REDUCE_GRAD", "(0F7;7B3)OVERLAP_F_B"})
        CHECK(to_text(parse_action(text)) == text);
    CHECK(to_text(parse_action(" 2F0 ")) == "2F0");
    CHECK_FALSE(parse_action("").has_value());
    CHECK_FALSE(parse_action("  ").has_value());
    for (const char* text :
         {"F0", "2F", "2X0", "2F0x", "-1F0", "1UNSHARD3", "0OVERLAP_F_B", "(0F7;7B3)", "(0F7;7B3",
          "(0F7;)OVERLAP_F_B", "((0F7;7B3)OVERLAP_F_B;1F1)OVERLAP_F_B", "99999999999F0", "2f0"}) {
        INFO(text);
        CHECK_THROWS_AS(parse_action(text), InvalidArgument);
    }
}

TEST_CASE("CSV has one row a rank and is read back as it was") {
    for (const json& entry : golden_schedules()) {
        const auto kind = parse_schedule_kind(entry["schedule"].get<std::string>());
        const Schedule schedule =
            make_schedule({*kind, entry["pp"], entry["stages_per_rank"], entry["microbatches"]});
        CHECK(from_csv(to_csv(schedule.order), "s.csv") == schedule.order);
    }
    CHECK(to_csv(make_schedule({ScheduleKind::gpipe, 2, 1, 1}).order) == "0F0,,,0B0\r\n,1F0,1B0\r\n");
    try {
        from_csv("0F0,nonsense\n,1F0,2F\n", "s.csv");
        FAIL("was read");
    } catch (const InputError& error) {
        REQUIRE(error.diagnostics().size() == 2);
        CHECK(error.diagnostics()[0].position.line == 1);
        CHECK(error.diagnostics()[0].position.column == 5);
        CHECK(error.diagnostics()[1].position.line == 2);
        CHECK(error.diagnostics()[1].position.column == 6);
    }
}
