#include "core/parallel/data_parallel/data_parallel.h"

#include <utility>

#include "core/parallel/declaration.h"
#include "core/parallel/record_ownership.h"
#include "core/parallel/whole_parameters.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

constexpr int64_t kChunkBytes = int64_t{10} << 20;  // torch/nn/parallel: buffer_size of the coalesced calls
constexpr GroupRank kFirst{0};

/// Every piece goes straight between device 0 and another, and is waited for.
comm::CallOptions straight(std::string_view rule, std::string_view unit,
                           std::source_location source = std::source_location::current()) {
    return {.cause = {rule, unit}, .algorithm = Algorithm::direct, .async_op = false, .source = source};
}

}  // namespace

DataParallel::DataParallel(const RankContext& context, nn::Model& model, int64_t rows, int32_t microbatches,
                           StepLoss::Options loss)
    : context_(context),
      model_(model),
      group_(*context.groups.at(0)),
      microbatches_(microbatches),
      loss_(context_, std::move(loss), microbatches),
      rows_(rows / microbatches / group_.size()) {}

void DataParallel::load(const InitialValues& values) {
    if (owns()) {
        local_ = allocate_whole(model_, *context_.allocator, &values, true);
        record_whole(context_, model_);
    }
    for (const auto& parameter : model_.all_parameters()) {
        const int64_t elements = tensor::count(parameter->shape);
        if (chunks_.empty() ||
            (chunks_.back().elements + elements) * bytes_per_element(DType::float32) > kChunkBytes)
            chunks_.emplace_back();
        chunks_.back().parameters.push_back(parameter.get());
        chunks_.back().elements += elements;
    }
}

Tensor DataParallel::scatter_rows(const Tensor& whole, nn::Shape shape, DType dtype, std::string_view rule,
                                  MemoryCategory category) {
    // Device 0 keeps its own rows where they are.
    const Tensor mine = owns() ? whole.narrow(0, shape.at(0))
                               : context_.allocator->empty(std::move(shape), dtype, category, rule);
    group_.scatter(mine, whole, kFirst, {}, straight(rule, "model"));
    return mine;
}

void DataParallel::replicate() {
    if (group_.size() == 1) return;  // as PyTorch: one device computes with the model itself
    for (const Chunk& chunk : chunks_) {
        const Tensor flat = context_.allocator->empty(
            {chunk.elements}, DType::float32,
            owns() ? MemoryCategory::communication : MemoryCategory::parameters, "replica");
        int64_t at = 0;
        if (owns()) {
            const ComputeEvent event(context_.recorder, *context_.allocator, "dp.flatten", "model");
            for (const nn::Parameter* parameter : chunk.parameters) {
                event->copy(flat.slice(at, parameter->value.n_elements()), parameter->value.flat());
                at += parameter->value.n_elements();
            }
        }
        group_.broadcast(flat, kFirst, straight("dp.broadcast.replicas", "model"));
        if (owns()) continue;
        for (nn::Parameter* parameter : chunk.parameters) {
            const int64_t elements = tensor::count(parameter->shape);
            parameter->value = flat.slice(at, elements).view(parameter->shape);
            at += elements;
        }
    }
}

void DataParallel::sum_gradients() {
    if (group_.size() == 1) return;
    for (const Chunk& chunk : chunks_) {
        const Tensor flat = context_.allocator->empty({chunk.elements}, DType::float32,
                                                      MemoryCategory::communication, "gradients");
        {
            const ComputeEvent event(context_.recorder, *context_.allocator, "dp.flatten", "model");
            int64_t at = 0;
            for (nn::Parameter* parameter : chunk.parameters) {
                event->copy(flat.slice(at, parameter->grad.n_elements()), parameter->grad.flat());
                at += parameter->grad.n_elements();
                if (!owns()) parameter->grad = {};
            }
        }
        group_.reduce(flat, kFirst, ReduceOp::sum, straight("dp.reduce.gradients", "model"));
        if (!owns()) continue;
        const ComputeEvent event(context_.recorder, *context_.allocator, "dp.unflatten", "model");
        int64_t at = 0;
        for (nn::Parameter* parameter : chunk.parameters) {
            event->copy(parameter->grad.flat(), flat.slice(at, parameter->grad.n_elements()));
            at += parameter->grad.n_elements();
        }
    }
}

std::optional<double> DataParallel::run(int32_t step, const Tensor& x, const Tensor& y) {
    const int64_t rows = rows_ * group_.size();
    if (owns()) loss_.begin(y);
    double loss = 0;
    for (int32_t m = 0; m < microbatches_; ++m)
        loss +=
            run_microbatch({step, m, m + 1 == microbatches_}, owns() ? x.narrow(m * rows, rows) : Tensor(),
                           owns() ? y.narrow(m * rows, rows) : Tensor());
    if (!owns()) return std::nullopt;
    return loss_.of_step(loss);
}

double DataParallel::run_microbatch(const Pass& pass, const Tensor& x, const Tensor& y) {
    trace::Recorder* const recorder = context_.recorder;
    if (recorder) {
        recorder->set_microbatch(pass.microbatch);
        recorder->set_phase(Phase::forward);
    }
    nn::Tape tape(*context_.allocator, recorder), on_first(*context_.allocator, recorder);
    if (context_.watcher) {
        context_.watcher->at(pass.step, pass.microbatch, Phase::forward);
        context_.watcher->watch(tape);
        context_.watcher->watch(on_first);
    }
    const Tensor input = scatter_rows(x, model_.input_shape(rows_), model_.input_dtype(), "dp.scatter.inputs",
                                      MemoryCategory::inputs);
    replicate();
    const nn::Variable output = model_.output(tape, input);
    const nn::Shape output_shape = tape.value(output).shape();
    nn::Shape all_shape = output_shape;
    all_shape[0] *= group_.size();
    Tensor all;
    if (owns())
        all = context_.allocator->empty(all_shape, DType::float32, MemoryCategory::activations,
                                        "gathered outputs");
    group_.gather(all, tape.value(output), kFirst, {}, straight("dp.gather.outputs", "model"));
    tape.release(output);

    double value = 0;
    nn::Variable leaf, loss;
    if (owns()) {
        leaf = on_first.leaf(std::exchange(all, {}));
        loss_.prepare(model_, y);
        loss = model_.criterion(on_first, leaf, y);
        value = on_first.value(loss).item();
    }
    if (recorder) recorder->set_phase(Phase::backward);
    if (context_.watcher) context_.watcher->at(pass.step, pass.microbatch, Phase::backward);
    Tensor all_grad;
    if (owns()) {
        on_first.backward(loss, loss_.seed());
        all_grad = on_first.take_grad(leaf);
    }
    Tensor grad = scatter_rows(all_grad, output_shape, DType::float32, "dp.scatter.output_gradients",
                               MemoryCategory::activations);
    all_grad = {};
    tape.backward(output, std::move(grad));
    if (!owns())
        for (const auto& parameter : model_.all_parameters()) parameter->value = {};
    sum_gradients();
    return value;
}

std::vector<Tensor> DataParallel::gradients() const {
    return owns() ? whole_gradients(model_) : std::vector<Tensor>();
}

double DataParallel::gradient_norm() {
    return whole_gradient_norm(local_, context_);
}

void DataParallel::after_step() {
    drop_gradients(model_);
}

extern const Declaration kDataParallel;
const Declaration kDataParallel{.id = DataStrategy::dp,
                                .word = "dp",
                                .dims = DataDims::replicate,
                                .dims_hint = "scenario.hint.dims_dp",
                                .one_process = true};

}  // namespace meshscope::parallel
