// Moved memory, elements, matrix products, optimizers. Each call: the launch, if there is anything to do.
#include "backends/cuda/cuda_kernels.h"

#include <cmath>
#include <string>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_operands.h"
#include "backends/cuda/load_gpu.h"
#include "core/base/error.h"
#include "core/tensor/host_access.h"

namespace meshscope::backends::cuda {

using tensor::Tensor;

const GpuStream& CudaKernels::stream() const {
    return device_->stream();
}

void CudaKernels::elements(int32_t kernel, DType dtype, const MeshscopeElements& p) const {
    if (p.n > 0) run(kernel, dtype, p, shape_of_elements(p.n));
}

// moved memory ----------------------------------------------------------------------------------------------

void CudaKernels::zero(const Tensor& out) const {
    const MeshscopeGpu& table = *device_->gpu().table;
    if (out.n_elements() > 0) check(table, table.set(stream().handle(), out.raw(), 0, out.bytes()), "set");
}

void CudaKernels::fill(const Tensor& out, float value) const {
    elements(MESHSCOPE_KERNEL_FILL, out.dtype(), elements_of(out, {}, {}, static_cast<double>(value)));
}

void CudaKernels::copy(const Tensor& out, const Tensor& in) const {
    const MeshscopeGpu& table = *device_->gpu().table;
    if (in.n_elements() > 0 && out.raw() != in.raw())
        check(table,
              table.copy(stream().handle(), out.raw(), in.raw(), in.bytes(), MESHSCOPE_DEVICE_TO_DEVICE),
              "copy");
}

void CudaKernels::transfer(const Tensor& out, const Tensor& in) const {
    copy(out, in);
}

void CudaKernels::cast(const Tensor& out, const Tensor& in) const {
    if (out.dtype() == in.dtype()) return copy(out, in);
    MeshscopeElements p = elements_of(out, in);
    p.from = static_cast<int32_t>(in.dtype());
    elements(MESHSCOPE_KERNEL_CAST, out.dtype(), p);
}

void CudaKernels::upload(const Tensor& out, std::span<const float> numbers) const {
    device_->upload(out.raw(), numbers.data(), out.bytes());
}

void CudaKernels::download(std::span<float> numbers, const Tensor& in) const {
    device_->download(numbers.data(), in.raw(), in.bytes());
}

// elements --------------------------------------------------------------------------------------------------

void CudaKernels::scale(const Tensor& in_out, float factor) const {
    elements(MESHSCOPE_KERNEL_SCALE, in_out.dtype(),
             elements_of(in_out, in_out, {}, static_cast<double>(factor)));
}

void CudaKernels::axpy(const Tensor& y, float a, const Tensor& x) const {
    elements(MESHSCOPE_KERNEL_AXPY, y.dtype(), elements_of(y, x, {}, static_cast<double>(a)));
}

void CudaKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) const {
    elements(MESHSCOPE_KERNEL_ADD, out.dtype(), elements_of(out, a, b));
}

void CudaKernels::add_rows(const Tensor& out, const Tensor& a, const Tensor& row) const {
    MeshscopeElements p = elements_of(out, a, row);
    p.width = row.n_elements();
    elements(MESHSCOPE_KERNEL_ADD_ROWS, out.dtype(), p);
}

void CudaKernels::multiply(const Tensor& out, const Tensor& a, const Tensor& b) const {
    elements(MESHSCOPE_KERNEL_MULTIPLY, out.dtype(), elements_of(out, a, b));
}

void CudaKernels::relu_forward(const Tensor& y, const Tensor& x) const {
    elements(MESHSCOPE_KERNEL_RELU, y.dtype(), elements_of(y, x));
}

void CudaKernels::relu_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) const {
    elements(MESHSCOPE_KERNEL_RELU_BACKWARD, dx.dtype(), elements_of(dx, dy, y));
}

void CudaKernels::gelu_tanh_forward(const Tensor& y, const Tensor& x) const {
    elements(MESHSCOPE_KERNEL_GELU_TANH, y.dtype(), elements_of(y, x));
}

void CudaKernels::gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    elements(MESHSCOPE_KERNEL_GELU_TANH_BACKWARD, dx.dtype(), elements_of(dx, dy, x));
}

void CudaKernels::gelu_forward(const Tensor& y, const Tensor& x) const {
    elements(MESHSCOPE_KERNEL_GELU, y.dtype(), elements_of(y, x));
}

void CudaKernels::gelu_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    elements(MESHSCOPE_KERNEL_GELU_BACKWARD, dx.dtype(), elements_of(dx, dy, x));
}

void CudaKernels::silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const {
    elements(MESHSCOPE_KERNEL_SILU_MUL, y.dtype(), elements_of(y, gate, up));
}

