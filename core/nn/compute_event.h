#pragma once

#include <cstdint>
#include <string_view>

#include "core/trace/recorder.h"

namespace meshscope::nn {

/// One kernel in the record, from construction to destruction. Allocate outputs before, so that the memory
/// view shows them as this event's. `recorder` may be null. flops counts a multiplication and an addition as
/// two.
class ComputeEvent {
  public:
    ComputeEvent(trace::Recorder* recorder, std::string_view name, std::string_view unit, int64_t flops,
                 int64_t touched_bytes)
        : recorder_(recorder),
          event_(recorder == nullptr ? -1 : recorder->begin_compute(name, unit, flops, touched_bytes)) {}
    ~ComputeEvent() {
        if (event_ >= 0) recorder_->end_compute(event_);
    }
    ComputeEvent(const ComputeEvent&) = delete;
    ComputeEvent& operator=(const ComputeEvent&) = delete;

  private:
    trace::Recorder* recorder_;
    int32_t event_;
};

}  // namespace meshscope::nn
