#include "app/gui/view/compare_table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/common.h"

namespace meshscope::view {
namespace {

constexpr float kPad = kComparePad, kCard = kCompareCard, kRadius = kCompareRadius;

class Table {
  public:
    Table(Painter& painter, float width, const std::vector<ComparedRun>& runs,
          const std::vector<RunFigures>& figures, const std::vector<Unlike>& unlike)
        : p_(painter), width_(width), runs_(runs), figures_(figures), unlike_(unlike) {}

    float draw(float top) {
        const auto rows = differences(figures_);
        const std::size_t card = p_.picture().shapes.size();
        p_.layer = 0;
        p_.rect({kPad, top, right() - kPad, 0}, Token::panel, kRadius).stroke = Token::line;
        p_.layer = 5;
        const float left = kPad + kCard, end = right() - kCard;
        float y = top + 12;
        const std::string head = p_.say("view.compare.differences", {arg("base", runs_[0].name)});
        const std::string note =
            p_.say(same_steps(figures_) ? "view.compare.note" : "view.compare.note.steps",
                   {arg("rank", int64_t{runs_[0].rank}), arg("step", int64_t{figures_[0].step})});
        for (const std::string& line : p_.wrap(head, Face::body, end - left)) {
            p_.text(line, {left, y}, Face::body, Token::text);
            y += p_.line_height(Face::body);
        }
        p_.tell(head);
        y = p_.paragraph(note, {left, y}, Face::caption, Token::mute, end - left) + 6;
        columns(left, end);
        float heads = y;
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            float at = y;
            for (const std::string& part : p_.wrap(runs_[i].name, Face::body, column_width_ - 12)) {
                p_.text(part, {column_x(i), at}, Face::body, i == 0 ? Token::soft : Token::text, Align::left,
                        {"run", static_cast<int64_t>(i)});
                at += p_.line_height(Face::body);
            }
            if (!same_steps(figures_)) {
                const std::string own = step_words(p_, figures_[i]);
                for (const std::string& part : p_.wrap(own, Face::caption, column_width_ - 12)) {
                    p_.text(part, {column_x(i), at}, Face::caption, Token::soft);
                    at += caption();
                }
            }
            heads = std::max(heads, at);
        }
        y = heads + 6;
        for (std::size_t r = 0; r < rows.size(); ++r) y = row(rows[r], r, y, left, end);
        p_.picture().shapes[card].box.h = y + 8 - top;
        return y + 8;
    }

  private:
    float caption() const { return p_.line_height(Face::caption); }
    float right() const { return width_ - kPad; }

    void columns(float left, float end) {
        label_width_ = std::min(280.F, (end - left) * 0.26F);
        column_width_ = (end - left - label_width_ - 12) / static_cast<float>(runs_.size());
        first_column_ = left + label_width_ + 12;
    }
    float column_x(std::size_t i) const { return first_column_ + column_width_ * static_cast<float>(i); }

    float row(const Difference& row, std::size_t index, float y, float left, float end) {
        const std::string label = p_.say(row.id, {arg("op", row.op)});
        p_.layer = 1;
        p_.line({left, y + 0.5F}, {end, y + 0.5F}, Token::line).stroke_alpha = 0.6F;
        p_.layer = 5;
        y += 6;
        const float number = p_.line_height(Face::mono);
        const auto lines = p_.wrap(label, Face::caption, label_width_);
        float label_y = y + std::max(0.F, (number - caption()) / 2);
        for (const std::string& line : lines) {
            p_.text(line, {left, label_y}, Face::caption, Token::soft);
            label_y += caption();
        }
        std::string told = label + ":";
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            cell(row, index, i, y);
            const std::string change = change_of(row, i);
            told += " " + runs_[i].name + " " + row.text(i) + (change.empty() ? "" : " (" + change + ")") +
                    (i + 1 < runs_.size() ? "," : "");
        }
        p_.tell(told);
        return std::max(y + number + 16, label_y) + 4;
    }

    /// How a value changes; "" where nothing may be said of that.
    std::string change_of(const Difference& row, std::size_t i) const {
        if (i == 0 || unlike_[i].verdict == Verdict::none) return "";
        return change_text(row.values[0], row.values[i]);
    }

