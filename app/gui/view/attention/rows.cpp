// A row: one rank's queries, the keys and values it works with, its running softmax, its work.
#include <algorithm>
#include <cmath>

#include "app/gui/view/attention/picture.h"
#include "app/gui/view/attention/softmax.h"
#include "app/gui/view/event_times.h"
#include "app/gui/view/format.h"
#include "app/gui/view/format_flops.h"

namespace meshscope::view {
namespace {

using Doing = AttentionNow::Doing;

constexpr float kTokenHigh = 24, kLeastToken = 18;

/// "1.587": three digits behind the point.
std::string figure(double value) {
    if (!std::isfinite(value) || std::abs(value) >= 1e6) return format_number(static_cast<float>(value), 4);
    const auto thousandths = static_cast<int64_t>(std::llround(std::abs(value) * 1000));
    std::string rest = std::to_string(thousandths % 1000);
    rest.insert(0, 3 - rest.size(), '0');
    return (value < 0 && thousandths != 0 ? "−" : "") + std::to_string(thousandths / 1000) + "." + rest;
}

}  // namespace

void AttentionPicture::frame(std::size_t place, Rect box) {
    const bool chosen = scene_.ranks[place].rank == scene_.rank;
    p_.layer = kBack;
    auto& frame = p_.rect(box, Token::panel, 10, {"rank", scene_.ranks[place].rank});
    frame.stroke = chosen ? Token::sel : Token::line;
    frame.width = chosen ? 1.6F : 1.F;
    p_.rect({box.x, box.y + 8, 4, box.h - 16}, origin_hue(static_cast<int64_t>(place)), 2);
}

void AttentionPicture::name_of(std::size_t place, Part part, Rect box) {
    constexpr const char* kWords_[]{"",
                                    "view.attention.computes",
                                    "view.attention.merges",
                                    "view.attention.waits",
                                    "view.attention.finished",
                                    "view.attention.ended"};
    const auto origin = static_cast<int64_t>(place);
    const AttentionNow& now = now_[place];
    const float line = p_.line_height(Face::body), small = p_.line_height(Face::caption);
    const bool two = box.h >= line + small + 8;
    float y = box.y + (box.h - (two ? line + small + 2 : line)) / 2;
    p_.layer = kWords;
    if (gone_[place])
        p_.cross({part.x + 6, y + line / 2}, 5, Token::err, 2);
    else
        p_.symbol({part.x + 6, y + line / 2}, 5, origin, origin_hue(origin));
    p_.text("rank " + std::to_string(scene_.ranks[place].rank), {part.x + 18, y}, Face::body, Token::text,
            Align::left, {"rank", scene_.ranks[place].rank});
    y += line + 2;
    if (!two || now.doing == Doing::before) return;
    p_.text(p_.say(kWords_[static_cast<std::size_t>(now.doing)]), {part.x, y}, Face::caption,
            now.doing == Doing::waits ? Token::warn : Token::soft);
}

void AttentionPicture::tokens(const AttentionRank& rank, Rect box, Token hue, bool filled) {
    const auto n = static_cast<float>(rank.tokens.size());
    const Id id{"rank", rank.rank};
    const float each = n > 0 ? box.w / n : 0;
    p_.layer = kCells;
    if (each >= kLeastToken) {
        for (std::size_t i = 0; i < rank.tokens.size(); ++i) {
            const Rect cell{box.x + each * static_cast<float>(i) + 1, box.y, each - 2, box.h};
            auto& shape = p_.rect(cell, filled ? hue : Token::panel, 5, id);
            shape.stroke = hue;
            shape.width = 1.6F;
            p_.layer = kWords;
            const std::string words = p_.fit({std::to_string(rank.tokens[i])}, Face::mono_small, cell.w - 2);
            if (!words.empty())
                p_.label(cell, words, Face::mono_small, filled ? Token::ink : Token::text,
                         filled ? hue : Token::none, id);
            p_.layer = kCells;
        }
        return;
    }
    auto& shape = p_.rect(box, filled ? hue : Token::panel, 5, id);
    shape.stroke = hue;
    shape.width = 1.6F;
    p_.layer = kWords;
    const std::string words = p_.fit({token_ranges(rank.tokens), format_count(std::ssize(rank.tokens))},
                                     Face::mono_small, box.w - 6);
    if (!words.empty() && !rank.tokens.empty())
        p_.label(box, words, Face::mono_small, filled ? Token::ink : Token::text, filled ? hue : Token::none,
                 id);
}

void AttentionPicture::keys_here(std::size_t place, Part part, Rect box) {
    const int32_t here = now_[place].here;
    if (here < 0) return;
    const auto origin = static_cast<int64_t>(here);
    const AttentionRank& rank = scene_.ranks[static_cast<std::size_t>(here)];
    const float line = p_.line_height(Face::caption);
    const bool two = box.h >= kTokenHigh + line + 8;
    const float y = box.y + (box.h - kTokenHigh - (two ? line + 3 : 0)) / 2;
    tokens(rank, {part.x, y, part.w, kTokenHigh}, origin_hue(origin), true);
    if (!two) return;
    p_.layer = kWords;
    p_.symbol({part.x + 6, y + kTokenHigh + 3 + line / 2}, 4, origin, origin_hue(origin));
    const std::string words =
        p_.fit({p_.say("view.attention.of", {arg("rank", int64_t{rank.rank})})}, Face::caption, part.w - 16);
    if (!words.empty()) p_.text(words, {part.x + 15, y + kTokenHigh + 3}, Face::caption, Token::soft);
}

/// A gather brings all: those that have come are filled.
void AttentionPicture::keys_gathered(std::size_t place, Part part, Rect box) {
    const auto held = attention_held(in_, scene_, place);
    const auto n = static_cast<float>(scene_.n());
    const float each = part.w / n, high = std::min(kTokenHigh, each - 3);
    for (std::size_t origin = 0; origin < scene_.n(); ++origin) {
        const bool here = std::ranges::find(held, origin) != held.end();
        const auto hue = origin_hue(static_cast<int64_t>(origin));
        const Rect cell{part.x + each * static_cast<float>(origin) + 1, box.y + (box.h - high) / 2, each - 3,
                        high};
        p_.layer = kCells;
        auto& shape = p_.rect(cell, here ? hue : Token::ghost, 4, {"rank", scene_.ranks[origin].rank});
        shape.stroke = here ? hue : Token::line2;
        if (!here) shape.stroke_style = Stroke::dashed;
        p_.layer = kMarks;
        if (here)
            p_.symbol({cell.x + cell.w / 2, cell.y + cell.h / 2}, std::min(5.F, cell.w / 3),
                      static_cast<int64_t>(origin), Token::ink);
    }
}

void AttentionPicture::row(std::size_t place, const Columns& c, float y) {
    const Rect box{kPad, y, in_.size.width - 2 * kPad, c.row};
    frame(place, box);
    name_of(place, c.name, box);
    const AttentionRank& rank = scene_.ranks[place];
    if (c.queries.w > 0)
        tokens(rank, {c.queries.x, y + (c.row - kTokenHigh) / 2, c.queries.w, kTokenHigh},
               origin_hue(static_cast<int64_t>(place)), false);
    if (c.keys.w > 0 && scene_.way == AttentionWay::gather) keys_gathered(place, c.keys, box);
    if (c.keys.w > 0 && scene_.way == AttentionWay::ring) keys_here(place, c.keys, box);
    mask_row(place, c, y);
    if (c.softmax.w > 0 && scene_.backward) gradients(place, c.softmax, box);
    if (c.softmax.w > 0 && !scene_.backward) softmax(place, c.softmax, box);
    if (c.work.w > 0) work(place, c.work, box);
}

void AttentionPicture::softmax(std::size_t place, Part part, Rect box) {
    const AttentionRank& rank = scene_.ranks[place];
    const auto query = static_cast<int64_t>(last_token(place));
    const auto lines = softmax_lines(in_.trace, scene_, {place, query, 0, 0});
    if (lines.empty() || rank.tokens.empty()) return;
    const bool scores = std::ranges::all_of(lines, [](const SoftmaxLine& l) { return l.m || l.sees_none; });
    const float high = p_.line_height(Face::mono_small);
    const auto fits = static_cast<std::size_t>(std::max(2.F, std::floor((box.h - 6) / high)));
    float y = box.y + (box.h - high * static_cast<float>(std::min(fits, lines.size() + 1))) / 2;
    const float turn = part.x + 22, m = part.x + 88, old = part.x + 142, last = part.x + part.w;
    p_.layer = kWords;
    const auto cell = [&](float right, const std::string& words, Token colour) {
        p_.text(words, {right, y}, Face::mono_small, colour, Align::right);
    };
    p_.text("q " + std::to_string(rank.tokens.back()), {part.x, y}, Face::mono_small, Token::mute);
    if (scores) {
        cell(m, "m", Token::mute);
        cell(old, p_.say("view.attention.rescale"), Token::mute);
        cell(last, "ℓ", Token::mute);
    } else {
        cell(last, p_.say("view.attention.lse"), Token::mute);
    }
    y += high;
    // The last turns that have begun.
    std::size_t begun = 0;
    while (begun < lines.size() &&
           in_.cursor.t_ns > in_.clock
                                 .events[static_cast<std::size_t>(rank.rank)]
                                        [static_cast<std::size_t>(rank.blocks[lines[begun].keys].event)]
                                 .begin_ns)
        ++begun;
    for (std::size_t i = begun > fits - 1 ? begun - (fits - 1) : 0; i < begun; ++i) {
        const SoftmaxLine& line = lines[i];
        const AttentionNow& now = now_[place];
        cell(turn, std::to_string(line.turn + 1), Token::mute);
        const AttentionBlock& block = rank.blocks[line.keys];
        const bool under_way = share_done(in_, rank.rank, block.event) < 1 ||
                               (block.merge >= 0 && share_done(in_, rank.rank, block.merge) < 1);
        if (under_way) {
            const bool merging = now.doing == Doing::merges;
            cell(last, p_.say(merging ? "view.attention.merging" : "view.attention.computing"),
                 Token::accent);
        } else if (line.sees_none) {
            cell(last, p_.say("view.attention.sees_none"), Token::mute);
        } else if (scores) {
            cell(m, figure(*line.m), Token::soft);
            const bool changed = line.rescale && *line.rescale < 0.9995;
            cell(old, line.rescale ? figure(*line.rescale) : "–", changed ? Token::warn : Token::mute);
            cell(last, figure(*line.l), Token::text);
        } else {
            cell(last, figure(line.lse), Token::text);
        }
        y += high;
    }
}

/// Backward: whose gradients of keys and values lie here, and how many of the blocks with those keys are
/// computed.
void AttentionPicture::gradients(std::size_t place, Part part, Rect box) {
    const AttentionRank& rank = scene_.ranks[place];
    auto here = static_cast<int32_t>(place);
    for (std::size_t i = 0; i < rank.home.size() && i < rank.gradients.size(); ++i) {
        const time::Interval& at =
            in_.clock.events[static_cast<std::size_t>(rank.rank)][static_cast<std::size_t>(rank.home[i])];
        if (in_.cursor.t_ns >= at.end_ns) here = rank.gradients[i];
    }
    if (here < 0) return;
    const auto origin = static_cast<std::size_t>(here);
    int64_t done = 0, all = 0;
    for (const AttentionRank& each : scene_.ranks) {
        const AttentionBlock& block = each.blocks[origin];
        if (block.event < 0) continue;
        ++all;
        if (in_.cursor.t_ns >=
            in_.clock.events[static_cast<std::size_t>(each.rank)][static_cast<std::size_t>(block.event)]
                .end_ns)
            ++done;
    }
    const auto hue = origin_hue(here);
    const float line = p_.line_height(Face::caption), y = box.y + (box.h - 2 * line - 2) / 2;
    p_.layer = kWords;
    p_.symbol({part.x + 6, y + line / 2}, 5, here, hue);
    const std::string whose =
        p_.fit({p_.say("view.attention.gradient_of", {arg("rank", int64_t{scene_.ranks[origin].rank})})},
               Face::caption, part.w - 16);
    if (!whose.empty()) p_.text(whose, {part.x + 16, y}, Face::caption, Token::text);
    const std::string blocks = p_.fit(
        {p_.say("view.attention.blocks_done", {arg("done", done), arg("all", all)})}, Face::caption, part.w);
    if (!blocks.empty()) p_.text(blocks, {part.x, y + line + 2}, Face::caption, Token::soft);
}

void AttentionPicture::work(std::size_t place, Part part, Rect box) {
    const int64_t all = scene_.ranks[place].flops(), done = now_[place].flops;
    const Id id{"work", scene_.ranks[place].rank, scene_.broke_off ? done : all};
    const std::string total = format_flops(scene_.broke_off ? done : all);
    float figure_w = 56;
    for (const AttentionRank& rank : scene_.ranks)
        figure_w = std::max(figure_w, p_.width(format_flops(rank.flops()), Face::mono) + 8);
    const float most = part.w - figure_w, each = most / static_cast<float>(most_work());
    const float line = p_.line_height(Face::caption), bar = std::min(18.F, box.h - 10);
    const bool two = box.h >= bar + line + 10;
    const float y = box.y + (box.h - bar - (two ? line + 3 : 0)) / 2;
    p_.layer = kWords;
    if (two) {
        const std::string words =
            scene_.broke_off
                ? ""
                : p_.fit({p_.say("view.attention.done_so_far", {arg("done", format_flops(done))}),
                          format_flops(done)},
                         Face::caption, part.w);
        if (!words.empty()) p_.text(words, {part.x, y}, Face::caption, Token::soft, Align::left, id);
    }
    const float top = y + (two ? line + 3 : 0);
    p_.layer = kCells;
    auto& outline =
        p_.outline({part.x, top, std::max(2.F, static_cast<float>(all) * each), bar}, Token::line2, 1, 3, id);
    outline.stroke_style = Stroke::dashed;
    if (done > 0)
        p_.rect({part.x, top, std::max(1.F, static_cast<float>(done) * each), bar}, Token::compute, 3, id);
    p_.layer = kWords;
    p_.text(total, {part.x + part.w, top + (bar - p_.line_height(Face::mono)) / 2}, Face::mono, Token::text,
            Align::right, id);
}

}  // namespace meshscope::view
