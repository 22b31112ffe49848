#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace meshscope::nn {

using tensor::Shape;
using tensor::Tensor;

/// Which part of a whole array a parameter holds, when parallelism from outside has cut it along one dim.
struct Box {
    Shape whole;              ///< of the uncut array; empty: the parameter is whole
    int32_t tensor_dim = -1;  ///< the dim it was cut along; -1: whole
    int64_t first = 0;        ///< where the part begins in that dim
    int64_t copies = 1;       ///< ranks that hold this same part, as neighbours
    int64_t copy = 0;         ///< which of them this one is
    bool cut() const { return tensor_dim >= 0; }
};

/// How a parameter's first values are drawn where no file gives them.
enum class Initial : uint8_t {
    uniform,  ///< in ±1/√fan_in, as nn.Linear draws weight and bias
    normal,   ///< standard deviation 0.02, as GPT-2 draws its embeddings
    ones,     ///< a norm's weight
    zeros,    ///< a norm's bias
};

class Tape;

/// One array that is trained, unless it is frozen. Layers and the tape refer to it by handle (Parameter*),
/// never by its memory: FSDP takes the value away after forward and puts it back before backward.
struct Parameter {
    int32_t index = 0;   ///< position in Model::parameters(), PyTorch's order of parameters()
    std::string name;    ///< "layers.0.up.weight"
    Shape shape;         ///< whole, whatever is present just now; of the part, where `box` says it is one
    int64_t fan_in = 1;  ///< inputs of the layer it belongs to, which set the spread of its first values
    Tensor value;        ///< what kernels read; undefined while it is away
    Tensor grad;  ///< summed over the backward passes since it was last dropped; undefined before the first
    Box box{};    ///< which part of the model's array it is: all of it unless tensor parallelism cut it
    Initial initial = Initial::uniform;  ///< how its first values are drawn
    int32_t whole_index = 0;  ///< its index in the whole model, where this one keeps some of its pieces only
    /// Tied, and on two stages of a pipeline: each has its own copy, and the first stage's is the one that
    /// answers for it.
    bool shared = false;
    bool tied_copy = false;  ///< the last stage's
    /// requires_grad = False: no gradient is computed, nothing is reduced, no optimizer updates it.
    bool frozen = false;
    bool adapter = false;  ///< LoRA's lora_A or lora_B
    int32_t draw = 0;      ///< which stream of random numbers its first values come from
    /// Frozen, but part of a flat array of which other parts are trained: FSDP1 computes and reduces its
    /// gradient all the same, and throws it away.
    bool in_trained_flat = false;
    bool needs_grad() const { return !frozen || in_trained_flat; }
    /// What parallelism does to each gradient that a use of it gives, in place, before anything else sees it.
    std::function<void(Tape&, const Tensor& grad)> map_grad = {};
};

/// An array that a layer keeps and no optimizer updates: torch.nn.Module.register_buffer. Of float32, or of
/// int64 for counts.
struct Buffer {
    std::string name;  ///< "layers.0.bn.running_mean"
    Shape shape;
    DType dtype = DType::float32;
    float first = 0;  ///< what each of its elements is before training
    Tensor value;     ///< undefined until a strategy puts it in place; then always there, and whole
};

/// A value on the tape.
struct Variable {
    int32_t id = -1;
};

class Module;
using ModuleHook = std::function<void(Module&)>;

/// Called around a module's work, in the order they were added. Backward hooks fire while the tape runs
/// backward: pre_backward just before the first node of the module's region (its last in forward),
/// post_backward just after the last one.
struct ModuleHooks {
    std::vector<ModuleHook> pre_forward, post_forward, pre_backward, post_backward;
};

/// What tensor and sequence parallelism put at a module's ends: takes a value, gives the one to be used
/// instead (perhaps the same). It releases nothing: whoever called it releases what is needed no more.
using VariableMap = std::function<Variable(Tape&, Variable)>;

/// A layer or a group of layers: a name, its own parameters, its children, its hooks. It knows no rank.
class Module {
  public:
    explicit Module(std::string name) : name_(std::move(name)) {}
    virtual ~Module() = default;
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    const std::string& name() const { return name_; }  ///< dotted, "" for the model itself
    const std::vector<Parameter*>& own_parameters() const { return parameters_; }
    const std::vector<Module*>& children() const { return children_; }
    /// Own parameters, then the children's, depth first.
    std::vector<Parameter*> parameters() const;
    ModuleHooks hooks;
    /// Ports: every module that computes passes its input through `map_input` first and its output through
    /// `map_output` last, both inside its region. Empty: nothing happens.
    VariableMap map_input, map_output;
    /// Told by the tape to hooks: whether a gradient will flow into what the module made (to post_forward),
    /// and whether one leaves it through its input (to post_backward).
    bool output_needs_grad = true, input_needs_grad = true;

  protected:
    std::string name_;
    std::vector<Parameter*> parameters_;
    std::vector<Module*> children_;
};

}  // namespace meshscope::nn
