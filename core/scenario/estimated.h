#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/estimate/plan.h"
#include "core/time/profile.h"

namespace meshscope::scenario {

/// A number of a lesson that no run here can give: estimated of a real model on real GPUs, as `meshscope
/// plan` does it, or of a published run, as `meshscope validate` does.
struct Estimated {
    std::string figure = {};     ///< one of estimated_figures()
    std::string published = {};  ///< the id of a published run; "": a plan of the model below

    std::string config = {};  ///< a configuration's file
    std::optional<time::Profile> gpu = {};
    std::string stack = "torchtitan";
    int64_t gpus = 8, gpus_per_node = 8, lora = 0, base_bits = 16;
    std::optional<int64_t> seq = {}, global_batch = {};
    /// Of the layouts with these the first one that fits, else the first that is too large.
    estimate::Sizes only = {};
};

/// What [lesson.number.estimate] figure may name:
///   parameters, table_percent, gflop_per_token   of the model: all; what of them embedding and head are; its
///                                        FLOPs, 10^9
///   tried, fitting                       layouts of the plan
///   step_ms, tokens, mfu_percent, exposed_percent, hidden_percent, bubble_percent   of a layout's step
///   needed_gib, allocated_gib, weights_gib, gradients_gib, optimizer_gib, activations_gib, logits_gib
///   gpus, tp, cp, pp, stages, dp         its sizes; dp: data-parallel ranks
///   published_ms, published_tokens, published_mfu_percent   what a published run's source measured
std::span<const std::string_view> estimated_figures();
/// Whether only a published run has it.
bool is_published_figure(std::string_view figure);
/// Whether a published run has it too.
bool has_published(std::string_view figure);

/// Plans, each made when it is first asked for.
class Estimates {
  public:
    /// Throws InputError and IoError for a configuration that cannot be read, what estimate::settled() and
    /// estimate::plan() throw, and InvalidArgument "scenario.estimate_no_transformer" {kind},
    /// "scenario.estimate_no_part" {figure} where the fullest GPU holds nothing of it,
    /// "scenario.estimate_no_peak" {gpu}, "scenario.estimate_no_run" {run} and
    /// "scenario.estimate_not_stated" {run, figure}. Cost: a plan, some milliseconds, the first time.
    double value(const Estimated& asked);

  private:
    struct Made {
        std::string key;
        estimate::Question question;
        estimate::Plan plan;
    };
    const Made& made(const Estimated& asked);
    std::vector<Made> made_;
};

}  // namespace meshscope::scenario
