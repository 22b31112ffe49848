#include "app/gui/panels/widgets.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "app/gui/window/imgui_compat.h"
#include "core/base/text.h"

namespace meshscope::panels {

void Memory::move_focus(int direction) {
    if (order.empty()) return;
    const auto n = static_cast<std::ptrdiff_t>(order.size());
    const auto found = std::find(order.begin(), order.end(), focus);
    std::ptrdiff_t at = found == order.end() ? (direction > 0 ? -1 : n) : found - order.begin();
    at = (at + direction + n) % n;
    focus = order[static_cast<size_t>(at)];
    focus_moved = true;
}

void Memory::walk_focus(int right, int down) {
    const auto from = boxes.find(focus);
    if (from == boxes.end()) return move_focus(1);
    const Rect a = from->second;
    const auto middle = [&](const Rect& r) { return right != 0 ? r.y + r.h / 2 : r.x + r.w / 2; };
    const auto length = [&](const Rect& r) { return right != 0 ? r.h : r.w; };
    const std::string* best = nullptr;
    float least = 0;
    for (const auto& [id, b] : boxes) {
        // Beyond the edge that lies there; how far, and how far aside.
        const float ahead = right > 0   ? b.x - (a.x + a.w)
                            : right < 0 ? a.x - (b.x + b.w)
                            : down > 0  ? b.y - (a.y + a.h)
                                        : a.y - (b.y + b.h);
        if (ahead < -2) continue;
        const float apart = std::abs(middle(b) - middle(a));
        const float aside = std::max(0.0F, apart - (length(a) + length(b)) / 2);
        const float far = ahead + 2 * aside + 0.01F * apart;  // of several straight ahead the middle one
        if (best != nullptr && far >= least) continue;
        best = &id;
        least = far;
    }
    if (best == nullptr) return;
    focus = *best;
    focus_moved = true;
}

namespace {

constexpr float kTipWidth = 320;
constexpr Point kTipPad{12, 8};

}  // namespace

Touch touch(Ui& ui, Memory& memory, const std::string& id, Rect box, bool enabled) {
    Touch t;
    ImGui::SetCursorScreenPos({ui.px(box.x), ui.px(box.y)});
    ImGui::PushID(id.c_str());
    t.pressed =
        ImGui::InvisibleButton("##touch", {std::max(1.0F, ui.px(box.w)), std::max(1.0F, ui.px(box.h))});
    t.hovered = ImGui::IsItemHovered();
    t.held = ImGui::IsItemActive();
    ImGui::PopID();
    if (!enabled) return {false, t.hovered, false, false};
    memory.order.push_back(id);
    memory.boxes[id] = box;
    t.focused = memory.focus == id;
    if (t.pressed) memory.focus.clear();  // the pointer takes over from the keyboard
    if (t.focused && memory.activate) {
        memory.activate = false;
        t.pressed = true;
    }
    if (t.hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (t.focused) ui.outline({box.x - 3, box.y - 3, box.w + 6, box.h + 6}, Token::accent, 10, 2);
    return t;
}

void tooltip(Ui& ui, const std::string& text) {
    if (text.empty()) return;
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(kTipPad.x), ui.px(kTipPad.y)});
    ImGui::PushFont(ui.fonts.font(Face::caption));
    ImGui::BeginTooltip();
    for (const std::string& line : wrap(ui.measure, text, Face::caption, kTipWidth))
        ImGui::TextUnformatted(printable(line).c_str());
    ImGui::EndTooltip();
    ImGui::PopFont();
    ImGui::PopStyleVar();
}

void tooltip(Ui& ui, const std::string& text, Rect beside) {
    if (text.empty()) return;
    float w = 0, h = 2 * kTipPad.y;
    for (const std::string& line : wrap(ui.measure, text, Face::caption, kTipWidth)) {
        w = std::max(w, ui.width(line, Face::caption) + 2 * kTipPad.x);
        h += ui.line(Face::caption);
    }
    const ImVec2 screen = ImGui::GetIO().DisplaySize;
    const float right = screen.x / ui.px(1), foot = screen.y / ui.px(1), gap = 6;
    const float below = beside.y + beside.h + gap;
    const Point at{std::max(gap, std::min(beside.x, right - w - gap)),
                   below + h + gap <= foot ? below : std::max(gap, beside.y - gap - h)};
    ImGui::SetNextWindowPos(ui.px(at));
    tooltip(ui, text);
}

