#include "app/gui/view/memory_view.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_chart.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

constexpr float kPad = MemoryCharts::kPad, kSmallest = 40, kSmall = 62, kSmallGap = 22, kLeastBig = 150;
constexpr std::size_t kMostRows = 48;  // below each other; more unequal ranks are told as a number

class Memory {
  public:
    Memory(const Input& input, const MemoryOptions& options)
        : in_(input), p_(input), focus_(focus_rank(input)), low_(input.size.height < 320) {
        step_ = options.step >= -1 ? options.step
                                   : step_at(input.trace, input.clock, input.cursor.t_ns, input.memo);
        memory_ = memory_step(input.trace, step_, input.memo);
        if (count() == 0 || !memory_->of(focus_).empty()) return;
        // The chosen rank did not come so far: another that did is drawn in its place, and that is said.
        for (int32_t rank = 0; rank < count(); ++rank)
            if (!memory_->of(rank).empty()) {
                absent_ = std::exchange(focus_, rank);
                break;
            }
    }

    Picture draw() {
        float y = header();
        if (count() == 0 || memory_->of(focus_).empty()) {
            p_.paragraph(p_.say(no_memory(in_.trace)), {kPad, y + 12}, Face::body, Token::mute,
                         in_.size.width - 2 * kPad);
            return p_.take();
        }
        if (absent_) {
            const std::string words = p_.say("view.memory.absent", {arg("rank", *absent_)});
            p_.tell(words);
            y = p_.paragraph(words, {kPad, y}, Face::body, Token::mute, in_.size.width - 2 * kPad) + 6;
        }
        charts_.emplace(in_, p_, *memory_);
        const auto others = rows();
        float names = p_.width("rank " + std::to_string(count() - 1), Face::body);
        for (const auto& row : others) names = std::max(names, p_.width(row_name(row), Face::body));
        gutter_ = kPad + 12 +
                  std::max(std::min(names, in_.size.width * 0.2F),
                           p_.width(axis_bytes(byte_step(std::max<int64_t>(1, memory_->most), 4) * 4),
                                    Face::mono_small));
        const float words = p_.line_height(Face::caption) + 6;
        const float flag = p_.line_height(Face::body) + (low_ ? 10.F : 14.F);
        const float left = in_.size.height - y - flag - words - (low_ ? 4.F : 16.F);
        // The chosen rank takes what the small ones leave, at least half. Where that is too low to read it
        // takes the whole height, and the others are below: the panel scrolls.
        const auto count = static_cast<float>(others.size());
        float big = std::max(left * 0.46F, left - count * (kSmall + kSmallGap));
        small_ = std::clamp((left - big) / std::max(1.F, count) - kSmallGap, kSmallest, kSmall);
        const bool all_fit =
            count == 0 || (big >= kLeastBig && big + count * (small_ + kSmallGap) <= left + 1);
        if (!all_fit) {
            // The first row below still shows its flag, so that it is seen that there is more.
            const float peek = low_ ? 0.F : kSmallGap + 20;
            small_ = kSmall;
            big = std::max(left * 0.46F, std::min(left - peek, 420.F));
            if (big < kLeastBig) big = std::max(40.F, left);
        }
        p_.grow();
        const Rect chart{gutter_, y + flag, in_.size.width - kPad - gutter_, std::max(40.F, big)};
        main_chart(chart);
        const float end = small_charts(others, chart.y + chart.h + words + (low_ ? 2.F : 8.F));
        const float line = p_.line_height(Face::caption);
        const std::string marks = p_.fit({p_.say("view.memory.columns")}, Face::caption, chart.w);
        if (!marks.empty() && end + line <= in_.size.height)
            p_.text(marks, {gutter_, in_.size.height - line - 4}, Face::caption, Token::mute);
        tell();
        return p_.take(end);
    }

  private:
    struct Row {
        std::vector<int32_t> ranks;  // with equal columns; the first is drawn
    };

