#include "core/nn/layers/activation.h"
#include "core/nn/layers/feed_forward.h"
#include "core/nn/layers/loss.h"
#include "core/nn/model/kinds.h"

namespace meshscope::nn {
namespace {

/// x ← x + layers.N(x). The residual is the model's, outside of the layer's module, as in PyTorch's code.
class Mlp final : public Model {
  public:
    explicit Mlp(const ModelSpec& spec) : Model(spec), dim_(spec.dim) {
        for (int64_t i = 0; i < spec.layers; ++i) {
            const std::string name = "layers." + std::to_string(i);
            Linear* up = add_linear(name + ".up", spec.dim, spec.hidden, spec.bias);
            BatchNorm* norm = spec.norm == Norm::none ? nullptr : add_batch_norm(name + ".bn", spec.hidden);
            Linear* down = add_linear(name + ".down", spec.hidden, spec.dim, spec.bias);
            MlpBlock* block = keep(std::make_unique<MlpBlock>(name, up, down, norm));
            blocks_.push_back(block);
            children_.push_back(block);
            layer_modules_.push_back({block});
        }
    }

    std::vector<std::string> default_units() const override {
        std::vector<std::string> units;
        for (const MlpBlock* block : blocks_) units.push_back(block->name());
        return units;
    }

    Variable embed(Tape& tape, const Tensor& x) override { return tape.input(x); }
    Variable layer(Tape& tape, int64_t i, Variable stream) override {
        const Variable change = blocks_.at(static_cast<std::size_t>(i))->forward(tape, stream);
        const Variable sum = add(tape, stream, change);
        tape.release(change);
        tape.release(stream);
        return sum;
    }
    Variable head(Tape&, Variable stream) override { return stream; }
    Variable criterion(Tape& tape, Variable output, const Tensor& target) override {
        const Variable loss = mse(tape, output, target);
        tape.release(output);
        return loss;
    }

    Shape input_shape(int64_t batch) const override { return {batch, dim_}; }
    Shape target_shape(int64_t batch) const override { return {batch, dim_}; }
    Shape stream_shape(int64_t batch) const override { return {batch, dim_}; }

  private:
    int64_t dim_;
    std::vector<MlpBlock*> blocks_;
};

}  // namespace

std::unique_ptr<Model> make_mlp(const ModelSpec& spec) {
    return std::make_unique<Mlp>(spec);
}

}  // namespace meshscope::nn
