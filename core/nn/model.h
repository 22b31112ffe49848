#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/nn/layers/attention.h"
#include "core/nn/layers/loss.h"
#include "core/nn/model/spec.h"
#include "core/nn/module.h"
#include "core/nn/tape.h"

namespace meshscope::nn {

class BatchNorm;

/// A model: its parameters (without values until someone puts them there), its modules, its forward pass and
/// loss.
///
/// The forward pass is made of pieces, embed → layer 0 … n_layers()-1 → head → criterion, which a pipeline's
/// stages share out. What runs from piece to piece is called the stream. layer(), head() and criterion() take
/// their input over: they release it where PyTorch's forward would lose its last name for it.
class Model : public Module {
  public:
    using Module::Module;
    explicit Model(const ModelSpec& spec) : Module(""), lora_(spec) {}
    /// All parameters, in PyTorch's order of parameters(); parameters()[i].index == i.
    const std::vector<std::unique_ptr<Parameter>>& all_parameters() const { return owned_; }
    /// What its layers keep beside the parameters, in PyTorch's order of buffers(); only batch norm has some.
    const std::vector<std::unique_ptr<Buffer>>& buffers() const { return buffers_; }
    /// Its batch norm layers, in order; parallelism from outside lets them share their statistics.
    const std::vector<BatchNorm*>& batch_norms() const { return batch_norms_; }
    /// The module called `name` ("layers.0"; "" is the model itself), or null.
    Module* find(const std::string& name);
    /// The modules that are one FSDP unit each by default: layers.N (mlp) or blocks.N (gpt, llama);
    /// none for toy (all in the root unit).
    virtual std::vector<std::string> default_units() const = 0;

    /// The whole forward pass: enters the model's region, embed, every layer, head, leaves it, criterion.
    /// One element, the mean over the batch.
    Variable loss(Tape& tape, const Tensor& x, const Tensor& target);

    /// The forward pass without the criterion.
    Variable output(Tape& tape, const Tensor& x);

    /// Data of `batch` samples → the stream.
    virtual Variable embed(Tape& tape, const Tensor& x) = 0;
    int64_t n_layers() const { return static_cast<int64_t>(layer_modules_.size()); }
    /// The stream through layer `i`, residual included where the model adds it outside of the layer's module.
    virtual Variable layer(Tape& tape, int64_t i, Variable stream) = 0;
    /// The stream after the last layer → the model's output.
    virtual Variable head(Tape& tape, Variable stream) = 0;
    /// The output and what it should have been → one element, the mean. Outside of the model's region.
    virtual Variable criterion(Tape& tape, Variable output, const Tensor& target) = 0;

    /// What a model of tokens computes its loss with, from (…, classes) logits and (…) targets, where
    /// parallelism has cut the logits; empty: cross_entropy(). It releases nothing.
    std::function<Variable(Tape&, Variable logits, const Tensor& targets)> own_criterion;
    /// What the criterion of a model of tokens makes of its rows' losses.
    LossForm loss_form;

    /// The modules whose parameters each piece uses. A tied parameter is in two pieces: embed's and head's.
    const std::vector<Module*>& layer_modules(int64_t i) const {
        return layer_modules_.at(static_cast<std::size_t>(i));
    }
    std::vector<Parameter*> embed_parameters() const { return parameters_of(embed_modules_); }
    std::vector<Parameter*> layer_parameters(int64_t i) const { return parameters_of(layer_modules(i)); }
    std::vector<Parameter*> head_parameters() const { return parameters_of(head_modules_); }
    /// The parameter that embed and head share; null: they share none.
    Parameter* tied() const { return tied_; }

