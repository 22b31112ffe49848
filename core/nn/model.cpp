#include "core/nn/model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/nn/layers/batch_norm.h"
#include "core/nn/layers/linear.h"
#include "core/nn/model/frozen.h"
#include "core/nn/model/kinds.h"

namespace meshscope::nn {
namespace {

Module* find_below(Module& module, const std::string& name) {
    if (module.name() == name) return &module;
    for (Module* child : module.children())
        if (Module* found = find_below(*child, name)) return found;
    return nullptr;
}

}  // namespace

Module* Model::find(const std::string& name) {
    return find_below(*this, name);
}

Variable Model::loss(Tape& tape, const Tensor& x, const Tensor& target) {
    return criterion(tape, output(tape, x), target);
}

Variable Model::output(Tape& tape, const Tensor& x) {
    tape.enter(*this);
    Variable stream = embed(tape, x);
    for (int64_t i = 0; i < n_layers(); ++i) stream = layer(tape, i, stream);
    const Variable output = head(tape, stream);
    tape.leave(*this);
    return output;
}

std::vector<Parameter*> Model::parameters_of(const std::vector<Module*>& modules) {
    std::vector<Parameter*> all;
    for (const Module* module : modules) {
        const std::vector<Parameter*> theirs = module->parameters();
        all.insert(all.end(), theirs.begin(), theirs.end());
    }
    return all;
}

void Model::keep_pieces(bool embed, int64_t first, int64_t end, bool head) {
    std::set<const Parameter*> kept, dropped;
    const auto take = [&](bool keep_it, const std::vector<Parameter*>& parameters) {
        (keep_it ? kept : dropped).insert(parameters.begin(), parameters.end());
    };
    take(embed, embed_parameters());
    for (int64_t i = 0; i < n_layers(); ++i) take(i >= first && i < end, layer_parameters(i));
    take(head, head_parameters());
    for (const Parameter* parameter : kept)
        if (dropped.contains(parameter) && parameter != tied_)
            throw InvalidArgument({"model.tied_apart", {{"parameter", parameter->name}}});
    if (tied_ != nullptr) {
        tied_->shared = embed != head;
        tied_->tied_copy = head && !embed;
    }

    std::vector<std::unique_ptr<Parameter>> all = std::move(owned_);
    owned_.clear();
    for (std::unique_ptr<Parameter>& parameter : all) {
        if (!kept.contains(parameter.get())) {
            elsewhere_.push_back(std::move(parameter));
            continue;
        }
        parameter->index = static_cast<int32_t>(owned_.size());
        owned_.push_back(std::move(parameter));
    }
    const auto belongs_to = [](const std::vector<Module*>& piece, const Module* child) {
        return std::ranges::find(piece, child) != piece.end();
    };
    std::erase_if(children_, [&](const Module* child) {
        const std::vector<Parameter*> theirs = child->parameters();
        if (theirs.empty()) return false;
        // A tied parameter alone does not tell whose it is.
        if (theirs.front() == tied_ && (belongs_to(embed_modules_, child) ? !embed : !head)) return true;
        return !kept.contains(theirs.front());
    });
}

Parameter* Model::add_parameter(std::string name, Shape shape, int64_t fan_in, Initial initial) {
    auto parameter = std::make_unique<Parameter>();
    parameter->index = static_cast<int32_t>(owned_.size());
    parameter->whole_index = parameter->index;
    parameter->draw = parameter->index - n_adapter_parameters_;
    parameter->name = std::move(name);
    parameter->shape = std::move(shape);
    parameter->fan_in = fan_in;
    parameter->initial = initial;
    owned_.push_back(std::move(parameter));
    return owned_.back().get();
}

Linear* Model::add_linear(const std::string& name, int64_t inputs, int64_t outputs, bool bias) {
    Parameter* weight = add_parameter(name + ".weight", {outputs, inputs}, inputs);
    Linear* const linear = keep(std::make_unique<Linear>(
        name, weight, bias ? add_parameter(name + ".bias", {outputs}, inputs) : nullptr));
    if (lora_.adapts(name)) add_adapters(*linear);
    return linear;
}

/// kaiming_uniform_(a=√5) for A, which is uniform in ±1/√inputs, and zeros for B: at first they add nothing.
void Model::add_adapters(Linear& linear) {
    constexpr int32_t kFirstDraw = 1 << 24;  // the other parameters draw what they draw without adapters
    const auto add = [&](const char* what, Shape shape, Initial initial) {
        const std::string name = linear.name() + what;
        const int64_t inputs = shape[1];
        Parameter* const weight = add_parameter(name + ".weight", std::move(shape), inputs, initial);
        weight->adapter = true;
        weight->draw = kFirstDraw + n_adapter_parameters_++;
        return keep(std::make_unique<Linear>(name, weight, nullptr));
    };
    const Shape& whole = linear.weight().shape;
    Linear* const a = add(".lora_A", {lora_.lora_rank, whole[1]}, Initial::uniform);
    Linear* const b = add(".lora_B", {whole[0], lora_.lora_rank}, Initial::zeros);
    linear.adapt({a, b, static_cast<float>(lora_.lora_alpha / static_cast<double>(lora_.lora_rank))});
}

Buffer* Model::add_buffer(std::string name, Shape shape, float first, DType dtype) {
    buffers_.push_back(
        std::make_unique<Buffer>(Buffer{std::move(name), std::move(shape), dtype, first, Tensor()}));
    return buffers_.back().get();
}

BatchNorm* Model::add_batch_norm(const std::string& name, int64_t features) {
    Parameter* weight = add_parameter(name + ".weight", {features}, features, Initial::ones);
    Parameter* bias = add_parameter(name + ".bias", {features}, features, Initial::zeros);
    Buffer* mean = add_buffer(name + ".running_mean", {features}, 0.0F, DType::float32);
    Buffer* variance = add_buffer(name + ".running_var", {features}, 1.0F, DType::float32);
    // PyTorch's is a tensor without dims; ours has one element in one dim.
    Buffer* batches = add_buffer(name + ".num_batches_tracked", {1}, 0.0F, DType::int64);
    batch_norms_.push_back(
        keep(std::make_unique<BatchNorm>(name, weight, bias, BatchNorm::Running{mean, variance, batches})));
    return batch_norms_.back();
}

namespace {

std::unique_ptr<Model> make_of_kind(const ModelSpec& spec) {
    const bool transformer = spec.kind == "gpt" || spec.kind == "llama";
    if (spec.kind == "toy") return make_toy(spec);
    if (!transformer && spec.kind != "mlp")
        throw InvalidArgument({"model.unknown_kind", {{"kind", spec.kind}}});
    if (spec.dim < 1 || spec.hidden < 1 || spec.layers < 1)
        throw InvalidArgument(
            {"model.size", {{"dim", spec.dim}, {"hidden", spec.hidden}, {"layers", spec.layers}}});
    if (!transformer) return make_mlp(spec);
    if (spec.vocab < 1 || spec.seq < 1)
        throw InvalidArgument({"model.tokens", {{"vocab", spec.vocab}, {"seq", spec.seq}}});
    const int64_t kv_heads = spec.kind == "llama" ? spec.kv_heads : spec.heads;
    if (spec.heads < 1 || (spec.head_dim < 1 && spec.dim % spec.heads != 0) || kv_heads < 1 ||
        spec.heads % kv_heads != 0 || (spec.kind == "llama" && spec.head_width() % 2 != 0))
        throw InvalidArgument(
            {"model.heads", {{"dim", spec.dim}, {"heads", spec.heads}, {"kv_heads", kv_heads}}});
    return make_transformer(spec);
}

}  // namespace

std::unique_ptr<Model> make_model(const ModelSpec& spec) {
    std::unique_ptr<Model> model = make_of_kind(spec);
    if (spec.lora_rank > 0)
        for (const auto& parameter : model->all_parameters()) parameter->frozen = !parameter->adapter;
    freeze(*model, spec.frozen);
    return model;
}

void draw_initial(const Parameter& parameter, uint64_t seed, int64_t first, std::span<float> numbers) {
    constexpr double kDeviation = 0.02;
    const double bound = 1.0 / std::sqrt(static_cast<double>(parameter.fan_in));
    const auto stream = static_cast<uint64_t>(parameter.draw);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const uint64_t element = static_cast<uint64_t>(first) + i;
        double number = 0.0;
        switch (parameter.initial) {
            case Initial::uniform:
                number = (2.0 * uniform(seed, stream, element) - 1.0) * bound;
                break;
            case Initial::normal:
                number = kDeviation * normal(seed, stream, element);
                break;
            case Initial::ones:
                number = 1.0;
                break;
            case Initial::zeros:
                break;
        }
        numbers[i] = static_cast<float>(number);
    }
}

}  // namespace meshscope::nn
