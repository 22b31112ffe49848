#include <algorithm>

#include "core/nn/layers/activation.h"
#include "core/nn/layers/linear.h"
#include "core/nn/layers/loss.h"
#include "core/nn/model/kinds.h"

namespace meshscope::nn {
namespace {

/// net2(relu(net1(x))): PyTorch's ToyModel. Layer 0 is relu(net1), layer 1 is net2.
class Toy final : public Model {
  public:
    explicit Toy(const ModelSpec& spec)
        : Model(spec),
          net1_(add_linear("net1", kInputs, kHidden)),
          net2_(add_linear("net2", kHidden, kOutputs)) {
        children_ = {net1_, net2_};
        layer_modules_ = {{net1_}, {net2_}};
    }

    std::vector<std::string> default_units() const override { return {}; }

    Variable embed(Tape& tape, const Tensor& x) override { return tape.input(x); }
    Variable layer(Tape& tape, int64_t i, Variable stream) override {
        Linear* const linear = i == 0 ? net1_ : net2_;
        const Variable output = linear->forward(tape, stream);
        tape.release(stream);
        if (i > 0) return output;
        const Variable active = relu(tape, output);
        tape.release(output);
        return active;
    }
    Variable head(Tape&, Variable stream) override { return stream; }
    Variable criterion(Tape& tape, Variable output, const Tensor& target) override {
        const Variable loss = mse(tape, output, target);
        tape.release(output);
        return loss;
    }

    Shape input_shape(int64_t batch) const override { return {batch, kInputs}; }
    Shape target_shape(int64_t batch) const override { return {batch, kOutputs}; }
    /// What net1 makes and net2 takes: of a pipeline's stage tensor parallelism has cut one of them only.
    Shape stream_shape(int64_t batch) const override {
        return {batch, std::min(net1_->weight().shape[0], net2_->weight().shape[1])};
    }

  private:
    static constexpr int64_t kInputs = 10;
    static constexpr int64_t kHidden = 10;
    static constexpr int64_t kOutputs = 5;
    Linear* net1_;
    Linear* net2_;
};

}  // namespace

std::unique_ptr<Model> make_toy(const ModelSpec& spec) {
    return std::make_unique<Toy>(spec);
}

}  // namespace meshscope::nn