void CudaKernels::silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy,
                                    const Tensor& gate, const Tensor& up) const {
    MeshscopeElements p = elements_of(dgate, dy, gate);
    p.out2 = dup.raw();
    p.c = up.raw();
    elements(MESHSCOPE_KERNEL_SILU_BACKWARD, dgate.dtype(), p);
}

// matrix products -------------------------------------------------------------------------------------------

void CudaKernels::product(DType dtype, const MeshscopeGpuProduct& asked) const {
    MeshscopeGpuProduct p = asked;
    p.dtype = static_cast<int32_t>(dtype);
    p.tf32 = device_->gpu().tf32 == Tf32::yes ? 1 : 0;
    p.workspace = device_->workspace();
    p.workspace_bytes = device_->workspace_bytes();
    const MeshscopeGpu& table = *device_->gpu().table;
    check(table, table.product(stream().handle(), &p), "product");
}

void CudaKernels::linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                                 const Tensor& bias) const {
    const DType dtype = y.dtype();
    if (y.n_elements() == 0) return;
    if (weight.dim(1) == 0) {  // a sum of nothing
        zero(y);
        if (bias.defined()) add_rows(y, y, bias);
        return;
    }
    MeshscopeGpuProduct p{};
    p.m = y.n_elements() / weight.dim(0);
    p.n = weight.dim(0);
    p.k = weight.dim(1);
    p.transpose_b = 1;
    p.a = x.raw();
    p.b = weight.raw();
    p.bias = bias.raw();
    p.out = y.raw();
    product(dtype, p);
}

void CudaKernels::linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const {
    const DType dtype = dx.dtype();
    if (dx.n_elements() == 0) return;
    if (weight.dim(0) == 0) return zero(dx);
    MeshscopeGpuProduct p{};
    p.m = dx.n_elements() / weight.dim(1);
    p.n = weight.dim(1);
    p.k = weight.dim(0);
    p.a = dy.raw();
    p.b = weight.raw();
    p.out = dx.raw();
    product(dtype, p);
}

void CudaKernels::linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                     bool accumulate) const {
    const DType dtype = dw.dtype();
    if (dw.n_elements() == 0) return;
    MeshscopeGpuProduct p{};
    p.m = dw.dim(0);
    p.n = dw.dim(1);
    p.k = x.n_elements() / dw.dim(1);
    p.transpose_a = 1;
    p.a = dy.raw();
    p.b = x.raw();
    p.out = dw.raw();
    if (p.k == 0) {
        if (!accumulate) zero(dw);
        return;
    }
    if (!accumulate || dtype == DType::float32) {
        p.accumulate = accumulate ? 1 : 0;
        return product(dtype, p);
    }
    // PyTorch makes the gradient in bfloat16 and then adds it: two roundings.
    const GpuMemory made(stream(), dw.bytes());
    p.out = made.get();
    product(dtype, p);
    MeshscopeElements sum = elements_of(dw, dw);
    sum.b = made.get();
    elements(MESHSCOPE_KERNEL_ADD, dtype, sum);
}

void CudaKernels::linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const {
    const DType dtype = db.dtype();
    if (db.n_elements() == 0) return;
    MeshscopeColumns p{};
    p.out = db.raw();
    p.dy = dy.raw();
    p.width = db.n_elements();
    p.rows = dy.n_elements() / p.width;
    p.accumulate = accumulate ? 1 : 0;
    columns(MESHSCOPE_KERNEL_COLUMN_SUMS, dtype, p);
}

void CudaKernels::columns(int32_t kernel, DType dtype, const MeshscopeColumns& asked) const {
    if (asked.width == 0) return;
    MeshscopeColumns p = asked;
    p.slices = column_slices(p.rows);
    p.slice_rows = (p.rows + p.slices - 1) / p.slices;
    const int64_t floats_a_slice = 2 * p.width;
    const GpuMemory partial(
        stream(), p.slices == 1 ? 0 : p.slices * floats_a_slice * static_cast<int64_t>(sizeof(float)));
    p.partial = partial.as<float>();
    run(kernel, dtype, p, shape_of_columns(p.width, p.slices));
    if (p.slices > 1) run(MESHSCOPE_KERNEL_COLUMN_TOTAL, dtype, p, shape_of_elements(p.width));
}

// sums and losses of all elements ---------------------------------------------------------------------------

void CudaKernels::total(const double* numbers, int64_t n, double factor, double* sum,
                        const Tensor& loss) const {
    MeshscopeTotal p{};
    p.partial = const_cast<double*>(numbers);
    p.total = sum;
    p.loss = loss.raw();
    p.n = n;
    p.factor = factor;
    run(MESHSCOPE_KERNEL_TOTAL, loss.defined() ? loss.dtype() : DType::float32, p, shape_of_one_block());
}

