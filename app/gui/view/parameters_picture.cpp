#include "app/gui/view/parameters_picture.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "app/gui/view/chips.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

constexpr float kGap = 10;         // between arrays
constexpr float kLeastArray = 28;  // high
constexpr float kMostRow = 26;     // a row of few is not drawn higher
constexpr float kLeastColumn = 6;  // wide; narrower ones are joined
constexpr float kMostColumn = 240;
constexpr float kLeastGrid = 150;
constexpr std::size_t kMostHit = 32;  // columns whose rows answer one by one

/// What a rank keeps of the unit, as one key: equal for ranks that keep the same. "" where it keeps nothing.
std::string signature(const trace::Trace& trace, const ParameterUnit& unit, int32_t rank) {
    std::string key;
    for (const auto& run : trace.ranks[static_cast<std::size_t>(rank)].parameters) {
        if (std::none_of(unit.parameters.begin(), unit.parameters.end(),
                         [&](const ShownParameter& p) { return p.id == run.parameter; }))
            continue;
        for (const int64_t n :
             {int64_t{run.parameter}, int64_t{run.padding}, int64_t{run.updated}, run.first_row, run.n_rows,
              run.first_column, run.n_columns, run.first, run.elements})
            key += std::to_string(n) + ",";
    }
    return key;
}

std::string name_of_ranks(const std::vector<int32_t>& ranks) {
    const std::string first = "rank " + std::to_string(ranks.front());
    if (ranks.size() == 1) return first;
    const bool run = ranks.back() - ranks.front() + 1 == static_cast<int32_t>(ranks.size());
    return run ? first + "–" + std::to_string(ranks.back()) : first + " +" + std::to_string(ranks.size() - 1);
}

}  // namespace

ParametersScene parameters_scene(const Input& input) {
    ParametersScene s;
    s.units = parameter_units(input.trace);
    s.unit = shown_unit(input.trace, s.units, input.selection);
    s.rank = focus_rank(input);
    s.step = std::max(0, step_at(input.trace, input.clock, input.cursor.t_ns));
    if (s.unit < 0) return s;
    for (std::size_t i = 0; i < s.shown().parameters.size(); ++i)
        if (s.shown().parameters[i].name == input.selection.parameter) {
            s.chosen = i;
            s.row = std::min(input.selection.row, s.parameter().rows - 1);
        }
    return s;
}

std::vector<Holders> holders_of(const trace::Trace& trace, const ParameterUnit& unit, std::size_t most) {
    std::vector<Holders> each;
    std::vector<std::string> keys;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        std::string key = signature(trace, unit, static_cast<int32_t>(r));
        if (key.empty()) continue;
        each.push_back({{static_cast<int32_t>(r)}, "", false});
        keys.push_back(std::move(key));
    }
    constexpr std::size_t kFew = 8;  // that many stand beside each other even if they are the same
    if (each.size() > kFew) {
        std::vector<Holders> folded;
        std::unordered_map<std::string, std::size_t> places;
        for (std::size_t i = 0; i < each.size(); ++i) {
            const auto [at, is_new] = places.try_emplace(keys[i], folded.size());
            if (is_new)
                folded.push_back(each[i]);
            else
                folded[at->second].ranks.push_back(each[i].ranks.front());
        }
        each = std::move(folded);
    }
    if (each.size() > most && most > 0) {  // neighbours share a column: it shows the parts of all of them
        const std::size_t join = (each.size() + most - 1) / most;
        std::vector<Holders> joined;
        for (std::size_t i = 0; i < each.size(); i += join) {
            joined.push_back({{}, "", join > 1});
            for (std::size_t k = i; k < std::min(each.size(), i + join); ++k)
                joined.back().ranks.insert(joined.back().ranks.end(), each[k].ranks.begin(),
                                           each[k].ranks.end());
            std::sort(joined.back().ranks.begin(), joined.back().ranks.end());
        }
        each = std::move(joined);
    }
    for (Holders& h : each) h.name = name_of_ranks(h.ranks);
    return each;
}

