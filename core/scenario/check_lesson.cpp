#include "core/scenario/check_lesson.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/scenario/evaluate.h"
#include "core/scenario/keys.h"

namespace meshscope::scenario {
namespace {

std::vector<std::string> step_ids(const LessonText& text) {
    std::vector<std::string> ids;
    for (const LessonSection& step : text.steps) ids.push_back(step.id);
    return ids;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

/// What the links of one step may point at.
class Targets {
  public:
    Targets(const Scenario& scenario, const trace::Trace& trace)
        : scenario_(scenario), ranks_(world_size(scenario)) {
        for (const std::string& name : scenario.mesh_names) dims_.insert(name);
        for (const auto& step : scenario.steps_of_lesson) steps_.insert(step.id);
        for (const trace::RankTrace& rank : trace.ranks)
            for (const trace::Event& event : rank.events) units_.insert(std::string(trace.text(event.unit)));
    }

    bool exists(const Span& link, const Scenario::LessonStep* step) const {
        if (link.link_kind == "rank" || link.link_kind == "ranks") {
            const auto items = list_items(link.link_target);
            return !items.empty() && std::all_of(items.begin(), items.end(),
                                                 [&](const auto& item) { return is_rank(item, step); });
        }
        if (link.link_kind == "dim")
            return dims_.count(link.link_target) ||
                   (step && std::count(step->mesh_names.begin(), step->mesh_names.end(), link.link_target));
        if (link.link_kind == "unit") return units_.count(link.link_target) > 0;
        if (link.link_kind == "step") return steps_.count(link.link_target) > 0;
        if (link.link_kind == "view") return std::count(views().begin(), views().end(), link.link_target) > 0;
        // An event link names a step whose `at` gives the event.
        return std::any_of(scenario_.steps_of_lesson.begin(), scenario_.steps_of_lesson.end(),
                           [&](const auto& s) { return s.id == link.link_target && !s.at.empty(); });
    }

  private:
    bool is_rank(const std::string& item, const Scenario::LessonStep* step) const {
        int64_t rank = -1, shown = 1;
        const auto [stop, error] = std::from_chars(item.data(), item.data() + item.size(), rank);
        if (error != std::errc() || stop != item.data() + item.size() || rank < 0) return false;
        if (step)
            for (const int64_t size : step->mesh_shape) shown *= size;
        return rank < std::max<int64_t>(ranks_, shown);
    }

    const Scenario& scenario_;
    int64_t ranks_;
    std::set<std::string> dims_, steps_, units_;
};

/// Placeholders and links of one language's text.
void check_text(const Scenario& scenario, const LessonText& text, const std::string& language,
                const Targets& targets, std::vector<LessonCheck>& checks) {
    std::set<std::string> numbers;
    for (const auto& number : scenario.numbers) numbers.insert(number.id);
    const auto check_paragraphs = [&](const std::string& id, const std::vector<Paragraph>& paragraphs,
                                      const Scenario::LessonStep* step) {
        LessonCheck check{"link", language + " " + id, {}};
        for (const Paragraph& paragraph : paragraphs)
            for (const Span& span : paragraph.spans) {
                for (const std::string& number : number_ids(span.text))
                    if (!numbers.count(number))
                        check.problems.push_back({"scenario.unknown_number", {{"id", number}}});
                if (span.kind == SpanKind::link && !targets.exists(span, step))
                    check.problems.push_back(
                        {"lesson.dead_link",
                         {{"link", span.link_kind + ":" + span.link_target}, {"words", span.text}}});
            }
        checks.push_back(std::move(check));
    };
    check_paragraphs("introduction", text.introduction, nullptr);
    for (const LessonSection& section : text.steps) {
        const auto& steps = scenario.steps_of_lesson;
        const auto found =
            std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return s.id == section.id; });
        check_paragraphs(section.id, section.paragraphs, found == steps.end() ? nullptr : &*found);
    }
}

void check_steps(const Scenario& scenario, const LessonText& text, const std::string& language,
                 std::vector<LessonCheck>& checks) {
    std::vector<std::string> wanted;
    for (const auto& step : scenario.steps_of_lesson) wanted.push_back(step.id);
    const std::vector<std::string> found = step_ids(text);
    LessonCheck check{"text", language, {}};
    if (found != wanted)
        check.problems.push_back(
            {"lesson.other_steps", {{"found", joined(found)}, {"wanted", joined(wanted)}}});
    for (const LessonSection& step : text.steps)
        if (step.paragraphs.empty()) check.problems.push_back({"lesson.empty_step", {{"step", step.id}}});
    checks.push_back(std::move(check));
}

}  // namespace

std::vector<LessonCheck> check_lesson(const Scenario& scenario, const LessonText& en, const LessonText& zh,
                                      const trace::Trace& trace, const trace::TraceDatabase& database) {
    std::vector<LessonCheck> checks;
    const Targets targets(scenario, trace);
    for (const auto& [text, language] : {std::pair(&en, "en"), std::pair(&zh, "zh")}) {
        check_steps(scenario, *text, language, checks);
        check_text(scenario, *text, language, targets, checks);
    }
    for (const auto& [id, answer] : read_numbers(scenario, database)) {
        const auto number = std::find_if(scenario.numbers.begin(), scenario.numbers.end(),
                                         [&wanted = id](const auto& n) { return n.id == wanted; });
        checks.push_back({"number", id, {}, number->at});
        if (answer.error) checks.back().problems.push_back(*answer.error);
    }
    for (const auto& step : scenario.steps_of_lesson) {
        if (step.at.empty()) continue;
        checks.push_back({"at", step.id, {}, step.at_position});
        try {
            step_event(step, database, trace);
        } catch (const Error& error) {
            checks.back().problems.push_back(error.message());
        }
    }
    for (const auto& quiz : scenario.quizzes) {
        checks.push_back({"quiz", quiz.id, {}, quiz.answer_at});
        const Answer answer = quiz_answer(quiz, database);
        if (answer.error) {
            checks.back().problems.push_back(*answer.error);
        } else {
            // A hint for a "wrong" answer that is right would never be shown, and says that one of the two is
            // a mistake.
            for (const auto& hint : quiz.hints)
                if (is_right(quiz, answer.text, hint.when))
                    checks.back().problems.push_back({"lesson.hint_for_right", {{"when", hint.when}}});
        }
    }
    for (const CheckResult& result : run_checks(scenario, database)) {
        checks.push_back({"check", result.id, {}, result.position, result.title});
        if (result.error) {
            checks.back().problems.push_back(*result.error);
        } else if (!result.passed) {
            checks.back().problems.push_back({"lesson.check_failed", {{"value", result.value}}});
        }
    }
    return checks;
}

}  // namespace meshscope::scenario
