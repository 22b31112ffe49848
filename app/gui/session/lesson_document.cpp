#include "app/gui/session/lesson_document.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <vector>

#include "app/gui/session/run_traits.h"
#include "core/base/error.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/lesson.h"
#include "core/trace/query.h"
#include "core/trace/simulated.h"

namespace meshscope::session {
namespace {

using scenario::Scenario;

/// Asks the trace; every number of a lesson once.
class Numbers {
  public:
    Numbers(const trace::Trace& trace, const Scenario& scenario,
            const std::map<std::string, std::string>& variants)
        : database_(trace), values_(variants) {
        for (const auto& [id, number] : scenario::read_numbers(scenario, trace, database_)) {
            // A number that a run that was stopped has not is left blank.
            if (number.error && number.error->id != "scenario.number_empty")
                throw InvalidArgument(*number.error);
            values_[id] = number.text;
        }
    }

    std::string fill(const std::string& text) const {
        return scenario::fill_numbers(text, [&](const std::string& id) {
            const auto found = values_.find(id);
            return found != values_.end() ? found->second : "{{" + id + "}}";
        });
    }
    Text fill(const Text& text) const { return {fill(text.en), fill(text.zh)}; }

    std::string answer(const std::string& sql) const { return trace::to_text(database_.value(sql)); }

    const trace::TraceDatabase& database() const { return database_; }