void style_holding(Shape& s, Holding holding, bool keeps_all) {
    switch (holding) {
        case Holding::kept:
        case Holding::updated:
            style_category(s, keeps_all ? MemoryCategory::parameters : MemoryCategory::sharded_parameters);
            s.fill_alpha = 0.85F;  // beside copies in sky it must stay blue
            break;
        case Holding::gathering:
            s.fill = s.stroke = Token::sky;
            s.fill_alpha = 0.26F;
            s.width = 1.4F;
            break;
        case Holding::whole:
            style_category(s, MemoryCategory::unsharded_parameters);
            break;
        case Holding::gradient:
            s.fill = Token::orange;
            s.fill_alpha = 0.4F;
            s.pattern = Fill::hatch;
            s.hatch = Token::orange;
            break;
        case Holding::reducing:
            s.fill = s.stroke = Token::orange;
            s.fill_alpha = 0.26F;
            s.width = 1.4F;
            break;
        case Holding::reduced:
            style_category(s, MemoryCategory::gradients);
            break;
        case Holding::updating:
            s.fill = Token::compute;
            s.fill_alpha = 1;
            break;
    }
}

ParametersPicture::ParametersPicture(const Input& input)
    : in_(input), p_(input), scene_(parameters_scene(input)) {}

bool keeps_all(const trace::Trace& trace, int32_t rank, const ParameterUnit& unit) {
    for (const ShownParameter& parameter : unit.parameters) {
        int64_t kept = 0, box = -1;
        for (const auto& run : trace.ranks[static_cast<std::size_t>(rank)].parameters) {
            if (run.parameter != parameter.id || run.padding != 0) continue;
            kept += run.elements;
            box = run.n_rows * run.n_columns;
        }
        if (kept != box) return false;
    }
    return true;
}

float ParametersPicture::header() {
    p_.layer = kWords;
    float y = in_.size.height < 360 ? 6.F : 10.F;
    const float right = in_.size.width - kPad;
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
    const float rest = in_.size.height - y - shards_height();
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
    if (shards_height() > 0) shards({kPad, at, in_.size.width - 2 * kPad, shards_height()});
    at += shards_height();
    const float below = std::max(lives_high, in_.size.height - at - 8);
    lives({kPad, at, in_.size.width - 2 * kPad, below});
    at += lives_high;
    tell();
    Picture picture = p_.take();
    picture.height = picture.content_height = std::max(in_.size.height, at + 4);
    return picture;
}

void ParametersPicture::grid(Rect box) {
    names(box);
    for (const Column& c : columns_) column(c);
    // Heads of columns: whose they are, and what they have of the chosen parameter just now.
    const float line = p_.line_height(Face::caption);
    float free_x = 0;
    for (const Column& c : columns_) {
        const bool chosen =
            std::find(c.holders.ranks.begin(), c.holders.ranks.end(), scene_.rank) != c.holders.ranks.end();
        const std::string brief = std::to_string(c.holders.ranks.front());
        const std::string who =
            c.box.x >= free_x ? p_.fit({c.holders.name, brief}, Face::caption, std::max(c.box.w, 22.F)) : "";
        p_.layer = kWords;
        if (!who.empty() && c.box.x + p_.width(who, Face::caption) <= in_.size.width) {
            p_.text(who, {c.box.x, box.y}, Face::caption, chosen ? Token::text : Token::mute, Align::left,
                    {"rank", c.rank});
            free_x = c.box.x + p_.width(who, Face::caption) + 4;
        }
        const LifeSpan* now = c.lives[scene_.chosen].at(in_.cursor.t_ns);
        if (now == nullptr) continue;
        const std::string id = std::string("view.holding.") + name(now->holding);
        const std::string state = p_.fit({p_.say(id), p_.say(id + ".short")}, Face::caption, c.box.w);
        if (!state.empty())
            p_.text(state, {c.box.x, box.y + line + 1}, Face::caption, chosen ? Token::text : Token::soft,
                    Align::left, {"rank", c.rank});
    }
}

