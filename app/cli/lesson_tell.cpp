#include "app/cli/lesson_tell.h"

#include <algorithm>
#include <map>
#include <ostream>

#include "app/cli/run_command.h"
#include "app/cli/table.h"
#include "core/memory/ledger.h"
#include "core/scenario/evaluate.h"

namespace meshscope::cli {
namespace {

using scenario::Scenario;
using Numbers = std::map<std::string, scenario::Answer>;

const std::string& in_language(const scenario::Text& text, const CommandContext& context) {
    const bool zh = context.language == i18n::Language::zh;
    const std::string& wanted = zh ? text.zh : text.en;
    return wanted.empty() ? (zh ? text.en : text.zh) : wanted;
}

std::string with_numbers(const std::string& text, const Numbers& numbers) {
    return scenario::fill_numbers(text, [&](const std::string& id) {
        const auto found = numbers.find(id);
        return found == numbers.end() || found->second.error ? "?" : found->second.text;
    });
}

void print_wrapped(const std::string& text, const std::string& first, const std::string& rest, int width,
                   std::ostream& out) {
    bool begun = false;
    for (const std::string& line : wrap(text, width - display_width(rest))) {
        out << (begun ? rest : first) << line << '\n';
        begun = true;
    }
}

void print_paragraph(const scenario::Paragraph& paragraph, const Numbers& numbers, int width,
                     std::ostream& out) {
    std::string text;
    for (const scenario::Span& span : paragraph.spans)
        text += span.kind == scenario::SpanKind::code && !paragraph.code ? "`" + span.text + "`" : span.text;
    text = with_numbers(text, numbers);
    if (paragraph.code) {
        std::size_t from = 0;
        for (std::size_t end = 0; end != std::string::npos; from = end + 1) {
            end = text.find('\n', from);
            out << "    " << text.substr(from, end == std::string::npos ? end : end - from) << '\n';
        }
    } else {
        print_wrapped(text, paragraph.bullet ? "- " : "", paragraph.bullet ? "  " : "", width, out);
    }
    out << '\n';
}

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
    if (quiz.kind != "choice") return answer;
    const auto index = static_cast<std::size_t>(std::stoi(answer));
    if (index >= quiz.choices.size()) return answer;
    return std::to_string(index + 1) + ") " + in_language(quiz.choices[index].text, context);
}

/// Two tries; an empty line gives up. True when the answer was right.
bool ask(const Scenario::Quiz& quiz, const std::string& answer, std::istream& in,
         const CommandContext& context) {
    constexpr int kTries = 2;
    for (int t = 0; t < kTries; ++t) {
        context.out << context.text("cli.lesson.prompt." + quiz.kind) << " " << std::flush;
        std::string typed;
        if (!std::getline(in, typed) || typed.find_first_not_of(" \t\r") == std::string::npos) return false;
        const std::string given = from_typed(quiz, typed);
        if (scenario::is_right(quiz, answer, given)) {
            context.out << context.styled(context.text("cli.lesson.right"), "32") << '\n';
            return true;
        }
        context.out << context.styled(context.text("cli.lesson.wrong"), "33");
        if (const scenario::Text* hint = scenario::hint_for_answer(quiz, given))
            context.out << ' ' << in_language(*hint, context);
        context.out << '\n';
    }
    return false;
}

void tell_quiz(const Scenario::Quiz& quiz, const Numbers& numbers, const trace::TraceDatabase& database,
               const TellOptions& options, std::istream& in, const CommandContext& context) {
    const std::string head = context.styled("? ", "1");
    print_wrapped(with_numbers(in_language(quiz.question, context), numbers), head, "  ", options.width,
                  context.out);
    for (std::size_t i = 0; i < quiz.choices.size(); ++i)
        print_wrapped(in_language(quiz.choices[i].text, context), "  " + std::to_string(i + 1) + ") ",
                      "     ", options.width, context.out);
    const scenario::Answer answer = scenario::quiz_answer(quiz, database);
    if (answer.error) {
        context.out << context.text(*answer.error) << "\n\n";
        return;
    }
    const bool answered = options.ask && ask(quiz, answer.text, in, context);
    if (!answered)
        print_wrapped(context.text("cli.lesson.answer", {{"answer", as_shown(quiz, answer.text, context)}}),
                      "  ", "  ", options.width, context.out);
    const std::string reveal = with_numbers(in_language(quiz.reveal, context), numbers);
    if (!reveal.empty()) print_wrapped(reveal, "  ", "  ", options.width, context.out);
    context.out << '\n';
}

void heading(const std::string& words, const CommandContext& context) {
    context.out << context.styled(words, "1") << '\n';
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
        std::string ranks;
        for (const int32_t member : trace.groups[static_cast<std::size_t>(event.group)].ranks)
            ranks += (ranks.empty() ? "" : ", ") + std::to_string(member);
        table.rows.push_back(
            {std::string(name(event.op)), std::string(trace.text(event.unit)), std::string(name(event.phase)),
             ranks, std::to_string(event.in_elements) + " → " + std::to_string(event.out_elements),
             std::to_string(event.sent_bytes), "[" + std::to_string(found - rules.begin() + 1) + "]"});
    }
    print_table(table, context.out);
    context.out << '\n';
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const i18n::Rule rule = context.catalogue.rule(rules[i], context.language);
        print_wrapped(rule.sentence.empty() ? rules[i] : rule.sentence, "[" + std::to_string(i + 1) + "] ",
                      "    ", width, context.out);
        if (!rule.pytorch.empty()) context.out << "    PyTorch: " << rule.pytorch << '\n';
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
    print_table(table, context.out);
}

void tell_lesson(const Scenario& scenario, const scenario::LessonText& text, const trace::Trace& trace,
                 const TellOptions& options, std::istream& in, const CommandContext& context) {
    const trace::TraceDatabase database(trace);
    const Numbers numbers = scenario::read_numbers(scenario, database);
    std::ostream& out = context.out;
    heading(text.title, context);
    out << '\n';
    for (const auto& paragraph : text.introduction) print_paragraph(paragraph, numbers, options.width, out);
    for (std::size_t s = 0; s < text.steps.size(); ++s) {
        const scenario::LessonSection& step = text.steps[s];
        const std::string words = step.heading.empty() ? step.id : step.heading;
        heading(std::to_string(s + 1) + "/" + std::to_string(text.steps.size()) + "  " + words, context);
        for (const auto& paragraph : step.paragraphs) print_paragraph(paragraph, numbers, options.width, out);
        for (const Scenario::Quiz& quiz : scenario.quizzes)
            if (quiz.step == step.id) tell_quiz(quiz, numbers, database, options, in, context);
    }
    // Step 1 is the first that every later one repeats: step 0 of DDP still has its first buckets.
    const int32_t step = trace.info.steps > 1 ? 1 : 0;
    heading(context.text("cli.lesson.collectives", {{"rank", int64_t{0}}, {"step", int64_t{step}}}), context);
    print_collectives(trace, 0, step, context, options.width);
    out << '\n';
    if (!trace.info.losses.empty()) {
        heading(context.text("cli.lesson.losses"), context);
        print_losses(trace, context);
        out << '\n';
    }
    heading(context.text("cli.lesson.memory"), context);
    print_memory(trace, context);
}

}  // namespace meshscope::cli
