#include "core/scenario/check_lesson.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "core/base/joined.h"
#include "core/base/nearest.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/lesson.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

std::vector<std::string> step_ids(const LessonText& text) {
    std::vector<std::string> ids;
    for (const LessonSection& step : text.steps) ids.push_back(step.id);
    return ids;
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
        if (link.link_kind == "view") return std::ranges::count(words_of_views(), link.link_target) > 0;
        // An event link names a step whose `at` gives the event.
        return std::any_of(scenario_.steps_of_lesson.begin(), scenario_.steps_of_lesson.end(),
                           [&](const auto& s) { return s.id == link.link_target && !s.at.empty(); });
    }

    /// What a link of this kind can point at here, where that is known by name.
    Message possible(const std::string& kind) const {
        std::set<std::string> names;
        if (kind == "rank" || kind == "ranks")
            return {"lesson.hint.link_ranks", {{"last", std::max<int64_t>(ranks_, 1) - 1}}};
        if (kind == "dim") names = dims_;
        if (kind == "unit") names = units_;
        if (kind == "step") names = steps_;
        if (kind == "view") names = {views().begin(), views().end()};
        if (kind == "event")
            for (const auto& step : scenario_.steps_of_lesson)
                if (!step.at.empty()) names.insert(step.id);
        names.erase("");
        if (names.empty()) return {};
        return {"scenario.hint.known", {{"known", joined(names)}}};
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

/// A place in a text's file.
SourcePosition at(const LessonText& text, int line, int column = 0) {
    return {text.path, line, column, -1};
}

/// Placeholders and links of one language's text.
void check_text(const Scenario& scenario, const LessonText& text, const std::string& language,
                const Targets& targets, std::vector<LessonCheck>& checks) {
    const std::set<std::string> known = number_names(scenario);
    const std::vector<std::string> names(known.begin(), known.end());
    auto number = text.numbers.begin();
    // `before`: the line at which the part that follows begins.
    const auto check_part = [&](const std::string& id, const std::vector<Paragraph>& paragraphs,
                                const Scenario::LessonStep* step, int before) {
        LessonCheck check{"link", language + " " + id, {}};
        for (; number != text.numbers.end() && number->line < before; ++number) {
            if (known.count(number->id)) continue;
            const std::string guess = nearest(number->id, names);
            Message hint;
            if (!guess.empty()) hint = {"scenario.hint.did_you_mean", {{"guess", guess}}};
            check.problems.push_back({{"scenario.unknown_number", {{"id", number->id}}},
                                      at(text, number->line, number->column),
                                      std::move(hint)});
        }
        for_each_span(paragraphs, [&](const Span& span) {
            if (span.kind == SpanKind::link && !targets.exists(span, step))
                check.problems.push_back(
                    {{"lesson.dead_link",
                      {{"link", span.link_kind + ":" + span.link_target}, {"words", span.text}}},
                     at(text, span.line, span.column),
                     targets.possible(span.link_kind)});
        });
        checks.push_back(std::move(check));
    };
    const std::vector<const LessonSection*> sections = text.sections();
    const auto end_of = [&](std::size_t s) {
        return s < sections.size() ? sections[s]->line : text.lines + 1;
    };
    check_part("introduction", text.introduction, nullptr, end_of(0));
    for (std::size_t s = 0; s < sections.size(); ++s) {
        const auto& steps = scenario.steps_of_lesson;
        const auto found = std::find_if(steps.begin(), steps.end(),
                                        [&](const auto& step) { return step.id == sections[s]->id; });
        check_part(sections[s]->id, sections[s]->paragraphs, found == steps.end() ? nullptr : &*found,
                   end_of(s + 1));
    }
}

/// The line before which a section that is missing would stand; the last where nothing follows it.
int line_for(const LessonText& text, const LessonSection& missing) {
    const std::vector<const LessonSection*> sections = text.sections();
    if (&missing == &text.goals && !sections.empty()) return sections.front()->line;
    bool behind = false;
    for (const LessonSection* section : {&text.to_break, &text.to_change, &text.summary}) {
        if (behind && section->line > 0) return section->line;
        behind = behind || section == &missing;
    }
    return std::max(1, text.lines);
}

/// The sections that every lesson has, and how long their lists are.
void check_form(const LessonText& text, std::vector<Diagnostic>& problems) {
    for (const auto& [id, section] :
         {std::pair("goals", &text.goals), std::pair("break", &text.to_break),
          std::pair("change", &text.to_change), std::pair("summary", &text.summary)})
        if (section->line == 0)
            problems.push_back({{"lesson.missing_section", {{"section", id}}},
                                at(text, line_for(text, *section)),
                                {"lesson.hint.sections", {}}});
    for (const LessonSection* section : text.sections())
        if (section->heading.empty())
            problems.push_back({{"lesson.no_heading", {{"section", section->id}}},
                                at(text, section->line),
                                {"lesson.hint.heading", {{"section", section->id}}}});
    const auto bullets = [](const LessonSection& section) {
        return static_cast<int64_t>(
            std::ranges::count_if(section.paragraphs, [](const Paragraph& p) { return p.bullet; }));
    };
    const int64_t goals = bullets(text.goals), summary = bullets(text.summary);
    if (text.goals.line > 0 && (goals < 2 || goals > 4))
        problems.push_back({{"lesson.goals_bullets", {{"found", goals}}}, at(text, text.goals.line), {}});
    const auto lines = static_cast<int64_t>(text.summary.paragraphs.size());
    if (text.summary.line > 0 && (summary != 5 || lines != 5))
        problems.push_back(
            {{"lesson.summary_bullets", {{"found", summary}}}, at(text, text.summary.line), {}});
}

/// The first step that stands in another place than in the scenario, else the last line.
int line_of_difference(const LessonText& text, const std::vector<std::string>& wanted) {
    for (std::size_t s = 0; s < text.steps.size(); ++s)
        if (s >= wanted.size() || text.steps[s].id != wanted[s]) return text.steps[s].line;
    return std::max(1, text.lines);
}

void check_steps(const Scenario& scenario, const LessonText& text, const std::string& language,
                 std::vector<LessonCheck>& checks) {
    std::vector<std::string> wanted;
    for (const auto& step : scenario.steps_of_lesson) wanted.push_back(step.id);
    const std::vector<std::string> found = step_ids(text);
    LessonCheck check{"text", language, {}};
    if (found != wanted)
        check.problems.push_back(
            {{"lesson.other_steps", {{"found", joined(found)}, {"wanted", joined(wanted)}}},
             at(text, line_of_difference(text, wanted)),
             {}});
    for (const LessonSection* section : text.sections())
        if (section->paragraphs.empty())
            check.problems.push_back(
                {{"lesson.empty_step", {{"step", section->id}}}, at(text, section->line), {}});
    check_form(text, check.problems);
    checks.push_back(std::move(check));
}

/// What the scenario file of a lesson must say beside what runs.
void check_file(const Scenario& scenario, std::vector<LessonCheck>& checks) {
    LessonCheck check{"text", "scenario.toml", {}};
    // Absolute: "scenario.toml" alone stands in a folder with a name too.
    const std::string folder =
        std::filesystem::absolute(scenario.path).lexically_normal().parent_path().filename().string();
    if (scenario.chapter == 0) {
        check.problems.push_back({{"lesson.missing_chapter", {}}, {scenario.path}, {}});
    } else if (const int32_t told = chapter_of_folder(folder); told > 0 && told != scenario.chapter) {
        check.problems.push_back(
            {{"lesson.other_chapter", {{"chapter", int64_t{scenario.chapter}}, {"folder", folder}}},
             {scenario.path},
             {}});
    }
    for (const char* id : {"break", "change"}) {
        const auto& all = scenario.variants;
        if (std::none_of(all.begin(), all.end(), [&](const Variant& variant) { return variant.id == id; }))
            check.problems.push_back({{"lesson.missing_variant", {{"variant", id}}}, {scenario.path}, {}});
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
    const std::set<std::string> known = number_names(scenario);
    // A name that is none was told where it stands, and is why the languages differ.
    const auto all_known = [&](const std::vector<std::string>& ids) {
        return std::ranges::all_of(ids, [&](const std::string& id) { return known.count(id) > 0; });
    };
    const auto compare = [&](const std::string& where, const SourcePosition& position,
                             const std::vector<std::string>& a, const std::vector<std::string>& b) {
        if (a != b && all_known(a) && all_known(b))
            check.problems.push_back(
                {{"lesson.other_numbers", {{"where", where}, {"en", joined(a)}, {"zh", joined(b)}}},
                 position,
                 {}});
    };
    // Told at the Chinese text where it has the section: it is the one that is written second.
    const auto place = [&](const std::string& id) {
        for (const LessonText* text : {&zh, &en})
            for (const LessonSection* section : text->sections())
                if (section->id == id) return at(*text, section->line);
        return at(zh, 0);
    };
    for (const LessonSection* section : en.sections())
        compare(section->id, place(section->id), numbers_of(en, section->id), numbers_of(zh, section->id));
    for (const Scenario::Quiz& quiz : scenario.quizzes)
        for (const Text* text : {&quiz.question, &quiz.reveal})
            compare(quiz.id, quiz.answer_at, sorted(number_ids(text->en)), sorted(number_ids(text->zh)));
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
        checks.push_back({"number", id, {}});
        if (answer.error) checks.back().problems.push_back({*answer.error, number->at, {}});
    }
    for (const auto& step : scenario.steps_of_lesson) {
        if (step.at.empty() || !step.run.empty()) continue;  // a variant's run is asked once it has run
        checks.push_back({"at", step.id, {}});
        try {
            step_event(step, database, trace);
        } catch (const Error& error) {
            checks.back().problems.push_back({error.message(), step.at_position, {}});
        }
    }
    for (const auto& quiz : scenario.quizzes) {
        checks.push_back({"quiz", quiz.id, {}});
        const Answer answer = quiz_answer(quiz, database);
        if (answer.error) {
            checks.back().problems.push_back({*answer.error, quiz.answer_at, {}});
        } else {
            // A hint for a "wrong" answer that is right would never be shown, and says that one of the two is
            // a mistake.
            for (const auto& hint : quiz.hints)
                if (is_right(quiz, answer.text, hint.when))
                    checks.back().problems.push_back(
                        {{"lesson.hint_for_right", {{"when", hint.when}}}, quiz.answer_at, {}});
        }
    }
    for (const CheckResult& result : run_checks(scenario, database)) {
        checks.push_back({"check", result.id, {}, result.title});
        if (result.error) {
            checks.back().problems.push_back({*result.error, result.position, {}});
        } else if (!result.passed) {
            checks.back().problems.push_back(
                {{"lesson.check_failed", {{"value", result.value}}}, result.position, {}});
        }
    }
    return checks;
}

}  // namespace meshscope::scenario
