#pragma once

#include "app/gui/panels/panels.h"
#include "app/gui/session/lessons.h"

namespace meshscope::panels {

/// The parts of the welcome page.

/// A lesson's own mesh, small: its last dim in rows with a hull each, the one before links the rows, those
/// before put such blocks side by side. `tour`, from 0 to 1: dots go through the ranks of every row, then of
/// every column, and show who is with whom; below 0 nothing moves.
void mesh_thumbnail(Ui& ui, const std::vector<session::MeshDim>& dims, Rect box, float tour);

/// A lesson's picture in `box`: what its run shows at the step that moves, without words; until that run is
/// there, and where that step has no such picture, its mesh. `tour`, from 0 to 1: through the step; below 0
/// it stands. Notes the card as one whose picture is wanted.
void lesson_thumbnail(Ui& ui, Memory& memory, const session::LessonCard& card, Rect box, float tour);

/// How far the tour of a card's picture is: it goes round once when the card is pointed at or focused.
float tour_of(Ui& ui, Memory& memory, int card, const Touch& touched);

/// What to go on with, a new mesh, a file to open, a place to drop files, what was open lately. Returns the y
/// below; `bottom`: how far down there is room without scrolling.
float welcome_column(Ui& ui, Memory& memory, Rect box, float bottom);

/// Search, filter, chapters and their lessons. Returns the y below.
float welcome_lessons(Ui& ui, Memory& memory, Rect box);

/// A title without what explains it: "Tensor parallelism" of "Tensor parallelism: …"; whole where it has no
/// colon.
std::string before_colon(const std::string& title);

/// "HSDP: cut inside, copied across" on at most so many lines: the whole title, else the part before its
/// colon, else the part behind its question ("Is it true?"), else as much as fits.
std::vector<std::string> title_lines(const Ui& ui, const std::string& title, float w, std::size_t most);

}  // namespace meshscope::panels