void draw_icon(Ui& ui, Icon icon, Point c, Token token) {
    ImDrawList& list = *ui.draw;
    const ImU32 colour = ui.word(token);
    const auto triangle = [&](float x, float size, float way) {
        list.AddTriangleFilled(ui.px(Point{c.x + x + way * size, c.y}),
                               ui.px(Point{c.x + x - way * size * 0.7F, c.y + size * way}),
                               ui.px(Point{c.x + x - way * size * 0.7F, c.y - size * way}), colour);
    };
    const auto bar = [&](float x, float w, float h) {
        list.AddRectFilled({std::round(ui.px(c.x + x)), std::round(ui.px(c.y - h / 2))},
                           {std::round(ui.px(c.x + x + w)), std::round(ui.px(c.y + h / 2))}, colour,
                           ui.px(1));
    };
    switch (icon) {
        case Icon::none:
            return;
        case Icon::play:
            triangle(0, 8, 1);
            return;
        case Icon::pause:
            bar(-6, 4, 16);
            bar(2, 4, 16);
            return;
        case Icon::next_hop:
            triangle(0, 6, 1);
            return;
        case Icon::next_event:
            triangle(-2, 6, 1);
            bar(4, 2.5F, 12);
            return;
        case Icon::previous:
            triangle(0, 5, -1);
            return;
        case Icon::next:
            triangle(0, 5, 1);
            return;
    }
}

float button_width(const Ui& ui, const std::string& label, bool icon) {
    return ui.width(label, Face::body) + (icon ? 20 : 0) + 28;
}

bool button(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& label,
            ButtonLook look, bool enabled, Icon icon, const std::string& tip) {
    const Touch t = touch(ui, memory, id, box, enabled);
    Token word = enabled ? Token::text : Token::mute;
    if (look == ButtonLook::primary) {
        if (enabled) {
            ui.fill(box, Token::accent, 8, t.held ? 0.85F : 1);
            if (t.hovered) ui.outline(box, Token::text, 8, 1);
            word = Token::onacc;
        } else {
            ui.outline(box, Token::line, 8);
        }
    } else if (look == ButtonLook::plain) {
        if (enabled) ui.fill(box, t.held ? Token::accentbg : Token::raised, 8);
        ui.outline(box, t.hovered && enabled ? Token::soft : Token::line, 8);
    } else {
        word = enabled ? Token::accent : Token::mute;
    }
    const float wide = ui.width(label, Face::body), with_icon = icon != Icon::none ? 20.0F : 0.0F;
    const float x = box.x + (box.w - wide - with_icon) / 2;
    if (icon != Icon::none)
        draw_icon(ui, icon, {label.empty() ? box.x + box.w / 2 : x + 6, box.y + box.h / 2}, word);
    if (!label.empty())
        ui.text({x + with_icon, box.y, std::min(wide, box.w - with_icon), box.h}, label, Face::body, word);
    if (look == ButtonLook::link && t.hovered && enabled) {
        ui.draw->AddLine(ui.px(Point{x, box.y + box.h / 2 + 11}),
                         ui.px(Point{x + wide, box.y + box.h / 2 + 11}), ui.word(Token::accent), ui.px(1));
    }
    if (t.hovered) tooltip(ui, tip, box);
    return t.pressed;
}

