// Above the bands: what the picture speaks of, the scale, and the layer's events with the cursor in them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/matrices_picture.h"
#include "app/gui/view/timeline_bars.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

using Kind = MatrixStep::Kind;

constexpr float kBar = 24;

}  // namespace

std::string missing_numbers(const Painter& p, const trace::Trace& trace, const MatrixScene& scene) {
    if (trace.info.level < trace::Level::values)
        return p.say("view.matrices.no_numbers", {arg("level", std::string(trace::name(trace.info.level)))});
    if (scene.lacks_small) return p.say("view.matrices.numbers_missing");
    return scene.lacks_large ? p.say("view.matrices.numbers_up_to") : "";
}

float MatricesPicture::header() {
    p_.layer = kWords;
    const float right = in_.size.width - kPad;
    float y = draw_chips(p_, form_chips(p_, Form::matrices), {kPad, 10}, right) + 8;
    if (scene_.empty()) return y;
    float free_to = right;  // what the scale leaves beside the switch
    // The scale, beside the switch.
    const float small = p_.line_height(Face::mono_small);
    const std::string low = "−m", high = "m", none = p_.say("view.matrices.not_here");
    constexpr float kRamp = 96;
    const float wide = p_.width(low, Face::mono_small) + 6 + kRamp + 6 + p_.width(high, Face::mono_small) +
                       18 + 16 + p_.width(none, Face::caption);
    const float chips = chips_width(p_, form_chips(p_, Form::matrices));
    if (scene_.has_numbers && kPad + chips + 24 + wide <= right) {
        float x = right - wide;
        free_to = x - 20;
        const float top = 10 + (kChip - small) / 2;
        p_.text(low, {x, top}, Face::mono_small, Token::mute);
        x += p_.width(low, Face::mono_small) + 6;
        for (int i = 0; i < kHeats; ++i) {
            const float step = kRamp / static_cast<float>(kHeats);
            p_.layer = kCells;
            p_.rect({x + step * static_cast<float>(i), 10 + kChip / 2 - 5, step, 10},
                    heat(static_cast<double>(i) / (kHeats - 1)));
        }
        x += kRamp + 6;
        p_.layer = kWords;
        p_.text(high, {x, top}, Face::mono_small, Token::mute);
        x += p_.width(high, Face::mono_small) + 18;
        p_.layer = kCells;
        p_.rect({x, 10 + kChip / 2 - 5, 10, 10}, Token::ghost, 2).stroke = Token::line2;
        p_.layer = kWords;
        p_.text(none, {x + 16, 10 + (kChip - p_.line_height(Face::caption)) / 2}, Face::caption, Token::mute);
    }
    // What is done with what, in words.
    const MatrixChain& chain = scene_.chain();
    std::string what;
    const auto add = [&](const std::string& words) {
        what += (what.empty() ? "" : p_.say("view.matrices.and")) + words;
    };
    for (const MatrixStep& step : chain.steps) {
        if (step.kind == Kind::collective) add(p_.say("view.matrices.one", {arg("op", step.words)}));
        if (step.kind != Kind::product) continue;
        const std::string module = last_part(in_.trace.text(in_.trace.event(chain.rank, step.event).unit));
        constexpr const char* kCuts[]{"view.matrices.cut.none", "view.matrices.cut.columns",
                                      "view.matrices.cut.rows"};
        const bool gradient = step.factor->role != MatrixTile::Role::weight;
        add(gradient ? step.result.name
                     : p_.say(kCuts[static_cast<std::size_t>(cut_of(step))], {arg("weight", module)}));
    }
    const std::string unit = scene_.unit.empty() ? p_.say("view.matrices.model") : scene_.unit;
    const std::vector<MessageArg> args{arg("unit", unit),
                                       arg("phase", p_.say("view.phase." + std::string(name(scene_.phase)))),
                                       arg("what", what), arg("step", scene_.step)};
    const std::string full = p_.say("view.matrices.title", args);
    p_.tell(full);
    const float beside = kPad + chips + 20;
    const std::string fitting = p_.fit({full, what}, Face::title, free_to - beside);
    if (!fitting.empty()) {
        p_.text(fitting, {beside, 10 + (kChip - p_.line_height(Face::title)) / 2}, Face::title, Token::text);
    } else {
        const std::string title = p_.fit({full, what, unit}, Face::title, right - kPad);
        if (!title.empty()) p_.text(title, {kPad, y}, Face::title, Token::text);
        y += p_.line_height(Face::title) + 4;
    }
    const auto note = [&](const std::string& words) {
        p_.tell(words);
        y = p_.paragraph(words, {kPad, y}, Face::caption, Token::mute, right - kPad) + 4;
    };
    if (const std::string why = missing_numbers(p_, in_.trace, scene_); !why.empty()) note(why);
    int64_t rows = 1, columns = 1;
    const auto look = [&](const MatrixTile& tile) {
        if (tile.numbers.empty()) return;
        rows = std::max(rows, (tile.rows + cells_of(tile.rows) - 1) / cells_of(tile.rows));
        columns = std::max(columns, (tile.columns + cells_of(tile.columns) - 1) / cells_of(tile.columns));
    };
    look(chain.start);
    for (const MatrixStep& step : chain.steps) {
        if (step.factor) look(*step.factor);
        look(step.result);
    }
    if (std::max(rows, columns) > 1)
        note(p_.say("view.matrices.averaged", {arg("rows", rows), arg("columns", columns)}));
    const bool adds = chain.steps.back().kind == Kind::collective;
    if (adds && !options_.senders_covered.empty()) note(options_.senders_covered);
    return y;
}