  private:
    trace::TraceDatabase database_;
    std::map<std::string, std::string> values_;
};

/// "rank, id, part", "rank, id", or "id" of rank 0; `part` is left as it was where it is not given.
std::optional<view::EventRef> event_of(const trace::TraceDatabase& database, const std::string& sql,
                                       double& part) {
    if (sql.empty()) return {};
    const trace::QueryResult result = database.query(sql);
    if (result.rows.empty()) return {};
    const auto whole = [&](size_t column) {
        const auto* value = std::get_if<int64_t>(&result.rows[0][column]);
        return value != nullptr ? static_cast<int32_t>(*value) : -1;
    };
    if (result.columns.size() > 2)
        part = std::clamp(std::atof(trace::to_text(result.rows[0][2]).c_str()), 0.0, 1.0);
    return result.columns.size() > 1 ? view::EventRef{whole(0), whole(1)} : view::EventRef{0, whole(0)};
}

std::string marked(const scenario::Span& span) {
    switch (span.kind) {
        case scenario::SpanKind::words:
            return span.text;
        case scenario::SpanKind::code:
            return "`" + span.text + "`";
        case scenario::SpanKind::strong:
            return "**" + span.text + "**";
        case scenario::SpanKind::link:
            return "[" + span.text + "](" + span.link_kind + ":" + span.link_target + ")";
    }
    return span.text;
}

/// "| a | b |" lines, the head first.
std::string marked(const std::vector<scenario::TableRow>& rows) {
    std::string text;
    for (const scenario::TableRow& row : rows) {
        text += text.empty() ? "|" : "\n|";
        for (const std::vector<scenario::Span>& cell : row) {
            text += ' ';
            for (const scenario::Span& span : cell) text += marked(span);
            text += " |";
        }
    }
    return text;
}

std::string marked(const std::vector<scenario::Paragraph>& paragraphs) {
    std::string text;
    for (const scenario::Paragraph& paragraph : paragraphs) {
        if (!text.empty()) text += "\n\n";
        if (paragraph.code) {
            text += "```\n";
            for (const scenario::Span& span : paragraph.spans) text += span.text;
            text += "\n```";
            continue;
        }
        text += marked(paragraph.rows);
        if (paragraph.bullet) text += "- ";
        for (const scenario::Span& span : paragraph.spans) text += marked(span);
    }
    return text;
}

const scenario::LessonSection* section(const scenario::LessonText& text, const std::string& id) {
    for (const scenario::LessonSection& found : text.steps) {
        if (found.id == id) return &found;
    }
    return nullptr;
}

/// A trace that holds nothing but a mesh.
std::shared_ptr<const trace::Trace> mesh_alone(const mesh::Shape& shape, const mesh::Names& names) {
    auto made = std::make_shared<trace::Trace>();
    made->strings = {""};
    trace::RunInfo& info = made->info;
    info.mesh_shape = shape;
    info.mesh_names = names;
    const auto size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    info.world_size = static_cast<int32_t>(size);
    info.mesh_ranks.resize(static_cast<size_t>(size));
    std::iota(info.mesh_ranks.begin(), info.mesh_ranks.end(), 0);
    info.node_of_rank.assign(static_cast<size_t>(size), 0);
    made->ranks.resize(static_cast<size_t>(size));
    return made;
}

bool exists(const trace::Trace& trace, const view::EventRef& ref) {
    return ref.rank >= 0 && ref.rank < static_cast<int32_t>(trace.ranks.size()) && ref.event >= 0 &&
           ref.event < static_cast<int32_t>(trace.ranks[static_cast<size_t>(ref.rank)].events.size());
}

void add_part(std::vector<LessonSection>& to, const char* id, const scenario::LessonSection& en,
              const scenario::LessonSection& zh, const Numbers& numbers) {
    if (en.line == 0 && zh.line == 0) return;
    to.push_back({id,
                  {en.heading, zh.heading},
                  {numbers.fill(marked(en.paragraphs)), numbers.fill(marked(zh.paragraphs))}});
}

/// What stands above the first step.
void add_parts(Document& document, const scenario::LessonText& en, const scenario::LessonText& zh,
               const Numbers& numbers) {
    add_part(document.before, "goals", en.goals, zh.goals, numbers);
    if (!en.introduction.empty() || !zh.introduction.empty())
        document.before.push_back(
            {"introduction",
             {},
             {numbers.fill(marked(en.introduction)), numbers.fill(marked(zh.introduction))}});
}

struct LastStep {
    const char* part;
    scenario::LessonSection scenario::LessonText::*section;
};
constexpr LastStep kLastSteps[] = {{"break", &scenario::LessonText::to_break},
                                   {"change", &scenario::LessonText::to_change},
                                   {"summary", &scenario::LessonText::summary}};

/// What to break, what to change and the summary: steps of their own, beside the last step's picture.
void add_last_steps(Document& document, const scenario::LessonText& en, const scenario::LessonText& zh,
                    const Numbers& numbers) {
    for (const LastStep& each : kLastSteps) {
        const scenario::LessonSection &in_en = en.*each.section, &in_zh = zh.*each.section;
        if (in_en.line == 0 && in_zh.line == 0) continue;
        LessonStep step = document.steps.back();
        step.id = step.part = each.part;
        step.title = {in_en.heading, in_zh.heading};
        step.body = {numbers.fill(marked(in_en.paragraphs)), numbers.fill(marked(in_zh.paragraphs))};
        document.steps.push_back(std::move(step));
    }
}

std::vector<FailedCheck> checks_that_fail(const Scenario& scenario, const trace::TraceDatabase& database) {
    std::vector<FailedCheck> failed;
    for (const scenario::CheckResult& check : scenario::run_checks(scenario, database)) {
        if (check.passed) continue;
        const bool titled = !check.title.en.empty() || !check.title.zh.empty();
        failed.push_back({titled ? Text{check.title.en, check.title.zh} : Text{check.id, check.id},
                          check.error ? *check.error : Message{"cli.check.value", {{"value", check.value}}}});
    }
    return failed;
}

void add_lesson(Document& document, const Scenario& scenario,
                const std::map<std::string, std::string>& variants) {
    if (scenario.steps_of_lesson.empty()) {
        document.failed_checks = failed_checks(scenario, *document.trace);
        return;
    }
    const scenario::LessonText en = scenario::read_lesson(scenario.folder, "en");
    const scenario::LessonText zh = scenario::read_lesson(scenario.folder, "zh");
    document.title = {en.title, zh.title};
    const Numbers numbers(*document.trace, scenario, variants);
    add_parts(document, en, zh, numbers);
    for (const Scenario::LessonStep& from : scenario.steps_of_lesson) {
        LessonStep step;
        step.id = from.id;
        if (const auto* s = section(en, from.id)) {
            step.title.en = s->heading.empty() ? en.title : s->heading;
            step.body.en = numbers.fill(marked(s->paragraphs));
        }
        if (const auto* s = section(zh, from.id)) {
            step.title.zh = s->heading.empty() ? zh.title : s->heading;
            step.body.zh = numbers.fill(marked(s->paragraphs));
        }
        step.view = view::view_named(from.view).value_or(view::ViewKind::mesh);
        step.form = view::form_named(from.form);
        step.at = event_of(numbers.database(), from.at, step.at_part);
        if (step.at && !exists(*document.trace, *step.at)) step.at.reset();
        step.slice = from.slice;
        step.rank = from.rank;
        if (!from.mesh_shape.empty()) step.mesh = mesh_alone(from.mesh_shape, from.mesh_names);
        document.steps.push_back(std::move(step));
    }
    add_last_steps(document, en, zh, numbers);
    if (document.trace->info.failure.empty())
        document.failed_checks = checks_that_fail(scenario, numbers.database());
    for (const Scenario::Quiz& from : scenario.quizzes) {
        QuizCard quiz;
        quiz.id = from.id;
        quiz.step = from.step;
        quiz.kind = from.kind;
        quiz.question = numbers.fill(from.question);
        for (const Scenario::Choice& choice : from.choices) {
            quiz.choices.push_back({numbers.fill(choice.text), numbers.fill(choice.hint)});
        }
        // A choice may do without SQL: the right one is marked.
        quiz.answer = from.answer.empty() ? scenario::quiz_answer(from, numbers.database()).text
                                          : numbers.answer(from.answer);
        quiz.tolerance = from.tolerance;
        if (from.kind == "number") quiz.asked = session::asked_by(from.answer);
        for (const Scenario::Quiz::Hint& hint : from.hints)
            quiz.hints.push_back({hint.when, numbers.fill(hint.text)});
        quiz.reveal = numbers.fill(from.reveal);
        document.quizzes.push_back(std::move(quiz));
    }
}

/// The scenario that a record was made from; nothing where it does not say, or is of another version.
std::optional<Scenario> scenario_of(const trace::RunInfo& info) {
    if (info.scenario.empty()) return {};
    try {
        return scenario::parse_scenario(info.scenario, info.scenario_path);
    } catch (const Error&) {
        return {};  // what it recorded is shown all the same
    }
}

}  // namespace

int32_t steps_after(const scenario::LessonText& en, const scenario::LessonText& zh) {
    return static_cast<int32_t>(std::ranges::count_if(kLastSteps, [&](const LastStep& each) {
        return (en.*each.section).line > 0 || (zh.*each.section).line > 0;
    }));
}

void set_clocks(Document& document) {
    const trace::Trace& trace = *document.trace;
    document.modelled =
        time::modelled(trace, document.hardware,
                       trace::is_dry(trace.info) ? time::Absent::as_present : time::Absent::refused);
    document.measured = trace::is_measured(trace.info) ? time::measured(trace) : document.modelled;
}

std::vector<FailedCheck> failed_checks(const Scenario& scenario, const trace::Trace& trace) {
    if (scenario.checks.empty() || !trace.info.failure.empty()) return {};
    return checks_that_fail(scenario, trace::TraceDatabase(trace));
}

void show_run(LessonStep& step, const std::string& at, std::shared_ptr<const Document> run) {
    step.run_at.reset();
    step.run_at_part = 0.5;
    if (!at.empty()) step.run_at = event_of(trace::TraceDatabase(*run->trace), at, step.run_at_part);
    if (step.run_at && !exists(*run->trace, *step.run_at)) step.run_at.reset();
    step.run = std::move(run);
}

std::shared_ptr<const Document> make_document(std::shared_ptr<const trace::Trace> trace, std::string name,
                                              const Scenario* scenario,
                                              const std::map<std::string, std::string>& variants,
                                              const time::Profile* hardware) {
    auto document = std::make_shared<Document>();
    document->name = std::move(name);
    document->title = {trace->info.title_en, trace->info.title_zh};
    std::optional<Scenario> read;
    if (scenario == nullptr) read = scenario_of(trace->info);
    const Scenario* const of = read ? &*read : scenario;
    if (hardware != nullptr)
        document->hardware = *hardware;
    else if (of != nullptr)
        document->hardware = of->hardware;
    document->trace = std::move(trace);
    set_clocks(*document);
    const bool trains = of != nullptr && of->calls.empty();
    document->end = view::run_end(*document->trace, trains ? of->steps : -1);
    if (document->end) document->end->has_faults = of != nullptr && !of->faults.empty();
    document->traits = run_traits(document->trace->info, of);
    document->eager_kernels = of != nullptr && of->ops.ops != nn::Ops::fused;
    if (of != nullptr && of->parallel.pipeline.shape) {
        document->schedule = parallel::pipeline::name(of->parallel.pipeline.shape->kind);
        document->order = sandbox::PipelineOrder::of(*of);
    }
    if (scenario != nullptr) add_lesson(*document, *scenario, variants);
    document->end_is_taught = !document->steps.empty() && !scenario->faults.empty();
    return document;
}

}  // namespace meshscope::session
