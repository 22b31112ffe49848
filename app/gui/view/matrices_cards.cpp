// Below the bands: the life of weights that are gathered for the products.
#include <algorithm>
#include <array>
#include <limits>

#include "app/gui/view/format.h"
#include "app/gui/view/matrices_picture.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMostRanks = 2;
constexpr float kSymbols = 24, kCardGap = 20, kSide = 10;
constexpr float kMostCell = 10;
constexpr float kEdges = 8;  // left of a matrix: the edge that says whose rows they are
constexpr float kFrom = 34;  // right of it: the arrow of what comes, from its owner's symbol
constexpr float kOwner = 7;  // half of what a symbol beside its rows takes
constexpr std::array<const char*, 4> kStates{"stored", "gathered", "whole", "freed"};

/// The parameter with this name as the rank's record has it, or, where the rank keeps nothing of it,
/// another's.
std::optional<ShownParameter> parameter_named(const trace::Trace& trace, int32_t rank,
                                              const std::string& name) {
    const auto of = [&](const trace::RankTrace& record) -> std::optional<ShownParameter> {
        for (const auto& run : record.parameters)
            if (run.parameter != 0 && trace.text(run.parameter) == name)
                return ShownParameter{name, run.parameter, run.unit, run.rows, run.columns};
        return std::nullopt;
    };
    if (auto own = of(trace.ranks[static_cast<std::size_t>(rank)])) return own;
    for (const trace::RankTrace& record : trace.ranks)
        if (auto theirs = of(record)) return theirs;
    return std::nullopt;
}

MatrixTile as_parameter(const MatrixTile& factor) {
    MatrixTile tile = factor;
    if (!factor.transposed) return tile;
    tile.transposed = false;
    tile.name = tile.name.substr(0, tile.name.size() - std::string_view("ᵀ").size());
    std::swap(tile.rows, tile.columns);
    tile.own = {factor.own.column, factor.own.row, factor.own.columns, factor.own.rows};
    for (int64_t i = 0; i < tile.own.rows && !tile.numbers.empty(); ++i)
        for (int64_t k = 0; k < tile.own.columns; ++k)
            tile.numbers[static_cast<std::size_t>(i * tile.own.columns + k)] =
                factor.numbers[static_cast<std::size_t>(k * tile.own.rows + i)];
    return tile;
}

/// "0–3": the rows of the whole that a rank keeps.
std::string kept_rows(const trace::RankTrace& record, const trace::Trace& trace, const std::string& name) {
    std::string words;
    for (const auto& run : record.parameters) {
        if (run.parameter == 0 || trace.text(run.parameter) != name) continue;
        for (const Block& block : blocks_of(run)) {
            const int64_t last = block.row + block.rows - 1;
            words += (words.empty() ? "" : ", ") + std::to_string(block.row) +
                     (last > block.row ? "–" + std::to_string(last) : "");
        }
    }
    return words;
}

}  // namespace

struct MatricesPicture::Card {
    const MatrixChain& chain;
    const Borrowed& life;
    std::size_t state;
    Rect box;  ///< of the matrix
    double most = 0;
    bool last = true;  ///< nothing stands at its right: there is room for where its rows come from
};

std::vector<MatricesPicture::Borrowed> MatricesPicture::borrowed(const MatrixChain& chain) const {
    std::vector<Borrowed> all;
    for (std::size_t i = 0; i < chain.steps.size(); ++i) {
        const MatrixStep& step = chain.steps[i];
        if (!step.factor || step.factor->parameter.empty()) continue;
        const auto parameter = parameter_named(in_.trace, chain.rank, step.factor->parameter);
        if (!parameter) continue;
        const ParameterLife life = life_of(in_.trace, in_.clock, chain.rank, scene_.step, *parameter);
        const int64_t begin =
            in_.clock.events[static_cast<std::size_t>(chain.rank)][static_cast<std::size_t>(step.event)]
                .begin_ns;
        const LifeSpan* gather = nullptr;
        for (const LifeSpan& span : life.truths)
            if (span.holding == Holding::gathering && span.event < step.event &&
                (gather == nullptr || span.event > gather->event))
                gather = &span;
        if (gather == nullptr) continue;
        Borrowed one{i, parameter->id, gather->event, gather->begin_ns, gather->end_ns, gather->end_ns};
        // It is freed where the copy that is there at the product ends.
        for (const LifeSpan& span : life.truths)
            if (span.holding == Holding::whole && span.end_ns > begin && span.begin_ns <= begin &&
                (span.event == gather->event || one.freed == gather->end_ns))
                one.freed = std::max(one.freed, span.end_ns);
        all.push_back(one);
    }
    return all;
}

