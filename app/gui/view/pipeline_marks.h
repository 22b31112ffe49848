#pragma once

#include <array>
#include <optional>
#include <string>

#include "app/gui/view/paint.h"
#include "app/gui/view/pipeline_blocks.h"

namespace meshscope::view {

/// What the grid of micro-batches is drawn of (look2.md section 2), and the legend that explains it.

/// A micro-batch's colour: they are ordered, so they take the steps of one ramp.
Token microbatch_hue(int32_t microbatch, int32_t of);
/// PyTorch's letters: "F", "B", "I" or "W".
const char* block_letter(BlockKind kind);

struct BlockLook {
    BlockKind kind = BlockKind::forward;
    int32_t microbatch = 0, of = 1;
};

/// A forward plain, a backward with a dark foot, a weight gradient light in an outline.
void draw_block(Painter& painter, const Rect& box, const BlockLook& look, const Id& id = {});
/// Its words, no wider than the box.
void label_block(Painter& painter, const Rect& box, const std::string& text, const BlockLook& look,
                 const Id& id = {});
/// Idle time: hatched, with its length where that has room.
/// `room`: the part of it that has room for the words, where a line runs through it.
void draw_idle(Painter& painter, const Rect& box, const std::string& length, const Id& id = {},
               std::optional<Rect> room = {});

struct LegendOf {
    int32_t microbatches = 1;
    std::array<bool, 4> kinds{};  ///< by BlockKind: there are such blocks
    bool slots = true;
};
/// Enters which kinds of blocks a grid has.
void note_kinds(const PipelineGrid& grid, LegendOf& legend);
/// What the marks mean, from the box's corner in as many rows as its width takes. Gives the y below.
float pipeline_legend(Painter& painter, const Rect& box, const LegendOf& of);

}  // namespace meshscope::view
