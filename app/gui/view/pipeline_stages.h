#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::view {

/// The number behind `prefix` in a unit's name: "layers.3.up" → 3; -1 where there is none.
int32_t number_behind(std::string_view prefix, std::string_view unit);

/// No run has more layers, stages or micro-batches.
inline constexpr int32_t kMostNumber = 1'000'000;

/// Which stage of a pipeline a layer belongs to: of n layers over S stages stage s has as many as the
/// scenario gives it ([parallel] stage_layers), else [s·n/S, (s + 1)·n/S). Cost: a pass over the table of
/// texts; where the scenario gives numbers of layers, it is read.
class Stages {
  public:
    /// `ranks`: of the pipeline, in the order of its group.
    Stages(const trace::Trace& trace, const std::vector<int32_t>& ranks);

    int32_t count() const { return stages_; }
    /// The only stage of the rank in that place of the group; -1 where ranks have several.
    int32_t of_lane(std::size_t lane) const;
    /// -1: the event's unit is of no layer.
    int32_t of(const trace::Event& event) const;

  private:
    const trace::Trace& trace_;
    std::size_t lanes_;
    int32_t stages_ = 0;
    std::vector<int64_t> begins_;  ///< by stage: its first layer
};

}  // namespace meshscope::view
