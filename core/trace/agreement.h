#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// How far two lists of numbers agree, place by place.
struct Agreement {
    int64_t compared = 0;    ///< places that both lists have
    int64_t equal_bits = 0;  ///< of them, the very same bits
    int64_t within = 0;      ///< of them, |a - b| ≤ kAgreeWithin · max(1, |a|, |b|)
    double largest = 0;      ///< the largest |a - b|; NaN against a number counts as infinity
    bool same_bits() const { return compared > 0 && equal_bits == compared; }
    bool agrees() const { return compared > 0 && within == compared; }
};

/// What rounding in another order of addition may make of a float32 run: the tolerance that the tests hold
/// every strategy to.
inline constexpr double kAgreeWithin = 2e-5;

/// The losses of the steps that both runs have. Cost: linear.
Agreement compare_losses(const RunInfo& a, const RunInfo& b);

/// The final parameters of two runs.
struct WeightAgreement {
    enum class State : uint8_t {
        compared,
        not_kept,      ///< one of the records (or both) has no parameters: see RunInfo::parameters
        other_models,  ///< names or shapes differ: `culprit` is the first that does
        other_lengths  ///< the runs trained for different numbers of steps
    };
    State state = State::not_kept;
    std::string culprit;
    Agreement all;
    struct One {
        std::string name;
        int64_t first = 0;  ///< place of its first number in `same`
        Agreement numbers;
    };
    std::vector<One> parameters;  ///< in a's order
    std::vector<uint8_t> same;    ///< 1 where the bits are equal; all numbers, in a's order
};

/// Parameters are matched by name, so that their order does not matter. Runs of other lengths are compared
/// too, since who asks may want to see it; their state says so. Cost: linear.
WeightAgreement compare_weights(const RunInfo& a, const RunInfo& b);

}  // namespace meshscope::trace
