#include "app/cli/lesson_numbers.h"

#include <ostream>
#include <utility>
#include <vector>

#include "core/base/json_text.h"
#include "core/scenario/evaluate.h"
#include "core/trace/query.h"

namespace meshscope::cli {
namespace {

/// In the scenario's order: its numbers, then those of each variant.
std::vector<std::pair<std::string, scenario::Answer>> all_numbers(const scenario::Scenario& scenario,
                                                                  const trace::Trace& trace,
                                                                  LessonVariants& variants) {
    std::vector<std::pair<std::string, scenario::Answer>> all;
    const auto add = [&](const std::string& name, const std::map<std::string, scenario::Answer>& found) {
        if (const auto number = found.find(name); number != found.end()) all.push_back(*number);
    };
    const auto own = scenario::read_numbers(scenario, trace, trace::TraceDatabase(trace));
    for (const scenario::LessonNumber& number : scenario.numbers) add(number.id, own);
    for (const scenario::Variant& variant : scenario.variants) {
        if (variant.numbers.empty()) continue;
        const run::VariantRun& run = variants.run(variant);
        if (run.problem) all.push_back({variant.id, {"", run.problem}});
        for (const scenario::LessonNumber& number : variant.numbers)
            add(variant.id + "." + number.id, run.numbers);
    }
    return all;
}

}  // namespace

bool print_numbers(const std::string& lesson, const scenario::Scenario& scenario, const trace::Trace& trace,
                   LessonVariants& variants, bool json, const CommandContext& context) {
    bool all_read = true;
    nlohmann::ordered_json numbers = nlohmann::ordered_json::object();
    for (const auto& [name, answer] : all_numbers(scenario, trace, variants)) {
        if (answer.error) {
            context.err << "meshscope: " << lesson << " " << name << ": " << context.text(*answer.error)
                        << '\n';
            all_read = false;
        } else if (json) {
            numbers[name] = answer.text;
        } else {
            context.out << name << " = " << answer.text << '\n';
        }
    }
    if (json) {
        const nlohmann::ordered_json line{{"lesson", lesson}, {"numbers", numbers}};
        context.out << json_text(line) << '\n';
    }
    return all_read;
}

}  // namespace meshscope::cli