    /// The value, how it changes, and a bar from the first run's value: to the right more, to the left less.
    void cell(const Difference& row, std::size_t index, std::size_t i, float y) {
        const float x0 = column_x(i), room = column_width_ - 20;
        const Id id{"difference", static_cast<int64_t>(index), static_cast<int64_t>(i)};
        const int64_t base = row.values[0], value = row.values[i];
        const std::string text = row.text(i), change = change_of(row, i);
        const float line = p_.line_height(Face::mono), small = p_.line_height(Face::caption);
        const bool judged = unlike_[i].verdict == Verdict::better_or_worse;
        const Token colour = !judged        ? Token::soft
                             : value > base ? Token::err
                             : value < base ? Token::ok
                                            : Token::mute;
        const std::string shown = p_.fit({text}, Face::mono, room);
        const Face face = shown.empty() ? Face::mono_small : Face::mono;
        if (p_.width(text, face) <= room) p_.text(text, {x0, y}, face, Token::text, Align::left, id);
        const float after = x0 + p_.width(text, face) + 10;
        if (!change.empty() && after + p_.width(change, Face::caption) <= x0 + room)
            p_.text(change, {after, y + (line - small) / 2}, Face::caption, colour, Align::left, id);
        if (i == 0 || base < 0 || value < 0 || unlike_[i].verdict == Verdict::none) return;
        // Half the column is 100 %; what is beyond has its end cut off, and the figure says how much.
        const float middle = x0 + room / 2, bar_y = y + line + 4;
        p_.layer = 3;
        p_.line({middle, bar_y - 3}, {middle, bar_y + 11}, Token::line2, 1.4F);
        if (base == value) return;
        const double share = base > 0 ? static_cast<double>(value - base) / static_cast<double>(base) : 1.0;
        const float length = std::max(3.F, static_cast<float>(std::min(1.0, std::abs(share))) * room / 2);
        const Rect bar{share > 0 ? middle : middle - length, bar_y, length, 8};
        auto& shape = p_.rect(bar, colour, 2, id);
        shape.fill_alpha = 0.8F;
        if (share > 0) {
            shape.pattern = Fill::hatch;
            shape.hatch = Token::panel;
        }
        if (std::abs(share) > 1 || base == 0)
            for (const float back : {7.F, 12.F})
                p_.line({bar.x + bar.w - back - 3, bar_y + 10}, {bar.x + bar.w - back + 3, bar_y - 2},
                        Token::panel, 2);
        p_.layer = 5;
    }

    Painter& p_;
    float width_;
    const std::vector<ComparedRun>& runs_;
    const std::vector<RunFigures>& figures_;
    const std::vector<Unlike>& unlike_;
    float label_width_ = 0, column_width_ = 0, first_column_ = 0;
};

}  // namespace

bool same_steps(const std::vector<RunFigures>& figures) {
    return std::all_of(figures.begin(), figures.end(),
                       [&](const RunFigures& f) { return f.step == figures.front().step && f.whole; });
}

std::string step_words(const Painter& painter, const RunFigures& figures) {
    return painter.say(figures.whole ? "view.step" : "view.compare.step.part",
                       {arg("step", int64_t{figures.step})});
}

std::string exposed_words(const Painter& painter, const RunFigures& figures, bool brief) {
    const std::string time = figure_time(figures.exposed_ns);
    if (brief || figures.exposed_ns < 0)
        return painter.say("view.compare.exposed.brief", {arg("time", time)});
    const double share = figures.step_ns > 0
                             ? static_cast<double>(figures.exposed_ns) / static_cast<double>(figures.step_ns)
                             : 0;
    return painter.say("view.compare.exposed.of", {arg("time", time), arg("percent", format_percent(share))});
}

float compare_table(Painter& painter, float width, const std::vector<ComparedRun>& runs,
                    const std::vector<RunFigures>& figures, const std::vector<Unlike>& unlike, float top) {
    return Table(painter, width, runs, figures, unlike).draw(top);
}

namespace {

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
        if (in_.watched) {
            p_.label({x, y, clock_width(), h}, clock_words(in_.clock.kind), Face::caption, Token::soft);
            return;
        }
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
