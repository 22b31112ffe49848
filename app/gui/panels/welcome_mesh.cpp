#include <string>
#include <vector>

#include "app/gui/panels/welcome.h"
#include "app/gui/view/paint.h"

namespace meshscope::panels {

void mesh_thumbnail(Ui& ui, const std::vector<session::MeshDim>& dims, Rect box, float tour) {
    constexpr float kMost = 46, kGap = 18;
    if (dims.empty()) return;
    const session::MeshDim& last = dims.back();
    const bool flat = dims.size() == 1;
    const int64_t columns = last.size, rows = flat ? 1 : dims[dims.size() - 2].size;
    int64_t blocks = 1;
    for (std::size_t d = 0; d + 2 < dims.size(); ++d) blocks *= dims[d].size;
    const Token along = view::dim_hue(last.name, dims.size() - 1),
                across = flat ? along : view::dim_hue(dims[dims.size() - 2].name, dims.size() - 2);
    const auto number = [](int64_t n) { return static_cast<float>(n); };
    // Blocks stand beside each other; their gaps do not shrink.
    const float room = box.w - 24 - kGap * number(blocks - 1);
    const float step = std::min({kMost, room / number(blocks * columns), (box.h - 20) / number(rows)});
    if (step < 6) {  // too many to draw each: the mesh in words
        std::string shape;
        for (const session::MeshDim& dim : dims)
            shape += (shape.empty() ? "" : " × ") + std::to_string(dim.size);
        ui.text(box, shape, Face::mono_title, Token::soft, Align::centre);
        return;
    }
    const float radius = step * 0.34F;
    const bool numbered = 2 * radius >= 13 && ui.width(std::to_string(blocks * rows * columns - 1),
                                                       Face::mono_small) < 2 * radius - 2;
    const float wide = step * number(columns), all = wide * number(blocks) + kGap * number(blocks - 1);
    const float top = box.y + (box.h - step * number(rows)) / 2;
    const bool in_rows = flat || tour < 0.5F;
    const float passed = flat ? tour : in_rows ? tour * 2 : tour * 2 - 1;
    const auto dot = [&](Point at, Token hue) {
        ui.draw->AddCircleFilled(ui.px(at), ui.px(radius * 0.45F), ui.colour(hue), 0);
    };
    for (int64_t block = 0; block < blocks; ++block) {
        const float left = box.x + (box.w - all) / 2 + number(block) * (wide + kGap);
        if (blocks > 1) {
            const Rect frame{left - 6, top - 6, wide + 12, step * number(rows) + 12};
            ui.outline(frame, view::dim_hue(dims.front().name, 0), 12, 1, 0.75F);
        }
        for (int64_t line = 0; line < rows; ++line) {
            const float y = top + (number(line) + 0.5F) * step;
            const Rect hull{left + 1, y - step / 2 + 2, wide - 2, step - 4};
            ui.fill(hull, along, hull.h / 2, 0.08F);
            ui.outline(hull, along, hull.h / 2);
            for (int64_t i = 0; i < columns && line + 1 < rows; ++i) {
                const float x = left + (number(i) + 0.5F) * step;
                ui.draw->AddLine(ui.px(Point{x, y}), ui.px(Point{x, y + step}), ui.colour(across),
                                 ui.px(1.6F));
            }
        }
        for (int64_t i = 0; i < rows * columns; ++i) {
            const Point at{left + (number(i % columns) + 0.5F) * step,
                           top + (number(i / columns) + 0.5F) * step};
            ui.draw->AddCircleFilled(ui.px(at), ui.px(radius), ui.colour(Token::raised), 0);
            ui.draw->AddCircle(ui.px(at), ui.px(radius), ui.colour(Token::line2), 0, ui.px(1.4F));
            if (numbered)
                ui.text({at.x - radius, at.y - radius, 2 * radius, 2 * radius},
                        std::to_string(block * rows * columns + i), Face::mono_small, Token::text,
                        Align::centre);
        }
        if (tour < 0) continue;
        const float x = left + step / 2, y = top + step / 2;
        for (int64_t line = 0; in_rows && line < rows; ++line)
            dot({x + passed * step * number(columns - 1), y + number(line) * step}, along);
        for (int64_t i = 0; !in_rows && i < columns; ++i)
            dot({x + number(i) * step, y + passed * step * number(rows - 1)}, across);
    }
}

}  // namespace meshscope::panels
