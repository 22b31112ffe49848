#include "app/gui/view/pipeline_actions.h"

#include <charconv>

namespace meshscope::view {
namespace {

/// An action's text in its parts: "12F3".
struct Parts {
    int32_t stage = -1, microbatch = -1;
    char kind = ' ';
};

Parts parts_of(const std::string& action) {
    Parts parts;
    const char* const end = action.data() + action.size();
    const char* at = std::from_chars(action.data(), end, parts.stage).ptr;
    if (at != end) parts.kind = *at++;
    std::from_chars(at, end, parts.microbatch);
    return parts;
}

bool is_of(const PipelineBlock& block, const Parts& action, bool one_stage) {
    if (block.microbatch != action.microbatch || (!one_stage && block.stage != action.stage)) return false;
    switch (block.kind) {
        case BlockKind::forward:
            return action.kind == 'F';
        case BlockKind::input_grad:
            return action.kind == 'I' || action.kind == 'B';
        case BlockKind::weight_grad:
            return action.kind == 'W' || action.kind == 'B';
        case BlockKind::backward:
            return action.kind == 'B';
    }
    return false;
}

}  // namespace

std::optional<std::vector<std::size_t>> actions_of(const PipelineLane& lane,
                                                   const std::vector<std::string>& row) {
    std::vector<std::size_t> places;
    std::size_t next = 0;
    for (const PipelineBlock& block : lane.blocks) {
        const bool one_stage = lane.stages.size() == 1;
        const bool second_half = !places.empty() && block.kind == BlockKind::weight_grad &&
                                 is_of(block, parts_of(row[places.back()]), one_stage);
        if (!second_half) {
            while (next < row.size() && !is_of(block, parts_of(row[next]), one_stage))
                if (parts_of(row[next++]).kind != 'I') return std::nullopt;
            if (next == row.size()) return std::nullopt;
            ++next;
        }
        places.push_back(second_half ? places.back() : next - 1);
    }
    for (; next < row.size(); ++next)
        if (parts_of(row[next]).kind != 'I') return std::nullopt;
    return places;
}

}  // namespace meshscope::view
