#include "app/gui/panels/welcome.h"

#include <algorithm>
#include <string_view>

#include "app/gui/panels/layout.h"
#include "app/gui/view/fitting.h"

namespace meshscope::panels {

void welcome(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "welcome";
    memory.pictures_shown.clear();
    const bool narrow = box.w < kOneColumn;
    const float left = narrow ? box.w : std::clamp(box.w * 0.22F, 280.0F, 400.0F);
    {
        // Narrow, all stands in one column that scrolls; else the two scroll by themselves.
        Region region(ui, "welcome", {box.x, box.y, left, box.h});
        ui.fill({box.x, region.top(), left, std::max(box.h, 4000.0F)}, narrow ? Token::bg : Token::panel);
        float y = welcome_column(ui, memory, {box.x + 20, region.top() + 20, left - 40, box.h - 40},
                                 box.y + box.h - 16);
        if (narrow) y = welcome_lessons(ui, memory, {box.x + 20, y + 8, left - 40, box.h});
        region.content_ends(y + 16);
    }
    if (!narrow) {
        const Rect at{box.x + left, box.y, box.w - left, box.h};
        Region region(ui, "welcome_lessons", at);
        const float y = welcome_lessons(ui, memory, {at.x + 24, region.top() + 18, at.w - 48, at.h - 34});
        region.content_ends(y + 16);
    }
    if (memory.pictures_shown == memory.pictures_wanted) return;
    memory.pictures_wanted = memory.pictures_shown;
    ui.act(session::WantPictures{memory.pictures_wanted});
}

std::string before_colon(const std::string& title) {
    for (const std::string_view colon : {": ", "："})
        if (const std::size_t at = title.find(colon); at != title.npos && at > 0) return title.substr(0, at);
    return title;
}

std::vector<std::string> title_lines(const Ui& ui, const std::string& title, float w, std::size_t most) {
    std::vector<std::string> lines = wrap(ui.measure, title, Face::caption, w);
    if (lines.size() <= most) return lines;
    lines = wrap(ui.measure, before_colon(title), Face::caption, w);
    if (lines.size() <= most) return lines;
    // "Is it true?", "Why does it hang?" stand before many: what follows says which it is. A claim stays a
    // question.
    for (const auto& [question, mark] : {std::pair{"? ", "?"}, std::pair{"？", "？"}})
        if (const std::size_t at = title.find(question); at != title.npos) {
            const bool claim = title.starts_with("Is it true") || title.starts_with("对不对");
            const std::string rest = title.substr(at + std::string_view(question).size());
            lines = wrap(ui.measure, claim ? rest + mark : rest, Face::caption, w);
            if (lines.size() <= most) return lines;
        }
    lines = wrap(ui.measure, title, Face::caption, w);
    std::string last;
    for (std::size_t i = most - 1; i < lines.size(); ++i) last += (last.empty() ? "" : " ") + lines[i];
    lines.resize(most);
    lines.back() = view::elided(ui.measure, last, Face::caption, w);
    return lines;
}

}  // namespace meshscope::panels
