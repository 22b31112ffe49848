#include <algorithm>
#include <cmath>

#include "app/gui/view/format.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/parameters_picture.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMostHit = 32;    // columns whose rows answer one by one
constexpr std::size_t kFewOwners = 16;  // beyond, rows have no edge in their owner's hue
constexpr float kEdge = 3;

}  // namespace

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
        // Its symbol, which its rows have at their edge everywhere, and its place in a mesh of several dims.
        const int64_t mark = c.holders.ranks.size() == 1 ? mark_of(c.rank) : -1;
        const float symbol = mark >= 0 && c.box.w > 40 ? 15.F : 0.F;
        const std::string where = c.holders.ranks.size() == 1 && in_.trace.info.mesh_shape.size() > 1
                                      ? mesh_place(in_.trace, c.rank)
                                      : "";
        const std::string who =
            c.box.x >= free_x
                ? p_.fit({c.holders.name + (where.empty() ? "" : " " + where), c.holders.name, brief},
                         Face::caption, std::max(c.box.w - symbol, 22.F))
                : "";
        p_.layer = kWords;
        if (!who.empty() && c.box.x + symbol + p_.width(who, Face::caption) <= in_.size.width) {
            if (symbol > 0) p_.symbol({c.box.x + 5, box.y + line / 2}, 4.5F, mark, Token::soft);
            p_.text(who, {c.box.x + symbol, box.y}, Face::caption, chosen ? Token::text : Token::mute,
                    Align::left, {"rank", c.rank});
            free_x = c.box.x + symbol + p_.width(who, Face::caption) + 4;
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
                std::to_string(r), {box.x - 8, tops_[i] + row * (static_cast<float>(r) + 0.5F) - small / 2},
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
        if (two) edges(c, i, value);
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
    const bool some = life.holds(Holding::gradient, now) || life.holds(Holding::reducing, now) ||
                      life.holds(Holding::reduced, now);
    // What stands there later, said where nothing does yet.
    if (const std::string words =
            some ? ""
                 : p_.fit({p_.say("view.parameters.gradient"), p_.say("view.holding.gradient.short")},
                          Face::caption, gradient.w - 4);
        place == 0 && !words.empty() && gradient.h >= p_.line_height(Face::caption))
        p_.label(gradient, words, Face::caption, Token::mute);
    if (life.holds(Holding::gradient, now) || life.holds(Holding::reducing, now)) {
        const bool summing = life.holds(Holding::reducing, now);
        blocks(box, p, gradient, styled(summing ? Holding::reducing : Holding::gradient, "gradient"));
    }
    if (life.holds(Holding::reduced, now))
        for (const auto& run : runs)
            blocks(blocks_of(run), p, gradient, styled(Holding::reduced, "gradient"));
}

int64_t ParametersPicture::mark_of(int32_t rank) const {
    const trace::Event* gather = first_gather(in_.trace, rank, scene_.shown().unit);
    if (gather == nullptr) return -1;
    const auto& members = in_.trace.groups[static_cast<std::size_t>(gather->group)].ranks;
    const auto at = std::ranges::find(members, rank);
    return members.size() > kFewOwners || at == members.end() ? -1 : rank;
}

/// Beside the rows an edge for each rank that keeps some, pale where they are not here; hues tell what memory
/// holds.
void ParametersPicture::edges(const Column& c, std::size_t place, Rect box) {
    const trace::Event* gather = first_gather(in_.trace, c.rank, scene_.shown().unit);
    if (gather == nullptr || c.holders.ranks.size() > 1 || mark_of(c.rank) < 0) return;
    const ShownParameter& p = scene_.shown().parameters[place];
    const int64_t now = in_.cursor.t_ns;
    const bool whole = c.lives[place].holds(Holding::whole, now);
    std::vector<Arrived> come;
    if (const LifeSpan* span = c.lives[place].at(now); span != nullptr && span->holding == Holding::gathering)
        come = arrived(in_.trace, in_.clock, now, c.rank, in_.trace.event(c.rank, span->event));
    const auto& members = in_.trace.groups[static_cast<std::size_t>(gather->group)].ranks;
    const auto all = static_cast<float>(std::max<int64_t>(1, p.rows));
    p_.layer = kLines;
    for (const OwnedRows& owned : owned_rows(in_.trace, members, p.id)) {
        const bool here =
            owned.rank == c.rank || whole || std::ranges::any_of(come, [&](const Arrived& part) {
                return part.parameter == p.id && static_cast<float>(part.block.row) < owned.to &&
                       owned.from < static_cast<float>(part.block.row + part.block.rows);
            });
        const float from = box.y + box.h * owned.from / all, to = box.y + box.h * owned.to / all;
        auto& edge =
            p_.rect({box.x - kEdge - 1.5F, from + 0.5F, kEdge, std::max(1.F, to - from - 1)}, Token::soft, 1);
        if (!here) edge.fill_alpha = 0.3F;
    }
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

}  // namespace meshscope::view
