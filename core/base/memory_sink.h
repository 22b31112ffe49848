#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/kinds.h"

namespace meshscope {

/// Hears of every allocation of one rank, in the order the rank made them, on the rank's own thread only.
class MemorySink {
  public:
    virtual ~MemorySink() = default;
    /// `id` is unique within the rank and grows. `label` says what it is ("net1.weight", "all_gather net1").
    virtual void on_allocate(uint64_t id, int64_t bytes, MemoryCategory category, std::string_view label) = 0;
    virtual void on_free(uint64_t id) = 0;
};

}  // namespace meshscope
