#pragma once

#include <string>

#include "app/gui/panels/widgets.h"

namespace meshscope::panels {

/// Draws a lesson's text: paragraphs (empty lines between them), lines starting with "- " as points,
/// "| a | b |" lines as a table, **strong**, `code`, [linked words](rank:0) with a dotted underline that
/// light up what they name. Returns the y below.
float rich_text(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
                const std::string& text);

/// What pressing a link does: "rank:1", "ranks:0,2", "dim:shard", "unit:net1", "event:all_gather", "step:id",
/// "view:memory", "slice:a,b".
void follow_link(Ui& ui, const std::string& link);

}  // namespace meshscope::panels
