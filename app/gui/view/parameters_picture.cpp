#include "app/gui/view/parameters_picture.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"

namespace meshscope::view {
namespace {

constexpr float kGap = 10;         // between arrays
constexpr float kLeastArray = 28;  // high
constexpr float kMostRow = 26;     // a row of few is not drawn higher
constexpr float kLeastColumn = 6;  // wide; narrower ones are joined
constexpr float kMostColumn = 240;
constexpr float kLeastGrid = 150;

}  // namespace

float ParametersPicture::header() {
    p_.layer = kWords;
    const float right = in_.size.width - kPad, top = in_.size.height < 360 ? 6.F : 10.F;
    float y = draw_chips(p_, form_chips(p_, Form::rows), {kPad, top}, right) + 8;
    const std::string unit = scene_.shown().name;
    const std::vector<MessageArg> args{arg("unit", unit), arg("step", scene_.step)};
    const std::string title =
        p_.fit({p_.say("view.parameters.title", args), unit, p_.say("view.step", {arg("step", scene_.step)})},
               Face::title, right - kPad);
    if (!title.empty()) p_.text(title, {kPad, y}, Face::title, Token::text);
    p_.tell(p_.say("view.parameters.title", args));
    y += p_.line_height(Face::title) + 6;
    if (scene_.units.size() < 2) return y;
    // As many chips as a row takes, around the one shown.
    const auto chip = [&](std::size_t i) {
        return Chip{scene_.units[i].name,
                    {"parameter_unit", static_cast<int64_t>(i)},
                    static_cast<int32_t>(i) == scene_.unit};
    };
    std::size_t first = static_cast<std::size_t>(scene_.unit), end = first + 1;
    std::vector<Chip> chips{chip(first)};
    const auto room = [&](std::vector<Chip> with) {
        with.push_back({"←", {}, false});
        with.push_back({"→", {}, false});
        return chips_width(p_, with) <= right - kPad;
    };
    for (bool grew = true; grew;) {
        grew = false;
        if (end < scene_.units.size()) {
            auto with = chips;
            with.push_back(chip(end));
            if (room(with)) {
                chips = std::move(with);
                ++end;
                grew = true;
            }
        }
        if (first > 0) {
            auto with = chips;
            with.insert(with.begin(), chip(first - 1));
            if (room(with)) {
                chips = std::move(with);
                --first;
                grew = true;
            }
        }
    }
    if (first > 0) chips.insert(chips.begin(), {"←", {"parameter_next", -1}, false});
    if (end < scene_.units.size()) chips.push_back({"→", {"parameter_next", 1}, false});
    return draw_chips(p_, chips, {kPad, y}, right) + 8;
}

float ParametersPicture::legend(float y) {
    struct Entry {
        const char* id;
        Holding holding;
        bool padding;
    };
    constexpr Entry kEntries[]{{"view.parameters.legend.kept", Holding::kept, false},
                               {"view.parameters.legend.whole", Holding::whole, false},
                               {"view.parameters.legend.gradient", Holding::gradient, false},
                               {"view.parameters.legend.reduced", Holding::reduced, false},
                               {"view.parameters.legend.padding", Holding::kept, true}};
    const float line = p_.line_height(Face::caption), right = in_.size.width - kPad;
    float x = kPad;
    for (const Entry& e : kEntries) {
        const std::string words = p_.say(e.id);
        const float w = 20 + p_.width(words, Face::caption);
        if (x + w > right && x > kPad) {
            x = kPad;
            y += line + 2;
        }
        if (x + w > right) continue;
        p_.layer = kFills;
        auto& mark = p_.rect({x, y + line / 2 - 7, 14, 14}, Token::inset, 3);
        if (e.padding) {
            mark.pattern = Fill::hatch;
            mark.hatch = mark.stroke = Token::line2;
            mark.stroke_style = Stroke::dashed;
        } else {
            const bool all = e.holding == Holding::kept && keeps_all(in_.trace, scene_.rank, scene_.shown());
            style_holding(mark, e.holding, all);
        }
        p_.layer = kWords;
        p_.text(words, {x + 20, y}, Face::caption, Token::soft);
        x += w + 18;
    }
    return y + line + 8;
}

Picture ParametersPicture::draw() {
    float y = legend(header());
    // One long row that is cut is what the arrays below come from; rows of each parameter are put together
    // for the way only.
    if (flat() && shards_height() > 0) {
        shards({kPad, y, in_.size.width - 2 * kPad, shards_height()});
        y += shards_height();
    }
    const float below_grid = flat() ? 0 : shards_height();
    const auto& unit = scene_.shown();
    for (const ShownParameter& p : unit.parameters)
        gutter_ = std::max(gutter_, p_.width(p.name, Face::caption) + 16);
    gutter_ = std::min(gutter_, std::max(96.F, in_.size.width * 0.28F));
    const float line = p_.line_height(Face::caption), x0 = kPad + gutter_, wide = in_.size.width - kPad - x0;
    const auto holders =
        holders_of(in_.trace, unit, static_cast<std::size_t>(std::max(1.F, wide / kLeastColumn)));
    // From below: lives of ranks, shards on the wire; the arrays take what is left.
    const float lane = std::max(24.F, line + 4);
    const float least_lanes = static_cast<float>(std::min<std::size_t>(holders.size(), 2));
    const float wish_lanes = static_cast<float>(std::min<std::size_t>(holders.size(), 8));
    const float rest = in_.size.height - y - below_grid;
    const float lives_high =
        line + 10 + line + 6 + lane * std::clamp(std::floor(rest * 0.4F / lane), least_lanes, wish_lanes);
    float rows = 0;
    for (const ShownParameter& p : unit.parameters) rows += static_cast<float>(p.rows);
    const auto count = static_cast<float>(unit.parameters.size());
    const float head = 2 * line + 8;
    const float least = head + count * (kLeastArray + kGap);
    const float grid_high = std::max({least, kLeastGrid, rest - lives_high - 16});
    const float spare = std::max(0.F, grid_high - least);
    float at = y + head;
    for (const ShownParameter& p : unit.parameters) {
        const float share = spare * static_cast<float>(p.rows) / std::max(1.F, rows);
        const float high =
            std::max(kLeastArray, std::min(kLeastArray + share, kMostRow * static_cast<float>(p.rows)));
        tops_.push_back(at);
        heights_.push_back(high);
        at += high + kGap;
    }
    const float step =
        std::min(kMostColumn, wide / static_cast<float>(std::max<std::size_t>(1, holders.size())));
    for (std::size_t i = 0; i < holders.size(); ++i) {
        Column c;
        c.holders = holders[i];
        const auto& ranks = c.holders.ranks;
        c.rank =
            std::find(ranks.begin(), ranks.end(), scene_.rank) != ranks.end() ? scene_.rank : ranks.front();
        const float gap = step >= 40 ? 14.F : step >= 12 ? 2.F : 1.F;
        c.box = {x0 + step * static_cast<float>(i), y, step - gap, at - y};
        for (const ShownParameter& p : unit.parameters)
            c.lives.push_back(life_of(in_.trace, in_.clock, c.rank, scene_.step, p));
        columns_.push_back(std::move(c));
    }
    grid({x0, y, wide, at - y});
    at += 6;
    if (below_grid > 0) shards({kPad, at, in_.size.width - 2 * kPad, below_grid});
    at += below_grid;
    const float below = std::max(lives_high, in_.size.height - at - 8);
    lives({kPad, at, in_.size.width - 2 * kPad, below});
    at += lives_high;
    tell();
    return p_.take(at + 4);
}

void ParametersPicture::tell() {
    for (const Column& c : columns_) {
        std::string words = c.holders.name + ":";
        for (const auto& run : in_.trace.ranks[static_cast<std::size_t>(c.rank)].parameters) {
            const auto& all = scene_.shown().parameters;
            const bool of_unit = run.parameter == 0
                                     ? run.unit == scene_.shown().unit
                                     : std::any_of(all.begin(), all.end(), [&](const ShownParameter& p) {
                                           return p.id == run.parameter;
                                       });
            if (!of_unit) continue;
            const std::string numbers = format_count(run.elements);
            words += " " +
                     (run.padding != 0
                          ? p_.say("view.parameters.run.padding", {arg("numbers", numbers)})
                          : std::string(in_.trace.text(run.parameter)) + "[" + std::to_string(run.first) +
                                ":" + std::to_string(run.first + run.elements) + "]") +
                     ",";
        }
        if (const LifeSpan* now = c.lives[scene_.chosen].at(in_.cursor.t_ns))
            words += " " + p_.say(std::string("view.holding.") + name(now->holding));
        p_.tell(words);
    }
}

Picture parameters_view(const Input& input) {
    const auto scene = parameters_scene(input);
    if (scene.unit < 0) {
        Painter p(input);
        const float y = draw_chips(p, form_chips(p, Form::rows), {24, 10}, input.size.width - 24) + 8;
        p.nothing(p.say("view.parameters.none"), {24, y});
        return p.take();
    }
    return ParametersPicture(input).draw();
}

}  // namespace meshscope::view