    float header() {
        p_.layer = kWords;
        float y = low_ ? 6.F : 10.F;
        const std::string title = p_.say(step_ < 0 ? (low_ ? "view.phase.setup" : "view.memory.title.setup")
                                                   : (low_ ? "view.step" : "view.memory.title"),
                                         {arg("step", step_)});
        p_.text(title, {kPad, y}, Face::title, Token::text);
        p_.tell(title);
        float x = kPad + p_.width(title, Face::title) + 32;
        const float line = p_.line_height(Face::caption);
        float ly = y + (p_.line_height(Face::title) - line) / 2;
        bool wrapped = false;
        for (auto c = kStackOrder.rbegin(); c != kStackOrder.rend(); ++c) {
            if (!present(*c)) continue;
            const std::string words = p_.say("view.memory." + std::string(name(*c)));
            const float w = 22 + p_.width(words, Face::caption) + 18;
            if (x + w - 18 > in_.size.width - kPad) {
                x = kPad;
                ly = wrapped ? ly + line + 2 : y + p_.line_height(Face::title) + 4;
                wrapped = true;
            }
            const Id id{"category", static_cast<int64_t>(*c)};
            auto& box = p_.rect({x, ly + line / 2 - 7, 14, 14}, Token::grey, 3, id);
            style_category(box, *c);
            p_.text(words, {x + 22, ly}, Face::caption, Token::soft, Align::left, id);
            x += w;
        }
        return (wrapped ? ly + line : y + p_.line_height(Face::title)) + (low_ ? 2.F : 8.F);
    }

    int32_t count() const { return static_cast<int32_t>(memory_->kind.size()); }
    bool present(MemoryCategory c) const { return memory_->present[static_cast<std::size_t>(c)]; }

    // The other ranks, one row each while they fit; else those with equal memory share a row, told as one.
    std::vector<Row> rows() const {
        std::vector<Row> out;
        for (int32_t r = 0; r < count(); ++r)
            if (r != focus_) out.push_back({{r}});
        if (static_cast<float>(out.size()) * (kSmallest + kSmallGap) <= in_.size.height * 0.42F) return out;
        std::vector<Row> folded;
        std::map<int32_t, std::size_t> place;  // of a look, in `folded`
        for (const auto& row : out) {
            const auto [at, is_new] = place.try_emplace(memory_->look(row.ranks[0]), folded.size());
            if (is_new)
                folded.push_back(row);
            else
                folded[at->second].ranks.push_back(row.ranks[0]);
        }
        return folded;
    }
    // "rank 1", "rank 0–3", "rank 0 +6".
    static std::string row_name(const Row& row) {
        const std::string first = "rank " + std::to_string(row.ranks[0]);
        if (row.ranks.size() == 1) return first;
        const bool run = row.ranks.back() - row.ranks[0] + 1 == static_cast<int32_t>(row.ranks.size());
        return run ? first + "–" + std::to_string(row.ranks.back())
                   : first + " +" + std::to_string(row.ranks.size() - 1);
    }

    void main_chart(Rect box) {
        const MemoryChart c = charts_->chart_of(focus_, box);
        p_.layer = kWords;
        // Low charts need their whole left side for the axis: the name stands above it.
        const float name_y = box.h >= 150 ? box.y : box.y - p_.line_height(Face::body) - 2;
        p_.text("rank " + std::to_string(focus_), {kPad, name_y}, Face::body, Token::text, Align::left,
                {"rank", focus_});
        charts_->back(c, box.h > 160 ? 4 : 3, true);
        charts_->stacks(c);
        charts_->cursor(c);
        const std::size_t peak = highest(c.columns);
        std::optional<std::size_t> picked;
        if (in_.selection.event && in_.selection.event_rank == focus_)
            picked = charts_->index_of(c, *in_.selection.event);
        const bool other = picked && *picked != peak;
        charts_->outline(c, peak, other ? 1 : 2, other ? 0.6F : 1, {"peak", focus_, c.columns[peak].event});
        if (other) charts_->outline(c, *picked, 2, 1, {"column", focus_, c.columns[*picked].event});
        charts_->flag(c, peak);
        charts_->labels(c, peak, picked);
    }

