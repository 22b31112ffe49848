// Every call: checked against its declaration, counted where somebody counts, and given to the device. Its
// operands are shown where somebody looks.
#include "core/tensor/kernels.h"

#include <type_traits>

#include "core/tensor/kernel_call.h"
#include "core/tensor/kernel_declarations.h"

namespace meshscope::tensor {
namespace {

/// Does the work of a call between what it reads and what it wrote.
template <class Work>
auto shown_to(OperandSink* sink, const KernelCall& call, const Work& work) {
    if (sink == nullptr) return work();
    call.show(*sink, false);
    if constexpr (std::is_void_v<decltype(work())>) {
        work();
        call.show(*sink, true);
    } else {
        const auto result = work();
        call.show(*sink, true);
        return result;
    }
}

}  // namespace

#define KERNEL(result, method, name, parameters, arguments, ...)               \
    result Kernels::method parameters const {                                  \
        KernelCall call(declared::method::kDeclaration);                       \
        call arguments;                                                        \
        if (cost_ != nullptr) cost_->add(call.cost());                         \
        return shown_to(sink_, call, [&] { return work_->method arguments; }); \
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
