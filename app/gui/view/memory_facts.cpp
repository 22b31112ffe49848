#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/sheet.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

class MemoryFacts {
  public:
    MemoryFacts(const Input& input, const MemoryOptions& options)
        : in_(input), list_(input), rank_(focus_rank(input)) {
        step_ = options.step >= -1 ? options.step
                                   : step_at(input.trace, input.clock, input.cursor.t_ns, input.memo);
        if (!input.trace.ranks.empty()) columns_ = memory_columns(input.trace, rank_, step_, input.memo);
    }

    Picture draw() {
        if (columns_.empty()) {
            p_.paragraph(p_.say(no_memory(in_.trace)), {kPad, y_}, Face::body, Token::mute, list_.width());
            return p_.take();
        }
        choose();
        moment();
        tensors();
        offloaded();
        return list_.take();
    }

  private:
    static constexpr float kPad = FactList::kPad;
    static constexpr std::size_t kMostListed = 14;

    /// The column that was chosen; else the one under the cursor; else, before the step's first, the peak.
    void choose() {
        shown_ = peak_ = highest(columns_);
        const auto find = [&](int32_t event, const char* words) {
            const auto found = std::ranges::find(columns_, event, &MemoryColumn::event);
            if (found == columns_.end()) return false;
            shown_ = static_cast<std::size_t>(found - columns_.begin());
            if (shown_ != peak_) heading_ = words;
            return true;
        };
        const bool picked = in_.selection.event && in_.selection.event_rank == rank_ &&
                            find(*in_.selection.event, "view.memory.here");
        if (picked) return;
        if (const auto now = event_at(in_.trace, in_.clock, in_.cursor, rank_))
            find(now->event, "view.memory.now");
    }

    const MemoryColumn& column() const { return columns_[shown_]; }

    /// Which moment it is, and what made it.
    void moment() {
        const auto& event = in_.trace.event(rank_, column().event);
        list_.head(p_.say(heading_), "rank " + std::to_string(rank_));
        const std::string cause = memory::what_text(in_.trace, event) + " " +
                                  p_.say("view.phase." + std::string(name(event.phase)));
        const bool at_peak = shown_ == peak_;
        const std::string sentence =
            p_.say(step_ < 0 ? (at_peak ? "view.memory.cause.setup" : "view.memory.at.setup")
                             : (at_peak ? "view.memory.cause" : "view.memory.at"),
                   {arg("rank", rank_), arg("step", step_), arg("cause", cause),
                    arg("bytes", format_exact_bytes(column().total)),
                    arg("below", format_exact_bytes(columns_[peak_].total - column().total))});
        list_.sentence(sentence, {"cause"});
        list_.space(2);
    }

    /// What was alive, largest first, and its sum.
    void tensors() {
        list_.head(p_.say(shown_ == peak_ ? "view.memory.live.peak" : "view.memory.live"),
                   p_.say("view.memory.bytes"));
        const auto live = memory::live_at(in_.trace, rank_, column().changes);
        for (const auto& t : live) largest_ = std::max(largest_, t.bytes);
        int64_t sum = 0;
        for (const auto& t : live) sum += t.bytes;
        number_ = p_.width(format_count(std::max(sum, largest_)), Face::mono_small);
        // Names go before bars: rows that all say "sharded parameters" tell nothing apart.
        float widest = 0;
        for (std::size_t i = 0; i < live.size() && i <= kMostListed; ++i)
            widest = std::max(widest, p_.width(live[i].label, Face::caption));
        bar_ =
            std::clamp(list_.width() - number_ - 25 - widest, 24.F, std::min(110.F, (list_.width()) * 0.28F));
        int64_t rest = 0;
        for (std::size_t i = 0; i < live.size(); ++i) {
            const std::string category = p_.say("view.memory." + std::string(name(live[i].category)));
            p_.tell((live[i].label.empty() ? category : live[i].label) + "  " +
                    format_exact_bytes(live[i].bytes));
            if (i >= kMostListed && live.size() > kMostListed + 1)
                rest += live[i].bytes;
            else
                tensor(live[i], category, {"tensor", static_cast<int64_t>(i)});
        }
        if (rest > 0) others(static_cast<int64_t>(live.size() - kMostListed), rest);
        list_.sum(p_.say("view.memory.sum"), format_count(sum), format_exact_bytes(sum));
    }

    float row_height() const { return std::max(26.F, p_.line_height(Face::caption) + 4); }

    void tensor(const memory::LiveTensor& t, const std::string& category, const Id& id) {
        const float row = row_height(), x = kPad + bar_ + 12, w = right_ - number_ - 12 - x;
        auto& s =
            p_.rect({kPad, y_ + row / 2 - 6,
                     std::max(3.F, bar_ * static_cast<float>(t.bytes) / static_cast<float>(largest_)), 12},
                    Token::grey, 3, id);
        style_category(s, t.category);
        const std::string words = p_.fit({t.label, category}, Face::caption, w);
        if (!words.empty())
            p_.label({x, y_, w, row}, words, Face::caption, Token::soft, Token::none, id, Align::left);
        p_.label({right_ - number_, y_, number_, row}, format_count(t.bytes), Face::mono_small, Token::text,
                 Token::none, id, Align::right);
        y_ += row;
    }

    void others(int64_t tensors, int64_t bytes) {
        const float row = row_height(), w = right_ - number_ - 12 - kPad;
        const std::string words =
            p_.fit({p_.say("view.memory.rest", {arg("tensors", tensors)})}, Face::caption, w);
        if (!words.empty())
            p_.label({kPad, y_, w, row}, words, Face::caption, Token::mute, Token::none, {}, Align::left);
        p_.label({right_ - number_, y_, number_, row}, format_count(bytes), Face::mono_small, Token::soft,
                 Token::none, {}, Align::right);
        y_ += row;
    }

    /// The host's memory is no part of the sum, nor of the stack.
    void offloaded() {
        const int64_t bytes = column().bytes[static_cast<std::size_t>(MemoryCategory::offloaded)];
        if (bytes <= 0) return;
        const std::string words = p_.say("view.memory.offloaded");
        y_ += 4;
        p_.text(words, {kPad, y_}, Face::caption, Token::mute, Align::left, {"offloaded"});
        p_.text(format_count(bytes), {right_, y_}, Face::mono_small, Token::soft, Align::right,
                {"offloaded"});
        p_.tell(words + "  " + format_exact_bytes(bytes));
        y_ += p_.line_height(Face::caption);
    }

    const Input& in_;
    FactList list_;
    Painter& p_ = list_.p;
    int32_t rank_ = 0, step_ = 0;
    std::vector<MemoryColumn> columns_;  ///< of the step
    std::size_t shown_ = 0, peak_ = 0;   ///< which of them
    const char* heading_ = "view.memory.why";
    float& y_ = list_.y;
    const float right_ = list_.right;
    int64_t largest_ = 1;          ///< bytes of the largest tensor: the longest bar
    float bar_ = 24, number_ = 0;  ///< widths: of the longest bar, of the figures
};

}  // namespace

Picture memory_facts(const Input& input, const MemoryOptions& options) {
    return MemoryFacts(input, options).draw();
}

}  // namespace meshscope::view
