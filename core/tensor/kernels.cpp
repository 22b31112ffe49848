// Every call: checked against its declaration, counted where somebody counts, and given to the device.
#include "core/tensor/kernels.h"

#include "core/tensor/kernel_call.h"
#include "core/tensor/kernel_declarations.h"

namespace meshscope::tensor {

#define KERNEL(result, method, name, parameters, arguments, ...) \
    result Kernels::method parameters const {                    \
        KernelCall call(declared::method::kDeclaration);         \
        call arguments;                                          \
        if (cost_ != nullptr) cost_->add(call.cost());           \
        return work_->method arguments;                          \
    }
#include "core/tensor/kernels.def"

void Kernels::adam_steps(std::span<const AdamTensors> parameters, const AdamStep& step) const {
    for (const auto& [value, grad, m, v] : parameters) {
        KernelCall call(declared::adam_step::kDeclaration);
        call(*value, *grad, *m, *v, step);
        if (cost_ != nullptr) cost_->add(call.cost());
    }
    work_->adam_steps(parameters, step);
}

}  // namespace meshscope::tensor