int segmented(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::vector<std::string>& labels,
              int chosen) {
    ui.fill(box, Token::inset, 8);
    ui.outline(box, Token::line, 8);
    int pressed = -1;
    float total = 0, x = box.x + 3;
    for (const std::string& label : labels) total += ui.width(label, Face::body);
    const float spare = (box.w - 6 - total) / static_cast<float>(labels.size());
    for (size_t i = 0; i < labels.size(); ++i) {
        const float wide = ui.width(labels[i], Face::body) + spare;
        const Rect part{x, box.y + 3, wide, box.h - 6};
        const Touch t = touch(ui, memory, id + std::to_string(i), part);
        const bool on = static_cast<int>(i) == chosen;
        if (on) ui.fill(part, Token::accentbg, 6);
        ui.text(part, labels[i], Face::body,
                on          ? Token::text
                : t.hovered ? Token::text
                            : Token::mute,
                Align::centre);
        if (t.pressed) pressed = static_cast<int>(i);
        x += wide;
    }
    return pressed;
}

bool choice_row(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w,
                const std::string& text, bool chosen, int verdict, bool enabled, float& height) {
    const float room = w - 44 - (verdict != 0 ? 32.0F : 16.0F);
    const std::vector<std::string> lines = wrap(ui.measure, text, Face::body, room);
    const float step = ui.line(Face::body);
    height = std::max(42.0F, step * static_cast<float>(lines.size()) + 16);
    const Rect box{x, y, w, height};
    const Touch t = touch(ui, memory, id, box, enabled);
    ui.fill(box, chosen ? Token::accentbg : Token::panel, 8);
    ui.outline(box,
               chosen                 ? Token::accent
               : t.hovered && enabled ? Token::soft
                                      : Token::line,
               8, chosen ? 1.5F : 1.0F);
    const ImVec2 mark = ui.px(Point{x + 22, y + height / 2});
    ui.draw->AddCircle(mark, ui.px(8), ui.colour(chosen ? Token::accent : Token::mute), 0, ui.px(1.4F));
    if (chosen) ui.draw->AddCircleFilled(mark, ui.px(4.5F), ui.colour(Token::accent));
    float line_y = y + (height - step * static_cast<float>(lines.size())) / 2;
    for (const std::string& line : lines) {
        ui.text({x + 42, line_y, room, step}, line, Face::body,
                enabled || chosen ? Token::text : Token::soft);
        line_y += step;
    }
    if (verdict > 0) ui.tick({x + w - 18, y + height / 2}, Token::ok);
    if (verdict < 0) ui.cross({x + w - 18, y + height / 2}, Token::err);
    return t.pressed;
}

bool chip(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& label, bool chosen,
          bool enabled) {
    const Touch t = touch(ui, memory, id, box, enabled);
    ui.fill(box, chosen ? Token::accentbg : Token::raised, 8);
    ui.outline(box,
               chosen                 ? Token::accent
               : t.hovered && enabled ? Token::soft
                                      : Token::line,
               8, chosen ? 1.5F : 1.0F);
    ui.text(box, label, Face::mono, chosen ? Token::text : Token::soft, Align::centre);
    return t.pressed;
}

int stepper(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& value, bool can_less,
            bool can_more) {
    ui.fill(box, Token::inset, 8);
    ui.outline(box, Token::line, 8);
    const auto end = [&](const char* name, Rect at, Icon icon, bool enabled) {
        const Touch t = touch(ui, memory, id + name, at, enabled);
        if (t.hovered && enabled) ui.fill(at, Token::raised, 8);
        draw_icon(ui, icon, {at.x + at.w / 2, at.y + at.h / 2}, enabled ? Token::text : Token::line2);
        return t.pressed;
    };
    const float side = std::min(box.h, kStepperEnd);
    int way = 0;
    if (end(".less", {box.x, box.y, side, box.h}, Icon::previous, can_less)) way = -1;
    if (end(".more", {box.x + box.w - side, box.y, side, box.h}, Icon::next, can_more)) way = 1;
    ui.text({box.x + side, box.y, box.w - 2 * side, box.h}, value, Face::mono, Token::text, Align::centre);
    return way;
}

float key_cap(Ui& ui, float x, float y, const std::string& label) {
    const float wide = ui.width(label, Face::mono_small) + 16;
    ui.fill({x, y, wide, 26}, Token::inset, 6);
    ui.outline({x, y, wide, 26}, Token::line2, 6);
    ui.text({x + 8, y, wide - 16, 26}, label, Face::mono_small, Token::text);
    return wide;
}

