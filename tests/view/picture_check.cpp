#include "tests/view/picture_check.h"

#include <algorithm>

namespace meshscope::test {
namespace {

std::string where(const view::Shape& s) {
    return "'" + s.text + "' at " + std::to_string(s.box.x) + "," + std::to_string(s.box.y) + " " +
           std::to_string(s.box.w) + "x" + std::to_string(s.box.h);
}

}  // namespace

std::vector<std::string> text_problems(const view::Picture& picture, const view::TextMeasure& measure) {
    constexpr float kSlack = 0.6F;
    std::vector<std::string> out;
    std::vector<const view::Shape*> texts;
    for (const auto& s : picture.shapes)
        if (s.kind == view::ShapeKind::text) texts.push_back(&s);
    const float height = std::max(picture.height, picture.content_height);
    for (const auto* s : texts) {
        if (s->text.empty()) out.push_back("empty text");
        if (measure.width(s->text, s->face) > s->box.w + kSlack)
            out.push_back("wider than its box: " + where(*s));
        if (s->box.x < -kSlack || s->box.y < -kSlack || s->box.x + s->box.w > picture.width + kSlack ||
            s->box.y + s->box.h > height + kSlack)
            out.push_back("outside the picture: " + where(*s));
        if (s->text.find("view.") == 0) out.push_back("no words in the catalogue: " + s->text);
        if (s->text.find('{') != std::string::npos) out.push_back("unfilled placeholder: " + s->text);
        if (s->fill == view::Token::none) out.push_back("no colour: " + where(*s));
        // A text that names a cell, bar or card stands inside it.
        for (const auto& box : picture.shapes)
            if (box.kind == view::ShapeKind::rect && !s->id.kind.empty() && box.id == s->id &&
                box.fill != view::Token::none &&
                (s->id.kind == "event" || s->id.kind == "chunk" || s->id.kind == "flight") &&
                (s->box.x < box.box.x - kSlack || s->box.x + s->box.w > box.box.x + box.box.w + kSlack))
                out.push_back("leaves its " + s->id.kind + ": " + where(*s));
    }
    for (std::size_t i = 0; i < texts.size(); ++i)
        for (std::size_t j = i + 1; j < texts.size(); ++j) {
            const auto &a = texts[i]->box, &b = texts[j]->box;
            if (a.x + kSlack < b.x + b.w && b.x + kSlack < a.x + a.w && a.y + kSlack < b.y + b.h &&
                b.y + kSlack < a.y + a.h)
                out.push_back("overlap: " + where(*texts[i]) + " and " + where(*texts[j]));
        }
    return out;
}

std::vector<const view::Shape*> find(const view::Picture& picture, const std::string& kind, int64_t a,
                                     int64_t b) {
    std::vector<const view::Shape*> out;
    for (const auto& s : picture.shapes)
        if (s.id.kind == kind && (a == -2 || s.id.a == a) && (b == -2 || s.id.b == b)) out.push_back(&s);
    return out;
}

bool says(const view::Picture& picture, const std::string& text) {
    return std::any_of(picture.shapes.begin(), picture.shapes.end(),
                       [&](const auto& s) { return s.text == text; });
}

bool says_part(const view::Picture& picture, const std::string& part) {
    return std::any_of(picture.shapes.begin(), picture.shapes.end(),
                       [&](const auto& s) { return s.text.find(part) != std::string::npos; });
}

}  // namespace meshscope::test
