#pragma once

#include <span>
#include <string_view>

#include "app/gui/panels/layout.h"
#include "app/gui/panels/ui.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/view/input.h"
#include "app/gui/view/run_end.h"

namespace meshscope::panels {

/// The panels, one file each. Each draws itself from the state and enters what the user did in Ui::actions.

void top_bar(Ui& ui, Memory& memory, Rect box, float lesson_width);
/// Closes what is open: the welcome page, with all lessons, stands there.
void show_lessons(Ui& ui);
void lesson_column(Ui& ui, Memory& memory, Rect box);
/// A button back to the lesson that is open, where one is; returns the y below it.
float back_to_lesson(Ui& ui, Memory& memory, float x, float y, float w, ButtonLook look = ButtonLook::plain);
/// The sandbox: the fields of the scenario, their mistakes, run, undo, save.
void sandbox_panel(Ui& ui, Memory& memory, Rect box);
/// When it is drawn next, it scrolls to the first field that is not as it was opened.
void show_first_change(Memory& memory);
/// A run whose ranks are held: who waits for whom, and what lets them go.
void live_panel(Ui& ui, Memory& memory, Rect box);
/// One quiz card at (x, y); returns the y below it.
float quiz_card(Ui& ui, Memory& memory, const session::QuizCard& quiz, float x, float y, float w);
/// The same in words: the question, its choices, and what became of the guess.
std::string quiz_told(const Ui& ui, const Memory& memory, const session::QuizCard& quiz);
void transport(Ui& ui, Memory& memory, Rect box);
/// What has just happened at the cursor (session::shown_beat), in sentences: the whole one, without the other
/// ranks, and in a few words; none where nothing has.
std::vector<std::string> happened(const Ui& ui);
/// The controls and the lesson's step in one row, where the lesson column is folded.
void foot_row(Ui& ui, Memory& memory, Rect box);
/// How the run in front ended, where it did not come to its end; nothing where it did, and while that would
/// answer the lesson's question.
const view::RunEnd* told_end(const Ui& ui);
/// The banner that tells it, above the scene; its height is what banner_height() says, or less: then it
/// scrolls. `alone`: the facts, which say what to do, do not stand beside it.
void end_banner(Ui& ui, Memory& memory, Rect box, bool alone);
float banner_height(const Ui& ui, float width, bool alone);
/// The view's picture with its controls. `alone`: there is no lower part, so what it would hold may follow
/// below.
void scene_host(Ui& ui, Memory& memory, Rect box, bool alone);
/// What the view has under its scene.
void lower_host(Ui& ui, Memory& memory, Rect box);
void facts_column(Ui& ui, Memory& memory, Rect box, bool drawer);
/// Between the scene, which begins at `top`, and the lower part; both are `height` high together.
void splitter(Ui& ui, Memory& memory, Rect box, float top, float height);
void welcome(Ui& ui, Memory& memory, Rect box);
/// The plan that is open: its layouts as a chart of time and memory, and the chosen one in figures.
void plan_page(Ui& ui, Memory& memory, Rect box);
/// Of a modelled run of the plan that is open the way back to the chart; returns the y below.
float back_to_plan(Ui& ui, Memory& memory, float x, float y, float w);
/// Of a modelled run of the plan that is open: the way back to the chart, and what the plan estimated of it.
/// Returns the y below; `y` where the run in front is none.
float beside_plan(Ui& ui, Memory& memory, float x, float y, float w);
/// The same in words: what was asked, the chosen layout, the first ones.
std::string plan_told(const Ui& ui);
void loading_card(Ui& ui, Memory& memory, Rect box);
void error_box(Ui& ui, Memory& memory, Rect box);
void key_sheet(Ui& ui, Memory& memory, Rect box);
/// All that can be done, found by a few letters.
void palette(Ui& ui, Memory& memory, Rect box);
/// Where an export goes and what it will be; while one is made, how far it is.
void export_sheet(Ui& ui, Memory& memory, Rect box);
/// Everything that the view and its facts tell, as text.
std::string view_as_text(Ui& ui, Memory& memory);
/// All of what is on show as text, for those who have it read to them: what went wrong, why a block cannot be
/// moved, the lesson's step and its questions, the view; without a document the lessons.
std::string told(Ui& ui, Memory& memory);
void toast(Ui& ui, Rect box);
/// All views, one a row, where the tabs have no room and their button was pressed.
void views_menu(Ui& ui, Memory& memory, Rect box);

/// The frame of a film: the view's picture, the lesson's title and step, what the step says and what has just
/// happened, how much has been shown. `box`: the whole frame. Memory::film says how large all is drawn.
void film_frame(Ui& ui, Memory& memory, Rect box);

/// The whole frame for a window of this size in logical pixels.
void draw_frame(Ui& ui, Memory& memory, float width, float height);

/// What the view-models take, for a picture of this size.
view::Input view_input(const Ui& ui, float width, float height);
/// Does what a click on a shape means in the view on show (views.h).
void click(Ui& ui, const view::Id& id, bool twice);
/// What the pointer is over, in a few words for the status line; "" for what has none.
std::string picture_status(const Ui& ui, Memory& memory, const view::Id& id);
/// Notes where the picture's shapes with ids stand (Memory::shapes).
void note_shapes(Memory& memory, const view::Picture& picture, Point origin);
/// Lets the keyboard reach a picture's boxes of these kinds: Tab goes through them, Enter clicks. After
/// picture_panel, which has the pointer.
void tab_stops(Ui& ui, Memory& memory, const view::Picture& picture, Point origin,
               std::span<const std::string_view> kinds);
/// Draws a picture in a region with hover, click and copy, at `origin`.
void picture_panel(Ui& ui, Memory& memory, const std::string& id, const view::Picture& picture, Point origin,
                   bool clicks = true);

}  // namespace meshscope::panels
