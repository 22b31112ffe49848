#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/parallel/pipeline/schedule.h"
#include "tests/parallel/property/draw.h"

namespace meshscope::test {

/// What of a case is drawn first, because models and batches must fit it: the data strategy, the mesh, how
/// the model's work is cut.
struct Layout {
    std::string data;
    std::vector<int64_t> data_sizes;
    std::vector<std::string> data_names;
    int64_t tp = 0, pp = 0, cp = 0;  ///< 0: no such dim
    parallel::pipeline::ScheduleShape schedule;
    bool tokens = false;      ///< a model of tokens
    bool sequence = false;    ///< sequence parallel
    std::string cp_method;    ///< "" is PyTorch's default, allgather
    bool cp_balance = false;  ///< the sequence can be cut head to tail

    int64_t data_ranks() const;
    int64_t ranks() const;
    int64_t stages() const { return pp > 0 ? schedule.stages() : 1; }
};

Layout draw_layout(Dice& dice);

/// The mesh's dims, the model's among those of the data strategy in any place.
void draw_mesh(Dice& dice, const Layout& layout, Case& drawn);

/// [parallel]: the strategies' options.
void draw_parallel(Dice& dice, const Layout& layout, Case& drawn);

/// Frozen parameters, LoRA's adapters, bfloat16 alone, another order of a pipeline's actions. After all else.
void draw_trained(Dice& dice, const Layout& layout, Case& drawn);

/// One of these keys with a value that may or may not go together with the rest.
void change_trained(Dice& dice, Case& drawn);

}  // namespace meshscope::test
