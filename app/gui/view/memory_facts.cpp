#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {

Picture memory_facts(const Input& input, const MemoryOptions& options) {
    constexpr float kPad = 24;
    Painter p(input);
    const int32_t rank = focus_rank(input);
    const int32_t step =
        options.step >= -1 ? options.step : step_at(input.trace, input.clock, input.cursor.t_ns, input.memo);
    const auto columns = input.trace.ranks.empty() ? std::vector<MemoryColumn>{}
                                                   : memory_columns(input.trace, rank, step, input.memo);
    const float right = input.size.width - kPad, line = p.line_height(Face::caption);
    float y = 14;
    if (columns.empty()) {
        p.paragraph(p.say("view.memory.empty"), {kPad, y}, Face::body, Token::mute, right - kPad);
        return p.take();
    }
    const std::size_t peak = highest(columns);
    // The column that was chosen; else the one under the cursor; else, before the step's first, the peak.
    std::size_t shown = peak;
    const char* heading = "view.memory.why";
    const auto find = [&](int32_t event, const char* words) {
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (columns[i].event == event) {
                shown = i;
                if (i != peak) heading = words;
                return true;
            }
        return false;
    };
    const bool picked = input.selection.event && input.selection.event_rank == rank &&
                        find(*input.selection.event, "view.memory.here");
    if (!picked)
        if (const auto now = event_at(input.trace, input.clock, input.cursor, rank))
            find(now->event, "view.memory.now");
    const auto& column = columns[shown];
    const auto& event = input.trace.event(rank, column.event);
    const auto head = [&](const std::string& words, const std::string& note) {
        p.text(words, {kPad, y}, Face::caption, Token::mute);
        if (p.width(words, Face::caption) + p.width(note, Face::caption) + 16 <= right - kPad)
            p.text(note, {right, y}, Face::caption, Token::mute, Align::right);
        y += line + 4;
        p.line({kPad, y + 0.5F}, {right, y + 0.5F}, Token::line);
        y += 8;
        p.tell(words + " · " + note);
    };
    head(p.say(heading), "rank " + std::to_string(rank));
    const std::string cause =
        memory::what_text(input.trace, event) + " " + p.say("view.phase." + std::string(name(event.phase)));
    const std::string sentence =
        p.say(shown == peak ? "view.memory.cause" : "view.memory.at",
              {arg("rank", rank), arg("step", step), arg("cause", cause),
               arg("bytes", format_exact_bytes(column.total)),
               arg("below", format_exact_bytes(columns[peak].total - column.total))});
    p.tell(sentence);
    y = p.paragraph(sentence, {kPad, y}, Face::body, Token::soft, right - kPad, {"cause"}) + 16;
    head(p.say(shown == peak ? "view.memory.live.peak" : "view.memory.live"), p.say("view.memory.bytes"));

    const auto live = memory::live_at(input.trace, rank, column.changes);
    int64_t largest = 1, sum = 0;
    for (const auto& t : live) largest = std::max(largest, t.bytes);
    for (const auto& t : live) sum += t.bytes;
    const float number = p.width(format_count(std::max(sum, largest)), Face::mono_small);
    constexpr std::size_t kMost = 14;
    // Names go before bars: rows that all say "sharded parameters" tell nothing apart.
    float widest = 0;
    for (std::size_t i = 0; i < live.size() && i <= kMost; ++i)
        widest = std::max(widest, p.width(live[i].label, Face::caption));
    const float bar = std::clamp(right - kPad - number - 25 - widest, 24.F,
                                 std::min(110.F, (right - kPad) * 0.28F)),
                row = std::max(26.F, line + 4);
    const float label_x = kPad + bar + 12, label_w = right - number - 12 - label_x;
    int64_t rest = 0;
    for (std::size_t i = 0; i < live.size(); ++i) {
        const auto& t = live[i];
        const std::string category = p.say("view.memory." + std::string(name(t.category)));
        p.tell((t.label.empty() ? category : t.label) + "  " + format_exact_bytes(t.bytes));
        if (i >= kMost && live.size() > kMost + 1) {
            rest += t.bytes;
            continue;
        }
        const Id id{"tensor", static_cast<int64_t>(i)};
        auto& s = p.rect({kPad, y + row / 2 - 6,
                          std::max(3.F, bar * static_cast<float>(t.bytes) / static_cast<float>(largest)), 12},
                         Token::grey, 3, id);
        style_category(s, t.category);
        const std::string words = p.fit({t.label, category}, Face::caption, label_w);
        if (!words.empty())
            p.label({label_x, y, label_w, row}, words, Face::caption, Token::soft, Token::none, id,
                    Align::left);
        p.label({right - number, y, number, row}, format_count(t.bytes), Face::mono_small, Token::text,
                Token::none, id, Align::right);
        y += row;
    }
    if (rest > 0) {
        const std::string words =
            p.fit({p.say("view.memory.rest", {arg("tensors", static_cast<int64_t>(live.size() - kMost))})},
                  Face::caption, label_w + bar + 12);
        if (!words.empty())
            p.label({kPad, y, label_w + bar + 12, row}, words, Face::caption, Token::mute, Token::none, {},
                    Align::left);
        p.label({right - number, y, number, row}, format_count(rest), Face::mono_small, Token::soft,
                Token::none, {}, Align::right);
        y += row;
    }
    y += 4;
    p.line({kPad, y + 0.5F}, {right, y + 0.5F}, Token::line);
    y += 6;
    const std::string total = p.say("view.memory.sum");
    p.text(total, {kPad, y}, Face::body, Token::soft, Align::left, {"sum"});
    p.text(format_count(sum), {right, y}, Face::mono_small, Token::text, Align::right, {"sum"});
    p.tell(total + "  " + format_exact_bytes(sum));
    y += p.line_height(Face::body);
    // The host's memory is no part of the sum, nor of the stack.
    const int64_t away = column.bytes[static_cast<std::size_t>(MemoryCategory::offloaded)];
    if (away > 0) {
        const std::string words = p.say("view.memory.offloaded");
        y += 4;
        p.text(words, {kPad, y}, Face::caption, Token::mute, Align::left, {"offloaded"});
        p.text(format_count(away), {right, y}, Face::mono_small, Token::soft, Align::right, {"offloaded"});
        p.tell(words + "  " + format_exact_bytes(away));
        y += line;
    }
    Picture picture = p.take();
    picture.height = picture.content_height = std::max(input.size.height, y + 12);
    return picture;
}

}  // namespace meshscope::view
