#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor/device.h"
#include "core/tensor/kernels.h"
#include "core/trace/recorder.h"

namespace meshscope::nn {

/// A piece of compute in the record, from construction to destruction: `event->relu_forward(y, x)` runs a
/// kernel as a part of it. What it computed, and in which dtype, is the sum over its kernels of what their
/// declarations say (core/tensor/kernels.def). Allocate outputs before, so that the memory view shows them as
/// this event's. `recorder` may be null: the kernels run all the same.
///
/// At Level::values it also records the operands that kernels.def marks for it: their shapes, and the numbers
/// of small ones, which takes a copy of them within the event's measured time. A device that is not the host
/// is waited for then.
class ComputeEvent final : private tensor::OperandSink {
  public:
    /// On a device's queue, or (copies into communication buffers) another.
    ComputeEvent(trace::Recorder* recorder, const tensor::Allocator& allocator, std::string_view name,
                 std::string_view unit, Stream stream = Stream::compute)
        : recorder_(recorder),
          event_(recorder == nullptr ? -1 : recorder->begin_compute(name, unit, stream)),
          kernels_(event_ < 0 ? allocator.device().kernels() : allocator.device().kernels().counting(cost_)) {
        if (event_ >= 0 && recorder->records(trace::Level::values)) kernels_ = kernels_.showing(*this);
    }
    ~ComputeEvent() override {
        if (event_ >= 0) recorder_->end_compute(event_, cost_.operations, cost_.bytes, cost_.dtype);
    }
    ComputeEvent(const ComputeEvent&) = delete;
    ComputeEvent& operator=(const ComputeEvent&) = delete;

    const tensor::Kernels* operator->() const { return &kernels_; }
    const tensor::Kernels& kernels() const { return kernels_; }
    /// -1 where nothing is recorded.
    int32_t id() const { return event_; }

  private:
    void operand(std::string_view name, const tensor::Tensor& tensor, bool written) override;

    trace::Recorder* recorder_;
    tensor::KernelCost cost_;
    int32_t event_;
    tensor::Kernels kernels_;
};

}  // namespace meshscope::nn