    /// What data of `batch` samples must look like, and of which type their numbers are.
    virtual Shape input_shape(int64_t batch) const = 0;
    virtual Shape target_shape(int64_t batch) const = 0;
    virtual DType input_dtype() const { return DType::float32; }
    virtual DType target_dtype() const { return DType::float32; }
    /// What the stream looks like between two layers.
    virtual Shape stream_shape(int64_t batch) const = 0;
    /// The tokens of a sample that this rank's model works on, before sequence parallelism cuts them; 0: a
    /// model of no tokens.
    virtual int64_t tokens() const { return 0; }
    /// Into how many parts sequence parallelism has cut the tokens of the stream, and which of them this rank
    /// holds: ⌈tokens / parts⌉ each, the last ones fewer or none (torch.chunk's rule).
    int64_t stream_parts = 1;
    int64_t stream_part = 0;
    /// Where in the sequence the tokens stand that the model sees. Context parallelism changes it.
    Positions& positions() { return positions_; }

    /// Leaves the model with the pieces of one pipeline stage: layers [first, end), embed and head where
    /// asked. all_parameters() are those of these pieces, indices anew from 0 (whole_index stays); find()
    /// finds their modules only; n_layers() and the layers' numbers stay the whole model's. The other pieces
    /// must not be run any more. Before values and hooks. A parameter that embed and head share stays in
    /// both (tied()). Throws InvalidArgument ("model.tied_apart") where another one is used on both sides of
    /// the cut.
    void keep_pieces(bool embed, int64_t first, int64_t end, bool head);

  protected:
    /// Appends a parameter; `fan_in` is the number of inputs of its layer.
    Parameter* add_parameter(std::string name, Shape shape, int64_t fan_in,
                             Initial initial = Initial::uniform);
    /// Keeps a module, and gives it back as what it is.
    template <class M>
    M* keep(std::unique_ptr<M> module) {
        M* result = module.get();
        modules_.push_back(std::move(module));
        return result;
    }
    /// Appends a linear layer called `name` with its weight (outputs, inputs) and bias (outputs), if it has
    /// one. Not yet any module's child.
    Linear* add_linear(const std::string& name, int64_t inputs, int64_t outputs, bool bias = true);
    /// Appends a batch norm over `features` called `name` with its weight (ones), bias (zeros) and buffers
    /// running_mean, running_var and num_batches_tracked. Not yet any module's child.
    BatchNorm* add_batch_norm(const std::string& name, int64_t features);
    static std::vector<Parameter*> parameters_of(const std::vector<Module*>& modules);

    Positions positions_;
    std::vector<Module*> embed_modules_;
    std::vector<std::vector<Module*>> layer_modules_;
    std::vector<Module*> head_modules_;

    Parameter* tied_ = nullptr;

  private:
    void add_adapters(Linear& linear);

    ModelSpec lora_;  ///< which linear layers get adapters, and which
    int32_t n_adapter_parameters_ = 0;
    Buffer* add_buffer(std::string name, Shape shape, float first, DType dtype);

    std::vector<std::unique_ptr<Parameter>> owned_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<BatchNorm*> batch_norms_;
    std::vector<std::unique_ptr<Parameter>>
        elsewhere_;  ///< of pieces that another stage runs; without values
    std::vector<std::unique_ptr<Module>> modules_;
};

/// Builds a model; its formula is in docs/scenario.md:
/// - `toy`: Linear(10,10) net1, ReLU, Linear(10,5) net2; mean squared error;
/// - `mlp`: x ← x + down(gelu_tanh(up x)) for each layer, with a norm gelu_tanh(bn(up x)); mean squared
/// error;
/// - `gpt`: tok + pos, causal transformer blocks with LayerNorm and gelu_tanh, ln_f, head; cross-entropy;
/// - `llama`: tok, blocks with RMSNorm, rotary positions, grouped queries and SwiGLU, ln_f, head;
/// cross-entropy.
///
/// Throws InvalidArgument ("model.unknown_kind"; "model.size", "model.tokens" where a size is below 1;
/// "model.heads" where heads do not divide dim and no head_dim is given, kv_heads do not divide heads, or
/// rotary positions would turn an odd head_dim).
std::unique_ptr<Model> make_model(const ModelSpec& spec);

/// The parameter's first values as Parameter::initial says, from (seed, parameter index, element): every rank
/// can draw any part alone. `first` and `numbers.size()` choose the elements.
void draw_initial(const Parameter& parameter, uint64_t seed, int64_t first, std::span<float> numbers);

}  // namespace meshscope::nn
