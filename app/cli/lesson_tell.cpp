#include "app/cli/lesson_tell.h"

#include <algorithm>
#include <ostream>

#include "app/cli/lesson_print.h"
#include "app/cli/run_tell.h"
#include "app/cli/table.h"
#include "core/base/rank_set.h"
#include "core/memory/ledger.h"
#include "core/scenario/evaluate.h"
#include "core/trace/recorded.h"

namespace meshscope::cli {
namespace {

using scenario::Scenario;
/// The index a learner types is counted from 1; the answers' from 0.
std::string from_typed(const Scenario::Quiz& quiz, const std::string& typed) {
    if (quiz.kind != "choice") return typed;
    const std::vector<std::string> items = scenario::list_items(typed);
    if (items.size() != 1 || items[0].size() > 3 ||
        items[0].find_first_not_of("0123456789") != std::string::npos)
        return "";
    return std::to_string(std::stoi(items[0]) - 1);
}

std::string as_shown(const Scenario::Quiz& quiz, const std::string& answer, const CommandContext& context) {
    if (quiz.kind == "number") return scenario::rounded_answer(answer, quiz.tolerance);
    if (quiz.kind != "choice") return answer;
    const auto index = static_cast<std::size_t>(std::stoi(answer));
    if (index >= quiz.choices.size()) return answer;
    return std::to_string(index + 1) + ") " + in_language(quiz.choices[index].text, context);
}

bool is_blank(const std::string& typed) {
    return typed.find_first_not_of(" \t\r") == std::string::npos;
}

/// Says whether the guess is right; if not, what to think of.
bool judge(const Scenario::Quiz& quiz, const std::string& answer, const std::string& given, int width,
           const CommandContext& context) {
    if (scenario::is_right(quiz, answer, given)) {
        context.out << context.styled(context.text("cli.lesson.right"), "32") << '\n';
        return true;
    }
    std::string told = context.styled(context.text("cli.lesson.wrong"), "33");
    if (const scenario::Text* hint = scenario::hint_for_answer(quiz, given))
        told += ' ' + in_language(*hint, context);
    print_wrapped(told, "", "", width, context.out);
    return false;
}

/// Two tries; an empty line gives up. True when the answer was right.
bool ask(const Scenario::Quiz& quiz, const std::string& answer, int width, Answers& answers,
         const CommandContext& context) {
    constexpr int kTries = 2;
    for (int t = 0; t < kTries;) {
        context.out << context.text("cli.lesson.prompt." + quiz.kind) << " " << std::flush;
        std::string typed;
        if (!answers.next(typed) || is_blank(typed)) return false;
        const std::string given = from_typed(quiz, typed);
        if (!scenario::is_readable(quiz, given)) {  // a slip, no guess: it costs no try
            print_wrapped(context.styled(context.text("lesson.unreadable." + quiz.kind), "33"), "", "", width,
                          context.out);
            continue;
        }
        ++t;
        if (judge(quiz, answer, given, width, context)) return true;
    }
    return false;
}

/// A line as it can be shown: short, and without what would move the cursor.
std::string shown(const std::string& line) {
    constexpr std::size_t kShown = 60;
    std::size_t end = std::min(line.size(), kShown);
    while (end > 0 && end < line.size() && (line[end] & 0xC0) == 0x80) --end;  // not within a character
    std::string text = line.substr(0, end);
    for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    return line.size() > text.size() ? text + " …" : text;
}

/// One line answers one question, so that a mistake shifts none of those behind it. True when it was right.
bool ask_lines(const Scenario::Quiz& quiz, const std::string& answer, int width, Answers& answers,
               const CommandContext& context) {
    std::string typed;
    if (!answers.next(typed)) {
        print_wrapped(context.styled(context.text("cli.lesson.lines.ended", {{"quiz", quiz.id}}), "33"), "",
                      "", width, context.out);
        return false;
    }
    const std::vector<MessageArg> place{
        {"line", int64_t{answers.line()}}, {"quiz", quiz.id}, {"text", shown(typed)}};
    if (is_blank(typed)) {
        print_wrapped(context.text("cli.lesson.lines.blank", place), "", "", width, context.out);
        return false;
    }
    print_wrapped(context.text("cli.lesson.lines.read", place), "", "", width, context.out);
    const std::string given = from_typed(quiz, typed);
    if (scenario::is_readable(quiz, given)) return judge(quiz, answer, given, width, context);
    print_wrapped(context.styled(context.text("lesson.unreadable." + quiz.kind), "33"), "", "", width,
                  context.out);
    return false;
}

bool answered(const Scenario::Quiz& quiz, const std::string& answer, int width, Answers& answers,
              const CommandContext& context) {
    if (answers.from() == Answers::From::terminal) return ask(quiz, answer, width, answers, context);
    return answers.from() == Answers::From::lines && ask_lines(quiz, answer, width, answers, context);
}

void tell_quiz(const Scenario::Quiz& quiz, const Fill& fill, const trace::TraceDatabase& database, int width,
               Answers& answers, const CommandContext& context) {
    const std::string head = context.styled("? ", "1");
    print_wrapped(scenario::fill_numbers(in_language(quiz.question, context), fill), head, "  ", width,
                  context.out);
    for (std::size_t i = 0; i < quiz.choices.size(); ++i)
        print_wrapped(in_language(quiz.choices[i].text, context), "  " + std::to_string(i + 1) + ") ",
                      "     ", width, context.out);
    const scenario::Answer answer = scenario::quiz_answer(quiz, database);
    if (answer.error) {
        context.out << context.text(*answer.error) << "\n\n";
        return;
    }
    if (!answered(quiz, answer.text, width, answers, context))
        print_wrapped(context.text("cli.lesson.answer", {{"answer", as_shown(quiz, answer.text, context)}}),
                      "  ", "  ", width, context.out);
    const std::string reveal = scenario::fill_numbers(in_language(quiz.reveal, context), fill);
    if (!reveal.empty()) print_wrapped(reveal, "  ", "  ", width, context.out);
    context.out << '\n';
}

/// The numbers of the lesson's own run and, as {{break.gathers}}, those of its variants, run when one is
/// named.
Fill numbers_of(const Told& told, const trace::TraceDatabase& database, LessonVariants& variants) {
    return [numbers = scenario::read_numbers(told.scenario, told.trace, database),
            &variants](const std::string& id) {
        if (!scenario::variant_of(id).empty()) return variants.number(id);
        const auto found = numbers.find(id);
        return found == numbers.end() || found->second.error ? std::string("?") : found->second.text;
    };
}

/// What a learner types at "[Enter] next": the first letter, lower case; 0 for none.
char pressed(const std::string& prompt, Answers& answers, const CommandContext& context) {
    context.out << context.styled(prompt, "2") << ' ' << std::flush;
    std::string typed;
    if (!answers.next(typed)) return 0;
    const std::size_t first = typed.find_first_not_of(" \t\r");
    context.out << '\n';
    return first == std::string::npos ? '\0' : static_cast<char>(typed[first] | 0x20);
}

/// One part of a lesson that is being told.
struct Part {
    const Told& told;
    LessonVariants& variants;
    const Fill& fill;
    Answers& answers;
    int width;
    const CommandContext& context;

