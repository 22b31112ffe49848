// What stands where: the head, the strip of events, the columns of the rows.
#include "app/gui/view/attention/picture.h"

#include <algorithm>

#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/op_strip.h"
#include "app/gui/view/run_end.h"
#include "app/gui/view/sheet.h"
#include "core/trace/recorded.h"

namespace meshscope::view {

std::string token_ranges(const std::vector<int64_t>& tokens) {
    std::string words;
    for (std::size_t i = 0; i < tokens.size();) {
        std::size_t last = i;
        while (last + 1 < tokens.size() && tokens[last + 1] == tokens[last] + 1) ++last;
        words += (words.empty() ? "" : ", ") + std::to_string(tokens[i]) +
                 (last > i ? "–" + std::to_string(tokens[last]) : "");
        i = last + 1;
    }
    return words;
}

std::string attention_cut(const Painter& p, const AttentionScene& scene) {
    return p.say("view.attention.cut." + std::string(scene.word()));
}

std::string attention_lacks(const Painter& p, const trace::Trace& trace, const AttentionScene& scene) {
    if (trace.info.level < trace::Level::values)
        return p.say("view.attention.level", {arg("level", std::string(trace::name(trace.info.level)))});
    const bool unknown =
        std::ranges::any_of(scene.ranks, [](const AttentionRank& rank) { return rank.tokens.empty(); });
    if (!unknown) return "";
    const bool large =
        scene.n() > 0 && scene.tokens / static_cast<int64_t>(scene.n()) > trace::kMaxRecordedValues;
    return p.say(large ? "view.attention.no_tokens" : "view.attention.some_tokens");
}

AttentionPicture::AttentionPicture(const Input& input, const AttentionOptions& options)
    : in_(input), options_(options), p_(input), scene_(attention_scene(input)) {
    for (std::size_t place = 0; place < scene_.n(); ++place)
        now_.push_back(attention_now(input, scene_, place));
    gone_.resize(scene_.n());
    if (scene_.broke_off)
        if (const auto end = run_end(input.trace))
            for (std::size_t place = 0; place < scene_.n(); ++place) {
                const auto gone = gone_ns(input.clock, *end, scene_.ranks[place].rank);
                gone_[place] = gone && input.cursor.t_ns >= *gone;
                if (gone_[place]) now_[place].doing = AttentionNow::Doing::ended;
            }
    for (const RunBeside& run : options.beside)
        beside_.push_back(attention_like(run.trace, scene_, input.memo));
    if (options.sums) return;
    // Which tokens a rank has tells how much it computes.
    for (AttentionRank& rank : scene_.ranks) rank.tokens.clear();
}

std::string AttentionPicture::title() const {
    constexpr const char* kTitles[]{"view.attention.title.alone", "view.attention.title.ring",
                                    "view.attention.title.gather", "view.attention.title.heads"};
    if (scene_.tokens == 0)
        return p_.say("view.attention.title.unknown", {arg("ranks", static_cast<int64_t>(scene_.n())),
                                                       arg("cut", attention_cut(p_, scene_))});
    std::string id = kTitles[static_cast<std::size_t>(scene_.way)];
    if (scene_.backward) id += ".back";
    return p_.say(id, {arg("tokens", format_count(scene_.tokens)),
                       arg("ranks", static_cast<int64_t>(scene_.n())), arg("heads", scene_.heads)});
}

float AttentionPicture::header() {
    p_.layer = kWords;
    const float right = in_.size.width - kPad;
    const auto chips = form_chips(p_, Form::attention);
    float y = draw_chips(p_, chips, {kPad, 10}, right) + (in_.watched ? kChip : 0.F) + 8;
    if (scene_.empty()) return y;
    const std::string full = title();
    p_.tell(scene_.unit + ", " + p_.say("view.phase." + std::string(name(scene_.phase))) + ": " + full);
    const float beside = kPad + chips_width(p_, chips) + 20;
    const float line = p_.line_height(Face::title);
    const std::string fitting = p_.fit({full}, Face::title, right - beside);
    if (!fitting.empty())
        p_.text(fitting, {beside, 10 + (kChip - line) / 2}, Face::title, Token::text);
    else
        y = p_.paragraph(full, {kPad, y}, Face::title, Token::text, right - kPad) + 4;
    // Which attention it is, at the right where there is room.
    std::string which = scene_.unit + " · " + p_.say("view.attention.step", {arg("step", scene_.step)});
    if (tells_microbatch(in_.trace, scene_.rank,
                         in_.trace.event(scene_.rank, attention_events(scene_.own()).front())))
        which += " · " + p_.say("view.attention.microbatch", {arg("microbatch", scene_.microbatch)});
    const bool again = scene_.phase == Phase::backward && !scene_.backward;
    which += " · " + p_.say(again ? "view.attention.again" : "view.phase." + std::string(name(scene_.phase)));
    if (!fitting.empty() &&
        beside + p_.width(full, Face::title) + 24 + p_.width(which, Face::caption) <= right)
        p_.text(which, {right, 10 + (kChip - p_.line_height(Face::caption)) / 2}, Face::caption, Token::mute,
                Align::right);
    return y;
}

float AttentionPicture::notes(float y) {
    const auto note = [&](const std::string& words) {
        if (words.empty()) return;
        p_.tell(words);
        p_.layer = kWords;
        y = p_.paragraph(words, {kPad, y}, Face::caption, Token::mute, in_.size.width - 2 * kPad) + 4;
    };
    if (options_.sums) note(attention_lacks(p_, in_.trace, scene_));
    if (scene_.n() > 1) note(options_.senders_covered);
    return y;
}

/// "Q of 3 × K of 2"; of a call whose keys and values it brings.
std::vector<std::string> AttentionPicture::strip_words(const trace::Event& event) const {
    const AttentionRank& rank = scene_.own();
    const auto of = [&](std::size_t place) { return int64_t{scene_.ranks[place].rank}; };
    for (const AttentionBlock& block : rank.unplaced) {
        if (block.merge == event.id) return {"merge"};
        if (block.event == event.id) return {"attention"};
    }
    for (std::size_t keys = 0; keys < rank.blocks.size(); ++keys) {
        if (rank.blocks[keys].merge == event.id) return {"merge"};
        if (rank.blocks[keys].event != event.id) continue;
        if (scene_.n() == 1 || scene_.way == AttentionWay::heads) return {"attention"};
        return {
            p_.say("view.attention.strip.block", {arg("queries", int64_t{rank.rank}), arg("keys", of(keys))}),
            "K " + std::to_string(of(keys))};
    }
    const bool gradient = std::ranges::find(rank.home, event.id) != rank.home.end();
    const auto& calls = gradient ? rank.home : rank.exchanges;
    const auto& origins = gradient ? rank.gradients : rank.comes;
    const auto i = static_cast<std::size_t>(std::ranges::find(calls, event.id) - calls.begin());
    if (i < origins.size() && origins[i] >= 0 && options_.senders_covered.empty()) {
        const std::string what = gradient ? "view.attention.strip.gradient" : "view.attention.strip.keys";
        const int64_t whose = of(static_cast<std::size_t>(origins[i]));
        return {p_.say(what, {arg("rank", whose)}), (gradient ? "dK, dV " : "K, V ") + std::to_string(whose),
                op_mark(event.op)};
    }
    const std::string_view rule = in_.trace.text(event.rule);
    const std::string carried(rule.substr(rule.rfind('.') + 1));
    return {std::string(name(event.op)) + " " + carried, carried, op_mark(event.op)};
}

float AttentionPicture::strip(float y) {
    p_.layer = kCells;
    OpStrip strip{scene_.rank, attention_events(scene_.own()), {}, [](const trace::Event&) { return true; }};
    strip.open = scene_.own().open;
    strip.words = [&](const trace::Event& event) { return strip_words(event); };
    return draw_op_strip(p_, in_, strip, kPad, in_.size.width - kPad, y);
}

AttentionPicture::Columns AttentionPicture::columns(float room) const {
    const float kName = in_.size.width < 1000 ? 80.F : 96.F;
    constexpr float kLeastTokens = 76, kMostTokens = 150, kToken = 25, kLeastBlock = 20;
    constexpr float kSoftmax = 204, kLeastWork = 120, kMostBlock = 112, kReadBlock = 44;
    Columns c;
    const auto n = static_cast<float>(scene_.n());
    c.row = std::clamp((room - n * kRowGap) / n, with_cells() ? 64.F : 30.F, 124.F);
    const std::size_t held = scene_.ranks.empty() ? 0 : scene_.ranks.front().tokens.size();
    const float wide = held > 0 && held <= 6 ? static_cast<float>(held) * kToken : kMostTokens;
    const float tokens = std::clamp(wide, kLeastTokens, kMostTokens);
    float x = kPad + kInside;
    const float right = in_.size.width - kPad - kInside;
    const auto take = [&](Part& part, float w) {
        part = {x, w};
        x += w + kGap;
    };
    take(c.name, kName);
    if (scene_.n() > 1) {
        take(c.queries, tokens);
        take(c.keys, tokens);
        const bool moves = scene_.way == AttentionWay::ring || scene_.backward;
        if (moves && options_.senders_covered.empty()) {
            x -= kGap;
            take(c.ways, 62);
        }
    }
    const float left = right - x;
    c.block = std::min({c.row - 12, kMostBlock, left / n - 6});
    // Where both have no room beside the mask, the table comes first: the work stands in the cards too.
    const bool table = c.row >= 60 && !(scene_.backward && scene_.n() == 1) &&
                       left >= kSoftmax + kGap + n * (kReadBlock + 6);
    if (table) c.block = std::min(c.block, (left - kSoftmax - kGap) / n - 6);
    c.block = std::max(c.block, kLeastBlock);
    take(c.mask, n * (c.block + 6) - 6);
    if (table) take(c.softmax, kSoftmax);
    if (options_.sums && right - x >= kLeastWork) take(c.work, std::min(right - x, 360.F));
    return c;
}

void AttentionPicture::heads(const Columns& c, float y) {
    p_.layer = kWords;
    const auto head = [&](Part part, const std::vector<std::string>& words) {
        if (part.w <= 0) return;
        const std::string fitting = p_.fit(words, Face::caption, part.w);
        if (!fitting.empty()) p_.text(fitting, {part.x, y}, Face::caption, Token::mute);
    };
    head(c.queries, {p_.say("view.attention.queries"), "Q"});
    head(c.keys, {p_.say("view.attention.keys"), "K, V"});
    head(c.softmax, {p_.say(scene_.backward ? "view.attention.gradients" : "view.attention.softmax")});
    head(c.work, {p_.say("view.attention.work"), "FLOP"});
    if (scene_.n() == 1) return;
    // All in the longest form that has room for each.
    const auto words = [&](int form, std::size_t keys) {
        const std::string ranges = token_ranges(scene_.ranks[keys].tokens);
        return form == 2 || ranges.empty() ? "K " + std::to_string(scene_.ranks[keys].rank)
                                           : (form == 0 ? "K " : "") + ranges;
    };
    const auto fits = [&](int form) {
        for (std::size_t keys = 0; keys < scene_.n(); ++keys)
            if (p_.width(words(form, keys), Face::caption) > c.block - 12) return false;
        return true;
    };
    int form = 0;
    while (form < 3 && !fits(form)) ++form;
    const float line = p_.line_height(Face::caption);
    // Where the heads do not say that they are keys, the place before them does.
    if (const std::string keys = p_.say("view.attention.mask"); form == 1 || form == 3)
        p_.try_text(keys, {c.mask.x - 8, y}, Face::caption, Token::mute, Align::right);
    for (std::size_t keys = 0; keys < scene_.n(); ++keys) {
        const float x = c.mask.x + static_cast<float>(keys) * (c.block + 6);
        const auto origin = static_cast<int64_t>(keys);
        p_.symbol({x + 6, y + line / 2}, 4.5F, origin, origin_hue(origin));
        if (form < 3) p_.text(words(form, keys), {x + 15, y}, Face::caption, Token::soft);
    }
}

float AttentionPicture::rows(float y, float room) {
    const float head = p_.line_height(Face::caption) + 6;
    const Columns c = columns(room - head);
    heads(c, y);
    y += head;
    for (std::size_t place = 0; place < scene_.n(); ++place)
        row(place, c, y + static_cast<float>(place) * (c.row + kRowGap));
    if (c.ways.w > 0) flights(c, y);
    return y + static_cast<float>(scene_.n()) * (c.row + kRowGap);
}

Picture AttentionPicture::draw() {
    p_.grow();
    float y = header();
    if (scene_.empty()) {
        p_.layer = kWords;
        const bool off = in_.trace.info.level == trace::Level::off;
        return p_.take(p_.nothing(p_.say(off               ? "view.attention.off"
                                         : scene_.step < 0 ? "view.attention.none.setup"
                                                           : "view.attention.none",
                                         {arg("step", scene_.step)}),
                                  {kPad, y}));
    }
    y = strip(y);
    y = notes(y);
    const float cards_h = cards_height(), room = in_.size.height - y - cards_h - 4;
    if (scene_.n() > kMostRows)
        y = many(y, room);
    else if (scene_.way == AttentionWay::heads)
        y = swap_rows(y, room);
    else
        y = rows(y, room);
    if (cards_h > 0) {
        cards({kPad, y, in_.size.width - 2 * kPad, cards_h - 8});
        y += cards_h;
    }
    tell();
    return p_.take(y);
}

void AttentionPicture::tell() {
    for (std::size_t place = 0; place < scene_.n(); ++place) {
        const AttentionRank& rank = scene_.ranks[place];
        std::string words = "rank " + std::to_string(rank.rank);
        if (!rank.tokens.empty())
            words += ", " + p_.say("view.attention.tokens", {arg("tokens", token_ranges(rank.tokens))});
        if (options_.sums && !scene_.broke_off)
            words += ": " +
                     p_.say("view.attention.done", {arg("done", format_count(now_[place].flops)),
                                                    arg("all", format_count(rank.flops()))}) +
                     " FLOP";
        p_.tell(words);
    }
}

int64_t AttentionPicture::most_work() const {
    int64_t most = 1;
    for (const AttentionRank& rank : scene_.ranks) most = std::max(most, rank.flops());
    return most;
}

std::size_t AttentionPicture::last_token(std::size_t place) const {
    const auto& tokens = scene_.ranks[place].tokens;
    return tokens.empty() ? 0 : tokens.size() - 1;
}

Picture attention_view(const Input& input, const AttentionOptions& options) {
    return AttentionPicture(input, options).draw();
}

}  // namespace meshscope::view
