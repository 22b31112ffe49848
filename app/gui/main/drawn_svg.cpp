#include "app/gui/main/drawn_svg.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace meshscope::gui {

view::Picture stacked(const std::vector<panels::Drawn>& drawn) {
    view::Picture all;
    for (const panels::Drawn& part : drawn) {
        if (part.panel == "facts") continue;
        for (view::Shape shape : part.picture.shapes) {
            if (shape.id.kind == "end_show" || shape.id.kind == "end_fold") continue;  // buttons
            shape.box.y += all.height;
            for (view::Point& point : shape.points) point.y += all.height;
            all.shapes.push_back(std::move(shape));
        }
        all.width = std::max(all.width, part.picture.width);
        all.height += part.picture.height;
    }
    return all;
}

view::Palette palette(const window::Theme& theme) {
    return [&theme](view::Token token) -> std::string {
        const window::Rgb c = theme.fill(token);
        char text[8];
        std::snprintf(text, sizeof(text), "#%02X%02X%02X", c.r, c.g, c.b);
        return text;
    };
}

}  // namespace meshscope::gui
