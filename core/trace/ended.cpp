#include "core/trace/ended.h"

#include <algorithm>
#include <cmath>

#include "core/base/recorded_failure.h"

namespace meshscope::trace {

std::optional<int32_t> first_not_finite_step(const RunInfo& info) {
    for (std::size_t s = 0; s < std::max(info.losses.size(), info.grad_norms.size()); ++s)
        for (const auto* numbers : {&info.losses, &info.grad_norms})
            if (s < numbers->size() && !std::isfinite((*numbers)[s])) return static_cast<int32_t>(s);
    return {};
}

std::optional<Message> early_end(const RunInfo& info, int32_t planned_steps) {
    if (const auto failure = read_failure(info.failure)) return failure->message;
    // Of another version, or damaged: that it failed is known.
    if (!info.failure.empty()) return Message{"view.end.unknown", {}};
    if (const auto step = first_not_finite_step(info))
        return Message{"view.end.not_finite", {{"step", int64_t{*step}}}};
    if (planned_steps > info.steps)
        return Message{"view.end.stopped",
                       {{"steps", int64_t{info.steps}}, {"planned", int64_t{planned_steps}}}};
    return {};
}

}  // namespace meshscope::trace
