// The bands of the matrices: what stands where, and how large.
#include "app/gui/view/matrices_picture.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/format.h"
#include "app/gui/view/sheet.h"
#include "core/base/kinds.h"

namespace meshscope::view {
namespace {

using Kind = MatrixStep::Kind;
using Role = MatrixTile::Role;

constexpr std::size_t kFewRanks = 4;

}  // namespace

FactorCut cut_of(const MatrixStep& product) {
    if (!product.factor) return FactorCut::none;
    if (product.factor->own.rows < product.factor->rows) return FactorCut::rows;
    return product.factor->own.columns < product.factor->columns ? FactorCut::columns : FactorCut::none;
}

std::optional<AddedUp> added_up(const Input& input, int32_t rank, int32_t id) {
    constexpr std::size_t kMostMembers = 64;
    const trace::Event& event = input.trace.event(rank, id);
    const auto& ranks = input.trace.groups[static_cast<std::size_t>(event.group)].ranks;
    if (ranks.size() > kMostMembers) return std::nullopt;
    AddedUp added;
    added.instance.group = event.group;
    added.instance.sequence = event.sequence;
    for (const int32_t member : ranks) {
        const auto& events = input.trace.ranks[static_cast<std::size_t>(member)].events;
        for (const StepRun& run : step_runs(input.trace, member, event.step, input.memo))
            for (std::size_t i = run.first; i < run.last; ++i)
                if (same_collective(events[i], event)) {
                    added.instance.ranks.push_back(member);
                    added.instance.events.push_back(events[i].id);
                }
    }
    if (added.instance.ranks.size() != ranks.size()) return std::nullopt;  // the run ended before
    added.state = collective_state(input.trace, input.clock, added.instance, input.cursor.t_ns);
    return added;
}

MatricesPicture::MatricesPicture(const Input& input, const MatricesOptions& options)
    : in_(input), options_(options), p_(input) {
    scene_ = matrix_scene(input, input.trace.ranks.size() <= kFewRanks ? kFewRanks : 2);
}

Token MatricesPicture::cut_hue() const {
    const auto& info = in_.trace.info;
    std::string dim = scene_.group >= 0 ? in_.trace.groups[static_cast<std::size_t>(scene_.group)].mesh_dim
                                        : std::string("tp");
    const auto at = std::ranges::find(info.mesh_names, dim) - info.mesh_names.begin();
    return dim_hue(dim, static_cast<std::size_t>(at));
}

/// "tp = 1, shard = 0": where the rank stands in the mesh.
std::string MatricesPicture::coordinate(int32_t rank) const {
    const auto& info = in_.trace.info;
    const auto at = std::ranges::find(info.mesh_ranks, rank) - info.mesh_ranks.begin();
    if (std::cmp_equal(at, info.mesh_ranks.size()) || info.mesh_names.size() != info.mesh_shape.size())
        return "";
    std::string words;
    auto rest = static_cast<int64_t>(at);
    for (std::size_t d = info.mesh_shape.size(); d-- > 0; rest /= info.mesh_shape[d])
        words = info.mesh_names[d] + " = " + std::to_string(rest % info.mesh_shape[d]) +
                (words.empty() ? "" : ", ") + words;
    return words;
}

float MatricesPicture::bands(float y, float room) {
    const float wide = in_.size.width - 2 * kPad, inside = inside_width();
    // The line that says how many are not shown takes its room too.
    const auto left = [&] { return scene_.likewise > 0 ? room - p_.line_height(Face::caption) - 4 : room; };
    Scale scale = choose(inside, left());
    // Two that can be read say more than four that cannot.
    const auto too_high = [&] {
        float h = 0;
        for (const MatrixChain& chain : scene_.chains) h += band_height(chain, scale, inside) + kBandGap;
        return h > left() + kBandGap;
    };
    while (scene_.chains.size() > 2 && (scale.cell < kGoodCell || too_high())) {
        const auto far =
            scene_.chains.back().rank == scene_.rank ? scene_.chains.begin() : scene_.chains.end() - 1;
        scene_.chains.erase(far);
        ++scene_.likewise;
        scale = choose(inside, left());
    }
    for (const MatrixChain& chain : scene_.chains) {
        borrowed_.push_back(borrowed(chain));
        std::optional<AddedUp> added;
        for (const MatrixStep& step : chain.steps)
            if (step.kind == Kind::collective) added = added_up(in_, chain.rank, step.event);
        added_.push_back(std::move(added));
        sums_.emplace_back();
        placed_.emplace_back();
    }
    find_members();
    for (const MatrixChain& chain : scene_.chains) {
        const float h = band_height(chain, scale, inside);
        band(chain, {kPad, y, wide, h}, scale);
        y += h + kBandGap;
    }
    travelling();
    if (scene_.likewise > 0) {
        p_.layer = kWords;
        const std::string words = p_.say("view.matrices.likewise", {arg("ranks", scene_.likewise)});
        y = p_.paragraph(words, {kPad, y}, Face::caption, Token::mute, wide) + 4;
    }
    return y;
}

void MatricesPicture::band(const MatrixChain& chain, Rect box, Scale scale) {
    const bool chosen = chain.rank == scene_.rank;
    const Id id{"rank", chain.rank};
    const int64_t place = mark_of(chain.rank);
    p_.layer = kBack;
    auto& frame = p_.rect(box, Token::panel, 10, id);
    frame.stroke = chosen ? Token::sel : Token::line;
    frame.width = chosen ? 1.6F : 1.F;
    p_.rect({box.x, box.y + 8, 5, box.h - 16}, origin_hue(place), 2);
    p_.layer = kWords;
    const float line = p_.line_height(Face::caption);
    float x0 = box.x + kInside + 6, y = box.y + 6;
    const bool beside = head_height() == 0;
    p_.symbol({x0 + 5, y + line / 2}, 5, place, origin_hue(place));
    const std::string name = "rank " + std::to_string(chain.rank);
    p_.text(name, {x0 + 16, y}, Face::caption, Token::text, Align::left, id);
    // Its place in the mesh: beside the name, or below it a dim a line.
    const auto& names = in_.trace.info.mesh_names;
    const Token hue = names.size() == 1 ? dim_hue(names[0], 0) : Token::soft;
    const float left = beside ? x0 : x0 + 28 + p_.width(name, Face::caption);
    const float right = beside ? x0 + kGutter - 8 : box.x + box.w - kInside;
    std::string rest = coordinate(chain.rank);
    while (!rest.empty()) {
        const std::size_t end = beside ? rest.find(", ") : std::string::npos;
        const std::string where = p_.fit({rest.substr(0, end)}, Face::caption, right - left);
        if (beside) y += line + 2;
        if (!where.empty() && y + line <= box.y + box.h)
            p_.text(where, {left, y}, Face::caption, hue, Align::left, id);
        rest = end == std::string::npos ? "" : rest.substr(end + 2);
    }
    y = box.y + 2 + head_height();
    if (beside) x0 += kGutter;
    const auto all = items(chain, scale);
    const float small = p_.line_height(Face::mono_small);
    for (const Line& row : flow(all, inside_width())) {
        float x = x0;
        for (std::size_t i = row.first; i < row.last; ++i) {
            item(chain, all[i], {x, y + small + 3}, row.h);
            x += all[i].wide + kGap;
        }
        y += row.h + 2 * small + 10;
    }
}

void MatricesPicture::item(const MatrixChain& chain, const Item& item, Point at, float line_h) {
    const float middle = at.y + line_h / 2;
    if (item.tile == nullptr) {
        p_.layer = kWords;
        if (!item.arrow) {
            p_.text(item.sign, {at.x + item.w / 2, middle - p_.line_height(Face::body) / 2}, Face::body,
                    Token::soft, Align::centre);
            return;
        }
        p_.text(item.sign, {at.x + item.w / 2, middle - p_.line_height(Face::caption) - 1}, Face::caption,
                Token::soft, Align::centre);
        p_.layer = kLines;
        p_.line({at.x, middle + 3}, {at.x + item.w, middle + 3}, Token::soft, 1.4F).arrow = true;
        return;
    }
    const MatrixTile& tile = *item.tile;
    const Rect box{at.x, middle - item.h / 2, item.w, item.h};
    const float share = item.made_by == nullptr ? 1.F : share_done(in_, chain.rank, item.made_by->event);
    const double m = most(item.place, tile);
    const bool is_sum = item.made_by != nullptr && item.made_by->kind == Kind::collective;
    placed_[static_cast<std::size_t>(&chain - scene_.chains.data())][item.place] = box;
    if (is_sum) {
        sum(chain, item, box);
    } else {
        TileLook look{.most = m,
                      .share = share,
                      .figures = item.figures,
                      .cut = cut_hue(),
                      .id = {"matrix", chain.rank, static_cast<int64_t>(item.place)}};
        // What the rank has only once, or while, it is gathered.
        std::vector<Block> known;
        if (item.place == 1 && chain.before && share_done(in_, chain.rank, chain.gather) < 1) {
            const MatrixTile& part = *chain.before;
            if (part.rows_in_all == 0) known = blocks_of_part(part, 0, part.own.rows);
            look.known = &known;
        }
        if (const auto there = not_whole(chain, item)) {
            known = there->blocks;
            look.known = &known;
        }
        draw_tile(p_, tile, box, look);
        for (const Borrowed& life : borrowed_[static_cast<std::size_t>(&chain - scene_.chains.data())])
            if (item.place == 2 + 2 * life.step)
                edges(owners_of(chain, life), tile, box, [&](int32_t rank) {
                    return rank == chain.rank ||
                           (in_.cursor.t_ns >= life.gather_end && in_.cursor.t_ns < life.freed);
                });
    }
    tile_words(chain, item, box, at, line_h);
}

/// Above a matrix which part of the whole it is, below it what it is, its shape and m.
void MatricesPicture::tile_words(const MatrixChain& chain, const Item& item, Rect box, Point at,
                                 float line_h) {
    const MatrixTile& tile = *item.tile;
    const float small = p_.line_height(Face::mono_small);
    const float share = item.made_by == nullptr ? 1.F : share_done(in_, chain.rank, item.made_by->event);
    const double m = most(item.place, tile);
    const bool is_sum = item.made_by != nullptr && item.made_by->kind == Kind::collective;
    p_.layer = kWords;
    const std::string part = part_words(tile);
    std::string above = part;
    if (part.empty() && (tile.rows_in_all > 0 || !tile.row_places.empty()))
        above = p_.say("view.matrices.some_rows",
                       {arg("rows", tile.own.rows), arg("all", std::max(tile.rows_in_all, tile.rows))});
    Token hue = cut_hue();
    if (tile.role == Role::partial_sum) {
        above = p_.fit({p_.say("view.matrices.partial_sum"), p_.say("view.matrices.partial_sum.short")},
                       Face::caption, item.wide);
        hue = Token::soft;
    } else if (const auto there = not_whole(chain, item)) {
        const std::string stage = there->coming ? "view.matrices.gathering" : "view.matrices.kept";
        const std::string words = p_.say(stage);
        above = p_.fit({part.empty() ? words : part + " " + words, words, p_.say(stage + ".short")},
                       Face::mono_small, item.wide);
        if (there->coming) hue = op_hue(CollectiveOp::all_gather);
    } else if (above.empty() && tile.role == Role::weight) {
        above = p_.say("view.matrices.whole");
        hue = Token::mute;
    } else if (is_sum) {
        const auto c = static_cast<std::size_t>(&chain - scene_.chains.data());
        const auto& added = added_[c];
        if (added && added->state.begun && !added->state.finished && added->state.rounds > 0)
            above = p_.say("view.matrices.hop",
                           {arg("hop", std::min(added->state.round + 1, added->state.rounds)),
                            arg("hops", added->state.rounds)});
        hue = op_hue(in_.trace.event(chain.rank, item.made_by->event).op);
    }
    const Face face = tile.role == Role::partial_sum ? Face::caption : Face::mono_small;
    const std::string brief =
        std::to_string(tile.own.rows) + "/" + std::to_string(std::max(tile.rows_in_all, tile.rows));
    const bool some = part.empty() && tile.own.rows < std::max(tile.rows_in_all, tile.rows);
    above = p_.fit({above, some ? brief : std::string()}, face, item.wide);
    const float centre = box.x + box.w / 2, high = std::max(small, p_.line_height(face));
    if (!above.empty())
        p_.text(above, {std::max(centre, at.x + p_.width(above, face) / 2), at.y - high - 4}, face, hue,
                Align::centre);
    const std::string name = shown_name(p_, tile) + " " + shape_words(tile);
    const float rounded = static_cast<float>(m >= 1 ? std::ceil(m) : m);
    const std::string scale_words = m > 0 ? name + " m = " + format_number(rounded, 2) : name;
    const std::string below = p_.fit({scale_words, name, shown_name(p_, tile)}, Face::mono_small,
                                     std::max(item.wide, p_.width(name, Face::mono_small)));
    if (!below.empty())
        p_.text(below, {at.x, at.y + line_h + 5}, Face::mono_small, share > 0 ? Token::text : Token::mute);
}

/// What the rank keeps of a weight; the rest is only borrowed.
std::vector<Block> MatricesPicture::kept_of(const MatrixChain& chain, const MatrixTile& tile) const {
    std::vector<Block> kept;
    for (const auto& run : in_.trace.ranks[static_cast<std::size_t>(chain.rank)].parameters) {
        if (run.parameter == 0 || in_.trace.text(run.parameter) != tile.parameter) continue;
        for (Block block : blocks_of(run)) {
            if (tile.transposed) block = {block.column, block.row, block.columns, block.rows};
            kept.push_back(block);
        }
    }
    return kept;
}

/// What has come in of the others' rows of a weight by an all_gather, at the cursor.
std::vector<Block> MatricesPicture::arrived_of(const MatrixChain& chain, const MatrixTile& tile,
                                               int32_t gather) const {
    std::vector<Block> come;
    for (const Arrived& part :
         arrived(in_.trace, in_.clock, in_.cursor.t_ns, chain.rank, in_.trace.event(chain.rank, gather))) {
        if (in_.trace.text(part.parameter) != tile.parameter) continue;
        const Block& b = part.block;
        come.push_back(tile.transposed ? Block{b.column, b.row, b.columns, b.rows} : b);
    }
    return come;
}

std::optional<MatricesPicture::NotWhole> MatricesPicture::not_whole(const MatrixChain& chain,
                                                                    const Item& item) const {
    const int64_t now = in_.cursor.t_ns;
    for (const Borrowed& each : borrowed_[static_cast<std::size_t>(&chain - scene_.chains.data())]) {
        if (item.place != 2 + 2 * each.step || (now >= each.gather_end && now < each.freed)) continue;
        NotWhole there{kept_of(chain, *item.tile), now >= each.gather_begin && now < each.gather_end};
        if (there.coming)
            for (const Block& block : arrived_of(chain, *item.tile, each.gather))
                there.blocks.push_back(block);
        return there;
    }
    return std::nullopt;
}

Picture MatricesPicture::draw() {
    p_.picture().content_height = 1e6F;  // known at the end
    float y = header();
    if (scene_.empty()) {
        const std::string words = p_.say(
            no_event_id(in_.trace, scene_.step < 0 ? "view.matrices.none.setup" : "view.matrices.none"),
            {arg("step", scene_.step)});
        p_.tell(words);
        p_.layer = kWords;
        p_.paragraph(words, {kPad, y}, Face::body, Token::mute, in_.size.width - 2 * kPad, {"empty"});
        Picture picture = p_.take();
        picture.height = picture.content_height = in_.size.height;
        return picture;
    }
    y = strip(y);
    const float cards_h = cards_height();
    y = bands(y, in_.size.height - y - cards_h - 8);
    if (cards_h > 0) {
        cards({kPad, y, in_.size.width - 2 * kPad, cards_h});
        y += cards_h;
    }
    light_up();
    tell();
    Picture picture = p_.take();
    picture.height = picture.content_height = std::max(in_.size.height, y + 4);
    return picture;
}

void MatricesPicture::tell() {
    for (const MatrixChain& chain : scene_.chains) {
        const auto name = [&](const MatrixTile& t) {
            const std::string part = part_words(t);
            return shown_name(p_, t) + " " + shape_words(t) + (part.empty() ? "" : " " + part);
        };
        std::string words = "rank " + std::to_string(chain.rank) + ": " + name(chain.start);
        for (const MatrixStep& step : chain.steps) {
            if (step.factor)
                words += " × " + name(*step.factor) + " = ";
            else
                words += " → " + step.words + " → ";
            words += name(step.result);
        }
        p_.tell(words);
    }
}

Picture matrices_view(const Input& input, const MatricesOptions& options) {
    return MatricesPicture(input, options).draw();
}

}  // namespace meshscope::view
