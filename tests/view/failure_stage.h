#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/mesh_view.h"
#include "app/gui/view/run_end.h"
#include "app/gui/view/timeline_view.h"
#include "core/base/diagnosis.h"
#include "tests/view/stage.h"

namespace meshscope::test::failure {

/// HSDP whose rank 3 is killed in net2's reduce_scatter of step 1.
extern const std::string kHsdp;

/// A scenario for each kind of failure that the engine diagnoses on threads.
const std::map<std::string, std::string>& kinds();

/// The record of this scenario, run on threads, as far as it came.
std::shared_ptr<const trace::Trace> record_of(const std::string& text);

/// A record by hand: all ranks of a mesh of this shape in an all_reduce of the world that did not end, and
/// the diagnosis of it.
std::shared_ptr<const trace::Trace> record_of(const Diagnosis& diagnosis, const std::vector<int64_t>& shape);

/// What the diagnosis says of a rank that waits for another.
RankReport waits_for(int32_t rank, int32_t other);

/// A record and its end, as the window shows them.
struct Stand {
    explicit Stand(std::shared_ptr<const trace::Trace> t, view::Language l = view::Language::en)
        : trace(std::move(t)), texts(l), language(l), end(view::run_end(*trace, 3)) {}
    view::Input at(view::Size size, int64_t t_ns) const {
        return {*trace, clock, {t_ns}, selection, size, language, measure, texts};
    }
    int64_t broke_off() const { return view::broke_off_ns(*trace, clock, *end); }
    view::Picture mesh(view::Size size) const { return mesh(size, broke_off()); }
    view::Picture mesh(view::Size size, int64_t t_ns) const {
        view::MeshOptions options;
        options.end = &*end;
        return view::mesh_view(at(size, t_ns), options);
    }
    /// The step that broke off, as the window goes to it.
    view::TimelineOptions step() const {
        const time::Interval span = time::span_of_step(*trace, clock, end->step);
        view::TimelineOptions options;
        options.begin_ns = span.begin_ns;
        options.end_ns = span.end_ns;
        options.end = &*end;
        return options;
    }
    view::Picture timeline(view::Size size) const {
        const view::TimelineOptions options = step();
        return view::timeline_view(at(size, broke_off()), options);
    }
    const view::RankEnd& rank(int32_t r) const { return end->waits.ranks.at(static_cast<std::size_t>(r)); }

    std::shared_ptr<const trace::Trace> trace;
    time::Clock clock = time::modelled(*trace, time::classroom());
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts texts;
    view::Language language;
    std::optional<view::RunEnd> end;
};

/// From whom to whom lines lead: "wait" names who waits; whom, the rings at their ends tell by place.
std::vector<int64_t> who_waits(const view::Picture& picture);

/// No text is out of place.
void check_texts(const view::Picture& picture, const view::TextMeasure& measure);

}  // namespace meshscope::test::failure
