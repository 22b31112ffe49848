#include "core/scenario/readers.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/base/view_words.h"
#include "core/mesh/question_text.h"
#include "core/scenario/lesson.h"
#include "core/scenario/lesson_lines.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

std::string required_text(const Section& entry, std::string_view key) {
    entry.require(key);
    return entry.text(key).value_or("");
}

/// {en, zh} of a table that must hold both.
Text both_languages(const Section& section) {
    return {required_text(section, "en"), required_text(section, "zh")};
}

/// Whether all ids of a list are known: the others' references can then be checked.
bool ids_known(const Section& parent, std::string_view key) {
    const std::vector<Section> entries = parent.sections(key);
    return parent.sure(key) &&
           std::all_of(entries.begin(), entries.end(), [](const Section& entry) { return entry.sure("id"); });
}

/// The same of everything that a text can name in {{…}}.
bool numbers_known(const Section& lesson) {
    if (!ids_known(lesson, "number") || !ids_known(lesson, "variant")) return false;
    const std::vector<Section> variants = lesson.sections("variant");
    return std::all_of(variants.begin(), variants.end(),
                       [](const Section& variant) { return ids_known(variant, "number"); });
}

/// What the texts of a lesson may refer to.
struct Known {
    std::set<std::string> numbers;
    bool all_numbers = true, all_steps = true;  ///< false: some could not be read
};

/// Reports {{id}} placeholders that no [[lesson.number]] and no variant has, or that are not closed.
void check_numbers(const Section& section, const Text& text, const Known& known) {
    for (const auto& [key, words] : {std::pair("en", &text.en), std::pair("zh", &text.zh)}) {
        std::string line = *words;
        std::ranges::replace(line, '\n', ' ');
        for (LineMistake& mistake : line_mistakes(line, {.in_code = true}))
            section.report(key, std::move(mistake.message), std::move(mistake.hint));
        for (const std::string& id : number_ids(line))
            if (known.all_numbers && !known.numbers.count(id))
                section.report(key, {"scenario.unknown_number", {{"id", id}}});
    }
}

/// The ranks a step's picture has: those of its own mesh, else the run's; the most there can be where that
/// mesh was written wrongly, since advice from a guess would be wrong too.
int64_t ranks_shown(const Scenario& s, const Scenario::LessonStep& step, bool own_mesh, bool mesh_known) {
    if (step.mesh_shape.empty()) return own_mesh || !mesh_known ? kMostRanks : world_size(s);
    int64_t ranks = 1;
    for (const int64_t n : step.mesh_shape) ranks *= n;
    return ranks;
}

void read_choices(const Section& quiz, Scenario::Quiz& q) {
    bool sure = true;
    for (const Section& choice : quiz.sections("choice")) {
        Scenario::Choice c;
        c.text = both_languages(choice);
        c.right = choice.boolean("right").value_or(false);
        sure = sure && choice.sure("right");
        const Section hint = choice.section("hint");
        if (hint.present()) c.hint = both_languages(hint);
        q.choices.push_back(std::move(c));
    }
    const auto right =
        std::count_if(q.choices.begin(), q.choices.end(), [](const auto& c) { return c.right; });
    if (q.kind != "choice") {
        if (quiz.has("choice")) quiz.report_key("choice", {"scenario.choices_not_for", {{"kind", q.kind}}});
    } else if (!sure || !quiz.sure("choice")) {
        // Which one is right was to be said where a mistake was reported.
    } else if (q.choices.size() < 2) {
        quiz.report("id", {"scenario.too_few_choices", {{"id", q.id}}});
    } else if (right != 1) {
        quiz.report("id",
                    {"scenario.one_right_choice", {{"id", q.id}, {"right", static_cast<int64_t>(right)}}});
    }
}

void read_quiz(const Section& quiz, Scenario& s, std::set<std::string>& seen, const Known& known) {
    Scenario::Quiz q;
    q.id = read_id(quiz, seen);
    q.step = required_text(quiz, "step");
    const bool known_step = std::any_of(s.steps_of_lesson.begin(), s.steps_of_lesson.end(),
                                        [&](const auto& step) { return step.id == q.step; });
    if (!q.step.empty() && known.all_steps && !known_step)
        quiz.report("step", {"scenario.unknown_step", {{"step", q.step}}});
    quiz.require("kind");
    const std::optional<std::string> kind = quiz.word("kind", quiz_kinds());
    q.kind = kind.value_or("");
    const Section question = quiz.section("question");
    if (question.present() || quiz.require("question")) q.question = both_languages(question);
    check_numbers(question, q.question, known);
    q.answer = quiz.text("answer").value_or("");
    q.answer_at = quiz.position_of("answer");
    if (kind && *kind != "choice") quiz.require("answer");
    q.tolerance = quiz.number("tolerance", {0, 1e30}).value_or(0.0);
    if (kind) read_choices(quiz, q);
    for (const Section& hint : quiz.sections("hint"))
        q.hints.push_back({required_text(hint, "when"), both_languages(hint)});
    const Section reveal = quiz.section("reveal");
    if (reveal.present()) q.reveal = both_languages(reveal);
    check_numbers(reveal, q.reveal, known);
    s.quizzes.push_back(std::move(q));
}

