#include "app/gui/view/code_view.h"

#include <algorithm>

#include "app/gui/view/code_facts.h"
#include "app/gui/view/common.h"
#include "app/gui/view/sheet.h"
#include "app/gui/view/utf8.h"

namespace meshscope::view {
namespace {

constexpr float kPad = 24, kCodePad = 12, kGutterGap = 14;
constexpr int32_t kLeastRows = 9, kMostRows = 44, kNamedRows = 5;
constexpr float kWidestText = 760;  // longer lines are hard to read

std::size_t indent_of(std::string_view line) {
    const std::size_t first = line.find_first_not_of(' ');
    return first == std::string_view::npos ? line.size() : first;
}

/// Lines of a source as they are drawn: without the indent that all share, wrapped, with numbers.
class Excerpt {
  public:
    Excerpt(Painter& p, const std::vector<std::string_view>& lines, LineRange statement, float width)
        : p_(p), lines_(lines), statement_(statement), width_(width) {
        digits_ = p.width(std::to_string(lines.size()), Face::mono_small);
        letter_ = p.width("0", Face::mono_small);
        line_ = std::max(20.F, p.line_height(Face::mono_small));
    }

    float row_height() const { return line_; }

    /// Takes as many lines around the statement as `budget` rows hold: a little more above than below, since
    /// what leads to a call stands above it.
    void choose(int32_t budget) {
        shown_ = statement_;
        int32_t used = 0;
        for (int32_t i = shown_.first; i <= shown_.last; ++i) used += rows(i);
        bool up = true, down = true;
        for (int turn = 0; (up || down) && used < budget; ++turn) {
            if (turn % 5 < 3)
                up = up && grow(shown_.first - 1, budget, used);
            else
                down = down && grow(shown_.last + 1, budget, used);
        }
        // An excerpt that ends with an empty line shows nothing by it.
        while (shown_.first < statement_.first && text(shown_.first).empty()) ++shown_.first;
        while (shown_.last > statement_.last && text(shown_.last).empty()) --shown_.last;
        indent_ = std::string_view::npos;
        for (int32_t i = shown_.first; i <= shown_.last; ++i)
            if (!text(i).empty()) indent_ = std::min(indent_, indent_of(text(i)));
        if (indent_ == std::string_view::npos) indent_ = 0;
    }

    /// Draws the box from (x, y); gives the y below it.
    float draw(float x, float y) {
        const std::size_t box_at = p_.picture().shapes.size();
        p_.rect({x, y, width_, 0}, Token::inset, 8).stroke = Token::line;
        float at = y + kCodePad;
        for (int32_t i = shown_.first; i <= shown_.last; ++i) at = draw_line(i, x, at);
        at += kCodePad;
        p_.picture().shapes[box_at].box.h = at - y;
        return at;
    }

  private:
    std::string_view text(int32_t number) const { return lines_[static_cast<std::size_t>(number - 1)]; }
    float room() const { return width_ - 2 * kCodePad - digits_ - kGutterGap; }

    bool grow(int32_t number, int32_t budget, int32_t& used) {
        if (number < 1 || number > static_cast<int32_t>(lines_.size())) return false;
        const int32_t more = rows(number);
        if (used + more > budget) return false;
        used += more;
        (number < shown_.first ? shown_.first : shown_.last) = number;
        return true;
    }

    /// Deep indents give way to the words in a narrow box.
    float indent_px(std::string_view line) const {
        const std::size_t own = indent_of(line);
        const auto spaces = static_cast<float>(own > indent_ ? own - indent_ : 0);
        return std::min(spaces * letter_, room() * 0.3F);
    }
    std::vector<std::string> wrapped(std::string_view line) const {
        const std::string words(line.substr(std::min(indent_of(line), line.size())));
        if (words.empty()) return {""};
        if (p_.width(words, Face::mono_small) <= room() - indent_px(line)) return {words};
        return p_.wrap(words, Face::mono_small, room() - indent_px(line) - 4 * letter_);
    }
    int32_t rows(int32_t number) const { return static_cast<int32_t>(wrapped(text(number)).size()); }

