#pragma once

#include "backends/mpi/module.h"
#include "core/comm/native.h"

namespace meshscope::backends::mpi {

class MpiTransport;

/// MPI's own collectives in one communicator. AVG is MPI_SUM and a division, PREMUL_SUM a multiplication and
/// MPI_SUM. bfloat16, float16 and uint8 travel, but are not reduced: MPI has no halves, and both libraries
/// are wrong on uint8.
class NativeSide final : public comm::NativeCollectives {
  public:
    /// `transport` outlives it.
    NativeSide(MpiTransport& transport, MeshscopeMpiHandle group, int32_t size, int32_t me)
        : transport_(transport), group_(group), size_(size), me_(me) {}

    bool reduces(ReduceOp op, DType dtype) const override;
    void run(const comm::CheckedCall& call) override;

  private:
    MpiTransport& transport_;
    MeshscopeMpiHandle group_;
    int32_t size_;
    int32_t me_;  ///< group rank
};

}  // namespace meshscope::backends::mpi
