#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/panels/ui.h"
#include "app/gui/session/document.h"
#include "app/gui/session/palette.h"
#include "app/gui/view/memo.h"

namespace meshscope::panels {

/// Which document something was found in, without keeping it open. More than its address: the next document
/// may lie where a closed one lay.
class DocumentMark {
  public:
    DocumentMark() = default;
    explicit DocumentMark(const std::shared_ptr<const session::Document>& document) : document_(document) {}
    friend bool operator==(const DocumentMark& a, const DocumentMark& b) {
        return !a.document_.owner_before(b.document_) && !b.document_.owner_before(a.document_);
    }

  private:
    std::weak_ptr<const session::Document> document_;
};

/// What a window remembers between frames that is no part of the state: where the keyboard focus is, what is
/// half typed.
struct Memory {
    std::string focus;                  ///< id of the widget with the keyboard; "" = none
    bool activate = false;              ///< press the focused widget in this frame
    std::vector<std::string> order;     ///< the widgets of this frame, in drawing order
    std::map<std::string, Rect> boxes;  ///< where each widget of this frame stands, logical pixels
    /// Where the shapes of pictures stand that can be clicked: for tests that use the pointer.
    struct DrawnShape {
        view::Id id;
        Rect box;
    };
    std::vector<DrawnShape> shapes;
    std::map<std::string, std::string> fields;  ///< text fields by id
    bool question_below = false;                ///< a question that is open lies below the left column's foot
    float scroll_column = 0;                    ///< the left column is to move on by so much, logical pixels
    std::string column_shown;  ///< the lesson and step, or the run, that the left column last showed
    std::string typed_over;  ///< the field that, when it next has the keyboard, is selected whole; "" = none
    std::map<std::string, std::string> entered;  ///< by question, what Enter was pressed on in its field
    /// What a question's card says of the answer.
    struct Told {
        enum class What { nothing, missed, unreadable, answer };
        What what = What::nothing;
        std::string guess;
        friend bool operator==(const Told&, const Told&) = default;
    };
    std::map<std::string, Told> answered;       ///< by question, in the latest frame that showed it
    std::map<std::string, float> scrolls;       ///< own scroll positions (timeline), logical pixels
    /// For what the timeline was last scrolled: another selection, run or height scrolls it again.
    struct Seen {
        DocumentMark document;
        std::optional<int32_t> event_rank, event, rank;
        float height = 0;
        friend bool operator==(const Seen&, const Seen&) = default;
    };
    Seen timeline_seen;
    view::Memo memo;  ///< what the views found
    /// The command palette: its lines (filled when it opens), where the keyboard is in what was found.
    std::vector<session::PaletteItem> palette_items;
    std::string palette_query;
    int palette_at = 0;
    bool palette_open = false, palette_enter = false, palette_moved = false;
    bool was_running = false;  ///< in the latest frame, from this document on
    DocumentMark run_from;
    bool views_open = false;  ///< the list of views, where the tabs have no room
    bool tells = false;  ///< each frame also says as text what it shows
    std::string told;    ///< what the latest frame said so; "" where it was not asked
    /// The welcome page: lessons that it shows without their pictures, in this frame and when they were last
    /// asked for; chapters that were opened or folded by hand; which lessons are shown.
    std::vector<std::string> pictures_shown, pictures_wanted;
    std::map<int32_t, bool> chapters;
    int lesson_filter = 0;
    bool focus_moved = false;  ///< by the keyboard, since the latest frame: what has it comes into view
    int toured = -1;  ///< the lesson's card whose thumbnail moves, and for how long it has
    double tour_s = 0;
    bool tour_hovered = false;  ///< the pointer moves it, not the keyboard's focus
    /// A film's frame: pixels of a frame of 1280 by 720 per logical pixel of its picture, and whether the
    /// picture found no room so in the latest frame.
    struct FilmFrame {
        float zoom = 1;
        bool crowded = false;
    };
    FilmFrame film;
    bool scrubbing = false;
    int64_t drag_begin_ns = 0, drag_end_ns = 0;
    float drag_x = 0, drag_y = 0, drag_scroll = 0;

    /// Moves the focus to the next (direction 1) or previous widget of the last frame.
    void move_focus(int direction);
    /// Moves it to the nearest widget of the last frame in a direction: (1, 0) right, (0, 1) down.
    void walk_focus(int right, int down);
};

/// How a widget stands with the pointer and the keyboard.
struct Touch {
    bool pressed = false;  ///< clicked, or activated by key, in this frame
    bool hovered = false;
    bool held = false;
    bool focused = false;
};

/// The one base of all widgets: an invisible button in `box` that can also be reached by Tab. Ids are unique
/// in a frame.
Touch touch(Ui& ui, Memory& memory, const std::string& id, Rect box, bool enabled = true);

enum class ButtonLook { primary, plain, link };
enum class Icon { none, play, pause, next_hop, next_event, previous, next };

/// True when pressed. Disabled buttons tell `why` as a tooltip.
bool button(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& label,
            ButtonLook look = ButtonLook::plain, bool enabled = true, Icon icon = Icon::none,
            const std::string& tooltip = {});
float button_width(const Ui& ui, const std::string& label, bool icon);

/// A switch of a few words; returns the index pressed, or -1.
int segmented(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::vector<std::string>& labels,
              int chosen);

/// A row with a round mark, a text (wrapped) and, at the right, a mark for right or wrong (0 none, 1 right,
/// -1 wrong). Returns true when pressed; `height` receives what it took.
bool choice_row(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
                const std::string& text, bool chosen, int verdict, bool enabled, float& height);

inline constexpr float kStepperEnd = 28;
/// A value between a button for less and one for more. Returns -1 or 1 when one is pressed, else 0.
int stepper(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& value, bool can_less,
            bool can_more);

/// A small pill with a number or word.
bool chip(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& label, bool chosen,
          bool enabled);

/// A key cap of the key sheet; returns its width.
float key_cap(Ui& ui, float x, float y, const std::string& label);

/// A text field over ImGui's. True when Enter was pressed in it.
bool text_field(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& hint);
/// Right behind the field in which Enter was pressed: it keeps the keyboard, and what stands in it is
/// selected, so that what is typed next takes its place.
void type_over(Memory& memory, const std::string& id);

/// Caption at the left, a note at the right, a hairline below; returns the y below it.
float section_head(Ui& ui, float x, float y, float w, const std::string& caption, const std::string& note);

void tooltip(Ui& ui, const std::string& text);
/// Below a widget, or above where there is no room: it covers neither the widget nor what stands in its row.
void tooltip(Ui& ui, const std::string& text, Rect beside);
void draw_icon(Ui& ui, Icon icon, Point centre, Token token);

/// A scrolling part of the window: a child window whose drawing list `ui.draw` is while it lives.
class Region {
  public:
    /// `from_top`: scrolled back to its top, in this frame already.
    Region(Ui& ui, const std::string& id, Rect box, bool scrolls = true, bool from_top = false);
    ~Region();
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    /// Where content that starts at the region's top stands now.
    float top() const { return top_; }
    /// Tells how far down content reached, so that it can be scrolled.
    void content_ends(float y) { end_ = y; }

  private:
    Ui& ui_;
    Rect box_;
    ImDrawList* outer_;
    float top_ = 0, end_ = 0;
};

}  // namespace meshscope::panels