/// The gather whose weights the cards show: of the unit in use at the cursor, else of the next, else of the
/// last.
int32_t MatricesPicture::shown_gather(const std::vector<Borrowed>& lives) const {
    const Borrowed* shown = &lives.back();
    for (const Borrowed& life : lives)
        if (in_.cursor.t_ns < life.freed && life.gather_begin < shown->gather_begin) shown = &life;
    return shown->gather;
}

float MatricesPicture::cards_height() const {
    if (scene_.empty()) return 0;
    const auto lives = borrowed(scene_.chain());
    if (lives.empty()) return 0;
    float high = 0;
    for (const Borrowed& life : lives)
        high = std::max(
            high, static_cast<float>(cells_of(as_parameter(*scene_.chain().steps[life.step].factor).rows)));
    const float caption = p_.line_height(Face::caption), small = p_.line_height(Face::mono_small);
    const auto ranks = static_cast<float>(std::min(kMostRanks, scene_.chains.size()));
    return caption + 8 + caption + 10 + ranks * (high * card_cell(lives) + small + 8) + 12;
}

/// How large a cell of the matrices in the cards is: the same for all units, so that nothing jumps.
float MatricesPicture::card_cell(const std::vector<Borrowed>& lives) const {
    const float beside = (in_.size.width - 2 * kPad - kSymbols - 3 * kCardGap) / 4 - 2 * kSide - kFrom;
    // What a low window leaves below the bands.
    const float high = std::max(40.F, std::min(in_.size.height * 0.1F, in_.size.height * 0.17F - 62));
    float cell = kMostCell;
    for (const Borrowed& unit : lives) {
        float columns = 0, rows = 1, tiles = 0;
        for (const Borrowed& life : lives) {
            if (life.gather != unit.gather) continue;
            const MatrixTile tile = as_parameter(*scene_.chain().steps[life.step].factor);
            columns += static_cast<float>(cells_of(tile.columns));
            rows = std::max(rows, static_cast<float>(cells_of(tile.rows)));
            ++tiles;
        }
        cell = std::min({cell, (beside - tiles * (kEdges + 4)) / std::max(1.F, columns), high / rows});
    }
    return std::max(cell, 1.F);
}

/// Which unit's weights the cards show, and beside it whose hue is whose.
void MatricesPicture::cards_title(Rect box, const std::vector<Borrowed>& own, int32_t shown_gather) {
    const trace::Event& gather = in_.trace.event(scene_.rank, shown_gather);
    p_.layer = kWords;
    // nn.Linear stores [out, in]: the bands show the transpose, the cards what is stored.
    const bool transposed = std::ranges::any_of(own, [&](const Borrowed& life) {
        return life.gather == shown_gather && scene_.chain().steps[life.step].factor->transposed;
    });
    const std::vector<MessageArg> of_unit_named{arg("unit", std::string(in_.trace.text(gather.unit)))};
    std::vector<std::string> titles{p_.say("view.matrices.cards", of_unit_named),
                                    p_.say("view.matrices.cards.short")};
    if (transposed) {
        titles.insert(titles.begin(), p_.say("view.matrices.cards.stored.short", of_unit_named));
        titles.insert(titles.begin(), p_.say("view.matrices.cards.stored", of_unit_named));
    }
    const std::string title = p_.fit(titles, Face::caption, box.w);
    if (!title.empty()) p_.text(title, {box.x, box.y}, Face::caption, Token::text);
    const float titled = title.empty() ? 0 : p_.width(title, Face::caption) + 24;
    owners_legend({box.x + titled, box.y, box.w - titled, box.h}, shown_gather);
}

