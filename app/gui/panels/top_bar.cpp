#include <algorithm>
#include <cmath>

#include "app/gui/panels/layout.h"
#include "app/gui/panels/overlay.h"
#include "app/gui/panels/panels.h"

namespace meshscope::panels {
namespace {

using view::ViewKind;

void logo(Ui& ui, float x, float y) {
    const Token hues[] = {Token::sky, Token::line2, Token::line2, Token::orange};
    for (int i = 0; i < 4; ++i) {
        ui.fill({x + 11.0F * static_cast<float>(i % 2), y + 11.0F * static_cast<float>(i / 2), 9, 9}, hues[i],
                2.5F);
    }
}

constexpr float kAfterLogo = 48;

/// The mark and, `brand` wide, the name: from a run or a plan the way back to the lessons.
void mark(Ui& ui, Memory& memory, float brand, float h) {
    const Rect box{8, 8, brand > 0 ? kAfterLogo + brand : 36, 36};
    if (ui.state.document || ui.state.plan) {
        const Touch home = touch(ui, memory, "home", box);
        if (home.hovered) {
            ui.fill(box, Token::raised, 8);
            tooltip(ui, ui.say("ui.lessons"), box);
        }
        if (home.pressed) show_lessons(ui);
    }
    logo(ui, 16, 16);
    if (brand > 0) ui.text({kAfterLogo, 0, brand, h}, "Meshscope", Face::title, Token::text);
}

/// Half filled, half open: the theme's mark.
void theme_mark(Ui& ui, Point c, Token token) {
    const ImVec2 centre = ui.px(c);
    ui.draw->AddCircle(centre, ui.px(8), ui.word(token), 0, ui.px(1.5F));
    ui.draw->PathArcTo(centre, ui.px(8), -1.5708F, 1.5708F, 16);
    ui.draw->PathFillConvex(ui.word(token));
}

/// An arrow out of a tray.
void export_mark(Ui& ui, Point c, Token token) {
    const auto line = [&](Point a, Point b) {
        ui.draw->AddLine(ui.px(a), ui.px(b), ui.word(token), ui.px(1.6F));
    };
    line({c.x, c.y + 3}, {c.x, c.y - 8});
    line({c.x, c.y - 8}, {c.x - 4, c.y - 4});
    line({c.x, c.y - 8}, {c.x + 4, c.y - 4});
    line({c.x - 8, c.y + 2}, {c.x - 8, c.y + 8});
    line({c.x - 8, c.y + 8}, {c.x + 8, c.y + 8});
    line({c.x + 8, c.y + 8}, {c.x + 8, c.y + 2});
}

struct Tabs {
    bool brief = false;
    float padding = 16;
    float width = 0;
};

std::string tab_label(const Ui& ui, ViewKind kind, bool brief) {
    return ui.say("ui.view." + std::string(view::view_name(kind)) + (brief ? ".short" : ""));
}

Tabs measure_tabs(const Ui& ui, bool brief, float padding) {
    Tabs t{brief, padding, 0};
    for (const ViewKind kind : view::kViewKinds)
        t.width += ui.width(tab_label(ui, kind, brief), Face::body) + 2 * padding;
    return t;
}

void draw_tabs(Ui& ui, Memory& memory, float x, float h, const Tabs& tabs) {
    for (const ViewKind kind : view::kViewKinds) {
        const std::string label = tab_label(ui, kind, tabs.brief);
        const float wide = ui.width(label, Face::body) + 2 * tabs.padding;
        const bool on = ui.state.view == kind;
        const Rect box{x, (h - 34) / 2, wide, 34};
        const Touch t = touch(ui, memory, "tab" + std::to_string(static_cast<int>(kind)), box);
        if (on) {
            ui.fill(box, Token::accentbg, 8);
            ui.fill({x + 12, h - 3, wide - 24, 3}, Token::accent, 1.5F);
        }
        ui.text(box, label, Face::body, on || t.hovered ? Token::text : Token::soft, Align::centre);
        if (t.pressed) ui.act(session::SetView{kind});
        x += wide;
    }
}

/// Where the tabs have no room: the view's name, which opens the list of all.
void view_button(Ui& ui, Memory& memory, float x, float w, float h) {
    const Rect box{x, (h - 34) / 2, w, 34};
    const Touch t = touch(ui, memory, "views", box);
    ui.fill(box, t.hovered ? Token::raised : Token::accentbg, 8);
    const std::string label = tab_label(ui, ui.state.view, true);
    ui.text({x + 10, 0, w - 34, h}, ui.fit(label, label, w - 34, Face::body), Face::body, Token::text);
    const Point tip{x + w - 16, h / 2 + 2};
    ui.draw->AddTriangleFilled(ui.px(Point{tip.x - 5, tip.y - 4}), ui.px(Point{tip.x + 5, tip.y - 4}),
                               ui.px(Point{tip.x, tip.y + 3}), ui.word(Token::soft));
    if (t.pressed) memory.views_open = true;
}

}  // namespace

void views_menu(Ui& ui, Memory& memory, Rect box) {
    if (!memory.views_open) return;
    ui.panel = "views";
    memory.views_open = !backdrop(ui, "behind_views", box) && ui.state.document;
    constexpr float kRow = 44;
    float w = 0;
    for (const ViewKind kind : view::kViewKinds)
        w = std::max(w, ui.width(tab_label(ui, kind, false), Face::body) + 48);
    const Rect card{kAfterLogo, kTopBar, std::min(w, box.w - kAfterLogo - 8),
                    kRow * static_cast<float>(std::size(view::kViewKinds)) + 16};
    const Overlay overlay(ui, "views", card);
    float y = card.y + 8;
    for (const ViewKind kind : view::kViewKinds) {
        const Rect row{card.x + 8, y, card.w - 16, kRow};
        const Touch t = touch(ui, memory, "view" + std::to_string(static_cast<int>(kind)), row);
        const bool on = ui.state.view == kind;
        if (on || t.hovered) ui.fill(row, on ? Token::accentbg : Token::inset, 8);
        ui.text({row.x + 16, y, row.w - 24, kRow}, tab_label(ui, kind, false), Face::body,
                on ? Token::text : Token::soft);
        if (t.pressed) {
            ui.act(session::SetView{kind});
            memory.views_open = false;
        }
        y += kRow;
    }
}

void show_lessons(Ui& ui) {
    ui.act(session::CloseDocument{});
    if (ui.state.document && ui.state.plan) ui.act(session::CloseDocument{});  // a plan's run, then the plan
}

void top_bar(Ui& ui, Memory& memory, Rect box, float lesson_width) {
    ui.panel = "top_bar";
    ui.fill(box, Token::panel);
    ui.hairline(box.x, box.h - 1, box.w);

    // From the right: help, theme, language.
    float right = box.w - 8;
    const auto square = [&](const char* id) {
        right -= 36;
        const Rect at{right, 8, 36, 36};
        const Touch t = touch(ui, memory, id, at);
        if (t.hovered) ui.fill(at, Token::raised, 8);
        return t;
    };
    const Touch help = square("help");
    ui.text({right, 8, 36, 36}, "?", Face::title, help.hovered ? Token::text : Token::soft, Align::centre);
    if (help.hovered) tooltip(ui, ui.say("ui.help"), {right, 8, 36, 36});
    if (help.pressed) ui.act(session::ToggleKeySheet{});
    const Touch theme = square("theme");
    theme_mark(ui, {right + 18, 26}, theme.hovered ? Token::text : Token::soft);
    if (theme.hovered) tooltip(ui, ui.say("ui.theme"), {right, 8, 36, 36});
    if (theme.pressed) {
        using window::ThemeKind;
        const ThemeKind now = ui.state.theme;
        ui.act(session::SetTheme{now == ThemeKind::dark    ? ThemeKind::light
                                 : now == ThemeKind::light ? ThemeKind::contrast
                                                           : ThemeKind::dark});
    }
    if (ui.state.document) {
        const Touch save = square("export");
        export_mark(ui, {right + 18, 26}, save.hovered ? Token::text : Token::soft);
        if (save.hovered) tooltip(ui, ui.say("keys.export"), {right, 8, 36, 36});
        if (save.pressed) ui.act(session::ToggleExport{});
    }
    right -= 8 + 108;
    const int language =
        segmented(ui, memory, "language", {right, 10, 108, 32}, {"中文", "EN"}, ui.chinese() ? 0 : 1);
    if (language >= 0) ui.act(session::SetLanguage{language == 0 ? view::Language::zh : view::Language::en});
    right -= 12;

    const float brand = ui.width("Meshscope", Face::title);
    if (!ui.state.document) {
        mark(ui, memory, brand, box.h);
        return;
    }
    // What there is room for, best first: full labels; short labels; without the name; closer together.
    Tabs tabs = measure_tabs(ui, false, 16);
    bool with_brand = true;
    if (kAfterLogo + brand + 16 + tabs.width > right) tabs = measure_tabs(ui, true, 14);
    if (kAfterLogo + brand + 16 + tabs.width > right) with_brand = false;
    if (kAfterLogo + tabs.width > right) tabs = measure_tabs(ui, true, 6);
    mark(ui, memory, with_brand ? brand : 0, box.h);
    if (kAfterLogo + tabs.width > right) {
        const float label = ui.width(tab_label(ui, ui.state.view, true), Face::body) + 40;
        view_button(ui, memory, kAfterLogo, std::min(label, right - kAfterLogo), box.h);
        return;
    }

    const float x = kAfterLogo + (with_brand ? brand + 16 : 0);
    const float tabs_x = std::max(x, std::min(lesson_width + 16, right - tabs.width));
    // The name of what is open stands between, when it fits whole.
    const std::string name =
        ui.state.document->name + " · " +
        ui.say("ui.n_ranks", {{"n", int64_t{ui.state.document->trace->info.world_size}}});
    const std::string shown =
        with_brand ? ui.fit(name, ui.state.document->name, tabs_x - x - 12, Face::caption) : "";
    ui.text({x, 1, ui.width(shown, Face::caption), box.h}, shown, Face::caption, Token::mute);
    draw_tabs(ui, memory, tabs_x, box.h, tabs);
}

}  // namespace meshscope::panels
