#include "core/parallel/gradient_norm.h"

#include <array>
#include <cmath>

#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

/// Adds a parameter's squares to those of whole parameters, or of cut ones, which are summed over the tp
/// ranks: there each of a part's copies stands for its share. The copy of a tied parameter is left out.
void add_squares(double squares, const nn::Parameter& parameter, double& whole, double& cut) {
    if (parameter.tied_copy) return;
    if (parameter.box.cut())
        cut += squares / static_cast<double>(parameter.box.copies);
    else
        whole += squares;
}

}  // namespace

double sharded_gradient_norm(std::span<const Tensor> gradients, std::span<const LocalParameter> parameters,
                             comm::ProcessGroup* group, std::string_view rule, const RankContext& context) {
    double whole = 0, cut = 0;
    {
        const ComputeEvent event(context.recorder, *context.allocator, "grad_norm", "model");
        for (std::size_t i = 0; i < gradients.size(); ++i)
            if (gradients[i].defined())
                add_squares(event->sum_of_squares(gradients[i]), *parameters[i].parameter, whole, cut);
    }
    if (!group) return norm_over_tp(whole, cut, context);
    std::array<float, 2> sums{static_cast<float>(whole), static_cast<float>(cut)};
    const auto used = std::span(sums).first(context.along(mesh::Role::tp) ? 2 : 1);
    sum_over(*group, used, rule, context);
    return norm_over_tp(double(sums[0]), context.along(mesh::Role::tp) ? double(sums[1]) : 0.0, context);
}

void sum_over(comm::ProcessGroup& group, std::span<float> numbers, std::string_view rule,
              const RankContext& context) {
    const tensor::Kernels& kernels = context.allocator->device().kernels();
    const Tensor sums = context.allocator->empty({static_cast<int64_t>(numbers.size())}, DType::float32,
                                                 MemoryCategory::temporaries, "gradient norm");
    kernels.upload(sums, numbers);
    if (context.recorder)
        context.recorder->depend(Stream::all_reduce, context.recorder->last_event(Stream::compute));
    group.all_reduce(sums, ReduceOp::sum,
                     {.stream = Stream::all_reduce, .cause = {rule, "model"}, .async_op = false});
    kernels.download(numbers, sums);
}

double model_norm(std::span<const double> squares, std::span<const LocalParameter> parameters,
                  const RankContext& context) {
    double whole = 0, cut = 0;
    for (std::size_t i = 0; i < squares.size(); ++i)
        add_squares(squares[i], *parameters[i].parameter, whole, cut);
    return norm_over_tp(whole, cut, context);
}

double norm_over_tp(double whole, double cut, const RankContext& context) {
    if (!context.along(mesh::Role::tp)) return std::sqrt(whole + cut);
    const tensor::Kernels& kernels = context.allocator->device().kernels();
    const Tensor sum =
        context.allocator->empty({1}, DType::float32, MemoryCategory::temporaries, "gradient norm");
    kernels.fill(sum, static_cast<float>(cut));
    context.along(mesh::Role::tp)
        ->all_reduce(sum, ReduceOp::sum,
                     {.cause = {"clip.grad_norm.tensor_parallel", "model"}, .async_op = false});
    float summed = 0;
    kernels.download({&summed, 1}, sum);
    return std::sqrt(whole + double(summed));
}

}  // namespace meshscope::parallel