    // Gives the y below the last row.
    float small_charts(const std::vector<Row>& others, float y) {
        for (std::size_t k = 0; k < others.size() && k < kMostRows; ++k) {
            small_chart(others[k], {gutter_, y + kSmallGap, in_.size.width - kPad - gutter_, small_});
            y += kSmallGap + small_;
        }
        if (others.size() > kMostRows) {
            std::size_t ranks = 0;
            for (std::size_t i = kMostRows; i < others.size(); ++i) ranks += others[i].ranks.size();
            p_.layer = kWords;
            p_.text(p_.say("view.memory.more", {arg("ranks", static_cast<int64_t>(ranks))}), {kPad, y + 8},
                    Face::caption, Token::mute);
            y += 8 + p_.line_height(Face::caption);
        }
        return y + 8;
    }

    void small_chart(const Row& row, Rect box) {
        const MemoryChart c = charts_->chart_of(row.ranks[0], box);
        if (c.columns.empty()) return;
        p_.layer = kWords;
        const std::string words =
            p_.fit({row_name(row), "rank " + std::to_string(row.ranks[0])}, Face::body, gutter_ - kPad - 4);
        if (!words.empty())
            p_.text(words, {kPad, box.y}, Face::body, Token::soft, Align::left, {"rank", row.ranks[0]});
        charts_->back(c, 2, false);
        charts_->stacks(c);
        charts_->cursor(c);
        const std::size_t peak = highest(c.columns);
        const Id id{"peak", c.rank, c.columns[peak].event};
        const float x = (c.x(peak) + c.x(peak + 1)) / 2, top = c.box.y - 8;
        p_.layer = kFlags;
        p_.line({x, top}, {x, c.top(c.columns[peak])}, Token::sel, 1.4F).id = id;
        p_.polygon({{x, top}, {x + 12, top + 4}, {x, top + 8}}, Token::sel, id);
        const std::string bytes = format_exact_bytes(c.columns[peak].total);
        const float line = p_.line_height(Face::mono_small);
        const float y = top + 4 - line / 2;
        const bool in_chart = x + 18 + p_.width(bytes, Face::mono_small) <= c.box.x + c.box.w;
        if (!in_chart || !p_.try_text(bytes, {x + 18, y}, Face::mono_small, Token::soft, Align::left, id))
            p_.try_text(bytes, {x - 6, y}, Face::mono_small, Token::soft, Align::right, id);
    }

    // Every rank, each in one line; ranks of one kind say the same.
    void tell() {
        std::vector<std::string> said;
        for (const auto& columns : memory_->distinct) {
            said.emplace_back();
            if (columns.empty()) continue;
            const auto& c = columns[highest(columns)];
            std::string parts;
            for (const MemoryCategory category : kStackOrder)
                if (const int64_t b = c.bytes[static_cast<std::size_t>(category)]; b > 0)
                    parts += (parts.empty() ? "" : ", ") +
                             p_.say("view.memory." + std::string(name(category))) + " " +
                             format_exact_bytes(b);
            said.back() = format_exact_bytes(c.total) + " = " + parts;
        }
        for (int32_t r = 0; r < count(); ++r)
            if (const auto& words =
                    said[static_cast<std::size_t>(memory_->kind[static_cast<std::size_t>(r)])];
                !words.empty())
                p_.tell("rank " + std::to_string(r) + ": " + words);
    }

    const Input& in_;
    Painter p_;
    int32_t focus_ = 0, step_ = 0;
    std::optional<int32_t> absent_;  ///< the chosen rank, where it has no memory in this step
    bool low_ = false;  // margins give way to the chart
    std::shared_ptr<const MemoryStep> memory_;
    std::optional<MemoryCharts> charts_;
    float gutter_ = 90, small_ = kSmall;
};

}  // namespace

Picture memory_view(const Input& input, const MemoryOptions& options) {
    return Memory(input, options).draw();
}

}  // namespace meshscope::view
