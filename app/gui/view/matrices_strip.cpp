// Above the bands: what the picture speaks of, the scale, and the layer's events with the cursor in them.
#include <algorithm>

#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/matrices_picture.h"
#include "app/gui/view/op_strip.h"
#include "app/gui/view/sheet.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

using Kind = MatrixStep::Kind;

}  // namespace

std::string missing_numbers(const Painter& p, const trace::Trace& trace, const MatrixScene& scene) {
    if (trace.info.level < trace::Level::values)
        return p.say("view.matrices.no_numbers", {arg("level", std::string(trace::name(trace.info.level)))});
    if (scene.lacks_small) return p.say("view.matrices.numbers_missing");
    return scene.lacks_large ? p.say("view.matrices.numbers_up_to") : "";
}

/// The scale of the hues, beside the switch where it has room; returns what is left for words.
float MatricesPicture::scale_ramp(float right, float chips) {
    const float small = p_.line_height(Face::mono_small);
    const std::string low = "−m", high = "m", none = p_.say("view.matrices.not_here");
    constexpr float kRamp = 96;
    const float wide = p_.width(low, Face::mono_small) + 6 + kRamp + 6 + p_.width(high, Face::mono_small) +
                       18 + 16 + p_.width(none, Face::caption);
    if (!scene_.has_numbers || kPad + chips + 24 + wide > right) return right;
    float x = right - wide;
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
    return right - wide - 20;
}

/// What is multiplied by what and what is added up, in words.
std::string MatricesPicture::operations_in_words() const {
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
    return what;
}

float MatricesPicture::header() {
    p_.layer = kWords;
    const float right = in_.size.width - kPad;
    float y =
        draw_chips(p_, form_chips(p_, Form::matrices), {kPad, 10}, right) + (in_.watched ? kChip : 0.F) + 8;
    if (scene_.empty()) return y;
    const float chips = chips_width(p_, form_chips(p_, Form::matrices)), free_to = scale_ramp(right, chips);
    const MatrixChain& chain = scene_.chain();
    const std::string what = operations_in_words();
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

float MatricesPicture::strip(float y) {
    const MatrixChain& chain = scene_.chain();
    const auto of_chain = [&](const trace::Event& event) {
        return event.id == chain.gather ||
               std::ranges::any_of(chain.steps, [&](const MatrixStep& s) { return s.event == event.id; });
    };
    OpStrip strip{scene_.rank, events_of_unit(in_, scene_), {}, of_chain};
    strip.words = [&](const trace::Event& event) -> std::vector<std::string> {
        const bool compute = event.kind == trace::EventKind::compute;
        if (compute && !of_chain(event)) return {};
        const std::string unit(in_.trace.text(event.unit));
        const std::string op =
            compute ? std::string(in_.trace.text(event.name)) : std::string(name(event.op));
        const bool names = !unit.empty() && unit != scene_.unit;
        return {names ? op + " " + last_part(unit) : op, op, compute ? "" : op_mark(event.op)};
    };
    p_.layer = kCells;
    return draw_op_strip(p_, in_, strip, kPad, in_.size.width - kPad, y);
}

}  // namespace meshscope::view
