#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "backends/registry.h"
#include "core/memory/ledger.h"
#include "core/run/run.h"
#include "core/run/summary.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"
#include "core/time/clock.h"
#include "core/time/exposed.h"
#include "core/time/profile.h"
#include "core/time/read_profile.h"
#include "core/trace/query.h"
#include "tests/test.h"
#include "tests/tree.h"

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
        scenario::read_scenario(meshscope::test::source_root() + "/scenarios/" + folder + "/scenario.toml");
    const auto backends = meshscope::backends::make_registry();
    auto trace = meshscope::run::run_up_to_failure(s, *backends).trace;
    trace::TraceDatabase database(*trace);
    return {std::move(s), std::move(trace), std::move(database)};
}

std::vector<std::string> lesson_folders() {
    std::vector<std::string> folders;
    for (const auto& entry :
         std::filesystem::directory_iterator(meshscope::test::source_root() + "/scenarios")) {
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
        for (const auto& [id, number] :
             scenario::read_numbers(lesson.scenario, *lesson.trace, lesson.database)) {
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
            if (!step.run.empty()) continue;  // `at` asks a variant's run: variants_test.cpp
            CHECK(scenario::step_event(step, lesson.database, *lesson.trace).has_value() == !step.at.empty());
        }
    }
}

TEST_CASE("the questions of lesson 1 have the answers that the groups by hand and DeviceMesh give") {
    const Lesson lesson = run("12_device_mesh");
    CHECK(answer(lesson, "row-major") == "10");
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
    const auto numbers = scenario::read_numbers(lesson.scenario, *lesson.trace, lesson.database);
    CHECK(numbers.at("inside_bytes").text == "1,056");  // (1/2)·3·(110 + 66)·4
    CHECK(numbers.at("shards_bytes").text == "352");
    CHECK(numbers.at("net2_padding").text == "11");
}

