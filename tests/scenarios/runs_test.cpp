#include <algorithm>
#include <filesystem>
#include <string>

#include "backends/registry.h"
#include "core/memory/ledger.h"
#include "core/run/run.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"
#include "core/time/clock.h"
#include "core/time/exposed.h"
#include "core/trace/query.h"
#include "tests/test.h"

namespace scenario = meshscope::scenario;
namespace trace = meshscope::trace;
namespace clocks = meshscope::time;

namespace {

struct Lesson {
    scenario::Scenario scenario;
    std::shared_ptr<const trace::Trace> trace;
    trace::TraceDatabase database;
};

Lesson run(const std::string& folder) {
    auto s =
        scenario::read_scenario(std::string(MESHSCOPE_SOURCE_ROOT "/scenarios/") + folder + "/scenario.toml");
    const auto backends = meshscope::backends::make_registry();
    auto trace = meshscope::run::run_up_to_failure(s, *backends).trace;
    trace::TraceDatabase database(*trace);
    return {std::move(s), std::move(trace), std::move(database)};
}

std::vector<std::string> lesson_folders() {
    std::vector<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(MESHSCOPE_SOURCE_ROOT "/scenarios")) {
        if (std::filesystem::exists(entry.path() / "scenario.toml")) {
            folders.push_back(entry.path().filename().string());
        }
    }
    return folders;
}

std::string answer(const Lesson& lesson, const std::string& quiz_id) {
    for (const auto& quiz : lesson.scenario.quizzes) {
        if (quiz.id == quiz_id) return scenario::quiz_answer(quiz, lesson.database).text;
    }
    throw std::runtime_error("no quiz " + quiz_id);
}

}  // namespace

TEST_CASE("every lesson runs, and all of its checks, numbers, questions and steps find what they ask for") {
    const auto folders = lesson_folders();
    REQUIRE(folders.size() >= 2);
    for (const std::string& folder : folders) {
        const Lesson lesson = run(folder);
        for (const auto& check : scenario::run_checks(lesson.scenario, lesson.database)) {
            INFO(folder << ": " << check.id << " gave " << check.value
                        << (check.error ? describe(*check.error) : ""));
            CHECK(check.passed);
            CHECK(!check.title.en.empty());
            CHECK(!check.title.zh.empty());
        }
        for (const auto& [id, number] : scenario::read_numbers(lesson.scenario, lesson.database)) {
            INFO(folder << ": {{" << id << "}} " << (number.error ? describe(*number.error) : ""));
            CHECK(!number.error);
            CHECK(!number.text.empty());
        }
        for (const auto& quiz : lesson.scenario.quizzes) {
            const auto right = scenario::quiz_answer(quiz, lesson.database);
            INFO(folder << ": " << quiz.id << " " << (right.error ? describe(*right.error) : ""));
            REQUIRE(!right.error);
            CHECK(scenario::is_right(quiz, right.text, right.text));
            // A hint is for a wrong answer: the right one must have none.
            CHECK(scenario::hint_for_answer(quiz, right.text) == nullptr);
            for (const auto& hint : quiz.hints) {
                CHECK(!scenario::is_right(quiz, right.text, hint.when));
                CHECK(scenario::hint_for_answer(quiz, hint.when) != nullptr);
            }
        }
        for (const auto& step : lesson.scenario.steps_of_lesson) {
            INFO(folder << ": " << step.id);
            CHECK(scenario::step_event(step, lesson.database, *lesson.trace).has_value() == !step.at.empty());
        }
    }
}

TEST_CASE("the questions of lesson 1 have the answers that the groups by hand and DeviceMesh give") {
    const Lesson lesson = run("12_device_mesh");
    CHECK(answer(lesson, "row-major") == "6");
    CHECK(answer(lesson, "new-group-calls") == "6");
    CHECK(scenario::list_items(answer(lesson, "who-reduces")) == std::vector<std::string>{"1", "5"});
    CHECK(scenario::list_items(answer(lesson, "slice-of-rank-5")) ==
          std::vector<std::string>{"4", "5", "6", "7"});
    CHECK(answer(lesson, "sheet-of-rank-1") == "1");
    CHECK(scenario::list_items(answer(lesson, "tp-of-rank-5")) == std::vector<std::string>{"4", "5"});
}

TEST_CASE("the questions of lesson 2 have the answers of PyTorch's rules for the toy model on (2,2)") {
    const Lesson lesson = run("63_hsdp");
    CHECK(answer(lesson, "padded-rows") == "33");       // 3 of 5 rows: 3·10 weights + 3 biases
    CHECK(answer(lesson, "gathers-a-step") == "4");     // two a unit
    CHECK(answer(lesson, "prefetched") == "1");         // net1, while net2 runs backward
    CHECK(answer(lesson, "after-the-scatter") == "1");  // rank 0 and 2
    CHECK(answer(lesson, "bytes-across") == "352");     // 2·(1/2)·(55 + 33)·4
    const auto numbers = scenario::read_numbers(lesson.scenario, lesson.database);
    CHECK(numbers.at("inside_bytes").text == "1,056");  // (1/2)·3·(110 + 66)·4
    CHECK(numbers.at("shards_bytes").text == "352");
    CHECK(numbers.at("net2_padding").text == "11");
}

TEST_CASE("the peak that lesson 2 tells of is the memory ledger's, and its step stands at that event") {
    const Lesson lesson = run("63_hsdp");
    const auto numbers = scenario::read_numbers(lesson.scenario, lesson.database);
    const auto peak = meshscope::memory::peak(*lesson.trace, 0);
    std::string bytes = numbers.at("peak_bytes").text;
    bytes.erase(std::remove(bytes.begin(), bytes.end(), ','), bytes.end());
    CHECK(bytes == std::to_string(peak.bytes));
    CHECK(numbers.at("peak_cause").text == peak.cause);
    CHECK(numbers.at("peak_whole").text ==
          std::to_string(
              peak.by_category[static_cast<size_t>(meshscope::MemoryCategory::unsharded_parameters)]));
    for (const auto& step : lesson.scenario.steps_of_lesson) {
        if (step.id != "peak") continue;
        CHECK(scenario::step_event(step, lesson.database, *lesson.trace)->event == peak.event);
    }
}

TEST_CASE("on the modelled clock the prefetch of lesson 2 is hidden, and the first gather of a step is not") {
    const Lesson lesson = run("63_hsdp");
    const auto clock = clocks::modelled(*lesson.trace, clocks::classroom());
    const auto exposed = clocks::overlap(*lesson.trace, clock, 0, 1).exposed;
    const auto exposed_part = [&](const std::string& phase, const std::string& unit) {
        const auto id = std::get<int64_t>(lesson.database.value(
            "SELECT id FROM collectives WHERE rank = 0 AND step = 1 AND op = 'all_gather' AND phase = '" +
            phase + "' AND unit = '" + unit + "'"));
        const clocks::Interval whole = clock.events[0][static_cast<size_t>(id)];
        const int64_t hidden = clocks::total_ns(clocks::subtract({whole}, exposed));
        return std::pair(whole.end_ns - whole.begin_ns, whole.end_ns - whole.begin_ns - hidden);
    };
    // One hop inside a node: 2 µs + 55·4 B at 100 MB/s.
    CHECK(exposed_part("forward", "net1") == std::pair<int64_t, int64_t>{4200, 4200});
    const auto [length, bare] = exposed_part("backward", "net1");
    CHECK(length == 4200);
    CHECK(bare < length / 2);
}
