#include "app/gui/panels/rich_text.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>

#include "app/gui/panels/inline_text.h"
#include "app/gui/panels/set_text.h"
#include "app/gui/panels/views.h"
#include "core/base/kinds.h"

namespace meshscope::panels {
namespace {

/// Spans of several looks one after the other, lines breaking at the right edge; returns the y below.
float flow(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
           const std::vector<Span>& spans) {
    const float height = ui.line(Face::body);
    int links = 0;
    float below = y + height;
    for (const TextRun& piece : set_text(ui.measure, spans, w)) {
        const Span& span = spans[piece.span];
        const Token token = !span.link.empty()               ? Token::accent
                            : span.look == Span::Look::plain ? Token::soft
                                                             : Token::text;
        const Rect box{x + piece.x, y + static_cast<float>(piece.line) * height, piece.width, height};
        below = box.y + height;
        ui.text(box, piece.text, face_of(span), token);
        if (span.link.empty()) continue;
        for (float at = 0; at < box.w; at += 4) {
            const ImVec2 a = ui.px(Point{box.x + at, box.y + height - 3});
            ui.draw->AddRectFilled(a, {a.x + ui.px(2), a.y + std::max(1.0F, ui.px(1.2F))},
                                   ui.colour(Token::accent, 0.7F));
        }
        if (touch(ui, memory, id + "/" + std::to_string(links++), box).pressed) follow_link(ui, span.link);
    }
    return below;
}

std::vector<std::string> blocks(const std::string& text) {
    std::vector<std::string> out(1);
    size_t at = 0;
    while (at < text.size()) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (line.rfind("```", 0) == 0) {  // a block of code, kept as it is, is one block
            const size_t close = std::min(text.find("\n```", end), text.size());
            if (!out.back().empty()) out.emplace_back();
            out.back() = "```" + (end < close ? text.substr(end + 1, close - end - 1) : std::string());
            out.emplace_back();
            at = std::min(text.find('\n', close + 1), text.size()) + 1;
            continue;
        }
        if (line.rfind("|", 0) == 0) {  // the rows of a table are one block
            if (!out.back().empty() && out.back().front() != '|') out.emplace_back();
            out.back() += line + '\n';
            at = end + 1;
            if (at >= text.size() || text[at] != '|') out.emplace_back();
            continue;
        }
        const bool point = line.rfind("- ", 0) == 0;
        if ((line.empty() || point) && !out.back().empty()) out.emplace_back();
        if (!line.empty()) {
            if (!out.back().empty()) out.back() += ' ';
            out.back() += line;
        }
        at = end + 1;
    }
    if (out.back().empty()) out.pop_back();
    return out;
}

float code_block(Ui& ui, float x, float y, float w, const std::string& code) {
    const std::vector<std::string> lines = wrap(ui.measure, code, Face::mono_small, w - 24);
    const float step = 22, height = step * static_cast<float>(lines.size()) + 16;
    ui.fill({x, y, w, height}, Token::inset, 8);
    ui.outline({x, y, w, height}, Token::line, 8);
    float at = y + 8;
    for (const std::string& line : lines) {
        ui.text({x + 12, at, w - 24, step}, line, Face::mono_small, Token::soft);
        at += step;
    }
    return y + height;
}

/// The cells of the lines "| a | b |", as lesson_document writes them.
std::vector<std::vector<std::string>> table_cells(const std::string& block) {
    std::vector<std::vector<std::string>> rows(1);
    bool code = false;
    std::string cell;
    for (const char c : block) {
        if (c == '`') code = !code;
        if (c == '\n') {
            rows.emplace_back();
            cell.clear();
        } else if (c == '|' && !code) {
            if (!cell.empty()) rows.back().push_back(cell.substr(1, cell.size() - 2));
            cell.clear();
        } else {
            cell += c;
        }
    }
    if (rows.back().empty()) rows.pop_back();
    return rows;
}

constexpr float kColumnGap = 16;

/// How wide each column of a table is, its gap included: as its widest cell where all fit; else each at least
/// as its longest word, and what is left shared by what they would still need. None where not even the
/// longest words fit beside each other and `squeezed` is false.
std::vector<float> column_widths(Ui& ui, const std::vector<std::vector<std::string>>& rows, float w,
                                 bool squeezed) {
    std::vector<float> wanted(rows.front().size(), 0), least(rows.front().size(), 0);
    for (const auto& row : rows)
        for (size_t c = 0; c < row.size() && c < wanted.size(); ++c) {
            float wide = 0;
            for (const Span& span : parse_inline(row[c])) {
                wide += ui.width(span.text, face_of(span));
                for (const std::string& piece : break_pieces(span.text))
                    least[c] = std::max(least[c], ui.width(piece, face_of(span)) + 1);
            }
            wanted[c] = std::max(wanted[c], wide + 1);
        }
    // Chinese may break behind every character: a column still holds about three of them.
    constexpr float kNarrow = 44;
    for (size_t c = 0; c < wanted.size(); ++c) least[c] = std::max(least[c], std::min(wanted[c], kNarrow));
    const float room = w - kColumnGap * static_cast<float>(wanted.size() - 1);
    const float all = std::accumulate(wanted.begin(), wanted.end(), 0.0F);
    const float must = std::accumulate(least.begin(), least.end(), 0.0F);
    const float share = all > must ? std::clamp((room - must) / (all - must), 0.0F, 1.0F) : 0;
    if (must > room && !squeezed) return {};
    const float squeeze = std::min(1.0F, room / std::max(must, 1.0F));
    std::vector<float> widths;
    for (size_t c = 0; c < wanted.size(); ++c)
        widths.push_back((least[c] + (wanted[c] - least[c]) * share) * squeeze + kColumnGap);
    return widths;
}

/// One cell, wrapped; returns the y below it.
float table_cell(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
                 const std::string& cell, bool strong) {
    std::vector<Span> spans = parse_inline(cell);
    for (Span& span : spans)
        if (strong && span.look == Span::Look::plain) span.look = Span::Look::strong;
    return flow(ui, memory, id, x, y, w, spans);
}

/// A table too wide for its columns: row by row, the first cell above, each other one beside its column's
/// head.
float stacked_table(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
                    const std::vector<std::vector<std::string>>& rows) {
    const std::vector<std::string>& head = rows.front();
    std::vector<std::vector<std::string>> pairs;
    for (size_t r = 1; r < rows.size(); ++r)
        for (size_t c = 1; c < rows[r].size() && c < head.size(); ++c) pairs.push_back({head[c], rows[r][c]});
    if (pairs.empty()) return y;
    const std::vector<float> widths = column_widths(ui, pairs, w, true);
    for (size_t r = 1; r < rows.size(); ++r) {
        const std::string row_id = id + "." + std::to_string(r) + ".";
        // A bare number needs the head beside it: "stage 0".
        const std::string& first = rows[r].front();
        const bool bare = first.find_first_not_of("0123456789,") == std::string::npos;
        y = table_cell(ui, memory, row_id + "0", x, y, w, bare ? head.front() + " " + first : first, true);
        for (size_t c = 1; c < rows[r].size() && c < head.size(); ++c) {
            const std::string at = row_id + std::to_string(c);
            const float left = table_cell(ui, memory, at + "h", x, y, widths[0] - kColumnGap, head[c], false);
            const float right =
                table_cell(ui, memory, at, x + widths[0], y, widths[1] - kColumnGap, rows[r][c], false);
            y = std::max(left, right);
        }
        y += 4;
        ui.hairline(x, y, w);
        y += 4;
    }
    return y;
}

/// A table: its head, a line, its rows; words wrap within their cell.
float text_table(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
                 const std::string& block) {
    const auto rows = table_cells(block);
    const std::vector<float> widths = column_widths(ui, rows, w, rows.front().size() < 3);
    if (widths.empty()) return stacked_table(ui, memory, id, x, y, w, rows);
    for (size_t r = 0; r < rows.size(); ++r) {
        float left = x, below = y;
        for (size_t c = 0; c < rows[r].size() && c < widths.size(); ++c) {
            const std::string at = id + "." + std::to_string(r) + "." + std::to_string(c);
            below = std::max(below,
                             table_cell(ui, memory, at, left, y, widths[c] - kColumnGap, rows[r][c], r == 0));
            left += widths[c];
        }
        y = below + 4;
        ui.hairline(x, y, w);
        y += 4;
    }
    return y;
}

/// The next event of a rank after the cursor that `wanted` says yes to; from the beginning when none follows.
void go_to_event(Ui& ui, const std::function<bool(const trace::Event&)>& wanted) {
    const session::AppState& s = ui.state;
    const auto rank = static_cast<size_t>(std::max(0, s.selection.asking_rank));
    if (!s.document || rank >= s.document->trace->ranks.size()) return;
    const time::Clock& clock = *session::shown_clock(s);
    const trace::Event* first = nullptr;
    const trace::Event* next = nullptr;
    for (const trace::Event& event : s.document->trace->ranks[rank].events) {
        if (!wanted(event)) continue;
        if (first == nullptr) first = &event;
        if (next == nullptr && clock.events[rank][static_cast<size_t>(event.id)].begin_ns > s.cursor.t_ns)
            next = &event;
    }
    if (next == nullptr) next = first;
    if (next != nullptr) ui.act(session::SelectEvent{{static_cast<int32_t>(rank), next->id}, true});
}

/// The selected (or asking) rank's group along a mesh dim.
void select_group(Ui& ui, const std::string& mesh_dim) {
    if (!ui.state.document) return;
    const auto& groups = ui.state.document->trace->groups;
    for (size_t i = 0; i < groups.size(); ++i) {
        const auto& ranks = groups[i].ranks;
        if (groups[i].mesh_dim != mesh_dim) continue;
        if (std::find(ranks.begin(), ranks.end(), ui.state.selection.asking_rank) == ranks.end()) continue;
        ui.act(session::SelectGroup{static_cast<int32_t>(i)});
        return;
    }
}

/// "rank:1", and of several, "ranks:1,3", the first.
void go_to_rank(Ui& ui, const std::string& ranks) {
    ui.act(session::SelectRank{std::atoi(ranks.c_str())});
}

void go_to_unit(Ui& ui, const std::string& unit) {
    // A view of calls shows nothing else: it goes to those alone.
    const bool calls = view_of(ui.state.view).collectives_only;
    go_to_event(ui, [&](const trace::Event& e) {
        return ui.state.document->trace->text(e.unit) == unit &&
               (!calls || e.kind == trace::EventKind::collective);
    });
}

void go_to_call(Ui& ui, const std::string& op) {
    go_to_event(ui, [&](const trace::Event& e) {
        return e.kind == trace::EventKind::collective && name(e.op) == op;
    });
}

void go_to_step(Ui& ui, const std::string& id) {
    if (!ui.state.document) return;
    const auto& steps = ui.state.document->steps;
    for (size_t i = 0; i < steps.size(); ++i)
        if (steps[i].id == id) ui.act(session::GoToLessonStep{static_cast<int32_t>(i)});
}

void go_to_view(Ui& ui, const std::string& word) {
    ui.act(session::SetView{view::view_named(word).value_or(view::ViewKind::mesh)});
}

void show_slice(Ui& ui, const std::string& slice) {
    ui.act(session::SetSlice{slice});
}

/// Where a link of a lesson's text leads, "KIND:WHAT".
struct LinkKind {
    std::string_view word;
    void (*follow)(Ui& ui, const std::string& what);
};
constexpr LinkKind kLinks[] = {{"rank", go_to_rank}, {"ranks", go_to_rank}, {"dim", select_group},
                               {"unit", go_to_unit}, {"event", go_to_call}, {"step", go_to_step},
                               {"view", go_to_view}, {"slice", show_slice}};

}  // namespace

float rich_text(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
                const std::string& text) {
    int index = 0;
    for (std::string block : blocks(text)) {
        if (block.rfind("```", 0) == 0) {
            y = code_block(ui, x, y, w, block.substr(3)) + 10;
            continue;
        }
        if (block.front() == '|') {
            y = text_table(ui, memory, id + "." + std::to_string(index++), x, y, w, block) + 6;
            continue;
        }
        float left = x;
        if (block.rfind("- ", 0) == 0) {
            block = block.substr(2);
            ui.draw->AddCircleFilled(ui.px(Point{x + 5, y + ui.line(Face::body) / 2}), ui.px(2.5F),
                                     ui.colour(Token::mute));
            left += 16;
        }
        y = flow(ui, memory, id + "." + std::to_string(index++), left, y, w - (left - x),
                 parse_inline(block)) +
            10;
    }
    return y - 10;
}

void follow_link(Ui& ui, const std::string& link) {
    const size_t colon = link.find(':');
    const auto kind = std::ranges::find(kLinks, link.substr(0, colon), &LinkKind::word);
    if (kind != std::end(kLinks)) kind->follow(ui, colon == std::string::npos ? "" : link.substr(colon + 1));
}

}  // namespace meshscope::panels
