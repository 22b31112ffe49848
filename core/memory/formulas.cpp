#include "core/memory/formulas.h"

namespace meshscope::memory {

ModelState zero_state(int32_t stage, double parameters, double ranks, const StateBytes& bytes) {
    const auto cut = [&](int32_t from) { return stage >= from ? 1.0 / ranks : 1.0; };
    return {parameters * bytes.parameter * cut(3), parameters * bytes.gradient * cut(2),
            parameters * bytes.optimizer * cut(1)};
}

double activation_bytes(Kept kept, const LayerShape& l) {
    const double sbh = l.sequence * l.batch * l.width, t = l.tensor_ranks;
    const double scores = 5 * l.heads * l.sequence / l.width;  // the softmax, its dropout mask and its output
    switch (kept) {
        case Kept::all:
            return sbh * (34 + scores);
        case Kept::tensor_parallel:
            return sbh * (10 + 24 / t + scores / t);
        case Kept::sequence_parallel:
            return sbh / t * (34 + scores);
        case Kept::selective:
            return sbh * (10 + 24 / t);
        case Kept::sequence_selective:
            return 34 * sbh / t;
        case Kept::nothing:
            return 2 * sbh;
    }
    return 0;
}

double activation_bytes(BlockKept kept, const BlockShape& b) {
    const double t = b.tensor_ranks, outer_t = b.sequence_parallel ? b.tensor_ranks : 1;
    const double attention = 2 * b.width + 2 * b.kv_width;  // q, k, v and what attention makes of them
    const double products = (b.gated ? 2 : 1) * b.hidden;   // the mlp's, before its activation function
    double numbers = 0;
    switch (kept) {
        case BlockKept::all:
            numbers = 4 * b.width / outer_t + (attention + products + b.hidden) / t;
            break;
        case BlockKept::products:
            numbers = b.width / outer_t + (attention + products) / t + 2 * b.width;
            break;
        case BlockKept::input:
            numbers = b.width / outer_t;
            break;
    }
    return b.tokens * b.element_bytes * numbers;
}

}  // namespace meshscope::memory
