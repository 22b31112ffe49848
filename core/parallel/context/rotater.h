#pragma once

#include <string>
#include <string_view>

#include "core/comm/process_group.h"
#include "core/nn/tape.h"
#include "core/parallel/context/options.h"

namespace meshscope::parallel {

/// Brings the buffers of all ranks of a cp group past each of them: after the i-th next() rank r holds what
/// rank r - i (counted around the ring) began with. What is exchanged travels while the rank computes; next()
/// waits for it. PyTorch's _AllGatherRotater and _AllToAllRotater
/// (torch/distributed/tensor/experimental/_context_parallel/_attention.py).
///
/// - allgather: the first exchange() gathers all buffers, later ones do nothing. N times the buffer in
/// memory.
/// - alltoall: each exchange() permutes: this rank's buffer to the next rank, the one before's to this one,
/// by an all_to_all whose other parts are empty, as torch's permute_tensor is. One more buffer in memory.
///
/// Either way a rank sends N - 1 buffers in N - 1 exchanges (the gather by a ring).
class Rotater {
  public:
    /// `what` is what the memory view calls the buffers, `rule` why the collectives are there; both, the tape
    /// and the group outlive it. Any method but ulysses.
    Rotater(nn::Tape& tape, comm::ProcessGroup& group, ContextMethod method, std::string_view rule,
            std::string_view what);

    /// Sends `buffer` on its way; it must not be changed afterwards.
    void exchange(const tensor::Tensor& buffer);
    /// What has come: as many numbers, 1-D.
    tensor::Tensor next();

  private:
    tensor::Tensor empty(int64_t n, DType dtype) const;
    void gather(const tensor::Tensor& buffer);
    void permute(const tensor::Tensor& buffer);

    nn::Tape& tape_;
    comm::ProcessGroup& group_;
    ContextMethod method_;
    std::string_view rule_;
    std::string_view what_;
    std::string unit_;
    int32_t passed_ = 0;  ///< how often next() was called
    tensor::Tensor coming_;
    comm::Work work_;
};

}  // namespace meshscope::parallel
