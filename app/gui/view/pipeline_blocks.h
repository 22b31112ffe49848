#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/view/memo.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// What a rank of a pipeline computes for one micro-batch in one go; PyTorch's F, B, I and W.
enum class BlockKind : uint8_t { forward, backward, input_grad, weight_grad };

struct PipelineBlock {
    BlockKind kind = BlockKind::forward;
    int32_t stage = 0;
    int32_t microbatch = 0;
    int32_t first = 0, last = 0;  ///< its first and last kernel: ids of the rank's events
    time::Interval at;            ///< on the clock
    double begin = 0, end = 0;    ///< in slots, see PipelineGrid
    int32_t waited = -1;          ///< the receive before it, an id of the rank's events; -1: it needs none
};

/// A rank of the pipeline in one training step, its blocks in the order in which they ran.
struct PipelineLane {
    int32_t rank = 0;
    std::vector<int32_t> stages;
    std::vector<PipelineBlock> blocks;
    int64_t sends = 0;
    double work = 0;  ///< slots in which it computes
};

/// The micro-batches of one training step on the ranks of a pipeline, found in the record of a run.
///
/// A slot is the time of one forward of one stage where each rank has one, and of all of a rank's stages
/// where it has several: a forward takes 1/v, a backward 2/v (its halves, I and W, 1/v each) for v stages a
/// rank; stages count as equally long. Blocks begin as soon as their rank is free and what they need is
/// there; sending costs nothing. A simulated record's blocks stand where its simulation put them.
struct PipelineGrid {
    std::vector<PipelineLane> lanes;  ///< by the first stage
    int32_t stages = 0;
    int32_t microbatches = 0;
    bool complete = true;  ///< each stage has each micro-batch's forward and backward
    double slots = 0;      ///< until the last block ends
    time::Interval span;   ///< of all blocks, on the clock

    /// The share of all ranks' slots in which they compute nothing, 0 … 1.
    double bubble() const;
};

/// True when the run has a pipeline of several ranks. Cost: up to the first send or receive of a stage; where
/// there is none a pass over all events, in a large record once.
bool has_pipeline(const trace::Trace& trace, Memo* memo = nullptr);

/// The pipeline to which `rank` belongs (where it belongs to none: the first that there is) in a training
/// step; nothing where the record has none, or the step none of its blocks. In a large record it is found
/// once. Cost: a pass over the step's events of its ranks.
std::shared_ptr<const PipelineGrid> pipeline_grid(const trace::Trace& trace, const time::Clock& clock,
                                                  int32_t rank, int32_t step, Memo* memo = nullptr);

/// The micro-batches whose activations a rank holds at a moment, in the order in which they came: from the
/// begin of a forward to the end of what needs them last.
std::vector<int32_t> held_at(const PipelineLane& lane, int64_t t_ns);
/// The most that it ever holds in this step.
int32_t most_held(const PipelineLane& lane);

/// Where a rank stands at a moment, in slots: in a block by the share of its time that has passed, between
/// two of them likewise.
double slot_at(const PipelineLane& lane, int64_t t_ns);

}  // namespace meshscope::view
