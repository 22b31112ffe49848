// Below the rows: this run and those beside it, each with its mask, the work of its ranks and when the last
// is done.
#include <algorithm>

#include "app/gui/view/attention/picture.h"
#include "app/gui/view/format.h"
#include "app/gui/view/format_flops.h"
#include "app/gui/view/sheet.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMostBeside = 2, kMostBars = 8;
constexpr float kCardGap = 10, kCardPad = 12, kCardHigh = 132, kMaskSide = 84;

/// The whole mask, its rows in the order of the tokens, a band for whose query each is.
void small_mask(Painter& p, const AttentionScene& scene, Rect box) {
    struct Row {
        int64_t token;
        std::size_t place;
    };
    std::vector<Row> rows;
    for (std::size_t place = 0; place < scene.n(); ++place)
        for (const int64_t token : scene.ranks[place].tokens) rows.push_back({token, place});
    std::ranges::sort(rows, {}, &Row::token);
    constexpr std::size_t kMostSmall = 32;
    const bool missing =
        std::ranges::any_of(scene.ranks, [](const AttentionRank& rank) { return rank.tokens.empty(); });
    if (missing || scene.way == AttentionWay::heads) return;
    const std::size_t n = rows.size(), drawn = std::min(n, kMostSmall);
    const float each = box.h / static_cast<float>(drawn);
    for (std::size_t i = 0; i < drawn; ++i) {
        const Row& row = rows[i * n / drawn];
        const float y = box.y + each * static_cast<float>(i);
        p.rect({box.x, y, 5, each - 1}, origin_hue(static_cast<int64_t>(row.place)));
        p.rect({box.x + 9, y, each * static_cast<float>(i + 1), each - 1}, Token::line2);
    }
}

}  // namespace

float AttentionPicture::cards_height() const {
    if (!options_.sums || scene_.n() < 2 || in_.size.width < 560) return 0;
    return kCardHigh + 8;
}

void AttentionPicture::card(Rect box, const Input& input, const AttentionScene& scene,
                            const std::string& name) {
    p_.layer = kBack;
    p_.rect(box, Token::panel, 10).stroke = Token::line;
    p_.layer = kWords;
    const float line = p_.line_height(Face::body), small = p_.line_height(Face::caption);
    float y = box.y + 8;
    const float x = box.x + kCardPad, right = box.x + box.w - kCardPad;
    const time::Interval span = attention_span(input.clock, scene);
    const std::string after =
        scene.broke_off
            ? p_.say("view.attention.ended")
            : p_.say("view.attention.last_done", {arg("time", format_time(span.end_ns - span.begin_ns))});
    const std::string cut = attention_cut(p_, scene);
    const std::string title = p_.fit({name.empty() ? cut : name + " · " + cut, cut}, Face::body, box.w - 24);
    p_.text(title, {x, y}, Face::body, Token::text);
    // Beside the title, so that all cards have as much room for their bars.
    const std::string brief = scene.broke_off ? after : format_time(span.end_ns - span.begin_ns);
    const std::string fitting =
        p_.fit({after, brief}, Face::caption, right - x - p_.width(title, Face::body) - 16);
    if (!fitting.empty())
        p_.text(fitting, {right, y + (line - small)}, Face::caption, Token::soft, Align::right);
    y += line + 6;
    p_.tell(title + ": " + after);
    const float side = box.y + box.h - kCardPad - y;
    p_.layer = kCells;
    const bool masked = scene.way != AttentionWay::heads && side > 20 && box.w > 240;
    if (masked) small_mask(p_, scene, {x, y, std::min(side, kMaskSide), std::min(side, kMaskSide)});
    // The ranks' work; of many the least and the most.
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < scene.n(); ++i) places.push_back(i);
    if (places.size() > kMostBars) {
        std::ranges::stable_sort(places, {}, [&](std::size_t i) { return scene.ranks[i].flops(); });
        places = {places.front(), places.back()};
    }
    int64_t most = most_work();
    for (const AttentionScene& other : beside_)
        for (const AttentionRank& rank : other.ranks) most = std::max(most, rank.flops());
    const float high = std::min(22.F, side / static_cast<float>(places.size()));
    const float left = box.w > 240 ? x + kMaskSide + 24 : x,
                figure = p_.width(format_flops(most), Face::mono_small) + 8;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const float top = y + high * static_cast<float>(i);
        const auto origin = static_cast<int64_t>(places[i]);
        const int64_t flops = scene.ranks[places[i]].flops();
        const Id id{"work", scene.ranks[places[i]].rank, flops};
        p_.symbol({left + 6, top + high / 2}, std::min(5.F, high / 3), origin, origin_hue(origin));
        const float wide = std::max(
            2.F, (right - left - 20 - figure) * static_cast<float>(flops) / static_cast<float>(most));
        p_.layer = kCells;
        p_.rect({left + 18, top + 2, wide, std::max(3.F, high - 6)}, Token::compute, 2, id);
        p_.layer = kWords;
        if (high >= p_.line_height(Face::mono_small) - 4)
            p_.label({left + 24 + wide, top, figure, high - 2}, format_flops(flops), Face::mono_small,
                     Token::soft, Token::none, id, Align::left);
    }
}