/// A step can show, or lay beside the run, only variants of its own lesson.
void check_variants_of_steps(const Section& lesson, const Scenario& s) {
    if (!ids_known(lesson, "variant")) return;
    const std::string known = joined(s.variants, [](const Variant& variant) { return variant.id; });
    std::size_t at = 0;
    for (const Section& step : lesson.sections("step")) {
        const std::string& shown = s.steps_of_lesson[at].run;
        const auto is_known = [&](const std::string& id) {
            return std::ranges::find(s.variants, id, &Variant::id) != s.variants.end();
        };
        if (!shown.empty() && !is_known(shown))
            step.report("run", {"scenario.unknown_variant", {{"variant", shown}, {"known", known}}});
        const std::vector<std::string>& beside = s.steps_of_lesson[at++].beside;
        for (std::size_t i = 0; i < beside.size(); ++i)
            if (!is_known(beside[i]))
                step.report_element("beside", i,
                                    {"scenario.unknown_variant", {{"variant", beside[i]}, {"known", known}}});
    }
}

}  // namespace

void read_lesson_content(const Section& root, bool mesh_known, Scenario& s) {
    const Section title = root.section("title");
    s.title = {title.text("en").value_or(""), title.text("zh").value_or("")};

    const Section lesson = root.section("lesson");
    if (const auto chapter = lesson.integer("chapter", {1, kChapters}))
        s.chapter = static_cast<int32_t>(*chapter);
    std::set<std::string> seen;
    const bool world_known = mesh_known && root.section("mesh").sure("world");
    for (const Section& step : lesson.sections("step")) {
        Scenario::LessonStep out;
        out.id = read_id(step, seen);
        if (is_reserved_section(out.id)) step.report("id", {"scenario.reserved_step", {{"step", out.id}}});
        out.view = step.word("view", words_of_views()).value_or("timeline");
        const bool old = out.view == kOldNameOfTensors;
        if (old) out.view = "tensors";
        // Of a view that was refused it is not known which forms it has.
        if (step.sure("view")) out.form = step.word("form", forms_of(out.view)).value_or(old ? "rows" : "");
        out.beside = step.texts("beside").value_or(std::vector<std::string>{});
        out.run = step.text("run").value_or("");
        out.at = step.text("at").value_or("");
        out.at_position = step.position_of("at");
        out.slice = step.text("slice").value_or("");
        try {
            static_cast<void>(mesh::parse_questions(out.slice));
        } catch (const InvalidArgument& error) {
            step.report("slice", error.message());
        }
        const Section mesh = step.section("mesh");
        if (mesh.present()) {
            mesh.require("shape");
            MeshKeys keys = read_mesh_keys(mesh);
            out.mesh_shape = std::move(keys.shape);
            out.mesh_names = std::move(keys.names);
        }
        if (const auto rank =
                step.integer("rank", {0, ranks_shown(s, out, step.has("mesh"), world_known) - 1}))
            out.rank = static_cast<int32_t>(*rank);
        s.steps_of_lesson.push_back(std::move(out));
    }
    const Section only_threads = lesson.section("only_threads");
    if (only_threads.present()) s.only_threads = both_languages(only_threads);
    s.numbers = read_number_tables(lesson, s.folder);
    s.variants = read_variants(root, lesson, s.folder);
    check_variants_of_steps(lesson, s);
    const Known known{number_names(s), numbers_known(lesson), ids_known(lesson, "step")};
    seen.clear();
    for (const Section& quiz : root.sections("quiz")) read_quiz(quiz, s, seen, known);
    seen.clear();
    for (const Section& check : root.sections("check")) {
        Scenario::Check out;
        out.id = read_id(check, seen, true);
        out.sql = required_text(check, "sql");
        out.at = check.position_of("sql");
        const Section check_title = check.section("title");
        if (check_title.present()) out.title = both_languages(check_title);
        s.checks.push_back(std::move(out));
    }
}

}  // namespace meshscope::scenario
