#pragma once

#include <array>
#include <cstdint>

namespace meshscope::view {

/// What the rows of algorithms side by side are ordered by.
enum class AlgorithmOrder : uint8_t { opened, time, bytes, rounds };

/// How algorithms side by side are shown.
struct AlgorithmsChoice {
    AlgorithmOrder order = AlgorithmOrder::opened;
    int64_t predicted_bytes = int64_t{1} << 16;  ///< of the whole buffer; 0: nothing is predicted
    friend bool operator==(const AlgorithmsChoice&, const AlgorithmsChoice&) = default;
};

/// Sizes of the whole buffer for which times are predicted.
struct PredictedSize {
    int64_t bytes;
    const char* words;
};
inline constexpr std::array<PredictedSize, 4> kPredictedSizes{
    {{1 << 10, "1 KiB"}, {1 << 16, "64 KiB"}, {1 << 20, "1 MiB"}, {1 << 26, "64 MiB"}}};

}  // namespace meshscope::view
