#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "backends/mpi/dropped_groups.h"
#include "backends/mpi/module.h"
#include "core/comm/native.h"

namespace meshscope::backends::mpi {

class MpiTransport;

/// MPI's own collectives in one communicator. AVG is MPI_SUM and a division, PREMUL_SUM a multiplication and
/// MPI_SUM. bfloat16, float16 and uint8 travel, but are not reduced: MPI has no halves, and both libraries
/// are wrong on uint8.
class NativeSide final : public comm::NativeCollectives {
  public:
    /// `transport` outlives every call.
    NativeSide(MpiTransport& transport, MeshscopeMpiHandle group, std::shared_ptr<DroppedGroups> dropped,
               int32_t size, int32_t me)
        : transport_(transport), group_(group), dropped_(std::move(dropped)), size_(size), me_(me) {}
    ~NativeSide() override { dropped_->add(group_); }

    /// MPI's non-blocking calls, over copies of the buffers: when a wait fails MPI may still use what it was
    /// given, and nobody else has it then.
    void watch_peers() override { watches_peers_ = true; }
    bool reduces(ReduceOp op, DType dtype) const override;
    void run(const comm::CheckedCall& call) override;

  private:
    /// Whether calls wait inside MPI. MPI's blocking calls and its others do not meet: all members do alike,
    /// though only some may share their cores. Cost: one small all_reduce, before the first call.
    bool waits_inside();

    MpiTransport& transport_;
    MeshscopeMpiHandle group_;
    std::shared_ptr<DroppedGroups> dropped_;
    int32_t size_;
    int32_t me_;  ///< group rank
    bool watches_peers_ = false;
    std::optional<bool> waits_inside_;
};

}  // namespace meshscope::backends::mpi
