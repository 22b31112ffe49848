#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/mpi/dropped_groups.h"
#include "backends/mpi/module.h"
#include "core/comm/native.h"

namespace meshscope::backends::mpi {

class MpiTransport;

/// MPI's own collectives in one communicator: the non-blocking ones, so that a call has a time-out and ends
/// when a peer fails, whichever library is below. AVG is MPI_SUM and a division, PREMUL_SUM a multiplication
/// and MPI_SUM. bfloat16, float16 and uint8 travel, but are not reduced: MPI has no halves, and both
/// libraries are wrong on uint8.
class NativeSide final : public comm::NativeCollectives {
  public:
    /// `transport` outlives every call.
    NativeSide(MpiTransport& transport, MeshscopeMpiHandle group, std::shared_ptr<DroppedGroups> dropped,
               int32_t size, int32_t me)
        : transport_(transport), group_(group), dropped_(std::move(dropped)), size_(size), me_(me) {}
    ~NativeSide() override { dropped_->add(group_); }

    /// Calls work on copies of the buffers: when a wait fails MPI may still use what it was given, and nobody
    /// else has it then.
    void watch_peers() override { watches_peers_ = true; }
    bool reduces(ReduceOp op, DType dtype) const override;
    void run(const comm::IssuedCall& call) override;

  private:
    /// The call as MPI is told it, over these buffers, but for counts.
    MeshscopeMpiCall in_mpis_words(const comm::IssuedCall& call, const std::byte* input,
                                   std::byte* output) const;
    /// Whether the result must not be written where it is wanted.
    bool puts_result_apart(const comm::IssuedCall& call, const std::byte* input,
                           const std::byte* output) const;
    /// Whether `part` lies where this rank's of `parts` does in `whole`.
    bool is_own_part(const std::byte* whole, const std::vector<comm::Part>& parts, const std::byte* part,
                     DType dtype) const;

    MpiTransport& transport_;
    MeshscopeMpiHandle group_;
    std::shared_ptr<DroppedGroups> dropped_;
    int32_t size_;
    int32_t me_;  ///< group rank
    bool watches_peers_ = false;
};

}  // namespace meshscope::backends::mpi
