#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/main/film_words.h"
#include "app/gui/main/options.h"
#include "app/gui/main/reel.h"
#include "app/gui/main/stage.h"
#include "app/gui/session/document.h"

namespace meshscope::gui {

/// A part of a film: what is in view stays, the cursor moves, evenly or from beat to beat.
struct Shot {
    std::optional<int32_t> step;  ///< the lesson's step that it begins with; nothing: the view stays as it is
    std::optional<int64_t> from_ns, to_ns;  ///< where the cursor goes; nothing: it stays where it is
    int still = 1;                          ///< frames before it moves, so that there is time to look
    int frames = 1;
    int each_rank = 0;  ///< frames after which the next rank is looked at; 0: it stays the step's
    bool tells_step = false;  ///< in the look of a tour: with the lesson step's name and sentences
};

/// Whether a step of the lesson is named, and no other place or part of the run.
bool is_of_step(const Options& options);

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
/// marked. A step without a moment, or whose view shows no time, stands still and gets half as many frames,
/// but no more than kMostStillSeconds: the others get what is left. Where all stand still, the ranks are
/// looked at in turn. Together they have `frames` of them; with few, steps are left out.
std::vector<Shot> storyboard(const session::Document& document, const time::Clock& clock, int frames,
                             int frames_per_s);
/// That step alone, as it plays in a tour; none where the document has no such step.
std::vector<Shot> step_alone(const session::Document& document, const time::Clock& clock, int32_t step,
                             int frames, int frames_per_s);

/// Frames that are drawn before a step's first one: scrolling parts and the size of a film's picture settle.
inline constexpr int kSettling = 5;

/// In a tour something changes at least so often.
inline constexpr int kMostStillSeconds = 4;

/// How a film of a document looks where nothing says it.
FilmLook usual_look(const Options& options, const session::Document& document, int frames);

/// Whether a film in that look is of the step that is named, as it plays in a tour.
bool plays_step(const Options& options, int frames, FilmLook look);

/// How many frames are asked for. Where nothing says it a tour is so long that each step's first sentence can
/// be read.
int film_frames(const Options& options, const session::Document& document, int frames_per_s);

/// Brings a stage from frame to frame.
class Projector {
  public:
    /// In the look of a tour the cursor rests at each hop and event, and the frames have words.
    explicit Projector(std::vector<Shot> shots, int frames_per_s = 30, FilmLook look = FilmLook::window);
    /// The next frame's view and moment; after the last one the stage stays as it is. True where a shot
    /// begins: its layout is not settled yet.
    bool advance(Stage& stage);
    /// How many frames the change from a step to the next takes: in the look of a tour a third of a second,
    /// at most a quarter of the shortest step.
    int fade_frames() const;

  private:
    void begin(Stage& stage, const Shot& shot);
    session::Film words() const;

    std::vector<Shot> shots_;
    int frames_per_s_;
    FilmLook look_;
    std::vector<double> begins_;  ///< session::Film::begins
    int all_ = 0, passed_ = 0;    ///< frames
    std::size_t shot_ = 0;
    int frame_ = 0;  ///< of the shot
    Reel reel_;
    std::vector<Said> said_;
};

}  // namespace meshscope::gui
