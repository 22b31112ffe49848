#include "core/scenario/check_lesson.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "core/scenario/evaluate.h"
#include "core/scenario/keys.h"
#include "core/scenario/lesson_names.h"

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
    const std::set<std::string> numbers = number_names(scenario);
    const auto check_paragraphs = [&](const std::string& id, const std::vector<Paragraph>& paragraphs,
                                      const Scenario::LessonStep* step) {
        LessonCheck check{"link", language + " " + id, {}};
        for_each_span(paragraphs, [&](const Span& span) {
            for (const std::string& number : number_ids(span.text))
                if (!numbers.count(number))
                    check.problems.push_back({"scenario.unknown_number", {{"id", number}}});
            if (span.kind == SpanKind::link && !targets.exists(span, step))
                check.problems.push_back(
                    {"lesson.dead_link",
                     {{"link", span.link_kind + ":" + span.link_target}, {"words", span.text}}});
        });
        checks.push_back(std::move(check));
    };
    check_paragraphs("introduction", text.introduction, nullptr);
    for (const LessonSection* section : text.sections()) {
        const auto& steps = scenario.steps_of_lesson;
        const auto found =
            std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return s.id == section->id; });
        check_paragraphs(section->id, section->paragraphs, found == steps.end() ? nullptr : &*found);
    }
}

/// The sections that every lesson has, and how long their lists are.
void check_form(const LessonText& text, std::vector<Message>& problems) {
    for (const auto& [id, section] :
         {std::pair("goals", &text.goals), std::pair("break", &text.to_break),
          std::pair("change", &text.to_change), std::pair("summary", &text.summary)})
        if (section->line == 0) problems.push_back({"lesson.missing_section", {{"section", id}}});
    const auto bullets = [](const LessonSection& section) {
        return static_cast<int64_t>(
            std::ranges::count_if(section.paragraphs, [](const Paragraph& p) { return p.bullet; }));
    };
    const int64_t goals = bullets(text.goals), summary = bullets(text.summary);
    if (text.goals.line > 0 && (goals < 2 || goals > 4))
        problems.push_back({"lesson.goals_bullets", {{"found", goals}}});
    const auto lines = static_cast<int64_t>(text.summary.paragraphs.size());
    if (text.summary.line > 0 && (summary != 5 || lines != 5))
        problems.push_back({"lesson.summary_bullets", {{"found", summary}}});
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
    for (const LessonSection* section : text.sections())
        if (section->paragraphs.empty())
            check.problems.push_back({"lesson.empty_step", {{"step", section->id}}});
    check_form(text, check.problems);
    checks.push_back(std::move(check));
}

/// What the scenario file of a lesson must say beside what runs.
void check_file(const Scenario& scenario, std::vector<LessonCheck>& checks) {
    LessonCheck check{"text", "scenario.toml", {}};
    const std::string folder = std::filesystem::path(scenario.path).parent_path().filename().string();
    if (scenario.chapter == 0) {
        check.problems.push_back({"lesson.missing_chapter", {}});
    } else if (const int32_t told = chapter_of_folder(folder); told > 0 && told != scenario.chapter) {
        check.problems.push_back(
            {"lesson.other_chapter", {{"chapter", int64_t{scenario.chapter}}, {"folder", folder}}});
    }
    for (const char* id : {"break", "change"}) {
        const auto& all = scenario.variants;
        if (std::none_of(all.begin(), all.end(), [&](const Variant& variant) { return variant.id == id; }))
            check.problems.push_back({"lesson.missing_variant", {{"variant", id}}});
    }
    checks.push_back(std::move(check));
}

std::vector<std::string> sorted(std::vector<std::string> words) {
    std::sort(words.begin(), words.end());
    return words;
}

std::vector<std::string> numbers_of(const LessonText& text, const std::string& section_id) {
    std::vector<std::string> ids;
    for (const LessonSection* section : text.sections())
        if (section->id == section_id)
            for_each_span(section->paragraphs, [&](const Span& span) {
                for (std::string& id : number_ids(span.text)) ids.push_back(std::move(id));
            });
    return sorted(std::move(ids));
}

/// Both languages name the same numbers in each section, question and explanation.
void check_languages(const Scenario& scenario, const LessonText& en, const LessonText& zh,
                     std::vector<LessonCheck>& checks) {
    LessonCheck check{"text", "en, zh", {}};
    const auto compare = [&](const std::string& where, const std::vector<std::string>& a,
                             const std::vector<std::string>& b) {
        if (a != b)
            check.problems.push_back(
                {"lesson.other_numbers", {{"where", where}, {"en", joined(a)}, {"zh", joined(b)}}});
    };
    for (const LessonSection* section : en.sections())
        compare(section->id, numbers_of(en, section->id), numbers_of(zh, section->id));
    for (const Scenario::Quiz& quiz : scenario.quizzes)
        for (const Text* text : {&quiz.question, &quiz.reveal})
            compare(quiz.id, sorted(number_ids(text->en)), sorted(number_ids(text->zh)));
    checks.push_back(std::move(check));
}

}  // namespace

std::vector<LessonCheck> check_lesson(const Scenario& scenario, const LessonText& en, const LessonText& zh,
                                      const trace::Trace& trace, const trace::TraceDatabase& database) {
    std::vector<LessonCheck> checks;
    const Targets targets(scenario, trace);
    check_file(scenario, checks);
    for (const auto& [text, language] : {std::pair(&en, "en"), std::pair(&zh, "zh")}) {
        check_steps(scenario, *text, language, checks);
        check_text(scenario, *text, language, targets, checks);
    }
    check_languages(scenario, en, zh, checks);
    for (const auto& [id, answer] : read_numbers(scenario, trace, database)) {
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
