#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/view/paint.h"
#include "app/gui/view/pipeline_blocks.h"
#include "app/gui/view/pipeline_view.h"
#include "core/trace/simulated.h"

namespace meshscope::view {

/// The picture of a pipeline's grid while it is drawn: what is round the lanes in pipeline_view.cpp, a lane
/// in pipeline_lanes.cpp.
class PipelinePicture {
  public:
    PipelinePicture(const Input& input, const PipelineOptions& options);
    Picture draw();

  private:
    static constexpr float kPad = 16;

    /// One run's grid, ready to be drawn.
    struct Shown {
        std::string name;
        std::shared_ptr<const PipelineGrid> grid;
        bool front = false;
    };

    void add(const std::string& name, const trace::Trace& trace, const time::Clock& clock, int32_t rank,
             int32_t step, bool front);

    /// In slots, or nanoseconds.
    double length(const PipelineGrid& grid) const {
        return options_.slots ? grid.slots : static_cast<double>(grid.span.end_ns - grid.span.begin_ns);
    }
    float x(double at) const { return x0_ + static_cast<float>(at / std::max(widest_, 1e-9)) * (x1_ - x0_); }
    std::pair<double, double> ends(const PipelineGrid& grid, const PipelineBlock& block) const {
        if (options_.slots) return {block.begin, block.end};
        return {static_cast<double>(block.at.begin_ns - grid.span.begin_ns),
                static_cast<double>(block.at.end_ns - grid.span.begin_ns)};
    }
    /// So many slots, or nanoseconds.
    std::string words(double amount) const;

    // Each gives the y below it.
    float header();
    float legend(float y);
    /// What can be done with blocks, and undone.
    float moves(float y);
    float panel(const Shown& run, float y);

    float lane_height(float y) const;
    float above_lanes() const {
        return p_.line_height(Face::title) + 10 + p_.line_height(Face::mono_small) + 6;
    }
    /// The share of the ranks' time, on the clock, in which they compute nothing.
    double idle_share(const PipelineGrid& grid) const;
    std::string short_summary(const PipelineGrid& grid) const;
    std::string summary(const PipelineGrid& grid) const;
    void title(const Shown& run, const Rect& box);
    std::string lane_name(const PipelineLane& lane) const;
    float gutter(const Shown& run) const;
    void ruler(const PipelineGrid& grid, float top, float bottom);
    void lane(const Shown& run, const PipelineLane& lane, float top);
    void lane_head(const Shown& run, const PipelineLane& lane, const Rect& bars);
    void held(const Shown& run, const PipelineLane& lane, const Rect& box, bool two);
    /// Where the cursor stands in a lane of the run in front.
    float cursor_x(const PipelineGrid& grid, const PipelineLane& lane) const;
    /// The part of the box that has room for words: no line goes through them.
    Rect beside_cursor(const Shown& run, const PipelineLane& lane, const Rect& box) const;
    void gap(const Shown& run, const PipelineLane& lane, int32_t waited, const Rect& bars, double from,
             double to);
    void one(const Shown& run, const PipelineLane& lane, const PipelineBlock& block, const Rect& bars);
    /// Only of runs of as much work, which came to the step's end, one is sooner; on the measured clock what
    /// else the machine did may be the reason.
    bool same_work(const PipelineGrid& grid) const;
    /// Where a run's last block ends; of a shorter run also how much sooner.
    void end_line(const PipelineGrid& grid, float top, float bottom);
    void cursor(const PipelineGrid& grid, float top);

    const Input& in_;
    const PipelineOptions& options_;
    const bool simulated_ = trace::is_simulated(in_.trace.info);  ///< the record in front
    Painter p_;
    std::vector<Shown> shown_;
    int32_t microbatches_ = 1;
    double widest_ = 1;
    float lane_ = 0, gutter_ = 0, x0_ = 0, x1_ = 1;
};

}  // namespace meshscope::view
