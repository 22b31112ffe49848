#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace meshscope::tensor {

/// Whether mapping may fail while the machine has memory, as it was when this was asked first.
bool mapping_is_limited();

/// Room for a library of numbers that does not see that mapping failed: oneDNN writes its code where nothing
/// was mapped, OpenBLAS asks again for ever. While it lives no device maps a large block. Where mapping is
/// not limited it does nothing.
class HeldRoom {
  public:
    /// Waits for whoever holds room. Throws std::bad_alloc where so many bytes cannot be mapped.
    explicit HeldRoom(int64_t bytes);

  private:
    std::unique_lock<std::shared_mutex> lock_;
};

/// To be held while a large block is mapped; holds nothing where mapping is not limited.
std::shared_lock<std::shared_mutex> lock_for_mapping();

}  // namespace meshscope::tensor
