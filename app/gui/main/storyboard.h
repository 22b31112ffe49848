#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/main/options.h"
#include "app/gui/main/stage.h"
#include "app/gui/session/document.h"

namespace meshscope::gui {

/// A stretch of a film: what is in view stays, the cursor moves evenly.
struct Shot {
    std::optional<int32_t> step;  ///< the lesson's step that it begins with; nothing: the view stays as it is
    std::optional<int64_t> from_ns, to_ns;  ///< where the cursor goes; nothing: it stays where it is
    int still = 1;                          ///< frames before it moves, so that there is time to look
    int frames = 1;
    int each_rank = 0;  ///< frames after which the next rank is looked at; 0: it stays the step's
};

/// Whether a film of this document is a tour of its lesson: where nothing says which view, step, rank, moment
/// or part of the run is wanted. A single frame is a still picture, and no tour.
bool tours_lesson(const Options& options, const session::Document& document, int frames);

/// The view that a film shows where none is named and there is no tour: in the timeline the cursor is seen to
/// move.
std::optional<view::ViewKind> usual_film_view(const Options& options, int frames);

/// The document without its questions, goals, exercises and summary: nobody answers in a film, so nothing is
/// masked, and each step's text stands at the top.
std::shared_ptr<const session::Document> without_questions(const session::Document& document);

/// The lesson's steps one after the other, each in its own view. It begins at the step's moment and plays on
/// there: a collective to its end in all groups that are drawn, in other views a quarter of the training step
/// or the whole event, whichever is longer. Memory plays the whole training step, in which the moment is
/// marked. A step without a moment, or whose view shows no time, stands
/// still and gets half as many frames, but no more than kMostStillSeconds: the others get what is left. Where
/// all stand still, the ranks are looked at in turn. Together they have `frames` of them; with few, steps are
/// left out.
std::vector<Shot> storyboard(const session::Document& document, const time::Clock& clock, int frames,
                             int frames_per_s);
/// In a tour something changes at least so often.
inline constexpr int kMostStillSeconds = 4;

/// Brings a stage from frame to frame.
class Projector {
  public:
    explicit Projector(std::vector<Shot> shots) : shots_(std::move(shots)) {}
    /// The next frame's view and moment; after the last one the stage stays as it is. True where another step
    /// of the lesson begins: its layout is not settled yet.
    bool advance(Stage& stage);

  private:
    std::vector<Shot> shots_;
    std::size_t shot_ = 0;
    int frame_ = 0;  ///< of the shot
};

}  // namespace meshscope::gui