namespace {

/// Makes room for what is typed or pasted: nothing of it is cut off.
int resized(ImGuiInputTextCallbackData* data) {
    if (data->EventFlag != ImGuiInputTextFlags_CallbackResize) return 0;
    auto& text = *static_cast<std::string*>(data->UserData);
    text.resize(static_cast<size_t>(data->BufTextLen));
    data->Buf = text.data();
    return 0;
}

}  // namespace

bool text_field(Ui& ui, Memory& memory, const std::string& id, Rect box, const std::string& hint) {
    std::string& value = memory.fields[id];
    ImFont* font = ui.fonts.font(Face::mono);
    const float pad = std::max(0.0F, (ui.px(box.h) - ui.fonts.pixels(Face::mono)) / 2);
    ImGui::PushFont(font);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ui.px(12), pad});
    ImGui::SetCursorScreenPos({ui.px(box.x), ui.px(box.y)});
    ImGui::SetNextItemWidth(ui.px(box.w));
    memory.order.push_back(id);
    memory.boxes[id] = box;
    if (memory.focus == id && memory.activate) {
        memory.activate = false;
        ImGui::SetKeyboardFocusHere();
    }
    const bool entered =
        ImGui::InputTextWithHint(("##" + id).c_str(), hint.c_str(), value.data(), value.capacity() + 1,
                                 ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackResize |
                                     (memory.typed_over == id ? ImGuiInputTextFlags_AutoSelectAll : 0),
                                 resized, &value);
    const bool active = ImGui::IsItemActive();
    if (active && memory.typed_over == id) memory.typed_over.clear();
    if (active) ui.typing = true;
    if (active || memory.focus == id) ui.outline(box, Token::accent, 8, 2);
    ImGui::PopStyleVar();
    ImGui::PopFont();
    return entered;
}

void type_over(Memory& memory, const std::string& id) {
    ImGui::SetKeyboardFocusHere(-1);
    memory.typed_over = id;
}

float section_head(Ui& ui, float x, float y, float w, const std::string& caption, const std::string& note) {
    const float height = 24;
    const float wide = ui.width(caption, Face::caption), note_wide = ui.width(note, Face::caption);
    if (note.empty() || wide + note_wide + 16 <= w) {
        ui.text({x, y, w, height}, caption, Face::caption, Token::mute);
        ui.text({x, y, w, height}, note, Face::caption, Token::mute, Align::right);
        ui.hairline(x, y + height + 4, w);
        return y + height + 14;
    }
    ui.text({x, y, w, height}, caption, Face::caption, Token::mute);
    y = paragraph(ui, x, y + height, w, note, Face::caption, Token::mute);
    ui.hairline(x, y + 4, w);
    return y + 14;
}

Region::Region(Ui& ui, const std::string& id, Rect box, bool scrolls, bool from_top)
    : ui_(ui), box_(box), outer_(ui.draw) {
    ImGui::SetCursorScreenPos({ui.px(box.x), ui.px(box.y)});
    const ImGuiWindowFlags flags = scrolls ? ImGuiWindowFlags_NoBackground
                                           : ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollbar |
                                                 ImGuiWindowFlags_NoScrollWithMouse;
    ImGui::BeginChild(id.c_str(), {std::max(1.0F, ui.px(box.w)), std::max(1.0F, ui.px(box.h))}, false, flags);
    ui.draw = ImGui::GetWindowDrawList();
    if (from_top) ImGui::SetScrollY(0);  // which ImGui does in the next frame
    top_ = box.y - (scrolls && !from_top ? ImGui::GetScrollY() / ui.scale : 0);
    end_ = top_;
}

Region::~Region() {
    if (end_ > top_) {
        ImGui::SetCursorScreenPos({ui_.px(box_.x), ui_.px(top_)});
        ImGui::Dummy({1, ui_.px(end_ - top_)});
    }
    ImGui::EndChild();
    ui_.draw = outer_;
}

}  // namespace meshscope::panels
