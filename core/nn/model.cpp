#include "core/nn/model.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/nn/layers.h"

namespace meshscope::nn {
namespace {

/// net2(relu(net1(x))): PyTorch's ToyModel.
class Toy final : public Model {
  public:
    Toy()
        : Model(""),
          net1_(add_linear("net1", kInputs, kHidden)),
          net2_(add_linear("net2", kHidden, kOutputs)) {
        children_ = {net1_, net2_};
    }

    std::vector<std::string> default_units() const override { return {}; }

    Variable loss(Tape& tape, const Tensor& x, const Tensor& y) override {
        // Each value is released where PyTorch's forward would lose its last name for it.
        const Variable input = tape.input(x);
        tape.enter(*this);
        const Variable hidden = net1_->forward(tape, input);
        const Variable active = relu(tape, hidden);
        tape.release(hidden);
        const Variable output = net2_->forward(tape, active);
        tape.release(active);
        tape.leave(*this);
        const Variable result = mse(tape, output, y);
        tape.release(output);
        return result;
    }

    Shape input_shape(int64_t batch) const override { return {batch, kInputs}; }
    Shape target_shape(int64_t batch) const override { return {batch, kOutputs}; }

  private:
    static constexpr int64_t kInputs = 10;
    static constexpr int64_t kHidden = 10;
    static constexpr int64_t kOutputs = 5;
    Linear* net1_;
    Linear* net2_;
};

/// down(gelu_tanh(up(x))): one layer of `mlp`. The residual is the model's, as in PyTorch's code for it.
class MlpBlock final : public Module {
  public:
    MlpBlock(std::string name, Linear* up, Linear* down) : Module(std::move(name)), up_(up), down_(down) {
        children_ = {up_, down_};
    }

    Variable forward(Tape& tape, Variable x) {
        tape.enter(*this);
        const Variable wide = up_->forward(tape, x);
        const Variable active = gelu_tanh(tape, wide);
        tape.release(wide);
        const Variable output = down_->forward(tape, active);
        tape.release(active);
        tape.leave(*this);
        return output;
    }

  private:
    Linear* up_;
    Linear* down_;
};

class Mlp final : public Model {
  public:
    explicit Mlp(const ModelSpec& spec) : Model(""), dim_(spec.dim) {
        for (int64_t i = 0; i < spec.layers; ++i) {
            const std::string layer = "layers." + std::to_string(i);
            Linear* up = add_linear(layer + ".up", spec.dim, spec.hidden);
            Linear* down = add_linear(layer + ".down", spec.hidden, spec.dim);
            auto block = std::make_unique<MlpBlock>(layer, up, down);
            blocks_.push_back(block.get());
            children_.push_back(block.get());
            modules_.push_back(std::move(block));
        }
    }

    std::vector<std::string> default_units() const override {
        std::vector<std::string> units;
        for (const MlpBlock* block : blocks_) units.push_back(block->name());
        return units;
    }

    Variable loss(Tape& tape, const Tensor& x, const Tensor& y) override {
        Variable stream = tape.input(x);
        tape.enter(*this);
        for (MlpBlock* block : blocks_) {
            const Variable change = block->forward(tape, stream);
            const Variable sum = add(tape, stream, change);
            tape.release(change);
            tape.release(stream);
            stream = sum;
        }
        tape.leave(*this);
        const Variable result = mse(tape, stream, y);
        tape.release(stream);
        return result;
    }

    Shape input_shape(int64_t batch) const override { return {batch, dim_}; }
    Shape target_shape(int64_t batch) const override { return {batch, dim_}; }

  private:
    int64_t dim_;
    std::vector<MlpBlock*> blocks_;
};

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

Parameter* Model::add_parameter(std::string name, Shape shape, int64_t fan_in) {
    auto parameter = std::make_unique<Parameter>();
    parameter->index = static_cast<int32_t>(owned_.size());
    parameter->name = std::move(name);
    parameter->shape = std::move(shape);
    parameter->fan_in = fan_in;
    owned_.push_back(std::move(parameter));
    return owned_.back().get();
}

Linear* Model::add_linear(const std::string& name, int64_t inputs, int64_t outputs) {
    Parameter* weight = add_parameter(name + ".weight", {outputs, inputs}, inputs);
    Parameter* bias = add_parameter(name + ".bias", {outputs}, inputs);
    auto linear = std::make_unique<Linear>(name, weight, bias);
    Linear* result = linear.get();
    modules_.push_back(std::move(linear));
    return result;
}

std::unique_ptr<Model> make_model(const ModelSpec& spec) {
    if (spec.kind == "toy") return std::make_unique<Toy>();
    if (spec.kind != "mlp") throw InvalidArgument({"model.unknown_kind", {{"kind", spec.kind}}});
    if (spec.dim < 1 || spec.hidden < 1 || spec.layers < 1)
        throw InvalidArgument(
            {"model.size", {{"dim", spec.dim}, {"hidden", spec.hidden}, {"layers", spec.layers}}});
    return std::make_unique<Mlp>(spec);
}

void draw_initial(const Parameter& parameter, uint64_t seed, int64_t first, std::span<float> numbers) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(parameter.fan_in));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double u =
            uniform(seed, static_cast<uint64_t>(parameter.index), static_cast<uint64_t>(first) + i);
        numbers[i] = static_cast<float>((2.0 * u - 1.0) * bound);
    }
}

}  // namespace meshscope::nn
