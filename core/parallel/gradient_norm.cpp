#include "core/parallel/gradient_norm.h"

#include <cmath>

#include "core/tensor/kernels.h"

namespace meshscope::parallel {

double sharded_gradient_norm(std::span<const Tensor> gradients, comm::ProcessGroup* group,
                             std::string_view rule, const RankContext& context) {
    const tensor::Kernels& kernels = context.allocator->device().kernels();
    double squares = 0;
    {
        int64_t elements = 0, bytes = 0;
        for (const Tensor& grad : gradients) {
            elements += grad.n_elements();
            bytes += grad.bytes();
        }
        const ComputeScope scope(context.recorder, "grad_norm", "model", 2 * elements, bytes);
        for (const Tensor& grad : gradients) squares += kernels.sum_of_squares(grad);
    }
    if (!group) return std::sqrt(squares);
    const Tensor total =
        context.allocator->empty({1}, DType::float32, MemoryCategory::temporaries, "gradient norm");
    kernels.fill(total, static_cast<float>(squares));
    if (context.recorder)
        context.recorder->depend(Stream::all_reduce, context.recorder->last_event(Stream::compute));
    group->all_reduce(total, ReduceOp::sum, {.stream = Stream::all_reduce, .cause = {rule, "model"}}).wait();
    float sum = 0;
    kernels.download({&sum, 1}, total);
    return std::sqrt(double(sum));
}

}  // namespace meshscope::parallel
