#include <algorithm>
#include <utility>

#include "app/gui/panels/overlay.h"
#include "app/gui/panels/panels.h"
#include "app/gui/view/fitting.h"

namespace meshscope::panels {
namespace {

constexpr float kRow = 40;

/// The word with the keyboard's choice in it, as it stands in the list.
void row(Ui& ui, Memory& memory, const session::PaletteItem& item, std::size_t index, Rect box, bool chosen) {
    const Touch t = touch(ui, memory, "palette" + std::to_string(index), box);
    if (chosen || t.hovered) ui.fill(box, chosen ? Token::accentbg : Token::inset, 8);
    if (chosen) ui.outline(box, Token::accent, 8, 1.5F);
    const float note = ui.width(item.note, Face::mono_small), room = box.w - 28;
    const bool with_note = note > 0 && note < room / 2;
    const float words = room - (with_note ? note + 16 : 0);
    // The other language's label would be found, but only this one is shown.
    const std::string label = view::elided(ui.measure, ui.pick(item.label), Face::body, words);
    ui.text({box.x + 14, box.y, words, box.h}, label, Face::body, chosen ? Token::text : Token::soft);
    if (with_note)
        ui.text({box.x + box.w - 14 - note, box.y, note, box.h}, item.note, Face::mono_small, Token::mute);
    if (t.pressed) {
        ui.act(session::TogglePalette{});
        ui.act(item.action);
    }
}

/// What is typed is a line of its own where it reads as a path.
void offer_path(Ui& ui, Memory& memory) {
    session::offer_typed_path(memory.palette_items, memory.fields["palette"], ui.state,
                              ui.say("palette.open"), ui.say("palette.beside"));
}

/// Does what the keyboard is on. Letters that came in the same frame as Enter were typed before it: what is
/// meant is then the first that they find, not what stood there.
void enter(Ui& ui, Memory& memory, const std::vector<std::size_t>& found) {
    const std::string& query = memory.fields["palette"];
    const bool typed = query != memory.palette_query;
    if (typed) offer_path(ui, memory);
    const std::vector<std::size_t> meant =
        typed ? session::palette_matches(memory.palette_items, query) : found;
    if (meant.empty()) return;
    ui.act(session::TogglePalette{});
    ui.act(memory.palette_items[meant[static_cast<std::size_t>(typed ? 0 : memory.palette_at)]].action);
}

}  // namespace

void palette(Ui& ui, Memory& memory, Rect box) {
    std::string& query = memory.fields["palette"];
    if (!ui.state.palette) {
        memory.palette_items.clear();
        memory.palette_open = false;
        return;
    }
    ui.panel = "palette";
    if (!memory.palette_open) {
        query.clear();
        memory.palette_at = 0;
        memory.palette_query.clear();
    }
    offer_path(ui, memory);
    const std::vector<std::size_t> found = session::palette_matches(memory.palette_items, query);
    if (query != memory.palette_query) memory.palette_at = 0;
    memory.palette_query = query;
    const auto count = static_cast<int>(found.size());
    memory.palette_at = count == 0 ? 0 : (memory.palette_at % count + count) % count;

    const float w = std::min(640.0F, box.w - 32), most = std::max(kRow, box.h * 0.7F - 82);
    const float list_h = std::min(most, kRow * static_cast<float>(std::max(1, count)));
    const Rect card{box.x + (box.w - w) / 2, box.y + std::max(16.0F, box.h * 0.1F), w, 82 + list_h};
    if (memory.palette_open && backdrop(ui, "behind_palette", box)) ui.act(session::TogglePalette{});
    const Overlay overlay(ui, "palette_card", card);
    if (!memory.palette_open) ImGui::SetKeyboardFocusHere();
    memory.palette_open = true;
    text_field(ui, memory, "palette", {card.x + 16, card.y + 16, w - 32, 42}, ui.say("palette.hint"));
    if (std::exchange(memory.palette_enter, false)) return enter(ui, memory, found);
    const Rect list{card.x + 8, card.y + 70, w - 16, list_h};
    Region region(ui, "palette_rows", list);
    // What the keyboard is on comes into view.
    const float at = kRow * static_cast<float>(memory.palette_at);
    const float top = list.y - region.top();
    if (memory.palette_moved && (at < top || at + kRow > top + list_h))
        ImGui::SetScrollY(ui.px(at < top ? at : at + kRow - list_h));
    memory.palette_moved = false;
    if (count == 0) {
        ui.text({list.x + 14, list.y, list.w - 28, kRow}, ui.say("palette.none"), Face::body, Token::mute);
        return;
    }
    for (int i = 0; i < count; ++i) {
        const float y = region.top() + kRow * static_cast<float>(i);
        if (y + kRow < list.y || y > list.y + list_h) continue;  // neither seen nor clicked
        const std::size_t index = found[static_cast<std::size_t>(i)];
        row(ui, memory, memory.palette_items[index], index, {list.x + 2, y, list.w - 14, kRow},
            i == memory.palette_at);
    }
    region.content_ends(region.top() + kRow * static_cast<float>(count));
}

}  // namespace meshscope::panels
