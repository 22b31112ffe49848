#include "core/parallel/strategy.h"

namespace meshscope::parallel {

ComputeScope::ComputeScope(trace::Recorder* recorder, std::string_view name, std::string_view unit,
                           int64_t flops, int64_t touched_bytes, Stream stream)
    : recorder_(recorder) {
    if (recorder_) event_ = recorder_->begin_compute(name, unit, flops, touched_bytes, stream);
}

ComputeScope::~ComputeScope() {
    if (recorder_) recorder_->end_compute(event_);
}

}  // namespace meshscope::parallel
