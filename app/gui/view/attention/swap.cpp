// Ulysses: each rank gives its tokens of the other heads away and gets all tokens of its own heads; after the
// attention the output goes back the same way.
#include <algorithm>

#include "app/gui/view/attention/picture.h"
#include "app/gui/view/event_times.h"

namespace meshscope::view {
namespace {

constexpr float kLetters = 22;  ///< room for what a line is called
constexpr float kGoes = 28;     ///< right of a band: an arrow and the symbol of the rank that gets it

/// Whether a call has brought the part that comes from `origin`: by the hop, or the call's end.
bool landed(const Input& input, const AttentionRank& rank, int32_t call, int32_t origin) {
    for (const trace::Hop& hop : hops_of(input.trace, rank.rank, call))
        if (hop.src == origin && hop.elements > 0)
            return input.cursor.t_ns >= time_of(input.trace, input.clock, rank.rank, hop).end_ns;
    // Its own part never travels: it is there once the call has begun.
    const time::Interval& at = time_of(input.clock, rank.rank, call);
    if (origin == rank.rank) return input.cursor.t_ns > at.begin_ns;
    return input.cursor.t_ns >= at.end_ns;
}

/// Of how many of the calls that holds, as a share.
float landed_share(const Input& input, const AttentionRank& rank, const std::vector<int32_t>& calls,
                   int32_t origin) {
    if (calls.empty()) return 0;
    const auto n =
        std::ranges::count_if(calls, [&](int32_t call) { return landed(input, rank, call, origin); });
    return static_cast<float>(n) / static_cast<float>(calls.size());
}

/// "q" of "cp.all_to_all.q".
std::string carried(const trace::Trace& trace, const AttentionRank& rank, int32_t call) {
    const std::string_view rule = trace.text(trace.event(rank.rank, call).rule);
    return std::string(rule.substr(rule.rfind('.') + 1));
}

}  // namespace

AttentionPicture::Columns AttentionPicture::swap_columns(float room) const {
    Columns c;
    const auto n = static_cast<float>(scene_.n());
    c.row = std::clamp((room - n * kRowGap) / n, 40.F, 124.F);
    float x = kPad + kInside;
    const float right = in_.size.width - kPad - kInside;
    const auto take = [&](Part& part, float w) {
        part = {x, w};
        x += w + kGap;
    };
    take(c.name, 96);
    c.block = c.row - 12;
    const float left = right - x - c.block - 3 * kGap;
    take(c.queries, std::clamp(left * 0.2F, 60.F, 240.F));
    x += 40 + kGoes;  // the swap
    take(c.keys, std::clamp(left * 0.36F, 90.F, 440.F));
    take(c.mask, c.block);
    x += 40;
    take(c.softmax, std::clamp(left * 0.2F, 60.F, 240.F));
    if (x + 60 > right) c.softmax.w = std::max(0.F, right - c.softmax.x);
    return c;
}

/// A rank's own tokens (columns) of all heads (rows).
Rect AttentionPicture::tokens_grid(const Columns& c, float y) const {
    return {c.queries.x, y + 6, c.queries.w, c.row - 12};
}
/// All tokens of the rank's own heads, a line for each of q, k and v.
Rect AttentionPicture::heads_grid(const Columns& c, float y) const {
    return {c.keys.x + kLetters, y + 4, c.keys.w - kLetters, c.row - 8};
}

void AttentionPicture::swap_row(std::size_t place, const Columns& c, float y) {
    frame(place, {kPad, y, in_.size.width - 2 * kPad, c.row});
    name_of(place, c.name, {kPad, y, 0, c.row});
    const AttentionRank& rank = scene_.ranks[place];
    const auto n = static_cast<float>(scene_.n());
    const auto own = origin_hue(static_cast<int64_t>(place));
    const Rect before = tokens_grid(c, y), during = heads_grid(c, y);
    const Rect after{c.softmax.x, before.y, c.softmax.w, before.h};
    const Id id{"rank", rank.rank};
    const float lines = static_cast<float>(std::max<std::size_t>(1, rank.exchanges.size()));
    for (std::size_t line = 0; line < rank.exchanges.size(); ++line) {
        if (during.h / lines < p_.line_height(Face::mono_small) - 4) break;  // no room for letters
        p_.layer = kWords;
        p_.label(
            {c.keys.x, during.y + during.h / lines * static_cast<float>(line), kLetters, during.h / lines},
            carried(in_.trace, rank, rank.exchanges[line]), Face::mono_small, Token::soft, Token::none, id,
            Align::left);
    }
    for (std::size_t other = 0; other < scene_.n(); ++other) {
        const auto hue = origin_hue(static_cast<int64_t>(other));
        const auto at = static_cast<float>(other);
        const AttentionRank& theirs = scene_.ranks[other];
        // Its tokens, a band for each rank that computes with these heads: fading as that rank gets them.
        const float gone = landed_share(in_, theirs, theirs.exchanges, rank.rank);
        p_.layer = kCells;
        const Rect own_band{before.x, before.y + before.h / n * at, before.w, before.h / n - 2};
        auto& band = p_.rect(own_band, own, 2, id);
        band.fill_alpha = other == place ? 1.F : 1.F - 0.75F * gone;
        // Where it goes; what is the rank's own stays.
        p_.layer = kMarks;
        const float middle = own_band.y + own_band.h / 2, end = own_band.x + own_band.w;
        if (own_band.h >= 6) {
            p_.symbol({end + kGoes - 6, middle}, std::min(4.5F, own_band.h / 2 - 0.5F),
                      static_cast<int64_t>(other));
            if (other != place)
                p_.line({end + 2, middle}, {end + kGoes - 12, middle}, Token::soft, 1.2F).arrow = true;
        }
        // What has come of each rank's tokens, of q, k and v.
        for (std::size_t line = 0; line < rank.exchanges.size(); ++line) {
            const Rect part{during.x + during.w / n * at,
                            during.y + during.h / lines * static_cast<float>(line), during.w / n - 2,
                            during.h / lines - 2};
            const bool here = landed(in_, rank, rank.exchanges[line], theirs.rank);
            p_.layer = kCells;
            auto& slot = p_.rect(part, here ? hue : Token::ghost, 2, id);
            slot.stroke = here ? hue : Token::line2;
        }
        // The output, a band for each rank that computed those heads.
        if (after.w <= 0) continue;
        const Rect out{after.x, after.y + after.h / n * at, after.w, after.h / n - 2};
        const float home = landed_share(in_, rank, rank.home, theirs.rank);
        p_.layer = kCells;
        auto& empty = p_.rect(out, Token::ghost, 2, id);
        empty.stroke = Token::line2;
        if (home > 0) p_.rect({out.x, out.y, out.w * home, out.h}, own, 2, id);
    }
    p_.layer = kWords;
    block(place, place, {c.mask.x, y + (c.row - c.block) / 2, c.block, c.block});
}

/// A dot a message, from the row that sends to the row that receives.
void AttentionPicture::swap_flights(const Columns& c, float y) {
    for (std::size_t to = 0; to < scene_.n(); ++to) {
        const AttentionRank& rank = scene_.ranks[to];
        for (const auto* calls : {&rank.exchanges, &rank.home})
            for (std::size_t line = 0; line < calls->size(); ++line)
                for (const trace::Hop& hop : hops_of(in_.trace, rank.rank, (*calls)[line])) {
                    const float share =
                        share_of(time_of(in_.trace, in_.clock, rank.rank, hop), in_.cursor.t_ns);
                    const auto sender = std::ranges::find(scene_.ranks, hop.src, &AttentionRank::rank);
                    if (sender == scene_.ranks.end() || share <= 0 || share >= 1) continue;
                    const auto from = static_cast<std::size_t>(sender - scene_.ranks.begin());
                    const float height =
                        (static_cast<float>(line) + 0.5F) / static_cast<float>(calls->size());
                    swap_flight({from, to, share, calls == &rank.home, height}, c, y);
                }
    }
}

void AttentionPicture::swap_flight(const Swap& swap, const Columns& c, float y) {
    const auto top = [&](std::size_t place) { return y + static_cast<float>(place) * (c.row + kRowGap); };
    /// The middle of a rank's part, of as many as there are ranks.
    const auto part = [&](std::size_t place) {
        return (static_cast<float>(place) + 0.5F) / static_cast<float>(scene_.n());
    };
    Point a, b;
    if (swap.home) {  // from the attention to the output
        a = {c.mask.x + c.block, top(swap.from) + c.row / 2};
        b = {c.softmax.x, top(swap.to) + 6 + (c.row - 12) * part(swap.from)};
    } else {
        const Rect left = tokens_grid(c, top(swap.from)), right = heads_grid(c, top(swap.to));
        a = {left.x + left.w + kGoes, left.y + left.h * part(swap.to)};
        b = {right.x + right.w * part(swap.from), right.y + right.h * swap.height};
    }
    const auto hue = origin_hue(static_cast<int64_t>(swap.home ? swap.to : swap.from));
    p_.layer = kMarks;
    p_.line(a, b, hue, 1.2F).stroke_alpha = 0.6F;
    p_.circle({a.x + (b.x - a.x) * swap.share, a.y + (b.y - a.y) * swap.share}, 5, hue,
              {"flight", scene_.ranks[swap.to].rank});
}

/// Above the tokens of all ranks: which came from whom.
void AttentionPicture::swap_tokens(const Columns& c, float y) {
    const Rect grid = heads_grid(c, 0);
    const float each = grid.w / static_cast<float>(scene_.n()), line = p_.line_height(Face::caption);
    for (std::size_t place = 0; place < scene_.n(); ++place) {
        const float x = grid.x + each * static_cast<float>(place);
        p_.layer = kMarks;
        p_.symbol({x + 6, y + line / 2}, 4.5F, static_cast<int64_t>(place));
        const std::string words =
            p_.fit({p_.say("view.attention.swap.of", {arg("rank", scene_.ranks[place].rank)}),
                    std::to_string(scene_.ranks[place].rank)},
                   Face::caption, each - 18);
        p_.layer = kWords;
        if (!words.empty()) p_.text(words, {x + 15, y}, Face::caption, Token::soft);
    }
}

float AttentionPicture::swap_rows(float y, float room) {
    const float line = p_.line_height(Face::caption);
    const float head = (with_cells() ? 2 : 1) * line + 6;
    const Columns c = swap_columns(room - head);
    p_.layer = kWords;
    const auto title = [&](Part part, const char* id, float more) {
        const float wide = std::min(part.w + more, in_.size.width - kPad - part.x);
        const std::string words =
            p_.fit({p_.say(id), p_.say(std::string(id) + ".short")}, Face::caption, wide);
        if (!words.empty()) p_.text(words, {part.x, y}, Face::caption, Token::mute);
    };
    title(c.queries, "view.attention.swap.tokens", 40 + kGoes);
    title(c.keys, "view.attention.swap.heads", 0);
    title(c.softmax, scene_.backward ? "view.attention.swap.back" : "view.attention.swap.output", 100);
    if (with_cells()) swap_tokens(c, y + line);
    y += head;
    for (std::size_t place = 0; place < scene_.n(); ++place)
        swap_row(place, c, y + static_cast<float>(place) * (c.row + kRowGap));
    if (options_.senders_covered.empty()) swap_flights(c, y);
    return y + static_cast<float>(scene_.n()) * (c.row + kRowGap);
}

}  // namespace meshscope::view
