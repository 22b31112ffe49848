#include "app/gui/view/memory_chart.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/format.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

/// Bytes of the categories that stand below one.
int64_t under(const MemoryColumn& c, MemoryCategory category) {
    int64_t sum = 0;
    for (const MemoryCategory below : kStackOrder) {
        if (below == category) break;
        sum += c.bytes[static_cast<std::size_t>(below)];
    }
    return sum;
}

}  // namespace

MemoryChart MemoryCharts::chart_of(int32_t rank, Rect box) const {
    MemoryChart c;
    c.box = box;
    c.rank = rank;
    const auto& all = step_.of(rank);
    const auto most = static_cast<std::size_t>(std::max(1.F, box.w / 3));
    c.columns = join_columns(all, most);
    c.each = all.size() <= most ? 1 : (all.size() + most - 1) / most;
    c.scale = box.h * 0.94F / static_cast<float>(std::max<int64_t>(1, step_.most));
    return c;
}

void MemoryCharts::back(const MemoryChart& c, int lines, bool numbers) {
    p_.layer = kBack;
    p_.rect(c.box, Token::panel, 4);
    const int64_t step = byte_step(std::max<int64_t>(1, step_.most), lines);
    for (int64_t b = step; static_cast<float>(b) * c.scale < c.box.h; b += step) {
        const float y = std::floor(c.box.y + c.box.h - static_cast<float>(b) * c.scale) + 0.5F;
        p_.line({c.box.x, y}, {c.box.x + c.box.w, y}, Token::line);
        if (!numbers) continue;
        p_.layer = kWords;
        p_.try_text(axis_bytes(b), {c.box.x - 10, y - p_.line_height(Face::mono_small) / 2}, Face::mono_small,
                    Token::mute, Align::right, {"axis"});
        p_.layer = kBack;
    }
}

void MemoryCharts::stacks(const MemoryChart& c) {
    p_.layer = kStacks;
    for (const MemoryCategory category : kStackOrder) {
        const auto k = static_cast<std::size_t>(category);
        // Neighbours of equal height and floor are one shape: fewer shapes, unbroken hatches.
        for (std::size_t i = 0; i < c.columns.size();) {
            const int64_t bytes = c.columns[i].bytes[k], floor = under(c.columns[i], category);
            std::size_t end = i + 1;
            while (end < c.columns.size() && c.columns[end].bytes[k] == bytes &&
                   under(c.columns[end], category) == floor)
                ++end;
            if (bytes > 0) {
                const float y1 = c.box.y + c.box.h - static_cast<float>(floor) * c.scale;
                const float h = static_cast<float>(bytes) * c.scale;
                auto& s = p_.rect({c.x(i), y1 - h, c.x(end) - c.x(i), h}, Token::grey, 0,
                                  {"stack", c.rank, static_cast<int64_t>(category)});
                style_category(s, category);
                if (h < 5) s.pattern = Fill::solid;
            }
            i = end;
        }
    }
    p_.line({c.box.x, c.box.y + c.box.h + 0.5F}, {c.box.x + c.box.w, c.box.y + c.box.h + 0.5F}, Token::line2);
    // The whole column answers to the pointer.
    p_.layer = kLines;
    for (std::size_t i = 0; i < c.columns.size(); ++i)
        p_.rect({c.x(i), c.box.y, c.x(i + 1) - c.x(i), c.box.h}, Token::none, 0,
                {"column", c.rank, c.columns[i].event});
}

// The column that an event of this step stands in.
std::optional<std::size_t> MemoryCharts::index_of(const MemoryChart& c, int32_t event) const {
    const auto& all = step_.of(c.rank);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].event == event) return i / c.each;
    return std::nullopt;
}

void MemoryCharts::cursor(const MemoryChart& c) {
    const auto now = event_at(in_.trace, in_.clock, in_.cursor, c.rank);
    if (!now) return;
    if (const auto i = index_of(c, now->event)) {
        // What is still to come is faint: while the cursor goes on, the memory grows.
        const float later = c.x(*i + 1), end = c.box.x + c.box.w;
        p_.layer = kVeil;
        if (later < end - 0.5F)
            p_.rect({later, c.box.y, end - later, c.box.h}, Token::panel, 0, {"future", c.rank}).fill_alpha =
                0.5F;
        p_.layer = kLines;
        const float x = (c.x(*i) + c.x(*i + 1)) / 2;
        p_.line({x, c.box.y}, {x, c.box.y + c.box.h}, Token::accent, 2).id = {"cursor"};
    }
}

void MemoryCharts::outline(const MemoryChart& c, std::size_t i, float width, float alpha, const Id& id) {
    p_.layer = kFlags;
    const float top = std::min(c.top(c.columns[i]), c.box.y + c.box.h - 6);
    p_.outline({c.x(i), top, std::max(3.F, c.x(i + 1) - c.x(i)), c.box.y + c.box.h - top}, Token::sel, width,
               0, id)
        .stroke_alpha = alpha;
}

