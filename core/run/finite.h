#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/kinds.h"
#include "core/base/message.h"
#include "core/nn/tape.h"
#include "core/parallel/strategy.h"
#include "core/tensor/device.h"

namespace meshscope::run {

/// The first number of a run that is infinite or NaN, and what made it.
struct NotFinite {
    int32_t step = 0;    ///< the first whose loss, gradient norm or parameters were not finite
    bool found = false;  ///< whether the second run met the op that made it; the rest means nothing otherwise
    int32_t rank = 0;
    int32_t microbatch = 0;
    Phase phase = Phase::setup;
    std::string op;     ///< "layers.0.up: linear"; after backward "net1.weight: gradient", "net1.weight: sgd"
    std::string value;  ///< "inf", "-inf" or "nan"
    int64_t order = 0;  ///< how manyth tensor of its rank; ranks that run the same program count alike
};

/// "run.not_finite" with its place, "run.not_finite_no_targets" where a loss was one over no targets, or
/// "run.not_finite_unplaced". `phase`: the phase's word.
Message not_finite_message(const NotFinite& found, const std::string& phase);
Message not_finite_message(const NotFinite& found);

/// "inf", "-inf" or "nan" for the first such number of a float32, bfloat16 or float16 tensor; nothing when
/// all are finite or the tensor holds something else. Cost: one pass over the numbers.
std::optional<std::string> first_not_finite(const tensor::Tensor& tensor);

/// Looks at everything that one rank makes until something is not finite. Used in a second run only, when the
/// first had a loss that was none: a run costs nothing for it.
class FiniteWatch final : public parallel::TapeWatcher {
  public:
    explicit FiniteWatch(GlobalRank rank) : rank_(rank) {}

    void at(int32_t step, int32_t microbatch, Phase phase) override;
    /// Every value and gradient of the tape; `this` must outlive it.
    void watch(nn::Tape& tape) override;
    void look(std::string_view unit, std::string_view op, const tensor::Tensor& made);
    /// A number that is not finite here was made by another rank: this one looks no further.
    void received(const tensor::Tensor& from_elsewhere) override;

    const std::optional<NotFinite>& found() const { return found_; }

  private:
    GlobalRank rank_;
    NotFinite where_;
    std::optional<NotFinite> found_;
    bool elsewhere_ = false;  ///< it was received
};

/// The first of the ranks' findings: the earliest step, then the earliest place in the program, then the
/// lowest rank. A rank that got the number from another by a collective met it later in its program, so the
/// maker wins; stages of a pipeline have programs of their own, so there a rank that received it has no
/// finding.
std::optional<NotFinite> first_of(const std::vector<std::optional<NotFinite>>& findings);

}  // namespace meshscope::run
