#include "app/cli/lesson_variants.h"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "app/cli/lesson_print.h"
#include "app/cli/table.h"
#include "core/memory/ledger.h"

namespace meshscope::cli {
namespace {

/// The step whose figures are compared: 1, since step 0 may differ from all later ones, where both have it.
int32_t step_of(const trace::Trace& a, const trace::Trace& b) {
    return std::min(a.info.steps, b.info.steps) > 1 ? 1 : 0;
}

struct Figures {
    std::string ranks, collectives = "-", bytes = "-", peak = "-", loss = "-";
};

Figures figures_of(const trace::Trace& trace, int32_t step) {
    int64_t collectives = 0, bytes = 0;
    const bool recorded = trace.info.level != trace::Level::off;
    for (const trace::Event& event : trace.ranks.front().events) {
        if (event.kind != trace::EventKind::collective || event.step != step) continue;
        ++collectives;
        bytes += event.sent_bytes;
    }
    Figures figures{std::to_string(trace.info.world_size)};
    if (recorded) {
        figures.collectives = std::to_string(collectives);
        figures.bytes = std::to_string(bytes);
        figures.peak = std::to_string(memory::peak(trace, 0).bytes);
    }
    if (!trace.info.losses.empty()) {
        std::ostringstream loss;
        loss << trace.info.losses.back();
        figures.loss = loss.str();
    }
    return figures;
}

}  // namespace

const scenario::Variant* LessonVariants::find(const std::string& id) const {
    const auto& all = scenario_.variants;
    const auto found = std::ranges::find(all, id, &scenario::Variant::id);
    return found == all.end() ? nullptr : &*found;
}

const run::VariantRun& LessonVariants::run(const scenario::Variant& variant) {
    const auto found = done_.find(variant.id);
    return found != done_.end() ? found->second : done_.emplace(variant.id, run_(variant)).first->second;
}

std::string LessonVariants::number(const std::string& name) {
    const scenario::Variant* variant = find(scenario::variant_of(name));
    if (!variant) return "?";
    const auto& numbers = run(*variant).numbers;
    const auto found = numbers.find(name);
    return found == numbers.end() || found->second.error ? "?" : found->second.text;
}

void print_changes(const scenario::Variant& variant, const CommandContext& context) {
    for (const scenario::VariantChange& change : variant.changes) {
        const std::string words = change.value.empty()
                                      ? change.key + "  " + context.text("cli.lesson.taken_away")
                                      : change.key + " = " + change.value;
        context.out << "    " << context.styled(words, "36") << '\n';
    }
}

void print_variant_run(const run::VariantRun& run, const trace::Trace& lesson, const CommandContext& context,
                       int width) {
    if (run.problem) context.out << context.styled(context.text(*run.problem), "31") << '\n';
    if (run.failure) {
        context.out << context.text("cli.lesson.variant.ended") << '\n';
        print_error(run.failure, context, width);
    } else if (run.trace && !run.trace->ranks.empty()) {
        const int32_t compared = step_of(*run.trace, lesson);
        const Figures here = figures_of(*run.trace, compared), there = figures_of(lesson, compared);
        const std::vector<MessageArg> step{{"step", int64_t{compared}}};
        Table table;
        table.header = {"", context.text("cli.lesson.variant.column.lesson"),
                        context.text("cli.lesson.variant.column.run")};
        table.right = {false, true, true};
        const auto add = [&](const char* id, const std::string& a, const std::string& b) {
            table.rows.push_back({context.text(std::string("cli.lesson.variant.") + id, step), a, b});
        };
        add("ranks", there.ranks, here.ranks);
        add("collectives", there.collectives, here.collectives);
        add("bytes", there.bytes, here.bytes);
        add("peak", there.peak, here.peak);
        if (there.loss != "-" || here.loss != "-") add("loss", there.loss, here.loss);
        print_table(table, context.out);
    }
    context.out << '\n';
}

}  // namespace meshscope::cli