    bool waits() const { return answers.from() == Answers::From::terminal; }
};

/// "## goals", "## summary" …; `name` stands before its own heading. Nothing when it is
/// missing.
bool tell_section(const Part& part, const scenario::LessonSection& section, const char* name) {
    if (section.line == 0) return false;
    const std::string kind = part.context.text(std::string("cli.lesson.") + name);
    const bool own = !section.heading.empty() && section.heading != kind;
    print_heading(own ? kind + " · " + section.heading : kind, part.context, part.width);
    print_paragraphs(section.paragraphs, part.fill, part.width, part.context);
    return true;
}

/// What to break, or to change: `key` runs it where somebody is there to press it.
void tell_variant(const Part& part, const scenario::LessonSection& section, const char* id, char key) {
    if (!tell_section(part, section, id)) return;
    const scenario::Variant* variant = part.variants.find(id);
    if (!variant) return;
    print_changes(*variant, part.context);
    part.context.out << '\n';
    if (part.waits()) {
        const std::string prompt = part.context.text(std::string("cli.lesson.press.") + id);
        if (pressed(prompt, part.answers, part.context) != key) return;
    }
    print_variant_run(part.variants.run(*variant), part.told.trace, part.context, part.width);
    if (part.waits()) pressed(part.context.text("cli.lesson.press.next"), part.answers, part.context);
}

void tell_steps(const Part& part, const trace::TraceDatabase& database) {
    const auto& steps = part.told.text.steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const scenario::LessonSection& step = steps[s];
        const std::string words = step.heading.empty() ? step.id : step.heading;
        print_heading(std::to_string(s + 1) + "/" + std::to_string(steps.size()) + "  " + words, part.context,
                      part.width);
        print_paragraphs(step.paragraphs, part.fill, part.width, part.context);
        for (const Scenario::Quiz& quiz : part.told.scenario.quizzes)
            if (quiz.step == step.id)
                tell_quiz(quiz, part.fill, database, part.width, part.answers, part.context);
        if (part.waits()) pressed(part.context.text("cli.lesson.press.next"), part.answers, part.context);
    }
}

void tell_failure(const Part& part) {
    if (!part.told.failure) return;
    part.context.out << part.context.text("cli.lesson.variant.ended") << '\n';
    print_error(part.told.failure, part.context, part.width);
    part.context.out << '\n';
}

/// What the run recorded, in three tables.
void tell_record(const Part& part) {
    const trace::Trace& trace = part.told.trace;
    if (trace.info.level == trace::Level::off) {
        print_wrapped(part.context.text("cli.lesson.not_recorded"), "", "", part.width, part.context.out);
        return;
    }
    // Step 1 is the first that every later one repeats: step 0 of DDP still has its first buckets.
    const int32_t step = trace.info.steps > 1 ? 1 : 0;
    print_heading(
        part.context.text("cli.lesson.collectives", {{"rank", int64_t{0}}, {"step", int64_t{step}}}),
        part.context, part.width);
    print_collectives(trace, 0, step, part.context, part.width);
    part.context.out << '\n';
    if (!trace.info.losses.empty()) {
        print_heading(part.context.text("cli.lesson.losses"), part.context, part.width);
        print_losses(trace, part.context);
        part.context.out << '\n';
    }
    print_heading(part.context.text("cli.lesson.memory"), part.context, part.width);
    print_memory(trace, part.context);
}

}  // namespace

