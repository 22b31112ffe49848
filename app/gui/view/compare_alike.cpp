#include "app/gui/view/compare_alike.h"

#include <algorithm>

namespace meshscope::view {
namespace {

const RunTrait* find(const ComparedRun& run, const std::string& key) {
    if (run.traits == nullptr) return nullptr;
    const auto found = std::find_if(run.traits->begin(), run.traits->end(),
                                    [&](const RunTrait& trait) { return trait.key == key; });
    return found == run.traits->end() ? nullptr : &*found;
}

}  // namespace

Unlike unlike(const ComparedRun& first, const RunFigures& first_figures, const ComparedRun& run,
              const RunFigures& figures) {
    Unlike out;
    const bool measured = first.clock.kind == time::ClockKind::measured;
    const auto differs = [&](std::vector<std::string>& list, const std::string& key, const std::string& a,
                             const std::string& b) {
        const auto shown = [](const std::string& value) { return value.empty() ? "–" : value; };
        if (a != b) list.push_back(key + " " + shown(a) + " / " + shown(b));
    };
    if (first.traits != nullptr)
        for (const RunTrait& trait : *first.traits) {
            const RunTrait* other = find(run, trait.key);
            if (other == nullptr) continue;
            const bool backend = trait.key == "backend";
            auto& list = trait.kind == RunTrait::Kind::work                             ? out.work
                         : trait.kind == RunTrait::Kind::where || (backend && measured) ? out.where
                                                                                        : out.how;
            differs(list, trait.key, trait.value, other->value);
        }
    differs(out.where, "ranks", std::to_string(first.trace.info.world_size),
            std::to_string(run.trace.info.world_size));
    if (!measured) differs(out.where, "hardware", first.clock.profile, run.clock.profile);
    const bool unrecorded = figures.step_ns < 0 || first_figures.step_ns < 0;
    out.other_step =
        figures.step != first_figures.step || !figures.whole || !first_figures.whole || unrecorded;
    out.verdict = !out.work.empty() || out.other_step ? Verdict::none
                  : out.where.empty()                 ? Verdict::better_or_worse
                                                      : Verdict::change;
    return out;
}

}  // namespace meshscope::view
