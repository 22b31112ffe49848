#include <algorithm>
#include <cstdio>

#include "app/gui/panels/panels.h"

namespace meshscope::panels {
namespace {

std::string speed_label(double speed) {
    char text[16];
    std::snprintf(text, sizeof(text), "%g×", speed);
    return text;
}

double next_speed(double speed) {
    return speed >= session::kFastest ? session::kSlowest : speed * 2;
}

/// Lines of whole parts: "a · b · c" breaks at the points only.
std::vector<std::string> by_parts(const Ui& ui, const std::string& text, float width) {
    const std::string point = " · ";
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(point, at), text.size());
        const std::string part = text.substr(at, end - at);
        if (!lines.empty() && ui.width(lines.back() + point + part, Face::caption) <= width) {
            lines.back() += point + part;
        } else {
            lines.push_back(part);
        }
        at = end + point.size();
    }
    return lines;
}

}  // namespace

std::vector<std::string> happened(const Ui& ui) {
    auto beat = session::shown_beat(ui.state);
    // Who sends to whom would answer.
    if (!beat || (beat->hop && ui.quiz_mask.asks_peer())) return {};
    const trace::Trace& trace = *ui.state.document->trace;
    std::vector<std::string> sentences{view::beat_words(ui.texts, trace, *beat)};
    beat->others = 0;
    for (const bool briefly : {false, true})
        sentences.push_back(view::beat_words(ui.texts, trace, *beat, briefly));
    for (std::string& words : sentences) words = ui.quiz_mask.mask(words);
    return sentences;
}

void transport(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "transport";
    ui.fill(box, Token::panel);
    ui.hairline(box.x, box.y, box.w);
    const float x = box.x + 16, w = box.w - 32;
    const float y = box.y + (box.h >= kTransport ? 18 : (box.h - 44) / 2);

    const Rect play{x, y, 44, 44};
    const Touch t = touch(ui, memory, "play", play);
    ui.draw->AddCircleFilled(ui.px(Point{x + 22, y + 22}), ui.px(22),
                             ui.colour(Token::accent, t.held ? 0.85F : 1), 0);
    if (t.hovered) {
        ui.draw->AddCircle(ui.px(Point{x + 22, y + 22}), ui.px(22), ui.colour(Token::text), 0, ui.px(1.5F));
        tooltip(ui, ui.say(ui.state.playing ? "ui.pause" : "ui.play"), play);
    }
    draw_icon(ui, ui.state.playing ? Icon::pause : Icon::play, {x + 22, y + 22}, Token::onacc);
    if (t.pressed) ui.act(session::TogglePlay{});

    // The words in full with their icons where there is room; else shorter words; else no icons.
    const std::string speed = speed_label(ui.state.speed);
    const float speed_w = ui.width("0.25×", Face::mono_small) + 4, gap = 6;
    const float room = w - 44 - 3 * gap - speed_w;
    std::string hop = ui.say("ui.next_hop"), event = ui.say("ui.next_event");
    const auto need = [&](float around) {
        return ui.width(hop, Face::body) + ui.width(event, Face::body) + 2 * around;
    };
    constexpr float kIcon = 20, kPadding = 12;
    if (need(2 * kPadding + kIcon) > room) {
        hop = ui.say("ui.next_hop.short");
        event = ui.say("ui.next_event.short");
    }
    const bool icons = need(2 * kPadding + kIcon) <= room;
    const float spare = std::min((room - need(0)) / 2, 2 * kPadding + kIcon + 8);
    const float hop_w = ui.width(hop, Face::body) + spare, event_w = ui.width(event, Face::body) + spare;
    float at = x + 44 + gap;
    if (button(ui, memory, "next_hop", {at, y + 2, hop_w, 40}, hop, ButtonLook::plain, true,
               icons ? Icon::next_hop : Icon::none, ui.say("keys.hop_on"))) {
        ui.act(session::StepHop{1});
    }
    at += hop_w + gap;
    if (button(ui, memory, "next_event", {at, y + 2, event_w, 40}, event, ButtonLook::plain, true,
               icons ? Icon::next_event : Icon::none, ui.say("keys.event_on"))) {
        ui.act(session::StepEvent{1});
    }
    at += event_w + gap;
    const Rect speed_box{at, y + 2, speed_w, 40};
    const Touch s = touch(ui, memory, "speed", speed_box);
    ui.text(speed_box, speed, Face::mono_small, s.hovered ? Token::text : Token::soft, Align::centre);
    if (s.hovered) tooltip(ui, ui.say("ui.speed"), speed_box);
    if (s.pressed) ui.act(session::SetSpeed{next_speed(ui.state.speed)});

    if (box.h < kTransport) return;
    // What the pointer is on; else what has just happened; else the keys.
    std::vector<std::string> lines;
    if (!ui.status.empty()) lines = wrap(ui.measure, ui.quiz_mask.mask(ui.status), Face::caption, w);
    const std::vector<std::string> news = lines.empty() ? happened(ui) : std::vector<std::string>{};
    const bool tells = !news.empty();
    for (const std::string& words : news)
        if (lines.empty() || lines.size() > 2) lines = wrap(ui.measure, words, Face::caption, w);
    if (lines.empty()) lines = by_parts(ui, ui.say("ui.transport_hint"), w);
    if (lines.size() > 2) lines = wrap(ui.measure, ui.say("ui.transport_hint.short"), Face::caption, w);
    float line_y = y + 52;
    for (const std::string& words : lines) {
        ui.text({x, line_y, w, 20}, words, Face::caption, tells ? Token::soft : Token::mute);
        line_y += 20;
    }
}

}  // namespace meshscope::panels
