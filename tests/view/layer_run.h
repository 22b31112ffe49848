#pragma once

#include <cmath>
#include <string>

#include "tests/test.h"
#include "tests/view/failure_stage.h"
#include "tests/view/stage.h"

namespace meshscope::test {

/// A run of a scenario under the lessons' clock, ready for a view; of one that fails what was recorded.
struct LayerRun {
    explicit LayerRun(const std::string& scenario) {
        const auto record = failure::record_of(scenario);
        REQUIRE(record);
        trace = *record;
        clock = time::modelled(trace, time::classroom());
    }
    time::Interval time_of(int32_t rank, int32_t event) const {
        return clock.events[static_cast<std::size_t>(rank)][static_cast<std::size_t>(event)];
    }
    view::Input at(int32_t rank, int64_t t_ns, view::Size size) {
        selection.rank = rank;
        return {trace, clock, {t_ns}, selection, size, view::Language::en, measure, texts};
    }
    /// Into an event of rank `rank`.
    view::Input into(int32_t rank, int32_t event, double part, view::Size size) {
        const time::Interval t = time_of(rank, event);
        return at(rank, t.begin_ns + std::llround(static_cast<double>(t.end_ns - t.begin_ns) * part), size);
    }

    trace::Trace trace;
    time::Clock clock;
    view::Selection selection;
    FakeMeasure measure;
    CatalogueTexts texts{view::Language::en};
};

}  // namespace meshscope::test