/// A card's ground: its state's name, when it begins, and the arrow to the next one. `now` is the state at
/// the cursor.
void MatricesPicture::card_frame(Rect card, const Borrowed& first, std::size_t state, std::size_t now) {
    p_.layer = kBack;
    auto& frame = p_.rect(card, state == now ? Token::accentbg : Token::panel, 8);
    frame.stroke = state == now ? Token::accent : Token::line;
    p_.layer = kWords;
    const std::string stage = std::string("view.matrices.card.") + kStates[state];
    const std::string head =
        p_.fit({p_.say(stage), p_.say(stage + ".short")}, Face::caption, card.w - 2 * kSide);
    if (!head.empty())
        p_.text(head, {card.x + kSide, card.y + 5}, Face::caption, state == now ? Token::text : Token::soft);
    const int64_t at = state == 0   ? -1
                       : state == 1 ? first.gather_begin
                       : state == 2 ? first.gather_end
                                    : first.freed;
    const bool ends = at >= 0 && at != std::numeric_limits<int64_t>::max();
    const float left = card.x + kSide + p_.width(head, Face::caption) + 8;
    const std::string time =
        ends ? p_.fit({format_time(at)}, Face::mono_small, card.x + card.w - kSide - left) : "";
    if (!time.empty())
        p_.text(time, {card.x + card.w - kSide, card.y + 6}, Face::mono_small,
                state == now ? Token::text : Token::mute, Align::right);
    if (state + 1 < kStates.size()) {
        p_.layer = kLines;
        const float middle = card.y + card.h / 2, end = card.x + card.w;
        p_.line({end + 3, middle}, {end + kCardGap - 3, middle}, Token::soft, 1.4F).arrow = true;
    }
}

void MatricesPicture::cards(Rect box) {
    const auto& own = borrowed_[static_cast<std::size_t>(&scene_.chain() - scene_.chains.data())];
    if (own.empty()) return;
    const float caption = p_.line_height(Face::caption), small = p_.line_height(Face::mono_small);
    const int32_t shown_gather = this->shown_gather(own);
    cards_title({box.x, box.y, box.w, caption}, own, shown_gather);
    // The weights of that gather; of another rank those of the same products.
    std::vector<std::size_t> steps;
    for (const Borrowed& life : own)
        if (life.gather == shown_gather) steps.push_back(life.step);
    const auto of_unit = [&](std::size_t c) {
        std::vector<Borrowed> lives;
        for (const Borrowed& life : borrowed_[c])
            if (std::ranges::find(steps, life.step) != steps.end()) lives.push_back(life);
        return lives;
    };
    // Two ranks, the chosen one among them.
    std::vector<std::size_t> shown;
    for (std::size_t c = 0; c < scene_.chains.size(); ++c)
        if (scene_.chains[c].rank == scene_.rank) shown.push_back(c);
    for (std::size_t c = 0; c < scene_.chains.size() && shown.size() < kMostRanks; ++c)
        if (scene_.chains[c].rank != scene_.rank && borrowed_[c].size() == own.size()) shown.push_back(c);
    std::ranges::sort(shown);
    const float cell = card_cell(own), top = box.y + caption + 6,
                wide = (box.w - kSymbols - 3 * kCardGap) / 4;
    float high = 0;
    for (const Borrowed& life : own)
        high = std::max(
            high,
            cell * static_cast<float>(cells_of(as_parameter(*scene_.chain().steps[life.step].factor).rows)));
    const float row = high + small + 8, card_high = caption + 10 + row * static_cast<float>(shown.size()) + 4;
    const int64_t t = in_.cursor.t_ns;
    const Borrowed first = *std::ranges::find(own, shown_gather, &Borrowed::gather);
    const std::size_t now = t < first.gather_begin ? 0 : t < first.gather_end ? 1 : t < first.freed ? 2 : 3;
    for (std::size_t state = 0; state < kStates.size(); ++state) {
        const Rect card{box.x + kSymbols + static_cast<float>(state) * (wide + kCardGap), top, wide,
                        card_high};
        card_frame(card, first, state, now);
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const MatrixChain& chain = scene_.chains[shown[i]];
            const auto lives = of_unit(shown[i]);
            if (lives.empty()) continue;
            const float y = card.y + caption + 12 + row * static_cast<float>(i);
            float x = card.x + kSide + kEdges;
            for (const Borrowed& life : lives) {
                const MatrixTile tile = as_parameter(*chain.steps[life.step].factor);
                const Rect at_tile{x, y, cell * static_cast<float>(cells_of(tile.columns)),
                                   cell * static_cast<float>(cells_of(tile.rows))};
                this->card({chain, life, state, at_tile,
                            most(2 + 2 * life.step, *chain.steps[life.step].factor),
                            life.step == lives.back().step});
                x += at_tile.w + kEdges + 4;
            }
            card_words(chain, lives, state, {card.x + kSide, y + high + 2, wide - 2 * kSide, 0});
            if (state != 0) continue;
            const int64_t mark = mark_of(chain.rank);
            p_.layer = kWords;
            p_.symbol({box.x + 8, y + high / 2}, 5, mark, origin_hue(mark));
            p_.try_text(std::to_string(chain.rank), {box.x + 8, y + high / 2 + 8}, Face::mono_small,
                        Token::soft, Align::centre, {"rank", chain.rank});
        }
    }
}