void MatricesPicture::strip_bar(const trace::Event& event, Rect box, bool of_chain) {
    const Id id{"kernel", scene_.rank, event.id};
    p_.layer = kCells;
    p_.alpha = of_chain ? 1.F : 0.5F;
    event_bar(p_, event, box, id);
    p_.alpha = 1;
    const bool compute = event.kind == trace::EventKind::compute;
    // Where a hop lands.
    if (!compute) {
        const auto& record = in_.trace.ranks[static_cast<std::size_t>(scene_.rank)];
        const auto range = std::ranges::equal_range(record.hops, event.id, {}, &trace::Hop::event);
        const auto& at =
            in_.clock.events[static_cast<std::size_t>(scene_.rank)][static_cast<std::size_t>(event.id)];
        const auto whole = static_cast<float>(std::max<int64_t>(1, at.end_ns - at.begin_ns));
        p_.layer = kLines;
        for (auto hop = range.begin(); hop != range.end() && range.size() <= 16; ++hop) {
            const auto& times = in_.clock.hops[static_cast<std::size_t>(scene_.rank)]
                                              [static_cast<std::size_t>(hop - record.hops.begin())];
            const float x = box.x + box.w * static_cast<float>(times.end_ns - at.begin_ns) / whole;
            if (x > box.x + 6 && x < box.x + box.w - 6)
                p_.line({x, box.y + 2}, {x, box.y + box.h - 2}, op_hue(event.op), 1).stroke_style =
                    Stroke::dashed;
        }
    }
    const std::string unit(in_.trace.text(event.unit));
    const std::string op = compute ? std::string(in_.trace.text(event.name)) : std::string(name(event.op));
    // A word steps aside for the cursor.
    const auto& at =
        in_.clock.events[static_cast<std::size_t>(scene_.rank)][static_cast<std::size_t>(event.id)];
    const float now = box.x + box.w * share_done(in_, scene_.rank, event.id);
    if (in_.cursor.t_ns > at.begin_ns && in_.cursor.t_ns < at.end_ns)
        box = now - box.x > box.w / 2 ? Rect{box.x, box.y, now - box.x - 2, box.h}
                                      : Rect{now + 2, box.y, box.x + box.w - now - 2, box.h};
    const bool names = !unit.empty() && unit != scene_.unit;
    const std::string words =
        p_.fit({names ? op + " " + last_part(unit) : op, op, compute ? "" : op_mark(event.op)}, Face::caption,
               box.w - 8);
    p_.layer = kWords;
    if (!words.empty() && (of_chain || !compute))
        event_bar_words(p_, event, box, words, Token::text, compute ? Token::compute : Token::none, id);
}

float MatricesPicture::strip(float y) {
    const auto ids = events_of_unit(in_, scene_);
    if (ids.empty()) return y;
    const auto& events = in_.trace.ranks[static_cast<std::size_t>(scene_.rank)].events;
    const auto& times = in_.clock.events[static_cast<std::size_t>(scene_.rank)];
    int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
    bool beside = false;
    for (const int32_t id : ids) {
        const auto i = static_cast<std::size_t>(id);
        begin = std::min(begin, times[i].begin_ns);
        end = std::max(end, times[i].end_ns);
        beside = beside || events[i].stream != Stream::compute;
    }
    if (end <= begin) return y;
    const float x0 = kPad, wide = in_.size.width - 2 * kPad;
    const auto x = [&](int64_t t) {
        return x0 +
               wide * static_cast<float>(static_cast<double>(t - begin) / static_cast<double>(end - begin));
    };
    const MatrixChain& chain = scene_.chain();
    float below = y;
    for (const int32_t id : ids) {
        const auto i = static_cast<std::size_t>(id);
        const bool of_chain =
            id == chain.gather ||
            std::ranges::any_of(chain.steps, [&](const MatrixStep& s) { return s.event == id; });
        const float top = y + (events[i].stream != Stream::compute ? kBar + 3 : 0);
        const float left = x(times[i].begin_ns), right = x(times[i].end_ns);
        strip_bar(events[i], {left + 0.5F, top, std::max(2.F, right - left - 1), kBar}, of_chain);
    }
    below = y + (beside ? 2 * kBar + 3 : kBar);
    // The ruler, and the cursor through both.
    const float small = p_.line_height(Face::mono_small), ruler = below + 3;
    p_.layer = kMarks;
    if (in_.cursor.t_ns >= begin && in_.cursor.t_ns <= end) {
        const std::string now = format_time(in_.cursor.t_ns);
        const float w = p_.width(now, Face::mono_small) + 10, at = x(in_.cursor.t_ns);
        const float left = std::clamp(at - w / 2, x0, x0 + wide - w);
        p_.line({at, y - 3}, {at, ruler}, Token::accent, 2).id = {"cursor"};
        p_.rect({left, ruler, w, small + 2}, Token::accent, 4, {"cursor"});
        p_.label({left, ruler, w, small + 2}, now, Face::mono_small, Token::onacc);
        p_.reserve({left - 4, ruler, w + 8, small + 2});
    }
    p_.layer = kWords;
    p_.try_text(format_time(begin), {x0, ruler + 1}, Face::mono_small, Token::mute);
    p_.try_text(format_time(end), {x0 + wide, ruler + 1}, Face::mono_small, Token::mute, Align::right);
    return ruler + small + 8;
}

}  // namespace meshscope::view
