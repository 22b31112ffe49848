#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/gui/view/attention/scene.h"

namespace meshscope::view {

/// The softmax of one query after one of its rank's blocks, as the rank went on: log-sum-exp of the scores of
/// all keys so far, and, where q and k were recorded, the largest score m and ℓ = Σ e^(score − m).
struct SoftmaxLine {
    std::size_t keys = 0;  ///< whose keys: a place
    int32_t turn = 0;
    bool sees_none = false;  ///< of the block's keys
    double lse = 0;
    std::optional<double> m = {}, l = {};
    std::optional<double> rescale =
        {};  ///< e^(m before − m): by what the sum before was multiplied; not in the first
};

/// Which query.
struct SoftmaxOf {
    std::size_t place = 0;  ///< its rank
    int64_t query = 0;      ///< among the rank's tokens
    int64_t head = 0, sample = 0;
};

/// A line a block, in the order of turns; empty where the record has no log-sum-exp. Blocks that are not done
/// at the cursor are among them: attention_now() tells. Of a forward pass alone. Cost: the scores of one
/// query.
std::vector<SoftmaxLine> softmax_lines(const trace::Trace& trace, const AttentionScene& scene,
                                       const SoftmaxOf& of);

}  // namespace meshscope::view
