#include "core/run/variant.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/trace/query.h"

namespace meshscope::run {
namespace {

/// The ids an error goes by: its message's, or those of a file's mistakes.
std::vector<std::string> ids_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const InputError& error) {
        std::vector<std::string> ids;
        for (const Diagnostic& diagnostic : error.diagnostics()) ids.push_back(diagnostic.message.id);
        return ids;
    } catch (const Error& error) {
        return {error.message().id};
    }
}

std::optional<Message> problem_of(const scenario::Variant& variant, const std::exception_ptr& failure) {
    if (!failure && variant.ends.empty()) return {};
    if (!failure)
        return Message{"lesson.variant_no_end", {{"variant", variant.id}, {"wanted", variant.ends}}};
    const std::vector<std::string> found = ids_of(failure);
    if (variant.ends.empty())
        return Message{"lesson.variant_failed", {{"variant", variant.id}, {"found", joined(found)}}};
    if (std::ranges::find(found, variant.ends) != found.end()) return {};
    return Message{"lesson.variant_other_end",
                   {{"variant", variant.id}, {"wanted", variant.ends}, {"found", joined(found)}}};
}

}  // namespace

VariantRun run_variant(const scenario::Scenario& scenario, const scenario::Variant& variant,
                       const Backends& backends, const RunOptions& options) {
    return run_variant(scenario, variant, [&](const scenario::Scenario& changed) {
        return run_up_to_failure(changed, backends, options);
    });
}

VariantRun run_variant(const scenario::Scenario& scenario, const scenario::Variant& variant,
                       const VariantRunner& runner) {
    VariantRun run;
    time::Profile hardware;
    run.id = variant.id;
    try {
        const scenario::Scenario changed = scenario::changed_scenario(scenario, variant);
        hardware = changed.hardware;
        const RunResult result = runner(changed);
        run.trace = result.trace;
        run.failure = result.failure;
        if (!run.failure && result.not_finite && !changed.expects_divergence)
            run.failure = std::make_exception_ptr(Error(not_finite_message(*result.not_finite)));
        if (!run.failure && run.trace && run.trace->info.steps < changed.steps)
            throw Cancelled({"lesson.variant_cancelled", {{"variant", variant.id}}});
    } catch (const Cancelled&) {
        throw;
    } catch (const Error&) {
        run.failure = std::current_exception();
    }
    run.problem = problem_of(variant, run.failure);
    if (run.problem || run.failure || !run.trace) return run;
    const trace::TraceDatabase database(*run.trace);
    for (auto& [id, answer] : scenario::read_numbers(variant.numbers, *run.trace, database, hardware))
        run.numbers[variant.id + "." + id] = answer;
    return run;
}

namespace {

/// The moments that the lesson's steps ask of a variant's run.
void check_moments(const scenario::Scenario& lesson, const VariantRun& run,
                   std::vector<scenario::LessonCheck>& checks) {
    std::optional<trace::TraceDatabase> database;
    for (const auto& step : lesson.steps_of_lesson) {
        if (step.run != run.id || step.at.empty()) continue;
        checks.push_back({"at", step.id, {}});
        try {
            if (!database) database.emplace(*run.trace);
            scenario::step_event(step, *database, *run.trace);
        } catch (const Error& error) {
            checks.back().problems.push_back({error.message(), step.at_position, {}});
        }
    }
}

}  // namespace

std::vector<scenario::LessonCheck> variant_checks(const scenario::Scenario& lesson,
                                                  const scenario::Variant& variant, const VariantRun& run) {
    std::vector<scenario::LessonCheck> checks{{"variant", variant.id, {}}};
    if (run.problem) checks.back().problems.push_back({*run.problem, variant.at, {}});
    for (const scenario::LessonNumber& number : variant.numbers) {
        const auto found = run.numbers.find(variant.id + "." + number.id);
        if (found == run.numbers.end()) continue;  // it did not come so far, which was told
        checks.push_back({"number", found->first, {}});
        if (found->second.error) checks.back().problems.push_back({*found->second.error, number.at, {}});
    }
    if (run.trace) check_moments(lesson, run, checks);
    return checks;
}

std::vector<const scenario::Variant*> variants_named(const scenario::Scenario& scenario,
                                                     const scenario::LessonText& en,
                                                     const scenario::LessonText& zh) {
    std::set<std::string> named;
    const auto add = [&](const std::vector<std::string>& numbers) {
        for (const std::string& number : numbers) named.insert(scenario::variant_of(number));
    };
    for (const scenario::LessonText* text : {&en, &zh}) add(scenario::number_ids(*text));
    for (const scenario::Scenario::Quiz& quiz : scenario.quizzes)
        for (const scenario::Text* text : {&quiz.question, &quiz.reveal}) {
            add(scenario::number_ids(text->en));
            add(scenario::number_ids(text->zh));
        }
    std::vector<const scenario::Variant*> found;
    for (const scenario::Variant& variant : scenario.variants)
        if (named.count(variant.id)) found.push_back(&variant);
    return found;
}

}  // namespace meshscope::run