/// What the cuts have in common and what not; `gap` stands between sentences.
std::string AttentionPicture::comparison_words(const std::string& gap) const {
    const auto sum = [](const AttentionScene& scene) {
        int64_t flops = 0;
        for (const AttentionRank& rank : scene.ranks) flops += rank.flops();
        return flops;
    };
    const auto length = [](const time::Clock& clock, const AttentionScene& scene) {
        const time::Interval span = attention_span(clock, scene);
        return span.end_ns - span.begin_ns;
    };
    std::string words;
    const auto other = std::ranges::find_if(beside_, [](const AttentionScene& s) { return !s.empty(); });
    if (scene_.broke_off || (other != beside_.end() && other->broke_off)) {
        words = p_.say("view.attention.broke_off");
    } else if (other != beside_.end()) {
        const auto i = static_cast<std::size_t>(other - beside_.begin());
        const int64_t own = length(in_.clock, scene_), theirs = length(options_.beside[i].clock, *other);
        const bool sooner = theirs < own;
        const double share = 1.0 - static_cast<double>(std::min(own, theirs)) /
                                       static_cast<double>(std::max<int64_t>(1, std::max(own, theirs)));
        const auto even = [](const AttentionScene& scene) {
            return std::ranges::all_of(scene.ranks, [&](const AttentionRank& rank) {
                return rank.flops() == scene.ranks.front().flops();
            });
        };
        const bool alike =
            sum(scene_) == sum(*other) && scene_.tokens == other->tokens && scene_.batch == other->batch;
        const bool shared = even(scene_) && even(*other);
        const std::string& name = options_.beside[i].name;
        const std::vector<MessageArg> args{arg("flops", format_flops(sum(scene_))),
                                           arg("theirs", format_flops(sum(*other))), arg("other", name),
                                           arg("first", sooner ? name : p_.say("view.attention.this_run")),
                                           arg("percent", format_percent(share))};
        words = p_.say(!alike   ? "view.attention.unlike"
                       : shared ? "view.attention.same_shares"
                                : "view.attention.same_sum",
                       args);
        if (alike)
            words += gap + p_.say(own == theirs ? "view.attention.same_time" : "view.attention.sooner", args);
    } else {
        int64_t least = most_work();
        for (const AttentionRank& rank : scene_.ranks) least = std::min(least, rank.flops());
        words = p_.say(least == most_work() ? "view.attention.balanced" : "view.attention.unbalanced",
                       {arg("least", format_flops(least)), arg("most", format_flops(most_work()))});
        if (least < most_work() && scene_.way == AttentionWay::ring)
            words += gap + p_.say("view.attention.slowest");
    }
    return words;
}

void AttentionPicture::comparison(Rect box) {
    p_.layer = kBack;
    p_.rect(box, Token::panel, 10).stroke = Token::line;
    p_.layer = kWords;
    const float x = box.x + kCardPad, w = box.w - 2 * kCardPad;
    const std::string gap = in_.language == Language::en ? " " : "";  // between sentences
    std::string words = comparison_words(gap);
    const bool masks = scene_.n() <= kMostRows && scene_.way != AttentionWay::heads;
    const bool hatched = masks && std::ranges::any_of(scene_.ranks, [](const AttentionRank& rank) {
                             return std::ranges::any_of(rank.blocks, [](const AttentionBlock& block) {
                                 return block.event < 0 && block.cells_known;
                             });
                         });
    const std::string masked = words + gap + p_.say("view.attention.masked");
    const float line = p_.line_height(Face::caption);
    // Where it leaves room for what can be run.
    const auto lines = static_cast<float>(p_.wrap(masked, Face::caption, w).size());
    if (hatched && 8 + lines * line + 4 + kChip <= box.h - 6) words = masked;
    p_.tell(words);
    float y = p_.paragraph(words, {x, box.y + 8}, Face::caption, Token::soft, w) + 4;
    // A way that the reader of scenarios would refuse is none.
    const auto n = static_cast<int64_t>(scene_.n());
    const auto possible = [&](const std::string& word) {
        if (scene_.tokens == 0) return false;
        if (word == "heads") return scene_.heads % n == 0 && scene_.kv_heads % n == 0;
        if (word == "gather") return true;  // with the cut that this run has
        return scene_.tokens % (word == "head_tail" ? 2 * n : n) == 0;
    };
    std::vector<Chip> chips;
    for (std::size_t i = 0; i < options_.offers.size(); ++i) {
        const AttentionOffer& offer = options_.offers[i];
        const auto shows = [&](const AttentionScene& scene) { return scene.word() == offer.word; };
        if (shows(scene_) || std::ranges::any_of(beside_, shows) || !possible(offer.word)) continue;
        const std::string name = p_.say("view.attention.cut." + offer.word);
        chips.push_back(
            {p_.say(offer.running ? "view.attention.running" : "view.attention.run_with", {arg("cut", name)}),
             {"attention_offer", static_cast<int64_t>(i)},
             offer.running});
    }
    if (!chips.empty() && y + kChip <= box.y + box.h - 6) draw_chips(p_, chips, {x, y}, x + w);
}

void AttentionPicture::cards(Rect box) {
    std::size_t shown = 0;
    for (const AttentionScene& other : beside_)
        if (!other.empty() && shown < kMostBeside) ++shown;
    const bool narrow = box.w < 820;
    if (narrow) shown = std::min<std::size_t>(shown, 1);
    const auto n = static_cast<float>(shown + (narrow && shown > 0 ? 1 : 2));
    const float w = (box.w - (n - 1) * kCardGap) / n;
    const bool several = shown > 0;
    card({box.x, box.y, w, box.h}, in_, scene_, "");
    float x = box.x + w + kCardGap;
    for (std::size_t i = 0; i < beside_.size() && shown > 0; ++i) {
        if (beside_[i].empty()) continue;
        const RunBeside& run = options_.beside[i];
        const Input input{run.trace, run.clock,    in_.cursor,  in_.selection,
                          in_.size,  in_.language, in_.measure, in_.texts};
        card({x, box.y, w, box.h}, input, beside_[i], run.name);
        x += w + kCardGap;
        --shown;
    }
    if (!narrow || !several) comparison({x, box.y, w, box.h});
}

}  // namespace meshscope::view