    float draw_line(int32_t number, float x, float y) {
        const std::string_view line = text(number);
        const auto parts = wrapped(line);
        const bool here = statement_.contains(number);
        const float height = line_ * static_cast<float>(parts.size());
        const Id id = here ? Id{"line", number} : Id{};
        if (here) {
            p_.rect({x + 1, y, width_ - 2, height}, Token::accentbg, 0, id);
            p_.rect({x + 1, y, 3, height}, Token::accent);
        }
        const bool comment = line.substr(indent_of(line)).starts_with("//");
        p_.label({x + kCodePad, y, digits_, line_}, std::to_string(number), Face::mono_small,
                 here ? Token::text : Token::mute, Token::none, {}, Align::right);
        float at = x + kCodePad + digits_ + kGutterGap + indent_px(line);
        const Token colour = here ? Token::text : comment ? Token::mute : Token::soft;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (i == 1) at += 4 * letter_;
            if (!parts[i].empty())
                p_.label({at, y, p_.width(parts[i], Face::mono_small), line_}, parts[i], Face::mono_small,
                         colour, Token::none, id, Align::left);
            y += line_;
        }
        p_.tell((here ? "> " : "  ") + std::to_string(number) + "  " + std::string(line));
        return y;
    }

    Painter& p_;
    const std::vector<std::string_view>& lines_;
    LineRange statement_, shown_;
    float width_, digits_ = 0, letter_ = 8, line_ = 20;
    std::size_t indent_ = 0;
};

class CodePage {
  public:
    explicit CodePage(const Input& input)
        : in_(input), p_(input), sheet_(p_, kPad, input.size.width - kPad, 16) {
        p_.grow();
    }

    Picture draw() {
        const auto ref = code_event(in_);
        if (!ref) {
            sheet_.paragraph(p_.say(no_event_id(in_.trace, "view.code.none")), Face::body, Token::mute);
            return finish();
        }
        facts_ = explain_event(in_, *ref);
        event_ = describe_event(in_, *ref);
        title();
        why();
        pytorch();
        ours();
        return finish();
    }

  private:
    Picture finish() { return p_.take(sheet_.y + 12); }

    /// "all_gather net1 (backward · prefetch)" and, where there is room, whose it is.
    void title() {
        const float line = p_.line_height(Face::mono_title), small = p_.line_height(Face::caption);
        float x = kPad;
        const auto place = [&](const std::string& words, Token colour) {
            if (words.empty()) return;
            if (x > kPad && x + p_.width(words, Face::mono_title) > sheet_.right) {
                x = kPad;
                sheet_.y += line;
            }
            for (const std::string& part : p_.wrap(words, Face::mono_title, sheet_.width())) {
                if (x > kPad && x + p_.width(part, Face::mono_title) > sheet_.right) {
                    x = kPad;
                    sheet_.y += line;
                }
                p_.text(part, {x, sheet_.y}, Face::mono_title, colour);
                x += p_.width(part, Face::mono_title) + 12;
            }
        };
        place(event_.op, event_.hue);
        place(event_.unit, Token::text);
        const float badge = p_.width(event_.badge, Face::caption) + 20;
        if (!event_.badge.empty() && badge <= sheet_.width()) {
            if (x + badge > sheet_.right) {
                x = kPad;
                sheet_.y += line + 4;
            }
            const Rect pill{x, sheet_.y + (line - small - 6) / 2, badge, small + 6};
            p_.rect(pill, Token::raised, pill.h / 2 - 1).stroke = Token::line2;
            p_.label(pill, event_.badge, Face::caption, Token::soft);
            x += badge + 16;
        }
        const int32_t step = in_.trace.event(facts_.ref.rank, facts_.ref.event).step;
        const std::string whose =
            "rank " + std::to_string(facts_.ref.rank) + " · " +
            (step < 0 ? p_.say("view.phase.setup") : p_.say("view.step", {arg("step", step)}));
        p_.tell(event_.op + " " + event_.unit + " · " + event_.badge + " · " + whose);
        if (x + p_.width(whose, Face::caption) <= sheet_.right)
            p_.text(whose, {sheet_.right, sheet_.y + (line - small) / 2}, Face::caption, Token::mute,
                    Align::right);
        sheet_.y += line + 18;
    }