/// Below a rank's matrices in a card: what is there, or what it costs.
void MatricesPicture::card_words(const MatrixChain& chain, const std::vector<Borrowed>& lives,
                                 std::size_t state, Rect at) {
    const auto& record = in_.trace.ranks[static_cast<std::size_t>(chain.rank)];
    const trace::Event& gather = in_.trace.event(chain.rank, lives.front().gather);
    std::vector<std::string> choices;
    if (state == 0) {
        // One word where the rows of all are the same, else each weight's.
        std::string rows, each;
        bool same = true;
        for (const Borrowed& life : lives) {
            const MatrixTile tile = as_parameter(*chain.steps[life.step].factor);
            const std::string kept = kept_rows(record, in_.trace, tile.parameter);
            same = same && (each.empty() || kept == rows);
            rows = kept;
            each += (each.empty() ? "" : ", ") + tile.name + " " + (kept.empty() ? "–" : kept);
        }
        choices = {!same          ? each
                   : rows.empty() ? p_.say("view.matrices.no_rows")
                                  : p_.say("view.matrices.rows", {arg("rows", rows)})};
    }
    if (state == 1) {
        const std::string sends =
            p_.say("view.matrices.sends", {arg("bytes", format_bytes(gather.sent_bytes))});
        const std::vector<MessageArg> numbers{arg("in", format_count(gather.in_elements)),
                                              arg("out", format_count(gather.out_elements))};
        choices = {
            p_.say("view.matrices.gathers", numbers) + ", " + sends, p_.say("view.matrices.gathers", numbers),
            format_count(gather.in_elements) + " → " + format_count(gather.out_elements) + ", " + sends,
            sends};
    }
    if (state == 2) choices = {p_.say("view.matrices.own_samples", {arg("rows", chain.start.own.rows)}),
                               p_.say("view.matrices.own_samples.short", {arg("rows", chain.start.own.rows)})};
    if (state == 3) {
        // The first that is given back after the last product.
        int64_t freed = 0;
        int32_t when = -2;
        const int32_t after = chain.steps[lives.back().step].event;
        for (const trace::MemoryChange& change : record.memory) {
            if (change.category != MemoryCategory::unsharded_parameters || change.delta_bytes >= 0 ||
                change.step != scene_.step || change.after_event < after)
                continue;
            if (when == -2) when = change.after_event;
            if (change.after_event == when) freed -= change.delta_bytes;
        }
        if (freed > 0) choices = {p_.say("view.matrices.frees", {arg("bytes", format_bytes(freed))})};
    }
    p_.layer = kWords;
    const std::string fits = p_.fit(choices, Face::caption, at.w);
    if (!fits.empty()) p_.text(fits, {at.x, at.y}, Face::caption, Token::soft);
}