TEST_CASE("the peak that lesson 2 tells of is the memory ledger's, and its step stands at that event") {
    const Lesson lesson = run("63_hsdp");
    const auto numbers = scenario::read_numbers(lesson.scenario, *lesson.trace, lesson.database);
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

TEST_CASE("a modelled number is what predict sums up, on the profile that it names") {
    const Lesson lesson = run("92_which_one");
    const auto numbers = scenario::read_numbers(lesson.scenario, *lesson.trace, lesson.database);
    for (const char* profile : {"laptop", "a100"}) {
        const auto summary =
            meshscope::run::summarize(*lesson.trace, clocks::named_profile(profile), clocks::Absent::refused);
        char text[32];
        std::snprintf(text, sizeof text, "%.1f", static_cast<double>(summary.step_ns) / 1e6);
        CHECK(numbers.at(profile).text == text);
    }
}

TEST_CASE("a pipeline's step in a lesson is as long as predict says, and its MFU is of that time") {
    const Lesson lesson = run("104_published");
    const clocks::Profile& hardware = lesson.scenario.hardware;
    const clocks::Clock clock = clocks::modelled(*lesson.trace, hardware);
    const int32_t last = lesson.trace->info.steps - 1;
    const auto figure = [&](const std::string& what) {
        scenario::LessonNumber number{"n", ""};
        number.modelled = what;
        number.decimals = 9;
        return std::stod(
            scenario::read_numbers({number}, *lesson.trace, lesson.database, hardware).at("n").text);
    };
    const clocks::Interval span = clocks::span_of_step(*lesson.trace, clock, last);
    const auto step_ns = static_cast<double>(
        meshscope::run::summarize(*lesson.trace, hardware, clocks::Absent::refused).step_ns);
    CHECK(step_ns < static_cast<double>(span.end_ns - span.begin_ns));
    CHECK(figure("step_ms") * 1e6 == Approx(step_ns));
    double flops = 0;
    for (const trace::RankTrace& rank : lesson.trace->ranks)
        for (const trace::Event& event : rank.events)
            if (event.step == last && clocks::is_product(lesson.trace->text(event.name)))
                flops += double(event.flops);
    CHECK(figure("mfu_percent") == Approx(100 * flops / hardware.flops_per_s /
                                          (step_ns / 1e9 * static_cast<double>(lesson.trace->ranks.size()))));
}

TEST_CASE("the links of the lesson cost what latency and bandwidth say, hop by hop") {
    const Lesson lesson = run("24_links");
    const auto numbers = scenario::read_numbers(lesson.scenario, *lesson.trace, lesson.database);
    const int hops = std::stoi(answer(lesson, "how-many-hops"));
    CHECK(hops == 2 * (2 - 1));  // 2(n-1) of the ring, two replicas
    // InfiniBand 5 µs and 25 GB/s, NVLink 2 µs and 300 GB/s; a part of 65,536 float32 either way, half of
    // which one hop of the all_reduce adds to the rank's own.
    const double bytes = 4.0 * 65536,
                 adding = bytes / 2 / (clocks::named_profile("a100").reduce_bytes_per_s / 1e6),
                 infiniband = hops * 5.0 + bytes / 25e3 + adding, nvlink = 2.0 + bytes / 300e3;
    constexpr double kRounded = 0.051;  // to one decimal
    CHECK(std::abs(std::stod(numbers.at("across_us").text) - infiniband) < kRounded);
    CHECK(std::abs(std::stod(numbers.at("inside_us").text) - nvlink) < kRounded);
}

TEST_CASE("every figure of the modelled clock is core/time's own") {
    const Lesson lesson = run("63_hsdp");
    const auto clock = clocks::modelled(*lesson.trace, clocks::classroom());
    const auto figure = [&](const std::string& what, int32_t rank, const std::string& sql = "") {
        scenario::LessonNumber number{"n", sql};
        number.modelled = what;
        number.rank = rank;
        number.decimals = 6;
        return scenario::read_numbers({number}, *lesson.trace, lesson.database, clocks::classroom()).at("n");
    };
    const int32_t last = lesson.trace->info.steps - 1;
    const auto overlap = clocks::overlap(*lesson.trace, clock, 3, last);
    CHECK(std::stod(figure("compute_ms", 3).text) * 1e6 == Approx(overlap.compute_ns));
    CHECK(std::stod(figure("communication_ms", 3).text) * 1e6 == Approx(overlap.communication_ns));
    CHECK(std::stod(figure("exposed_ms", 3).text) * 1e6 == Approx(overlap.exposed_ns));
    CHECK(overlap.exposed_ns > 0);
    CHECK(overlap.exposed_ns < overlap.communication_ns);
    CHECK(std::stod(figure("bubble_percent", 3).text) ==
          Approx(100 * clocks::bubble(*lesson.trace, clock, 3, last, true).share()));
    // The classroom computes 100 million operations a second; nothing runs again here.
    const auto value = [&](const std::string& sql) {
        return std::stod(
            scenario::read_numbers({{"v", sql}}, *lesson.trace, lesson.database, clocks::classroom())
                .at("v")
                .text);
    };
    const double products = value("SELECT sum(flops) FROM compute WHERE step = " + std::to_string(last) +
                                  " AND (name LIKE 'linear%' OR name LIKE 'attention%')");
    CHECK(products > 0);
    CHECK(std::stod(figure("mfu_percent", 0).text) ==
          Approx(100 * products / 100e6 /
                 (std::stod(figure("step_ms", 0).text) / 1e3 *
                  static_cast<double>(lesson.trace->ranks.size()))));
    // 55 float32 in one hop inside a node: 2 µs + 220 B at 100 MB/s; the classroom launches for nothing.
    const std::string gather =
        "SELECT rank, id FROM collectives WHERE rank = 0 AND step = 1 AND op = 'all_gather' AND phase = "
        "'forward' "
        "AND unit = 'net1'";
    CHECK(std::stod(figure("hops_us", 0, gather).text) == Approx(4.2));
    CHECK(std::stod(figure("events_us", 0, gather).text) == Approx(4.2));
    CHECK(figure("events_us", 0, "SELECT rank FROM ranks").error->id == "scenario.modelled_rows");
    CHECK(figure("events_us", 0, "SELECT 0, 100000").error->id == "trace.no_event");
    CHECK(figure("exposed_ms", 9).error->id == "time.no_rank");
}
