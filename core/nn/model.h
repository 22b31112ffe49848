#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "core/nn/tape.h"

namespace meshscope::nn {

/// What a scenario's [model] says. Fields that a kind does not use are ignored here and refused by the
/// scenario reader.
struct ModelSpec {
    std::string kind = "toy";  ///< toy, mlp
    int64_t dim = 0;           ///< mlp
    int64_t hidden = 0;        ///< mlp
    int64_t layers = 0;        ///< mlp
};

class Linear;

/// A model: its parameters (without values until someone puts them there), its modules, its forward pass and
/// loss.
class Model : public Module {
  public:
    using Module::Module;
    /// All parameters, in PyTorch's order of parameters(); parameters()[i].index == i.
    const std::vector<std::unique_ptr<Parameter>>& all_parameters() const { return owned_; }
    /// The module called `name` ("layers.0"; "" is the model itself), or null.
    Module* find(const std::string& name);
    /// The modules that are one FSDP unit each by default: layers.N (mlp); none for toy (all in the root
    /// unit).
    virtual std::vector<std::string> default_units() const = 0;

    /// x: (batch, in) float32 → loss of one element, mean over batch and features. Enters and leaves the
    /// model's region.
    virtual Variable loss(Tape& tape, const Tensor& x, const Tensor& y) = 0;
    /// Shapes of one sample: {in}, {out}; what data of `batch` samples must look like.
    virtual Shape input_shape(int64_t batch) const = 0;
    virtual Shape target_shape(int64_t batch) const = 0;

  protected:
    /// Appends a parameter; `fan_in` is the number of inputs of its layer.
    Parameter* add_parameter(std::string name, Shape shape, int64_t fan_in);
    /// Appends a linear layer called `name` with its weight (outputs, inputs) and bias (outputs). Not yet any
    /// module's child.
    Linear* add_linear(const std::string& name, int64_t inputs, int64_t outputs);
    std::vector<std::unique_ptr<Parameter>> owned_;
    std::vector<std::unique_ptr<Module>> modules_;
};

/// Builds `toy` (Linear(10,10) net1, ReLU, Linear(10,5) net2) or `mlp` (x ← x + down(gelu_tanh(up x)) for
/// each layer); mean squared error. Throws InvalidArgument ("model.unknown_kind", "model.size" where a size
/// is below 1).
std::unique_ptr<Model> make_model(const ModelSpec& spec);

/// The parameter's first value: uniform in ±1/√fan_in as nn.Linear draws it, from (seed, parameter index,
/// element): every rank can draw any part alone. `first` and `numbers.size()` choose the elements.
void draw_initial(const Parameter& parameter, uint64_t seed, int64_t first, std::span<float> numbers);

}  // namespace meshscope::nn
