#pragma once

#include <cstdint>

namespace meshscope::nn {

class Model;

/// Of which kernels norms, gates, rotary positions and the loss are made.
enum class Ops : uint8_t {
    fused,    ///< the engine's own, one each
    pytorch,  ///< eager PyTorch's, several each, whose values between are held too
};

/// What programs that train with eager PyTorch may have a kernel for all the same.
enum class Pieces : uint8_t {
    composed,  ///< of several kernels: transformers' LlamaRMSNorm; log_softmax and nll_loss
    kernel,    ///< one, which holds what the engine's own holds: torch.nn.RMSNorm on a GPU; flash-attn's
               ///< CrossEntropyLoss
};

struct OpsForm {
    Ops ops = Ops::fused;
    Pieces norm = Pieces::composed, loss = Pieces::composed;  ///< with Ops::pytorch

    bool eager_norm() const { return ops == Ops::pytorch && norm == Pieces::composed; }
    bool eager_loss() const { return ops == Ops::pytorch && loss == Pieces::composed; }
};

/// Has the model's layers and its loss take the memory, and record the kernels, that eager PyTorch would.
/// Nothing is computed then: for dry devices alone. Once a model, after tensor parallelism has cut it; a loss
/// that this has made its own (Model::own_criterion) stays. Nothing with Ops::fused.
void use_ops(Model& model, const OpsForm& form);

}  // namespace meshscope::nn