void CudaKernels::mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const {
    const DType dtype = prediction.dtype();
    MeshscopeTotal p{};
    p.x = prediction.raw();
    p.target = floats(target);
    p.n = prediction.n_elements();
    const LaunchShape shape = shape_of_partial_sums(p.n);
    const GpuMemory partial(stream(), static_cast<int64_t>(shape.grid[0] * sizeof(double)));
    p.partial = partial.as<double>();
    run(MESHSCOPE_KERNEL_SQUARED_ERROR, dtype, p, shape);
    // The mean of nothing is 0 · ∞, NaN, as in PyTorch.
    total(p.partial, shape.grid[0], 1.0 / static_cast<double>(p.n), nullptr, loss);
}

void CudaKernels::mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                               const Tensor& target) const {
    MeshscopeElements p = elements_of(dprediction, prediction, target);
    p.c = dloss.raw();
    elements(MESHSCOPE_KERNEL_MSE_BACKWARD, dprediction.dtype(), p);
}

double CudaKernels::sum_of_squares(const Tensor& in) const {
    MeshscopeTotal p{};
    p.x = in.raw();
    p.n = in.n_elements();
    const LaunchShape shape = shape_of_partial_sums(p.n);
    const GpuMemory partial(stream(), static_cast<int64_t>((shape.grid[0] + 1) * sizeof(double)));
    p.partial = partial.as<double>();
    run(MESHSCOPE_KERNEL_SQUARES, in.dtype(), p, shape);
    double* const sum = p.partial + shape.grid[0];
    total(p.partial, shape.grid[0], 1.0, sum, {});
    double result = 0.0;
    device_->download(&result, sum, sizeof result);
    return result;
}

// optimizers ------------------------------------------------------------------------------------------------

void CudaKernels::sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                           const tensor::SgdStep& step) const {
    tensor::expect_dtype<float>(value);
    const bool has_buffer = step.momentum != 0.0;
    MeshscopeSgd p{};
    p.value = floats(value);
    p.grad = floats(grad);
    p.buffer = has_buffer ? floats(buffer) : nullptr;
    p.n = value.n_elements();
    p.lr = static_cast<float>(step.lr);
    p.momentum = static_cast<float>(step.momentum);
    p.weight_decay = static_cast<float>(step.weight_decay);
    p.first = step.first ? 1 : 0;
    if (p.n > 0) run(MESHSCOPE_KERNEL_SGD, DType::float32, p, shape_of_elements(p.n));
}

void CudaKernels::adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                            const tensor::AdamStep& step) const {
    const tensor::AdamTensors one{&value, &grad, &m, &v};
    adam_steps({&one, 1}, step);
}

void CudaKernels::adam_steps(std::span<const tensor::AdamTensors> parameters,
                             const tensor::AdamStep& step) const {
    std::vector<MeshscopeAdamPart> parts;
    parts.reserve(parameters.size());
    int64_t chunks = 0;
    for (const auto& [value, grad, m, v] : parameters) {
        tensor::expect_dtype<float>(*value);
        const int64_t n = value->n_elements();
        if (n == 0) continue;
        parts.push_back({floats(*value), floats(*m), floats(*v), floats(*grad), n, chunks});
        chunks += (n + MESHSCOPE_ADAM_CHUNK - 1) / MESHSCOPE_ADAM_CHUNK;
    }
    if (parts.empty()) return;
    const auto bytes = static_cast<int64_t>(parts.size() * sizeof(MeshscopeAdamPart));
    const GpuMemory there(stream(), bytes);
    device_->upload(there.get(), parts.data(), bytes);
    const auto t = static_cast<double>(step.step);
    MeshscopeAdam p{};
    p.parts = there.as<MeshscopeAdamPart>();
    p.n_parts = static_cast<int64_t>(parts.size());
    p.n_chunks = chunks;
    p.keep = static_cast<float>(step.decoupled ? 1.0 - step.lr * step.weight_decay : 1.0);
    p.weight_decay = static_cast<float>(step.decoupled ? 0.0 : step.weight_decay);
    p.beta1_rest = static_cast<float>(1.0 - step.beta1);
    p.beta2 = static_cast<float>(step.beta2);
    p.beta2_rest = static_cast<float>(1.0 - step.beta2);
    p.step_size = static_cast<float>(step.lr / (1.0 - std::pow(step.beta1, t)));
    p.root_correction = static_cast<float>(std::sqrt(1.0 - std::pow(step.beta2, t)));
    p.eps = static_cast<float>(step.eps);
    run(MESHSCOPE_KERNEL_ADAM, DType::float32, p, shape_of_chunks(chunks));
}

}  // namespace meshscope::backends::cuda