void print_collectives(const trace::Trace& trace, int32_t rank, int32_t step, const CommandContext& context,
                       int width) {
    Table table;
    for (const char* id : {"op", "unit", "phase", "group", "elements", "bytes", "why"})
        table.header.push_back(context.text(std::string("cli.collectives.") + id));
    table.right = {false, false, false, false, true, true, false};
    std::vector<std::string> rules;
    for (const trace::Event& event : trace.ranks[static_cast<std::size_t>(rank)].events) {
        if (event.kind != trace::EventKind::collective || event.step != step) continue;
        const std::string rule(trace.text(event.rule));
        auto found = std::find(rules.begin(), rules.end(), rule);
        if (found == rules.end()) found = rules.insert(rules.end(), rule);
        const std::string ranks = ranks_text(trace.groups[static_cast<std::size_t>(event.group)].ranks);
        table.rows.push_back({std::string(name(event.op)), std::string(trace.text(event.unit)),
                              std::string(name(event.phase)), ranks,
                              std::to_string(event.in_elements) + " → " + std::to_string(event.out_elements),
                              tells_sent_bytes(event) ? std::to_string(event.sent_bytes) : "-",
                              "[" + std::to_string(found - rules.begin() + 1) + "]"});
    }
    print_table(table, context.out);
    context.out << '\n';
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const i18n::Rule rule = context.catalogue.rule(rules[i], context.language);
        print_wrapped(rule.sentence.empty() ? rules[i] : rule.sentence, "[" + std::to_string(i + 1) + "] ",
                      "    ", width, context.out);
        if (!rule.pytorch.empty())
            print_wrapped("PyTorch: " + rule.pytorch, "    ", "      ", width, context.out);
    }
}

void print_memory(const trace::Trace& trace, const CommandContext& context) {
    Table table;
    for (const char* id : {"rank", "peak", "step", "cause"})
        table.header.push_back(context.text(std::string("cli.memory.") + id));
    table.right = {true, true, true, false};
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const memory::Peak peak = memory::peak(trace, static_cast<int32_t>(r));
        table.rows.push_back({std::to_string(r), std::to_string(peak.bytes), std::to_string(peak.step),
                              cause_words(peak, context)});
    }
    fold_rank_rows(table);
    print_table(table, context.out);
}

void tell_lesson(const Told& told, LessonVariants& variants, Answers& answers, int width,
                 const CommandContext& context) {
    const trace::TraceDatabase database(told.trace);
    const Fill fill = numbers_of(told, database, variants);
    const Part part{told, variants, fill, answers, width, context};
    print_heading(told.text.title, context, width);
    context.out << '\n';
    tell_section(part, told.text.goals, "goals");
    print_paragraphs(told.text.introduction, fill, width, context);
    tell_steps(part, database);
    tell_failure(part);
    tell_variant(part, told.text.to_break, "break", 'b');
    tell_variant(part, told.text.to_change, "change", 'c');
    tell_section(part, told.text.summary, "summary");
    if (!told.next.empty()) print_wrapped(told.next, "", "", width, context.out);
    if (!told.next.empty()) context.out << '\n';
    tell_record(part);
}

}  // namespace meshscope::cli
