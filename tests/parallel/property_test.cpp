// Whatever model, mesh and strategy: training is one rank's training, the prediction comes true to the byte,
// the ranks of a group agree, a step leaves nothing behind, and what cannot be is refused before it runs.
//
// The cases are drawn from a seed. MESHSCOPE_PROPERTY_SEED is the first one's (1), MESHSCOPE_PROPERTY_CASES
// how many are drawn of each kind. A case that fails prints its seed and its whole scenario, which `meshscope
// run FILE` runs again.
#include <cstdlib>

#include "app/i18n/catalogue.h"
#include "backends/registry.h"
#include "core/run/dry.h"
#include "core/trace/validate.h"
#include "tests/parallel/property/check.h"
#include "tests/parallel/property/draw.h"
#include "tests/parallel/train_helper.h"
#include "tests/run/same_record.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

constexpr int64_t kCases = kSanitizer ? 40 : 700;

int64_t from_environment(const char* name, int64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

/// Calls check(seed) for `cases` seeds.
template <class Check>
void for_seeds(int64_t cases, const Check& check) {
    const int64_t wanted = from_environment("MESHSCOPE_PROPERTY_CASES", cases);
    const int64_t first = from_environment("MESHSCOPE_PROPERTY_SEED", 1);
    for (int64_t i = 0; i < wanted; ++i) check(static_cast<uint64_t>(first + i));
}

std::string heading(uint64_t seed, const std::string& toml) {
    return "MESHSCOPE_PROPERTY_SEED=" + std::to_string(seed) + " MESHSCOPE_PROPERTY_CASES=1\n" + toml;
}

/// What the reader has against a scenario: "" for nothing. Its mistakes have words in both languages and
/// stand in the file.
std::string refusal(const std::string& toml) {
    static const i18n::Catalogue texts = i18n::Catalogue::embedded();
    try {
        scenario::parse_scenario(toml, "drawn.toml");
        return "";
    } catch (const InputError& error) {
        std::string told;
        REQUIRE_FALSE(error.diagnostics().empty());
        for (const Diagnostic& mistake : error.diagnostics()) {
            CHECK(mistake.position.line > 0);
            for (const i18n::Language language : {i18n::Language::en, i18n::Language::zh}) {
                CHECK(texts.find(mistake.message.id, language) != nullptr);
                if (!mistake.hint.id.empty()) CHECK(texts.find(mistake.hint.id, language) != nullptr);
            }
            told += texts.text(mistake.message, i18n::Language::en) + "\n";
        }
        return told;
    }
}

/// Trains what one rank trains. In bfloat16 every sum of other parts rounds otherwise, and Adam's first steps
/// go by signs: losses are near then.
void check_trained(const Case& drawn, const run::RunResult& result) {
    const run::RunResult alone = run_text(drawn.alone());
    if (!drawn.in_bfloat16()) return check_equal(result, alone);
    REQUIRE(result.trace->info.losses.size() == alone.trace->info.losses.size());
    for (std::size_t s = 0; s < alone.trace->info.losses.size(); ++s)
        CHECK(result.trace->info.losses[s] == Approx(alone.trace->info.losses[s]).epsilon(0.05).margin(0.01));
}

/// Runs a scenario that was accepted and holds every property of it.
void check_run(const Case& drawn, bool twice) try {
    const auto scenario = scenario::parse_scenario(drawn.to_toml(), "drawn.toml");
    const auto backends = backends::make_registry();
    run::RunOptions options;
    options.level = trace::Level::hops;
    const run::RunResult result = run::run_scenario(scenario, *backends, options);
    check_trained(drawn, result);
    CHECK_NOTHROW(trace::validate(*result.trace));
    CHECK(first_difference(*run::run_dry(scenario).trace, *result.trace) == "");
    CHECK(groups_that_disagree(*result.trace) == "");
    CHECK(bytes_that_differ(*result.trace) == "");
    CHECK(memory_left_over(*result.trace) == "");
    if (!twice) return;
    const run::RunResult again = run::run_scenario(scenario, *backends, options);
    CHECK(trace::identical(*result.trace, *again.trace, trace::Ignore::times));
    for (std::size_t p = 0; p < result.parameters.size(); ++p)
        CHECK(result.parameters[p].numbers == again.parameters[p].numbers);
} catch (const std::exception& error) {
    FAIL_CHECK("accepted, and then: " << error.what());
}

}  // namespace

TEST_CASE("any scenario that is possible is accepted, trains like one rank and does what was predicted") {
    for_seeds(kCases, [](uint64_t seed) {
        const Case drawn = draw_case(seed);
        INFO(heading(seed, drawn.to_toml()));
        const std::string refused = refusal(drawn.to_toml());
        CHECK(refused == "");
        if (refused.empty()) check_run(drawn, seed % 8 == 0);
    });
}

TEST_CASE("any change of a scenario is refused by the reader, or runs as any other") {
    int64_t ran = 0, drawn_cases = 0;
    for_seeds(kCases, [&](uint64_t seed) {
        const Case drawn = draw_wild(seed);
        INFO(heading(seed, drawn.to_toml()));
        ++drawn_cases;
        if (!refusal(drawn.to_toml()).empty()) return;
        ++ran;
        check_run(drawn, false);
    });
    // Neither all refused nor all accepted: else the changes try nothing.
    if (drawn_cases >= 100) {
        CHECK(ran > drawn_cases / 10);
        CHECK(ran < drawn_cases * 9 / 10);
    }
}

TEST_CASE("what is impossible is refused by the reader, with words in both languages") {
    for_seeds(4 * kCases, [](uint64_t seed) {
        std::string what;
        const Case drawn = draw_impossible(seed, what);
        INFO(what << "\n" << heading(seed, drawn.to_toml()));
        CHECK(refusal(drawn.to_toml()) != "");
    });
}