void MatricesPicture::card(const Card& card) {
    const MatrixTile tile = as_parameter(*card.chain.steps[card.life.step].factor);
    const std::vector<Block> kept = kept_of(card.chain, tile);
    TileLook look{.most = card.most,
                  .cut = Token::none,
                  .id = {"matrix", card.chain.rank, 2 + 2 * static_cast<int64_t>(card.life.step)}};
    if (card.state != 2) look.known = &kept;
    draw_tile(p_, tile, card.box, look);
    const auto owned = owners_of(card.chain, card.life);
    const bool coming = card.state == 1;
    const auto come = coming && in_.cursor.t_ns >= card.life.gather_begin
                          ? arrived_of(card.chain, tile, card.life.gather)
                          : std::vector<Block>{};
    const auto is_in = [&](const OwnedRows& each) {
        return in_.cursor.t_ns >= card.life.gather_end || std::ranges::any_of(come, [&](const Block& b) {
                   return static_cast<float>(b.row) < each.to &&
                          each.from < static_cast<float>(b.row + b.rows);
               });
    };
    edges(owned, tile, card.box, [&](int32_t rank) {
        return rank == card.chain.rank || card.state == 2 ||
               (coming && std::ranges::any_of(owned, [&](const OwnedRows& each) {
                    return each.rank == rank && is_in(each);
                }));
    });
    const float all = static_cast<float>(std::max<int64_t>(1, tile.rows));
    float free_y = card.box.y - kOwner;  // of the symbols beside the rows
    for (const OwnedRows& each : owned) {
        const bool own = each.rank == card.chain.rank;
        const int64_t mark = mark_of(each.rank);
        const Token hue = origin_hue(mark);
        const Rect rows{card.box.x, card.box.y + card.box.h * each.from / all, card.box.w,
                        card.box.h * (each.to - each.from) / all};
        p_.layer = kLines;
        if (own && card.state != 2)
            p_.outline({rows.x - 1, rows.y - 1, rows.w + 2, rows.h + 2}, Token::soft, 1, 2);
        if (!own && (coming || card.state == 3))
            p_.outline(rows, coming ? hue : Token::line2, 1.2F, 2).stroke_style = Stroke::dashed;
        if (rows.y + rows.h < card.box.y + card.box.h - 0.5F)
            p_.line({rows.x - 3, rows.y + rows.h}, {rows.x + rows.w + 3, rows.y + rows.h}, Token::sky, 1.2F);
        // Whose they are; of those that come, from where.
        const float middle = std::max(rows.y + rows.h / 2, free_y + kOwner);
        const bool shows = card.state == 2 || coming || own;
        if (!card.last || !shows || middle > card.box.y + card.box.h + kOwner / 2) continue;
        free_y = middle + kOwner;
        const float right = rows.x + rows.w;
        p_.layer = kMarks;
        p_.symbol({right + (coming && !own ? kFrom - 6 : 12), middle}, 4, mark, hue);
        if (!coming || own) continue;
        p_.layer = kLines;
        p_.line({right + kFrom - 13, middle}, {right + 4, middle}, hue, 1.4F).arrow = true;
    }
    // What has come in of the others' rows.
    for (const Block& part : come) {
        Token hue = op_hue(in_.trace.event(card.chain.rank, card.life.gather).op);
        for (const OwnedRows& each : owned)
            if (each.from <= static_cast<float>(part.row) && static_cast<float>(part.row) < each.to)
                hue = origin_hue(mark_of(each.rank));
        p_.layer = kCells;
        p_.rect(place_of(tile, card.box, part), hue, 2).fill_alpha = 0.55F;
    }
}

}  // namespace meshscope::view
