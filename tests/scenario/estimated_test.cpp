// Numbers of lessons that no run gives: estimated as `plan` does, or of published runs.
#include "core/scenario/estimated.h"

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/estimate/model_shape.h"
#include "core/scenario/model_config.h"
#include "core/scenario/scenario.h"
#include "core/time/read_profile.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;
using scenario::Estimated;
using scenario::Estimates;

namespace {

std::string llama_8b() {
    return test::golden_folder() + "/model_config/Llama-3.1-8B.json";
}

/// The mistakes of a lesson's number, without their columns: "9 scenario.missing_key".
std::vector<std::string> number_mistakes(const std::string& number) {
    std::vector<std::string> found =
        test::mistakes(test::kTrain + "[[lesson.number]]\nid = \"n\"\n" + number);
    for (std::string& each : found)
        if (const std::size_t colon = each.find(':'); colon != std::string::npos)
            each.erase(colon, each.find(' ') - colon);
    return found;
}

}  // namespace

TEST_CASE(
    "an estimated number is the plan's own: the first layout that fits, or the first of the sizes asked "
    "for") {
    Estimated asked{.figure = "step_ms", .config = llama_8b(), .seq = 8192, .global_batch = 16};
    estimate::Question question;
    question.shape = *estimate::shape_of(scenario::read_model_config(llama_8b()).spec);
    question.shape.seq = 8192;
    question.gpus = 8;
    question.global_batch = 16;
    question.profile = time::named_profile("h100");
    question.memory_bytes = static_cast<double>(question.profile.memory_bytes);
    const estimate::Plan plan = estimate::plan(question);
    Estimates estimates;
    CHECK(estimates.value(asked) == Approx(1e3 * plan.fitting.front().time.total_s()));
    asked.figure = "fitting";
    CHECK(estimates.value(asked) == static_cast<double>(plan.fitting.size()));
    asked.figure = "parameters";
    CHECK(estimates.value(asked) == 8'030'261'248);
    // Plain DDP fits on none; it is the nearest one of those that are too large.
    asked.figure = "needed_gib";
    asked.only.zero = 0;
    asked.only.tp = asked.only.cp = asked.only.pp = 1;
    CHECK(estimates.value(asked) * 1024 * 1024 * 1024 > question.memory_bytes);
    asked.figure = "dp";
    CHECK(estimates.value(asked) == 8);
    asked.only.tp = 3;
    CHECK(test::thrown_id([&] { estimates.value(asked); }) == "estimate.heads_tp");
}

TEST_CASE("an estimate without an answer is a mistake, not a nought or infinity") {
    Estimates estimates;
    const Estimated plain{.figure = "mfu_percent", .config = llama_8b(), .seq = 8192, .global_batch = 16};
    CHECK(estimates.value(plain) > 0);
    const auto refused = [&](const std::function<void(Estimated&)>& change) {
        Estimated asked = plain;
        change(asked);
        return test::thrown_id([&] { estimates.value(asked); });
    };
    CHECK(refused([](Estimated& e) { e.base_bits = 4; }) == "estimate.base_bits_lora");
    CHECK(refused([](Estimated& e) { e.base_bits = 8; }) == "estimate.base_bits");
    CHECK(refused([](Estimated& e) { e.gpu = time::classroom(); }) == "estimate.no_memory");
    CHECK(refused([](Estimated& e) {
              e.gpu = time::classroom();
              e.gpu->memory_bytes = int64_t{80} << 30;
          }) == "scenario.estimate_no_peak");
    // The first stage is the fullest under 1F1B, and has no head.
    CHECK(refused([](Estimated& e) {
              e.figure = "logits_gib";
              e.only = {.pp = 8, .stages = 1, .micro = 1};
          }) == "scenario.estimate_no_part");
    CHECK(refused([](Estimated& e) {
              e.config = test::golden_folder() + "/model_config/gpt2.json";
              e.seq = 4096;
          }) == "estimate.positions");
}

TEST_CASE("a published run's figures are its source's, its utilisation by the one formula") {
    Estimates estimates;
    Estimated asked{.figure = "published_tokens", .published = "tt-t1-8b-8g-compile"};
    CHECK(estimates.value(asked) == Approx(6667).epsilon(1e-4));  // torchtitan's table
    asked.figure = "published_mfu_percent";
    const double products = 8'030'261'248.0 - 128256.0 * 4096 - 65 * 4096;
    CHECK(estimates.value(asked) ==
          Approx(100 * 6667 * (6 * products + 12.0 * 32 * 4096 * 8192) / 989e12).epsilon(1e-4));
    asked.figure = "tp";
    CHECK(estimates.value(asked) == 1);
    asked.published = "tt-none";
    CHECK(test::thrown_id([&] { estimates.value(asked); }) == "scenario.estimate_no_run");
    asked = {.figure = "published_ms", .published = "tt-pr382-8b-8g-before"};  // memory alone
    CHECK(test::thrown_id([&] { estimates.value(asked); }) == "scenario.estimate_not_stated");
}

TEST_CASE("what an estimated number cannot be asked is told where it stands") {
    using Found = std::vector<std::string>;
    const std::string config = "config = \"" + llama_8b() + "\"";
    CHECK(number_mistakes("estimate = { figure = \"step_ms\", " + config + " }\n") == Found{"(none)"});
    CHECK(number_mistakes("estimate = { figure = \"tp\", published = \"tt-t1-8b-8g-compile\" }\n") ==
          Found{"(none)"});
    CHECK(number_mistakes("estimate = { figure = \"speed\", " + config + " }\n") ==
          Found{"9 scenario.unknown_word"});
    CHECK(number_mistakes("estimate = { figure = \"step_ms\" }\n") == Found{"9 scenario.missing_key"});
    CHECK(number_mistakes("estimate = { figure = \"step_ms\", config = \"none.json\" }\n").size() == 1);
    CHECK(number_mistakes("estimate = { figure = \"published_ms\", " + config + " }\n") ==
          Found{"9 scenario.estimate_figure_published"});
    CHECK(number_mistakes("estimate = { figure = \"tried\", published = \"tt-1\", gpus = 4 }\n") ==
          Found{"9 scenario.estimate_figure_plan", "9 scenario.estimate_published"});
    CHECK(number_mistakes("estimate = { figure = \"tp\", base_bits = 4, " + config + " }\n") ==
          Found{"9 estimate.base_bits_lora"});
    CHECK(number_mistakes("estimate = { figure = \"tp\", base_bits = 8, lora = 16, " + config + " }\n") ==
          Found{"9 estimate.base_bits"});
    CHECK(number_mistakes("estimate = { figure = \"tp\", gpu = \"classroom\", " + config + " }\n") ==
          Found{"9 estimate.no_memory"});
    CHECK(number_mistakes("sql = \"SELECT 1\"\nestimate = { figure = \"step_ms\", " + config + " }\n") ==
          Found{"9 scenario.estimate_alone"});
}