    void why() {
        const bool compute = event_.sent.empty();
        sheet_.head(p_.say(compute ? "view.code.what" : "view.code.why"), facts_.subject);
        const float right = sheet_.right;
        sheet_.right = std::min(right, kPad + kWidestText);
        sheet_.paragraph(facts_.words.sentence.empty()
                             ? p_.say(facts_.subject.empty() ? "view.code.no_rule" : "view.code.unknown_rule")
                             : facts_.words.sentence);
        if (!facts_.again.empty()) sheet_.paragraph(facts_.again, Face::body, Token::mute);
        sheet_.right = right;
        sheet_.space(16);
    }

    void pytorch() {
        if (facts_.words.pytorch.empty()) return;
        sheet_.head(p_.say("view.code.pytorch"), "PyTorch 2.15");
        sheet_.code(facts_.words.pytorch);
        sheet_.space(16);
    }

    void ours() {
        if (!facts_.place) {
            sheet_.head(p_.say("view.code.ours"), facts_.recorded);
            sheet_.paragraph(p_.say(facts_.recorded.empty() ? "view.code.no_place" : "view.code.not_here"),
                             Face::body, Token::mute);
            return;
        }
        sheet_.head(p_.say("view.code.ours"), location_text(*facts_.place), {"source"});
        if (facts_.moved) {
            sheet_.paragraph(p_.say("view.code.moved", {arg("recorded", facts_.recorded),
                                                        arg("version", in_.trace.info.engine_version),
                                                        arg("own", std::string(MESHSCOPE_VERSION))}),
                             Face::caption, Token::warn);
            sheet_.space(6);
        }
        if (facts_.places > 1) {
            sheet_.paragraph(p_.say("view.code.places", {arg("places", facts_.places)}), Face::caption,
                             Token::mute);
            sheet_.space(6);
        }
        // What stays of the height is the excerpt's, but for the place where the rule is named.
        const float line = std::max(20.F, p_.line_height(Face::mono_small));
        const float named = facts_.named ? p_.line_height(Face::caption) + 44 + kNamedRows * line : 0;
        const float left = in_.size.height - sheet_.y - named - 2 * kCodePad - 20;
        excerpt(*facts_.place, std::clamp(static_cast<int32_t>(left / line), kLeastRows, kMostRows), true);
        if (!facts_.named) return;
        sheet_.space(16);
        sheet_.head(p_.say("view.code.named"), location_text(*facts_.named));
        excerpt(*facts_.named, kNamedRows, false);
    }

    void excerpt(const SourceLocation& place, int32_t budget, bool whole_statement) {
        const auto lines = source_lines(place.file);
        LineRange range = statement_at(lines, place.line);
        if (!whole_statement) range = {place.line, place.line};
        Excerpt shown(p_, lines, range, sheet_.width());
        shown.choose(budget);
        sheet_.y = shown.draw(sheet_.x, sheet_.y);
    }

    const Input& in_;
    Painter p_;
    Sheet sheet_;
    CodeFacts facts_;
    EventFacts event_;
};

}  // namespace

Picture code_view(const Input& input) {
    return CodePage(input).draw();
}

std::string code_location(const Input& input) {
    const auto ref = code_event(input);
    if (!ref) return {};
    const CodeFacts f = explain_event(input, *ref);
    return f.place ? location_text(*f.place) : f.recorded;
}

}  // namespace meshscope::view