// What a column is called, longest first: "AG net1", "F net1 linear", "relu". A phase's mark alone says
// too little to stand under a column.
std::vector<std::string> MemoryCharts::column_labels(int32_t rank, int32_t event) const {
    const auto& e = in_.trace.event(rank, event);
    const std::string unit(in_.trace.text(e.unit));
    if (e.kind == trace::EventKind::collective) {
        const std::string mark = op_mark(e.op);
        if (unit.empty()) return {mark};
        return {mark + " " + unit, mark};
    }
    auto choices = event_labels(p_, in_.trace, e);
    if (!(unit.empty() && in_.trace.text(e.name).empty())) choices.pop_back();
    return choices;
}

// White pole and pennant at the exact event, bytes and cause in it.
void MemoryCharts::flag(const MemoryChart& c, std::size_t peak) {
    const auto& column = c.columns[peak];
    const Id id{"peak", c.rank, column.event};
    const std::string bytes = format_exact_bytes(column.total);
    const auto& made_by = in_.trace.event(c.rank, column.event);
    const std::string cause = memory::what_text(in_.trace, made_by) + " " +
                              p_.say("view.phase." + std::string(name(made_by.phase)));
    const float h = p_.line_height(Face::body) + 4, y = c.box.y - h - 6;
    const float x = (c.x(peak) + c.x(peak + 1)) / 2;
    // A low chart has its rank's name beside the flag.
    const float right = in_.size.width - kPad - x, left = x - (c.box.h >= 150 ? kPad : c.box.x);
    const bool to_right = right >= left * 0.8F;
    const std::string words = p_.fit({p_.say("view.memory.peak", {arg("bytes", bytes), arg("cause", cause)}),
                                      p_.say("view.memory.peak.short", {arg("bytes", bytes)}), bytes},
                                     Face::body, std::max(right, left) - 32);
    p_.tell(p_.say("view.memory.peak", {arg("bytes", bytes), arg("cause", cause)}));
    p_.layer = kFlags;
    p_.line({x, y}, {x, c.top(column)}, Token::sel, 2).id = id;
    const float w = (words.empty() ? 16 : p_.width(words, Face::body) + 28) * (to_right ? 1.F : -1.F);
    const float notch = to_right ? -8.F : 8.F;
    const float far = x + w + notch;  // where the swallow-tail begins
    p_.rect({std::min(x, far), y, std::fabs(far - x), h}, Token::sel, 0, id);
    p_.polygon({{far, y}, {x + w, y}, {far, y + h / 2}}, Token::sel, id);
    p_.polygon({{far, y + h / 2}, {x + w, y + h}, {far, y + h}}, Token::sel, id);
    if (!words.empty()) {
        const float inner = std::fabs(w) - 18;
        p_.label({to_right ? x + 8 : x + w + 10, y, inner, h}, words, Face::body, Token::bg, Token::none, id);
    }
}

// Names of columns: fewer, but in words that tell them apart. First those that stand out, then
// communication, then the rest from the left; a mark joins each to its column.
void MemoryCharts::labels(const MemoryChart& c, std::size_t peak, std::optional<std::size_t> picked) {
    const float y = c.box.y + c.box.h + 6, line = p_.line_height(Face::caption);
    std::vector<std::string> said(c.columns.size());
    const auto before = [&](std::size_t i) {
        while (i > 0)
            if (!said[--i].empty()) return said[i];
        return std::string();
    };
    const auto put = [&](std::size_t i, Token colour) {
        if (!said[i].empty()) return;
        const float middle = (c.x(i) + c.x(i + 1)) / 2;
        for (const auto& words : column_labels(c.rank, c.columns[i].event)) {
            const float w = p_.width(words, Face::caption);
            if (w > std::max(92.F, c.x(i + 1) - c.x(i))) continue;
            // The same word once for neighbours: it holds until the next.
            if (words == before(i)) continue;
            const float x = std::clamp(middle - w / 2, c.box.x, std::max(c.box.x, c.box.x + c.box.w - w));
            if (!p_.is_free({x - 5, y, w + 10, line})) continue;
            p_.layer = kWords;
            p_.text(words, {x, y}, Face::caption, colour, Align::left,
                    {"column", c.rank, c.columns[i].event});
            said[i] = words;
            const float tx = std::floor(middle) + 0.5F;
            p_.layer = kLines;
            p_.line({tx, c.box.y + c.box.h}, {tx, c.box.y + c.box.h + 5}, colour);
            return;
        }
    };
    const auto collective = [&](std::size_t i) {
        return in_.trace.event(c.rank, c.columns[i].event).kind == trace::EventKind::collective;
    };
    put(peak, Token::text);
    if (picked) put(*picked, Token::text);
    for (std::size_t i = 0; i < c.columns.size(); ++i)
        if (collective(i)) put(i, Token::mute);
    for (std::size_t i = 0; i < c.columns.size(); ++i)
        if (!collective(i)) put(i, Token::mute);
}

}  // namespace meshscope::view
