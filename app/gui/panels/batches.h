#pragma once

#include <functional>
#include <vector>

#include "app/gui/panels/on_screen.h"
#include "app/gui/panels/ui.h"
#include "app/gui/view/picture.h"
#include "app/gui/window/looks.h"

namespace meshscope::panels {

/// What of a shape is drawn.
struct Part {
    const view::Shape* shape = nullptr;
    bool fill = false, stroke = false;
};

/// Gathers parts of a picture that follow each other and that shaders can draw (app/gui/window/looks.h), and
/// gives each such run to the draw list as few calls. What is not worth a call goes through `plain`.
class Batches {
  public:
    using Plain = std::function<void(const Part&)>;
    Batches(Ui& ui, Point origin, Plain plain);

    /// Takes a part; false where no look draws such a thing, or none is on: flush(), then draw it plainly.
    bool take(const Part& part);
    /// Draws what was taken, in its order.
    void flush();

  private:
    enum class Kind : uint8_t { none, boxes, dashes };
    void gather(Kind kind, const Part& part);
    window::ShapeShader look_of(const Part& part) const;
    window::LookItem box_item(const Part& part) const;
    void boxes();
    /// Items [begin, end): those that are a matrix's cells as one, the others by `look`.
    void draw_boxes(size_t begin, size_t end, window::ShapeShader look);
    void some_boxes(size_t begin, size_t end, window::ShapeShader look);
    bool heat(size_t begin, size_t end);
    void draw_heat();
    void dashes();

    Ui& ui_;
    OnScreen on_;
    Plain plain_;
    Kind kind_ = Kind::none;
    std::vector<Part> parts_;
    std::vector<window::LookItem> items_;  ///< of parts_; of dashes, of their pieces
    window::LookItem heat_;
};

}  // namespace meshscope::panels
