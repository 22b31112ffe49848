#pragma once

#include <cstdint>
#include <span>

#include "core/nn/model.h"
#include "core/parallel/strategy.h"

namespace meshscope::test {

/// A model's first values as a seed draws them.
class Drawn final : public parallel::InitialValues {
  public:
    explicit Drawn(uint64_t seed) : seed_(seed) {}
    void read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const override {
        nn::draw_initial(parameter, seed_, first, numbers);
    }

  private:
    uint64_t seed_;
};

}  // namespace meshscope::test
