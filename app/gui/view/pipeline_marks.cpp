#include "app/gui/view/pipeline_marks.h"

#include <algorithm>

namespace meshscope::view {
namespace {

constexpr int32_t kMostNumbers = 16;  // micro-batches that the legend names one by one

/// Lays entries of a mark and its words side by side, on a new row where one finds no room.
class Legend {
  public:
    Legend(Painter& painter, const Rect& box)
        : p_(painter),
          left_(box.x),
          right_(box.x + box.w),
          side_(std::max(18.F, painter.line_height(Face::caption))),
          x_(box.x),
          y_(box.y) {}

    float side() const { return side_; }
    float below() const { return y_ + side_; }

    void words(const std::string& text, Token colour) {
        p_.text(text, {x_, y_ + (side_ - p_.line_height(Face::caption)) / 2}, Face::caption, colour);
        x_ += p_.width(text, Face::caption) + 8;
    }
    /// Room of this width in the row.
    Rect room(float w) {
        const Rect box{x_, y_, w, side_};
        x_ += w + 2;
        return box;
    }
    /// Words without a mark, on a row of their own where they find no room.
    void note(const std::string& text) {
        if (x_ + 14 + p_.width(text, Face::caption) > right_) {
            x_ = left_ - 14;
            y_ += side_ + 6;
        }
        x_ += 14;
        words(text, Token::mute);
    }
    template <class Draw>
    void entry(const std::string& text, float w, const Draw& draw) {
        if (x_ + w + 24 + p_.width(text, Face::caption) > right_) {
            x_ = left_;
            y_ += side_ + 6;
        } else {
            x_ += 14;
        }
        draw(room(w));
        x_ += 4;
        words(text, Token::soft);
    }

  private:
    Painter& p_;
    float left_, right_, side_, x_, y_;
};

void number_squares(Painter& p, Legend& legend, int32_t n) {
    const int32_t squares = std::min(n, kMostNumbers);
    for (int32_t i = 0; i < squares; ++i) {
        const auto m = n <= kMostNumbers ? i : static_cast<int32_t>(int64_t{i} * (n - 1) / (squares - 1));
        const std::string number = std::to_string(m);
        const Rect box = legend.room(std::max(legend.side(), p.width(number, Face::mono_small) + 6));
        draw_block(p, box, {BlockKind::forward, m, n});
        label_block(p, box, number, {BlockKind::forward, m, n});
    }
}

const char* meaning(BlockKind kind) {
    switch (kind) {
        case BlockKind::forward:
            return "view.phase.forward";
        case BlockKind::backward:
            return "view.phase.backward";
        case BlockKind::input_grad:
            return "view.pipeline.input_grad";
        case BlockKind::weight_grad:
            return "view.pipeline.weight_grad";
    }
    return "";
}

}  // namespace

Token microbatch_hue(int32_t microbatch, int32_t of) {
    return heat(0.16 + 0.84 * double(microbatch) / double(std::max(1, of - 1)));
}

const char* block_letter(BlockKind kind) {
    constexpr const char* kLetters[] = {"F", "B", "I", "W"};
    return kLetters[static_cast<std::size_t>(kind)];
}

void draw_block(Painter& p, const Rect& box, const BlockLook& look, const Id& id) {
    const Token hue = microbatch_hue(look.microbatch, look.of);
    auto& shape = p.rect(box, hue, 3, id);
    shape.stroke = Token::line2;
    if (look.kind == BlockKind::weight_grad) {
        shape.stroke = hue;
        shape.fill_alpha = 0.22F;
        shape.width = 1.6F;
    }
    if (look.kind != BlockKind::backward && look.kind != BlockKind::input_grad) return;
    const float foot = std::max(2.F, box.h * 0.16F);
    p.rect({box.x, box.y + box.h - foot, box.w, foot}, Token::ink, 0, id).fill_alpha = 0.4F;
}

void label_block(Painter& p, const Rect& box, const std::string& text, const BlockLook& look, const Id& id) {
    const bool light = look.kind == BlockKind::weight_grad;
    p.label(box, text, Face::mono_small, light ? Token::text : Token::ink,
            light ? Token::none : microbatch_hue(look.microbatch, look.of), id);
}

void draw_idle(Painter& p, const Rect& box, const std::string& length, const Id& id,
               std::optional<Rect> room) {
    auto& shape = p.rect(box, Token::inset, 3, id);
    shape.pattern = Fill::hatch;
    shape.hatch = Token::line2;
    shape.stroke = Token::line2;
    shape.stroke_style = Stroke::dashed;
    const float w = p.width(length, Face::mono_small);
    const Rect place = room.value_or(box);
    if (length.empty() || w + 6 > place.w || p.line_height(Face::mono_small) > place.h) return;
    p.rect({place.x + (place.w - w) / 2 - 3, place.y + place.h / 2 - 8, w + 6, 16}, Token::inset, 3, id);
    p.label(place, length, Face::mono_small, Token::mute, Token::none, id);
}

void note_kinds(const PipelineGrid& grid, LegendOf& legend) {
    for (const PipelineLane& lane : grid.lanes)
        for (const PipelineBlock& block : lane.blocks)
            legend.kinds[static_cast<std::size_t>(block.kind)] = true;
}

float pipeline_legend(Painter& p, const Rect& box, const LegendOf& of) {
    Legend legend(p, box);
    legend.words(p.say("view.fact.microbatch"), Token::mute);
    number_squares(p, legend, of.microbatches);
    const int32_t middle = of.microbatches / 2;
    for (const BlockKind kind :
         {BlockKind::forward, BlockKind::backward, BlockKind::input_grad, BlockKind::weight_grad}) {
        if (!of.kinds[static_cast<std::size_t>(kind)]) continue;
        const std::string name = block_letter(kind) + std::to_string(middle);
        const BlockLook look{kind, middle, of.microbatches};
        legend.entry(p.say(meaning(kind)), p.width(name, Face::mono_small) + 10, [&](const Rect& at) {
            draw_block(p, at, look);
            label_block(p, at, name, look);
        });
    }
    legend.entry(p.say(of.slots ? "view.pipeline.bubble_slots" : "view.pipeline.bubble"), 36,
                 [&](const Rect& at) { draw_idle(p, at, ""); });
    legend.entry(p.say("view.pipeline.held"), 34, [&](const Rect& at) {
        for (int i = 0; i < 3; ++i)
            p.rect({at.x + static_cast<float>(i) * 12, at.y + at.h / 2 - 5, 10, 10},
                   i < 2 ? microbatch_hue(middle, of.microbatches) : Token::none, 2)
                .stroke = i < 2 ? Token::none : Token::line2;
    });
    if (of.slots) legend.note(p.say("view.pipeline.slot"));
    return legend.below() + 10;
}

}  // namespace meshscope::view
