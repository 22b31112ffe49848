#pragma once

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "backends/mpi/module.h"

namespace meshscope::backends::mpi {

/// Groups that nobody uses any more. Whoever used one may be on another thread than the one that MPI may be
/// called by, and may outlive the transport.
class DroppedGroups {
  public:
    void add(MeshscopeMpiHandle group) noexcept {
        const std::lock_guard lock(mutex_);
        try {
            groups_.push_back(group);
        } catch (const std::bad_alloc&) {  // MPI keeps it
        }
    }
    std::vector<MeshscopeMpiHandle> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(groups_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<MeshscopeMpiHandle> groups_;
};

}  // namespace meshscope::backends::mpi