void ParametersPicture::names(Rect box) {
    const float line = p_.line_height(Face::caption), small = p_.line_height(Face::mono_small);
    for (std::size_t i = 0; i < tops_.size(); ++i) {
        const ShownParameter& p = scene_.shown().parameters[i];
        const bool chosen = i == scene_.chosen;
        const Id id{"parameter", static_cast<int64_t>(i)};
        const float x = kPad, room = box.x - kPad - 10;
        p_.layer = kWords;
        std::string words = p.name;
        // The end of a long name says what it is.
        while (p_.width(words, Face::caption) > room && words.find('.') != std::string::npos)
            words = words.substr(words.find('.') + 1);
        words = p_.fit({words}, Face::caption, room);
        if (!words.empty())
            p_.text(words, {x, tops_[i]}, Face::caption, chosen ? Token::text : Token::soft, Align::left, id);
        const std::string shape = p.columns == 1 ? format_list({p.rows}) : format_list({p.rows, p.columns});
        const std::string fitting = p_.fit({shape}, Face::mono_small, room);
        if (!fitting.empty() && heights_[i] >= line + small)
            p_.text(fitting, {x, tops_[i] + line}, Face::mono_small, Token::mute, Align::left, id);
        if (chosen) {
            p_.layer = kMarks;
            p_.line({kPad - 10, tops_[i]}, {kPad - 10, tops_[i] + heights_[i]}, Token::accent, 3);
        }
        // Numbers of rows beside the first column, where there is room for each.
        const float row = heights_[i] / static_cast<float>(std::max<int64_t>(1, p.rows));
        if (row < small || p.rows > 64) continue;
        p_.layer = kWords;
        for (int64_t r = 0; r < p.rows; ++r)
            p_.try_text(
                std::to_string(r), {box.x - 5, tops_[i] + row * (static_cast<float>(r) + 0.5F) - small / 2},
                Face::mono_small, scene_.row == r && chosen ? Token::text : Token::mute, Align::right);
    }
}

void ParametersPicture::column(const Column& c) {
    for (std::size_t i = 0; i < tops_.size(); ++i) {
        // The array, and beside it the gradient, where there is room for two.
        const bool two = c.box.w >= 44;
        const float value_w = two ? std::floor(c.box.w * 0.6F) : c.box.w;
        const Rect value{c.box.x, tops_[i], value_w, heights_[i]};
        const Rect gradient =
            two ? Rect{c.box.x + value_w + 4, tops_[i], c.box.w - value_w - 4, heights_[i]} : Rect{};
        array(c, i, value, gradient);
        if (columns_.size() <= kMostHit) hits(c, i, {c.box.x, tops_[i], c.box.w, heights_[i]});
        if (static_cast<std::size_t>(scene_.chosen) == i && scene_.row >= 0) {
            const auto& p = scene_.shown().parameters[i];
            const float row = heights_[i] / static_cast<float>(std::max<int64_t>(1, p.rows));
            p_.layer = kMarks;
            p_.outline({c.box.x - 2, tops_[i] + row * static_cast<float>(scene_.row) - 1, c.box.w + 4,
                        std::max(4.F, row) + 2},
                       Token::sel, c.box.w >= 12 ? 2.F : 1.F, 2);
        }
    }
}

/// The places of blocks of the array in its box, each a shape like `like`.
void ParametersPicture::blocks(const std::vector<Block>& list, const ShownParameter& p, Rect box,
                               const Shape& like) {
    for (const Block& b : list) {
        const auto rows = static_cast<float>(std::max<int64_t>(1, p.rows)),
                   columns = static_cast<float>(std::max<int64_t>(1, p.columns));
        const float y0 = std::round(box.y + box.h * static_cast<float>(b.row) / rows),
                    y1 = std::round(box.y + box.h * static_cast<float>(b.row + b.rows) / rows);
        const float x0 = std::round(box.x + box.w * static_cast<float>(b.column) / columns),
                    x1 = std::round(box.x + box.w * static_cast<float>(b.column + b.columns) / columns);
        auto& s = p_.rect({x0, y0, std::max(1.F, x1 - x0), std::max(1.F, y1 - y0)}, like.fill);
        s.fill_alpha = like.fill_alpha;
        s.pattern = s.box.h < 5 || s.box.w < 5 ? Fill::solid : like.pattern;
        s.hatch = like.hatch;
        s.stroke = like.stroke;
        s.width = like.width;
        s.stroke_style = like.stroke_style;
        s.id = like.id;
    }
}

/// What tensor parallelism left of the parameter to the rank: as it says itself, or, where its shard holds
/// nothing of it (FSDP1), as those say that it gathers with.
std::optional<Block> ParametersPicture::box_of(int32_t rank, trace::StringId parameter) const {
    const auto of = [&](int32_t r) -> std::optional<Block> {
        for (const auto& run : in_.trace.ranks[static_cast<std::size_t>(r)].parameters)
            if (run.parameter == parameter)
                return Block{run.first_row, run.first_column, run.n_rows, run.n_columns};
        return std::nullopt;
    };
    if (const auto own = of(rank)) return own;
    if (const trace::Event* event = first_gather(in_.trace, rank, scene_.shown().unit))
        for (const int32_t member : in_.trace.groups[static_cast<std::size_t>(event->group)].ranks)
            if (const auto theirs = of(member)) return theirs;
    return std::nullopt;
}

