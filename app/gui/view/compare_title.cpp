#include "app/gui/view/compare_title.h"

#include <algorithm>
#include <set>

#include "app/gui/view/common.h"
#include "app/gui/view/compare_table.h"

namespace meshscope::view {
namespace {

constexpr float kPad = kComparePad;

class Head {
  public:
    Head(Painter& painter, const Input& input, const std::vector<ComparedRun>& runs,
         const std::vector<Unlike>& unlike, bool both_clocks)
        : p_(painter), in_(input), runs_(runs), unlike_(unlike), both_clocks_(both_clocks) {}

    float draw() {
        p_.layer = 5;
        float y = 14;
        const std::string words =
            p_.say("view.compare.title", {arg("runs", static_cast<int64_t>(runs_.size()))});
        p_.text(words, {kPad + 4, y}, Face::title, Token::text);
        p_.tell(words);
        float x = kPad + 4 + p_.width(words, Face::title) + 20;
        const float width = clock_width();
        if (x + width > right()) {
            x = kPad + 4;
            y += p_.line_height(Face::title) + 6;
        }
        const float h = std::max(28.F, caption() + 4);
        clock_switch(x, y, h);
        return notes(y + h + 6) + 4;
    }

  private:
    float caption() const { return p_.line_height(Face::caption); }
    float right() const { return in_.size.width - kPad; }

    /// How each run differs from the first, and what may therefore not be said of their figures.
    float notes(float y) {
        std::set<std::string> profiles;
        for (const ComparedRun& run : runs_) profiles.insert(run.clock.profile);
        if (profiles.size() > 1) {
            std::string list;
            for (const ComparedRun& run : runs_)
                list += (list.empty() ? "" : ", ") + run.name + ": " + run.clock.profile;
            y = note(p_.say("view.compare.profiles", {arg("list", list)}), Token::warn, y);
        }
        for (std::size_t i = 1; i < runs_.size(); ++i) {
            const Unlike& u = unlike_[i];
            const auto say = [&](const char* id, const std::vector<std::string>& list) {
                return p_.say(
                    id, {arg("name", runs_[i].name), arg("base", runs_[0].name), arg("list", joined(list))});
            };
            if (!u.work.empty()) y = note(say("view.compare.unlike.work", u.work), Token::warn, y);
            if (!u.where.empty()) y = note(say("view.compare.unlike.where", u.where), Token::warn, y);
            if (!u.how.empty()) y = note(say("view.compare.unlike.how", u.how), Token::mute, y);
            if (u.other_step && u.work.empty()) y = note(say("view.compare.unlike.step", {}), Token::warn, y);
        }
        return y;
    }
    float note(const std::string& words, Token colour, float y) {
        p_.tell(words);
        return p_.paragraph(words, {kPad + 4, y}, Face::caption, colour, right() - kPad - 4) + 2;
    }
    static std::string joined(const std::vector<std::string>& list) {
        std::string text;
        for (const std::string& item : list) text += (text.empty() ? "" : ", ") + item;
        return text;
    }

    std::vector<time::ClockKind> kinds() const {
        if (!both_clocks_) return {in_.clock.kind};
        return {time::ClockKind::modelled, time::ClockKind::measured};
    }
    std::string clock_words(time::ClockKind kind) const {
        return p_.say(kind == time::ClockKind::modelled ? "view.clock.modelled" : "view.clock.measured");
    }
    float clock_width() const {
        float w = 4;
        for (const auto kind : kinds()) w += p_.width(clock_words(kind), Face::caption) + 28;
        return w;
    }
    void clock_switch(float x, float y, float h) {
        p_.rect({x, y, clock_width(), h}, Token::inset, 6).stroke = Token::line;
        float at = x + 2;
        for (const auto kind : kinds()) {
            const std::string words = clock_words(kind);
            const float w = p_.width(words, Face::caption) + 28;
            const bool on = kind == in_.clock.kind;
            p_.rect({at, y + 2, w, h - 4}, on ? Token::accentbg : Token::none, 5,
                    {"clock", static_cast<int64_t>(kind)});
            p_.label({at, y, w, h}, words, Face::caption, on ? Token::text : Token::mute);
            at += w;
        }
    }

    Painter& p_;
    const Input& in_;
    const std::vector<ComparedRun>& runs_;
    const std::vector<Unlike>& unlike_;
    bool both_clocks_;
};

}  // namespace

float compare_title(Painter& painter, const Input& input, const std::vector<ComparedRun>& runs,
                    const std::vector<Unlike>& unlike, bool both_clocks) {
    return Head(painter, input, runs, unlike, both_clocks).draw();
}

}  // namespace meshscope::view
