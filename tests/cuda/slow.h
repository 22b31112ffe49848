#pragma once

#include <cstdint>

#include "tests/gpu/gpu_pair.h"

namespace meshscope::gpu_test {

/// As long as it lives, each piece of work of the stand-in takes `ns` longer.
class Slow {
  public:
    explicit Slow(int64_t ns) { control().delay(ns); }
    ~Slow() { control().delay(0); }
    Slow(const Slow&) = delete;
    Slow& operator=(const Slow&) = delete;
};

}  // namespace meshscope::gpu_test
