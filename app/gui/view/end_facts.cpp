#include "app/gui/view/end_facts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/sheet.h"
#include "core/base/kinds.h"
#include "core/base/rank_set.h"

namespace meshscope::view {
namespace {

constexpr float kPad = 24;
/// Rows of waits, or of calls, that are listed; the others are counted.
constexpr std::size_t kMostRows = 8;

class EndFacts {
  public:
    EndFacts(const Input& input, const RunEnd& end, WithoutFault without)
        : in_(input),
          end_(end),
          without_(without),
          p_(input),
          sheet_(p_, kPad, input.size.width - kPad, 16) {}

    Picture draw() {
        p_.picture().content_height = 1e6F;
        advice();
        if (!end_.waits.calls.empty())
            calls();
        else
            waits();
        words();
        Picture picture = p_.take();
        picture.height = picture.content_height = sheet_.y + 4;
        return picture;
    }

  private:
    void advice() {
        sheet_.head(p_.say("view.end.advice.head"));
        int number = 0;
        for (const Message& line : end_advice(end_)) {
            constexpr float kMark = 26;
            const float middle = sheet_.y + p_.line_height(Face::body) / 2;
            auto& ring = p_.circle({sheet_.x + 9, middle}, 9, Token::none);
            ring.stroke = Token::line2;
            p_.label({sheet_.x, middle - 9, 18, 18}, std::to_string(++number), Face::caption, Token::soft);
            const std::string words = p_.say(line.id, line.args);
            p_.tell(std::to_string(number) + " " + words);
            sheet_.y = p_.paragraph(words, {sheet_.x + kMark, sheet_.y}, Face::body, Token::text,
                                    sheet_.width() - kMark) +
                       6;
        }
        sheet_.y += 4;
        if (const auto fault = button_of(without_)) button(fault->words, fault->id, fault->primary);
        button("view.end.show", "end_show", false);
        sheet_.y += 14;
    }

    void button(const char* words_id, const char* id, bool primary) {
        const Rect box =
            draw_button(p_, {sheet_.x, sheet_.y}, sheet_.width(), p_.say(words_id), {id}, primary);
        sheet_.y += box.h + 8;
    }

    /// What the rank was in; null: in nothing that is recorded.
    const trace::Event* call_of(int32_t rank) const {
        const int32_t id = end_.waits.at(rank)->call;
        return id < 0 ? nullptr : &in_.trace.event(rank, id);
    }

    Id id_of(int32_t rank) const { return {"wait", rank, end_.waits.at(rank)->call}; }

    void waits() {
        const auto& all = end_.waits.rows;
        if (all.empty()) return;
        sheet_.head(p_.say("view.end.waits.head"),
                    p_.say(end_.waits.certain ? "view.end.waits.certain" : "view.end.waits.inferred"));
        for (std::size_t i = 0; i < std::min(all.size(), kMostRows); ++i) wait(all[i]);
        more(all.size());
    }

    void more(std::size_t count) {
        if (count > kMostRows)
            sheet_.paragraph(p_.say("view.end.waits.more",
                                    {arg("count", format_count(static_cast<int64_t>(count - kMostRows)))}),
                             Face::caption, Token::mute);
        sheet_.y += 12;
    }

    /// "2 ······o 3  reduce_scatter net2 #10", its group below.
    void wait(const std::vector<int32_t>& row) {
        const auto& waits_for = end_.waits.at(row.front())->waits_for;
        const std::string who = ranks_text(row), whom = ranks_text(waits_for);
        const trace::Event* call = call_of(row.front());
        const Id id = id_of(row.front());
        const float line = std::max(24.F, p_.line_height(Face::mono) + 2), top = sheet_.y;
        p_.rect({sheet_.x - 8, top, sheet_.width() + 16, line}, Token::none, 6, id);
        const std::string told = call == nullptr ? "" : call_in_short(in_.trace, *call);
        p_.tell(who + " → " + whom + (told.empty() ? "" : "  " + told));
        const float who_w = p_.width(who, Face::mono), whom_w = p_.width(whom, Face::mono);
        constexpr float kArrow = 58;
        if (who_w + kArrow + whom_w > sheet_.width()) {
            sheet_.y = p_.paragraph(who + " → " + whom, {sheet_.x, top}, Face::mono_small, Token::text,
                                    sheet_.width(), id);
        } else {
            p_.label({sheet_.x, top, who_w, line}, who, Face::mono, Token::text, Token::none, id,
                     Align::left);
            const float from = sheet_.x + who_w + 8, to = from + kArrow - 24, y = top + line / 2;
            auto& dots = p_.line({from, y}, {to, y}, Token::warn, 2);
            dots.stroke_style = Stroke::dotted;
            auto& ring = p_.circle({to + 5, y}, 4.5F, Token::panel);
            ring.stroke = Token::warn;
            ring.width = 1.8F;
            const bool gone =
                std::ranges::all_of(waits_for, [&](int32_t rank) { return !mark_of(end_, rank).empty(); });
            p_.label({sheet_.x + who_w + kArrow, top, whom_w, line}, whom, Face::mono,
                     gone ? Token::err : Token::text, Token::none, id, Align::left);
            sheet_.y += line;
            const float left = sheet_.x + who_w + kArrow + whom_w + 14;
            if (call != nullptr && !told.empty() && p_.width(told, Face::mono_small) <= sheet_.right - left) {
                p_.label({left, top, sheet_.right - left, line}, told, Face::mono_small, op_hue(call->op),
                         Token::none, id, Align::right);
                group_of(*call);
                return;
            }
        }
        if (call != nullptr)
            sheet_.y = p_.paragraph(told, {sheet_.x + 16, sheet_.y}, Face::mono_small, op_hue(call->op),
                                    sheet_.width() - 16, id);
        if (call != nullptr) group_of(*call);
    }

