// The variants of a lesson are really run, and held to how they must end.
#include <algorithm>

#include "backends/registry.h"
#include "core/base/error.h"
#include "core/run/variant.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace run = meshscope::run;
namespace scenario = meshscope::scenario;
using meshscope::describe;
using meshscope::InputError;

namespace {

scenario::Scenario hsdp() {
    return scenario::read_scenario(meshscope::test::source_root() + "/scenarios/63_hsdp/scenario.toml");
}

const scenario::Variant& variant(const scenario::Scenario& lesson, const std::string& id) {
    for (const auto& found : lesson.variants)
        if (found.id == id) return found;
    throw std::runtime_error("no variant " + id);
}

run::VariantRun run_it(const scenario::Scenario& lesson, const scenario::Variant& variant) {
    return run::run_variant(lesson, variant, *meshscope::backends::make_registry());
}

}  // namespace

TEST_CASE(
    "what the change of the HSDP lesson gives is what PyTorch's rules say of parameters that are kept") {
    const auto lesson = hsdp();
    const auto changed = run_it(lesson, variant(lesson, "change"));
    CHECK(!changed.problem);
    CHECK(!changed.failure);
    REQUIRE(changed.trace);
    CHECK(changed.numbers.at("change.gathers").text == "2");         // one a unit
    CHECK(changed.numbers.at("change.inside_bytes").text == "704");  // (1/2)·2·(110 + 66)·4
    CHECK(changed.numbers.at("change.kept_bytes").text == "704");    // (110 + 66)·4: both units, padded
    for (const auto& check : run::variant_checks(lesson, variant(lesson, "change"), changed)) {
        INFO(check.kind << " " << check.id);
        CHECK(check.problems.empty());
    }
}

TEST_CASE("a rank that dies ends the variant as it promises, with what was recorded") {
    const auto lesson = hsdp();
    const auto broken = run_it(lesson, variant(lesson, "break"));
    CHECK(!broken.problem);
    CHECK(broken.failure);
    CHECK(broken.trace);
    CHECK(broken.numbers.empty());
}

TEST_CASE("another end than the promised one is a problem that names both") {
    const auto lesson = hsdp();
    scenario::Variant other = variant(lesson, "break");
    other.ends = "comm.deadlock";
    const auto problem = run_it(lesson, other).problem;
    REQUIRE(problem);
    CHECK(problem->id == "lesson.variant_other_end");
    CHECK(meshscope::to_text(*problem->find("found")) == "diagnosis.lost");

    other.ends.clear();
    CHECK(run_it(lesson, other).problem->id == "lesson.variant_failed");

    other = variant(lesson, "change");
    other.ends = "comm.deadlock";
    CHECK(run_it(lesson, other).problem->id == "lesson.variant_no_end");
}

TEST_CASE("a variant that cannot even be read ends too, and nothing ran") {
    auto lesson = hsdp();
    const std::string changed = "set = { \"parallel.reshard_after_forward\" = false }";
    std::string text = lesson.source;
    text.replace(text.find(changed), changed.size(),
                 "set = { \"mesh.shape\" = [2, 3] }\nends = \"scenario.batch_does_not_divide\"");
    const auto cut = text.find("[[lesson.variant.number]]");
    text.erase(cut, text.find("[[quiz]]") - cut);
    for (auto at = text.find("{{change."); at != std::string::npos; at = text.find("{{change."))
        text.replace(at, 2, "[");
    lesson = scenario::parse_scenario(text, lesson.path);
    const auto ended = run_it(lesson, variant(lesson, "change"));
    CHECK(!ended.problem);
    CHECK(ended.failure);
    CHECK(!ended.trace);
}

TEST_CASE("the variants that texts name are found, and only those") {
    const auto lesson = hsdp();
    const auto named = [&](const std::string& en, const std::string& zh) {
        std::vector<std::string> ids;
        for (const auto* found :
             run::variants_named(lesson, scenario::parse_lesson(en, "a"), scenario::parse_lesson(zh, "b")))
            ids.push_back(found->id);
        return ids;
    };
    CHECK(named("# t\n## s\n{{gathers}}\n", "# t\n").empty());
    CHECK(named("# t\n", "# t\n## change\n{{change.gathers}}\n") == std::vector<std::string>{"change"});
}

TEST_CASE(
    "a moment of a step that shows a variant's run is asked of that run, and told where it is missing") {
    auto lesson =
        scenario::read_scenario(meshscope::test::source_root() + "/scenarios/52_zero/scenario.toml");
    const auto two = run_it(lesson, variant(lesson, "two"));
    const auto moments = [&] {
        std::vector<std::size_t> problems;
        for (const auto& check : run::variant_checks(lesson, variant(lesson, "two"), two))
            if (check.kind == "at" && check.id == "stage2") problems.push_back(check.problems.size());
        return problems;
    };
    CHECK(moments() == std::vector<std::size_t>{0});
    for (auto& step : lesson.steps_of_lesson)
        if (step.id == "stage2") step.at = "SELECT id FROM collectives WHERE step = 1000";
    CHECK(moments() == std::vector<std::size_t>{1});
}

TEST_CASE("a step that shows a variant there is none of is refused where it stands, with those there are") {
    const auto lesson =
        scenario::read_scenario(meshscope::test::source_root() + "/scenarios/52_zero/scenario.toml");
    std::string text = lesson.source;
    const std::string right = "run = \"two\"", wrong = "run = \"tow\"";
    REQUIRE(text.find(right) != std::string::npos);
    text.replace(text.find(right), right.size(), wrong);
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(wrong)), '\n');
    try {
        scenario::parse_scenario(text, lesson.path);
        FAIL("was read");
    } catch (const InputError& refused) {
        REQUIRE(refused.diagnostics().size() == 1);
        CHECK(refused.diagnostics()[0].message.id == "scenario.unknown_variant");
        CHECK(refused.diagnostics()[0].position.line == line + 1);
    }
}