void ParametersPicture::array(const Column& c, std::size_t place, Rect value, Rect gradient) {
    const ShownParameter& p = scene_.shown().parameters[place];
    const ParameterLife& life = c.lives[place];
    const int64_t now = in_.cursor.t_ns;
    p_.layer = kBack;
    p_.rect(value, Token::ghost, 2);
    if (gradient.w > 0) p_.outline(gradient, Token::line, 1, 2);
    std::vector<trace::ParameterRun> runs;
    for (const int32_t rank : c.holders.ranks) {
        for (const auto& run : in_.trace.ranks[static_cast<std::size_t>(rank)].parameters)
            if (run.parameter == p.id && run.padding == 0) runs.push_back(run);
        if (!c.holders.joined) break;  // the others keep the same
    }
    const auto found = box_of(c.rank, p.id);
    if (!found) return;
    const std::vector<Block> box{*found};
    const bool all = keeps_all(in_.trace, c.rank, scene_.shown());
    const auto styled = [&](Holding holding, const char* kind) {
        Shape s;
        style_holding(s, holding, all);
        s.id = {kind, c.rank, static_cast<int64_t>(place)};
        return s;
    };
    // What tensor parallelism left to this rank.
    if (found->rows < p.rows || found->columns < p.columns) {
        Shape s;
        s.stroke = Token::line2;
        s.stroke_style = Stroke::dashed;
        p_.layer = kLines;
        blocks(box, p, value, s);
    }
    p_.layer = kFills;
    if (life.holds(Holding::whole, now)) {
        blocks(box, p, value, styled(Holding::whole, "copy"));
    } else if (const LifeSpan* span = life.at(now); span != nullptr && span->holding == Holding::gathering) {
        Shape coming = styled(Holding::gathering, "coming");
        coming.fill = Token::none;
        coming.stroke_style = Stroke::dashed;
        blocks(box, p, value, coming);
        std::vector<Block> in;
        for (const Arrived& piece :
             arrived(in_.trace, in_.clock, now, c.rank, in_.trace.event(c.rank, span->event)))
            if (piece.parameter == p.id) in.push_back(piece.block);
        blocks(in, p, value, styled(Holding::whole, "copy"));
    }
    for (const auto& run : runs) {
        Shape kept = styled(Holding::kept, "kept");
        // Kept, but updated by another rank (ZeRO): paler.
        if (run.updated == 0) kept.fill_alpha *= 0.4F;
        if (run.updated == 0) kept.pattern = Fill::solid;
        Shape ground;  // a copy below would shine through
        ground.fill = Token::ghost;
        p_.layer = kFills;
        const auto list = blocks_of(run);
        blocks(list, p, value, ground);
        blocks(list, p, value, kept);
    }
    if (gradient.w <= 0) return;
    if (life.holds(Holding::gradient, now) || life.holds(Holding::reducing, now)) {
        const bool summing = life.holds(Holding::reducing, now);
        blocks(box, p, gradient, styled(summing ? Holding::reducing : Holding::gradient, "gradient"));
    }
    if (life.holds(Holding::reduced, now))
        for (const auto& run : runs)
            blocks(blocks_of(run), p, gradient, styled(Holding::reduced, "gradient"));
}

// Rows answer to the pointer: one by one, or as many as share four pixels.
void ParametersPicture::hits(const Column& c, std::size_t place, Rect box) {
    const int64_t rows = std::max<int64_t>(1, scene_.shown().parameters[place].rows);
    const auto most = static_cast<int64_t>(std::max(1.F, box.h / 4));
    const int64_t each = (rows + most - 1) / most;
    p_.layer = kLines;
    for (int64_t row = 0; row < rows; row += each) {
        const float y0 = box.y + box.h * static_cast<float>(row) / static_cast<float>(rows),
                    y1 = box.y +
                         box.h * static_cast<float>(std::min(rows, row + each)) / static_cast<float>(rows);
        p_.rect({box.x, y0, box.w, y1 - y0}, Token::none, 0,
                {"weight", static_cast<int64_t>(c.rank) | static_cast<int64_t>(place) << 32, row});
    }
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
        p.tell(p.say("view.parameters.none"));
        p.paragraph(p.say("view.parameters.none"), {24, 16}, Face::body, Token::mute, input.size.width - 48,
                    {"empty"});
        return p.take();
    }
    return ParametersPicture(input).draw();
}

}  // namespace meshscope::view