    void group_of(const trace::Event& call) {
        if (call.group < 0) return;
        const auto& group = in_.trace.groups[static_cast<std::size_t>(call.group)];
        const std::string words =
            group.mesh_dim + " " + format_ranks({group.ranks.begin(), group.ranks.end()});
        p_.tell("  " + words);
        sheet_.y = p_.paragraph(words, {sheet_.x + 16, sheet_.y}, Face::mono_small, Token::mute,
                                sheet_.width() - 16) +
                   4;
    }

    /// Of a mismatch: bytes and elements of what each calls, those that call the same in one row.
    void calls() {
        const auto& all = end_.waits.rows;
        if (all.empty()) return;
        sheet_.head(p_.say("view.end.calls.head"));
        for (std::size_t i = 0; i < std::min(all.size(), kMostRows); ++i) {
            const int32_t first = all[i].front();
            const CallReport& call = end_.waits.calls[static_cast<std::size_t>(first)];
            const std::string words = signature(call), size_words = sizes(call);
            const bool odd = mark_of(end_, first) == "mismatch";
            const Id id = id_of(first);
            const std::string who = "rank " + ranks_text(all[i]);
            p_.tell(who + ": " + words + (size_words.empty() ? "" : "  " + size_words));
            sheet_.y = p_.paragraph(who, {sheet_.x, sheet_.y}, Face::body, odd ? Token::err : Token::text,
                                    sheet_.width(), id);
            sheet_.y = p_.paragraph(words, {sheet_.x + 16, sheet_.y}, Face::mono_small,
                                    odd ? Token::err : Token::soft, sheet_.width() - 16, id);
            if (!size_words.empty())
                sheet_.y = p_.paragraph(size_words, {sheet_.x + 16, sheet_.y}, Face::caption, Token::soft,
                                        sheet_.width() - 16, id);
            sheet_.y += 6;
        }
        more(all.size());
    }

    /// Elements and the bytes that they are; "" for a call that carries nothing.
    std::string sizes(const CallReport& call) const {
        const auto dtype = parse_dtype(call.dtype);
        if (!dtype) return "";
        const int64_t each = bytes_per_element(*dtype);
        return p_.say("view.end.call.sizes",
                      {arg("in", format_count(call.in_elements)), arg("out", format_count(call.out_elements)),
                       arg("in_bytes", format_exact_bytes(call.in_elements * each)),
                       arg("out_bytes", format_exact_bytes(call.out_elements * each))});
    }

    void words() {
        sheet_.head(p_.say("view.end.words.head"));
        sheet_.code(p_.say(end_.what.id, end_.what.args));
        const std::string copy = p_.say("view.end.words.copy");
        const Rect box{sheet_.x, sheet_.y + 2, p_.width(copy, Face::body) + 4,
                       p_.line_height(Face::body) + 6};
        p_.rect(box, Token::none, 6, {"end_copy"});
        p_.label(box, copy, Face::body, Token::accent, Token::none, {"end_copy"});
        sheet_.y += box.h + 14;
    }

    const Input& in_;
    const RunEnd& end_;
    const WithoutFault without_;
    Painter p_;
    Sheet sheet_;
};

}  // namespace

Picture end_facts(const Input& input, const RunEnd& end, WithoutFault without) {
    return EndFacts(input, end, without).draw();
}

}  // namespace meshscope::view
