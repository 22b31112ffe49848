#include "app/cli/schedule_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

namespace meshscope::cli {
namespace {

using namespace parallel::pipeline;

constexpr int64_t kLineWidth = 110;  ///< of time; ranks' names stand before it

/// One column of time: what a rank does in it. Columns of one action share its number.
struct Cell {
    ActionKind kind = ActionKind::forward;
    std::string text;     ///< "0F3", or "F3" where a rank has one stage
    int64_t action = -1;  ///< -1: idle
    int64_t of = 1;       ///< how many columns the action has
    int64_t at = 0;       ///< and which of them this is
};

std::string short_text(const Action& action, bool with_stage) {
    return (with_stage ? std::to_string(action.stage) : "") + std::string(word(action.kind)) +
           std::to_string(action.microbatch);
}

/// A rank's whole line, in columns.
std::vector<Cell> cells_of(const std::vector<Span>& spans, int64_t columns, bool with_stage) {
    std::vector<Cell> cells(static_cast<std::size_t>(columns));
    int64_t number = 0;
    const Durations durations;
    for (const Span& span : spans) {
        int64_t at = std::llround(span.begin);
        for (const Action& part : span.action.parts.empty() ? std::vector{span.action} : span.action.parts) {
            const int64_t length = std::llround(durations.of(part));
            for (int64_t i = 0; i < length; ++i, ++at)
                cells[static_cast<std::size_t>(at)] = {part.kind, short_text(part, with_stage), number,
                                                       length, i};
            ++number;
        }
    }
    return cells;
}

const char* colour_of(ActionKind kind) {
    switch (kind) {
        case ActionKind::forward:
            return "34";  // blue
        case ActionKind::weight_grad:
            return "33";  // yellow
        case ActionKind::input_grad:
            return "36";  // cyan
        default:
            return "32";  // green
    }
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

/// Columns [first, last) of one rank. `width` characters a column, the last one a gap.
std::string line_of(const std::vector<Cell>& cells, int64_t first, int64_t last, std::size_t width,
                    const CommandContext& context) {
    std::string line;
    for (int64_t column = first; column < last;) {
        const Cell& cell = cells[static_cast<std::size_t>(column)];
        if (cell.action < 0) {
            line += context.styled(padded("·", width + 1), "2");  // the dot has two bytes
            ++column;
            continue;
        }
        // A two column action that is cut by the line's end begins again on the next.
        const int64_t here = std::min(cell.of - cell.at, last - column);
        const std::size_t room = static_cast<std::size_t>(here) * width;
        const std::string body =
            here > 1 ? cell.text + std::string(room - 1 - cell.text.size(), '-') : cell.text;
        line += context.styled(body, colour_of(cell.kind)) + std::string(room - body.size(), ' ');
        column += here;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
    return text;
}

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

void print_legend(const Timeline& timeline, const CommandContext& context) {
    std::vector<bool> used(kActionKinds, false);
    for (const auto& rank : timeline.ranks)
        for (const Span& span : rank) {
            if (span.action.parts.empty()) used[static_cast<std::size_t>(span.action.kind)] = true;
            for (const Action& part : span.action.parts) used[static_cast<std::size_t>(part.kind)] = true;
        }
    const auto entry = [&](ActionKind kind, const char* id) {
        if (!used[static_cast<std::size_t>(kind)]) return;
        context.out << "  " << context.styled(padded(std::string(word(kind)), 3), colour_of(kind))
                    << context.text(id) << '\n';
    };
    entry(ActionKind::forward, "cli.schedule.legend.forward");
    entry(ActionKind::backward, "cli.schedule.legend.backward");
    entry(ActionKind::input_grad, "cli.schedule.legend.input");
    entry(ActionKind::weight_grad, "cli.schedule.legend.weight");
    context.out << "  " << context.styled("·", "2") << "  " << context.text("cli.schedule.legend.idle")
                << '\n';
}

}  // namespace

void draw_schedule(const Schedule& schedule, const std::string& name, const Timeline& timeline,
                   const CommandContext& context) {
    const ScheduleShape& shape = schedule.shape;
    const bool with_stage = shape.stages_per_rank > 1;
    const int64_t columns = std::llround(timeline.makespan);
    std::vector<std::vector<Cell>> lines;
    std::size_t width = 2;
    for (const auto& spans : timeline.ranks) {
        lines.push_back(cells_of(spans, columns, with_stage));
        for (const Cell& cell : lines.back()) width = std::max(width, cell.text.size() + 1);
    }
    context.out << context.styled(name, "1") << "  "
                << context.text("cli.schedule.size", {{"ranks", int64_t{shape.ranks}},
                                                      {"stages", int64_t{shape.stages()}},
                                                      {"microbatches", int64_t{shape.microbatches}}})
                << "\n\n";
    const int64_t in_line = std::max<int64_t>(2, kLineWidth / static_cast<int64_t>(width));
    const std::size_t name_width = std::to_string(shape.ranks - 1).size() + 7;
    for (int64_t first = 0; first < columns; first += in_line) {
        const int64_t last = std::min(columns, first + in_line);
        for (std::size_t rank = 0; rank < lines.size(); ++rank)
            context.out << padded("rank " + std::to_string(rank), name_width)
                        << line_of(lines[rank], first, last, width, context) << '\n';
        context.out << '\n';
    }
    print_legend(timeline, context);
    const double work = timeline.makespan * (1 - timeline.bubble_share);
    context.out << '\n'
                << context.text("cli.schedule.figures", {{"makespan", number_text(timeline.makespan)},
                                                         {"work", number_text(std::round(work * 1e6) / 1e6)},
                                                         {"share", percent(timeline.bubble_share)}})
                << '\n';
}

}  // namespace meshscope::cli
