#pragma once

#include <span>
#include <vector>

#include "core/comm/schedule/step.h"

namespace meshscope::comm {

/// A step that holds what its spans show.
struct KeptStep {
    Step step;  ///< its spans are empty; see shown()
    std::vector<Stretch> from, to;
    std::vector<trace::HopPiece> pieces;

    /// Of a reduce: what its message is combined with, cut as `to`.
    std::span<const Stretch> combined() const {
        return to.size() > 1 ? std::span<const Stretch>(from) : std::span(&step.own, 1);
    }
    /// The step, with spans into this one.
    Step shown() const {
        Step shown = step;
        shown.from = from;
        shown.to = to;
        shown.pieces = pieces;
        return shown;
    }
};

/// A rank's steps, kept: what an algorithm that was read from a file is, and what looks at many ranks at once works on.
struct KeptSteps {
    std::vector<KeptStep> steps;
    int32_t rounds = 0;  ///< of the whole collective

    void say(const StepSink& sink) const {
        for (const KeptStep& each : steps) sink(each.shown());
    }
    StepSink keeper() {
        return [this](const Step& step) {
            KeptStep kept{step,
                          {step.from.begin(), step.from.end()},
                          {step.to.begin(), step.to.end()},
                          {step.pieces.begin(), step.pieces.end()}};
            kept.step.from = kept.step.to = {};
            kept.step.pieces = {};
            steps.push_back(std::move(kept));
        };
    }
};

}  // namespace meshscope::comm
