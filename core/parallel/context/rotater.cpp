#include "core/parallel/context/rotater.h"

#include <utility>
#include <vector>

namespace meshscope::parallel {

Rotater::Rotater(nn::Tape& tape, comm::ProcessGroup& group, ContextMethod method, std::string_view rule,
                 std::string_view what)
    : tape_(tape), group_(group), method_(method), rule_(rule), what_(what), unit_(tape.unit()) {}

tensor::Tensor Rotater::empty(int64_t n, DType dtype) const {
    return tape_.allocator().empty({n}, dtype, MemoryCategory::communication,
                                   unit_ + " " + std::string(what_));
}

void Rotater::exchange(const tensor::Tensor& buffer) {
    if (method_ == ContextMethod::alltoall)
        permute(buffer);
    else if (!coming_.defined())
        gather(buffer);
}

void Rotater::gather(const tensor::Tensor& buffer) {
    if (trace::Recorder* recorder = tape_.recorder())
        recorder->depend(Stream::all_gather, recorder->last_event(Stream::compute));
    coming_ = empty(buffer.n_elements() * group_.size(), buffer.dtype());
    work_ = group_.all_gather(coming_, buffer, {}, {.stream = Stream::all_gather, .cause = {rule_, unit_}});
}

void Rotater::permute(const tensor::Tensor& buffer) {
    if (trace::Recorder* recorder = tape_.recorder())
        recorder->depend(Stream::p2p, recorder->last_event(Stream::compute));
    const int32_t me = group_.rank().value, ranks = group_.size();
    std::vector<int64_t> coming(static_cast<std::size_t>(ranks), 0), leaving = coming;
    leaving[static_cast<std::size_t>((me + 1) % ranks)] = buffer.n_elements();
    coming[static_cast<std::size_t>((me + ranks - 1) % ranks)] = buffer.n_elements();
    coming_ = empty(buffer.n_elements(), buffer.dtype());
    work_ =
        group_.all_to_all(coming_, buffer, coming, leaving, {.stream = Stream::p2p, .cause = {rule_, unit_}});
}

tensor::Tensor Rotater::next() {
    ++passed_;
    if (work_.valid()) work_.wait();
    work_ = {};
    if (method_ == ContextMethod::alltoall) return std::exchange(coming_, {});
    const int64_t n = coming_.n_elements() / group_.size();
    return coming_.slice((group_.rank().value - passed_ + group_.size()) % group_.size() * n, n);
}

}  // namespace meshscope::parallel
