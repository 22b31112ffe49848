#include "core/scenario/evaluate.h"

#include "core/scenario/check_lesson.h"
#include "tests/test.h"
#include "tests/trace/enter.h"

using namespace meshscope;
using namespace meshscope::scenario;

namespace {

/// Two ranks, of which rank 0 gathered twice and scattered once with rank 1.
trace::Trace small_trace() {
    std::vector<trace::RankRecord> records;
    for (int32_t rank = 0; rank < 2; ++rank) {
        trace::Recorder recorder(GlobalRank{rank}, trace::Level::collectives, 0);
        recorder.set_step(0);
        for (const CollectiveOp op :
             {CollectiveOp::all_gather, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
            trace::Event draft;
            draft.kind = trace::EventKind::collective;
            draft.op = op;
            draft.group = 0;
            draft.sequence = recorder.last_event() + 1;
            const int32_t event = trace::example::enter(recorder, draft, {"user.call", "net1"},
                                                        std::source_location::current());
            recorder.begin_collective(event, Algorithm::direct);
            recorder.end_collective(event, 0);
        }
        records.push_back(recorder.take());
    }
    trace::RunInfo info;
    info.world_size = 2;
    info.steps = 1;
    info.losses = {0.5};
    info.mesh_shape = {2};
    info.mesh_names = {"shard"};
    info.mesh_ranks = {0, 1};
    info.node_of_rank = {0, 0};
    info.level = trace::Level::collectives;
    return trace::merge(info, {{"shard", {0, 1}}}, std::move(records));
}

Scenario::Quiz quiz(const std::string& kind, const std::string& answer, double tolerance = 0) {
    Scenario::Quiz q;
    q.id = "q";
    q.kind = kind;
    q.answer = answer;
    q.tolerance = tolerance;
    return q;
}

}  // namespace

TEST_CASE(
    "a check passes when its value is neither 0, NULL nor an empty text, and tells why it cannot be asked") {
    const trace::Trace trace = small_trace();
    const trace::TraceDatabase database(trace);
    Scenario s;
    s.checks = {{"true", "SELECT count(*) = 2 FROM collectives WHERE rank = 0 AND op = 'all_gather'"},
                {"zero", "SELECT 0"},
                {"null", "SELECT NULL"},
                {"empty", "SELECT ''"},
                {"real", "SELECT 0.5"},
                {"two rows", "SELECT id FROM collectives"},
                {"writes", "DELETE FROM event"},
                {"misspelt", "SELECT \"lossy\" FROM losses LIMIT 1"},
                {"text", "SELECT 'true'"}};
    const auto results = run_checks(s, database);
    REQUIRE(results.size() == 9);
    CHECK(results[0].passed);
    CHECK_FALSE(results[1].passed);
    CHECK(results[1].value == "0");
    CHECK_FALSE(results[2].passed);
    CHECK_FALSE(results[3].passed);
    CHECK(results[4].passed);
    CHECK(results[5].error->id == "query.not_one_value");
    CHECK_FALSE(results[6].passed);
    CHECK(results[6].error);
    CHECK(results[7].error->id == "query.sql");
    CHECK(results[8].error->id == "scenario.check_no_number");
    CHECK_FALSE(results[8].passed);
}

TEST_CASE("numbers come from the run, or say what is wrong") {
    const trace::Trace trace = small_trace();
    Scenario s;
    s.numbers = {{"gathers", "SELECT count(*) FROM collectives WHERE rank = 0 AND op = 'all_gather'"},
                 {"none", "SELECT NULL"},
                 {"broken", "SELECT nothing"}};
    auto numbers = read_numbers(s, trace, trace::TraceDatabase(trace));
    CHECK(numbers["gathers"].text == "2");
    CHECK(numbers["none"].error->id == "scenario.number_empty");
    CHECK(numbers["broken"].error->id == "query.sql");
}

TEST_CASE("answers are right by their kind: near numbers, sets in any order, lists in order") {
    CHECK(is_right(quiz("number", ""), "1056", " 1056 "));
    // As the lessons write numbers: with commas between thousands, a unit, the minus sign of print.
    CHECK(is_right(quiz("number", ""), "1056", "1,056"));
    CHECK(is_right(quiz("number", ""), "1056", "1,056 B"));
    CHECK(is_right(quiz("number", ""), "1056000", "1,056,000"));
    CHECK(is_right(quiz("number", ""), "-1.5", "\u22121.5"));
    CHECK(is_right(quiz("number", ""), "0.5", ".5"));
    for (const char* wrong : {"10,56", "1,0560", "1056 or 12", "1.056", "10 56"})
        CHECK_FALSE(is_right(quiz("number", ""), "1056", wrong));
    CHECK(is_right(quiz("number", "", 0.01), "0.75", "0.755"));
    CHECK_FALSE(is_right(quiz("number", "", 0.001), "0.75", "0.755"));
    CHECK_FALSE(is_right(quiz("number", ""), "1", ""));
    CHECK_FALSE(is_right(quiz("number", ""), "1", "one"));
    CHECK_FALSE(is_right(quiz("number", "", 1e30), "1", "nan"));
    CHECK(is_right(quiz("ranks", ""), "[0, 2]", "2 , 0"));
    CHECK(is_right(quiz("ranks", ""), "[0, 2]", "(0,2,2)"));
    CHECK_FALSE(is_right(quiz("ranks", ""), "[0, 2]", "0"));
    CHECK_FALSE(is_right(quiz("ranks", ""), "[0, 2]", "0, x"));
    CHECK(is_right(quiz("order", ""), "net2,net1", "net2, net1"));
    CHECK_FALSE(is_right(quiz("order", ""), "net2,net1", "net1,net2"));
    CHECK(is_right(quiz("choice", ""), "1", "1"));
    CHECK_FALSE(is_right(quiz("choice", ""), "1", "0"));
}

TEST_CASE("what is no answer of its kind at all is told apart from a wrong one") {
    for (const char* number : {"12", "7,168", "7168 B", "-1", "\u22121", "1e3"})
        CHECK(is_readable(quiz("number", ""), number));
    for (const char* none : {"", "a", "rank 3", "1 2", "1,2"})
        CHECK_FALSE(is_readable(quiz("number", ""), none));
    CHECK_FALSE(is_readable(quiz("number", ""), std::string(100000, '1')));
    CHECK(is_readable(quiz("ranks", ""), "[0, 2]"));
    CHECK_FALSE(is_readable(quiz("ranks", ""), "rank 2"));
    CHECK(is_readable(quiz("order", ""), "net2"));
    Scenario::Quiz choice = quiz("choice", "");
    choice.choices = {{{"a", "a"}, {"no", "no"}, false}, {{"b", "b"}, {}, true}};
    CHECK(is_readable(choice, "1"));
    CHECK_FALSE(is_readable(choice, "2"));
    CHECK_FALSE(is_readable(choice, "-1"));
    CHECK_FALSE(is_readable(choice, ""));
}

TEST_CASE("a quiz's answer must fit its kind, and agree with the choice that is marked") {
    const trace::Trace trace = small_trace();
    const trace::TraceDatabase database(trace);
    CHECK(quiz_answer(quiz("number", "SELECT count(*) FROM ranks"), database).text == "2");
    CHECK(quiz_answer(quiz("ranks", "SELECT group_ranks FROM collectives LIMIT 1"), database).text ==
          "[0, 1]");
    CHECK(quiz_answer(quiz("number", "SELECT 'net1'"), database).error->id == "scenario.answer_unusable");
    CHECK(quiz_answer(quiz("ranks", "SELECT 'net1'"), database).error->id == "scenario.answer_unusable");
    Scenario::Quiz choice = quiz("choice", "");
    choice.choices = {{{"a", "a"}, {"no", "no"}, false}, {{"b", "b"}, {}, true}};
    CHECK(quiz_answer(choice, database).text == "1");
    choice.answer = "SELECT 0";
    CHECK(quiz_answer(choice, database).error->id == "scenario.quiz_disagrees");
    CHECK(hint_for_answer(choice, "0")->en == "no");
    CHECK(hint_for_answer(choice, "1") == nullptr);
    CHECK(hint_for_answer(choice, "7") == nullptr);
    Scenario::Quiz number = quiz("number", "SELECT 2");
    number.hints = {{"3", {"one less", ""}}};
    CHECK(hint_for_answer(number, "3.0")->en == "one less");
    CHECK(hint_for_answer(number, "4") == nullptr);
}

TEST_CASE("a step's event is named by rank and id, or by the id of an event of rank 0") {
    const trace::Trace trace = small_trace();
    const trace::TraceDatabase database(trace);
    const auto at = [&](const std::string& sql) {
        Scenario::LessonStep step;
        step.id = "s";
        step.at = sql;
        return step_event(step, database, trace);
    };
    CHECK_FALSE(at(""));
    CHECK(at("SELECT id FROM collectives WHERE op = 'reduce_scatter' AND rank = 0")->event == 2);
    const auto both = at("SELECT rank, id FROM collectives WHERE rank = 1 ORDER BY id");
    CHECK(both->rank == 1);
    CHECK(both->event == 0);
    CHECK(both->part == 0.5);
    CHECK(at("SELECT 1, 0, 1.0")->part == 1);
    CHECK(at("SELECT 1, 0, 0")->part == 0);
    for (const char* bad :
         {"SELECT id FROM collectives WHERE rank = 9", "SELECT 1, 2, 3", "SELECT 1, 0, -0.5", "SELECT 'x'",
          "SELECT 7", "SELECT -1", "SELECT 5, 0", "SELECT 99999999999"}) {
        INFO(bad);
        CHECK_THROWS_AS(at(bad), InvalidArgument);
    }
}

TEST_CASE("an answer is told in the digits that its tolerance leaves certain") {
    CHECK(rounded_answer("7.128424021973126", 1.5) == "7.1");
    CHECK(rounded_answer("7.128424021973126", 0) == "7.128424021973126");
    CHECK(rounded_answer("31.4", 0.1) == "31.4");
    CHECK(rounded_answer("75", 0.5) == "75");
    CHECK(rounded_answer("1234.5678", 100) == "1235");
    CHECK(rounded_answer("F0,B0", 1) == "F0,B0");
}

TEST_CASE("lists are read with brackets, spaces and all") {
    CHECK(list_items("[0, 2]") == std::vector<std::string>{"0", "2"});
    CHECK(list_items(" a ,b,, ") == std::vector<std::string>{"a", "b"});
    CHECK(list_items("").empty());
    CHECK(list_items("F0 B0，F1、B1") == std::vector<std::string>{"F0", "B0", "F1", "B1"});
    CHECK(same_items("f0 b0", "F0,B0"));
    CHECK_FALSE(same_items("b0 f0", "F0,B0"));
    CHECK_FALSE(same_items("F0", "F0,B0"));
}
