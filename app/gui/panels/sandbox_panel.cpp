#include <algorithm>
#include <cmath>

#include "app/gui/panels/panels.h"
#include "app/gui/sandbox/fields.h"
#include "app/gui/session/sandbox_actions.h"

namespace meshscope::panels {
namespace {

using sandbox::Field;
using sandbox::FieldKind;

constexpr const char* kFirstChanged = "changed";
constexpr float kSandboxFoot = 112, kField = 38, kChip = 30;

bool is_small(const Field& field) {
    return field.kind == FieldKind::integer || field.kind == FieldKind::number;
}

std::string label_of(const Ui& ui, const Field& field) {
    return ui.say("sandbox.field." + field.key());
}

/// Where a mistake stands: "scenario.toml:12:9".
std::string viewpoint_of(const SourcePosition& position) {
    const std::string name = position.file.substr(position.file.rfind('/') + 1);
    if (position.line <= 0) return name;
    return (name.empty() ? "" : name + ":") + std::to_string(position.line) +
           (position.column > 0 ? ":" + std::to_string(position.column) : "");
}

/// The fields, one after the other. Holds what a single field cannot know by itself.
class Fields {
  public:
    Fields(Ui& ui, Memory& memory, const session::SandboxState& sandbox)
        : ui_(ui), memory_(memory), draft_(sandbox.draft), reading_(sandbox.draft.reading()) {
        for (std::string& key : sandbox.draft.changed_keys()) changed_.push_back(std::move(key));
    }

    float draw(float x, float y, float w) {
        into_sight("", x, y);
        y = mistakes("", x, y, w);
        for (const sandbox::FieldGroup& group : sandbox::fields_of(reading_)) {
            y = section_head(ui_, x, y, w, ui_.say("sandbox.group." + std::string(group.id)), "") + 2;
            for (std::size_t i = 0; i < group.fields.size(); ++i) {
                const Field& field = group.fields[i];
                const float half = (w - 16) / 2;
                const Field* next = i + 1 < group.fields.size() ? &group.fields[i + 1] : nullptr;
                if (next != nullptr && is_small(field) && is_small(*next) && fits(field, half) &&
                    fits(*next, half)) {
                    const float left = one(field, x, y, half), right = one(*next, x + half + 16, y, half);
                    y = std::max(left, right);
                    ++i;
                } else {
                    y = one(field, x, y, w);
                }
            }
            y += 14;
        }
        // A change that no field shows is in sight nowhere.
        if (std::string& asked = memory_.fields["sandbox.at.sight"]; asked == kFirstChanged) asked.clear();
        return y;
    }

  private:
    bool changed(const std::string& key) const {
        return std::find(changed_.begin(), changed_.end(), key) != changed_.end();
    }
    bool fits(const Field& field, float w) const {
        return ui_.width(label_of(ui_, field), Face::caption) + 44 <= w;
    }

    void edit(const Field& field, const std::string& value, bool typing) {
        std::vector<sandbox::Change> changes = sandbox::changes_for(field, value, reading_);
        if (!changes.empty()) ui_.act(session::EditSandbox{std::move(changes), typing});
    }

    /// Scrolls to the field that was asked for.
    void into_sight(const std::string& key, float x, float y) {
        std::string& asked = memory_.fields["sandbox.at.sight"];
        if (asked != key + "!" && (asked != kFirstChanged || !changed(key))) return;
        asked.clear();
        ImGui::SetCursorScreenPos({ui_.px(x), ui_.px(y)});
        ImGui::SetScrollHereY(0.25F);
    }

    /// One field with its label above and its mistakes below; gives the y below it.
    float one(const Field& field, float x, float y, float w) {
        const std::string key = field.key(), label = label_of(ui_, field);
        into_sight(key, x, y);
        const bool given = !reading_.value(key).empty();
        float at = x;
        if (changed(key)) {
            ui_.draw->AddCircleFilled(ui_.px(Point{x + 4, y + 14}), ui_.px(3), ui_.colour(Token::accent));
            at += 12;
        }
        const float room = w - 40 - (at - x), wide = ui_.width(label, Face::caption);
        if (wide <= room) {
            ui_.text({at, y, wide, 26}, label, Face::caption, Token::soft);
            // What the file calls it, where there is room.
            const float name_w = ui_.width(std::string(field.name), Face::mono_small);
            if (wide + 12 + name_w <= room)
                ui_.text({at + wide + 12, y, name_w, 26}, std::string(field.name), Face::mono_small,
                         Token::mute);
            y += 26;
        } else {
            y = paragraph(ui_, at, y + 2, room, label, Face::caption, Token::soft) + 2;
        }
        if (given && button(ui_, memory_, "sandbox.at.unset." + key, {x + w - 26, y - 26, 26, 24}, "×",
                            ButtonLook::link, true, Icon::none, ui_.say("sandbox.unset")))
            edit(field, "", false);
        const bool wrong = !draft_.mistakes_at(key).empty();
        const float top = y;
        y = field.kind == FieldKind::words || field.kind == FieldKind::flag ? chips(field, x, y, w)
                                                                            : typed(field, x, y, w);
        if (wrong) ui_.outline({x - 4, top - 4, w + 8, y - top + 4}, Token::err, 8, 1.5F);
        return mistakes(key, x, y + 4, w) + 6;
    }

    /// What there is to choose; what holds without being said has a thin outline.
    float chips(const Field& field, float x, float y, float w) {
        const std::string now = sandbox::shown(field, reading_), usual = sandbox::fallback(field);
        std::vector<std::string> words(field.words.begin(), field.words.end());
        if (field.kind == FieldKind::flag) words = {"true", "false"};
        // What stands in the file and is none of them is to be seen too.
        if (!now.empty() && std::find(words.begin(), words.end(), now) == words.end()) words.push_back(now);
        float at = x;
        for (const std::string& word : words) {
            const float wide = std::min(w, ui_.width(word, Face::mono_small) + 20);
            if (at + wide > x + w) {
                at = x;
                y += kChip + 6;
            }
            const Rect box{at, y, wide, kChip};
            const Touch t = touch(ui_, memory_, "sandbox.at." + field.key() + "=" + word, box);
            const bool chosen = now == word, holds = now.empty() && usual == word;
            ui_.fill(box, chosen ? Token::accentbg : Token::raised, 8);
            ui_.outline(box,
                        chosen || holds ? Token::accent
                        : t.hovered     ? Token::soft
                                        : Token::line,
                        8, chosen ? 1.5F : 1.0F);
            ui_.text({at + 10, y, wide - 20, kChip}, word, Face::mono_small,
                     chosen || holds ? Token::text : Token::soft, Align::centre);
            if (holds && t.hovered) tooltip(ui_, ui_.say("sandbox.usual"));
            if (t.pressed) edit(field, chosen && !usual.empty() ? "" : word, false);
            at += wide + 6;
        }
        return y + kChip;
    }

    /// A field to type in. It follows the scenario until someone types in it.
    float typed(const Field& field, float x, float y, float w) {
        const std::string id = "sandbox.at." + field.key(), now = sandbox::shown(field, reading_);
        std::string& active = memory_.fields["sandbox.at.active"];
        std::string& value = memory_.fields[id];
        if (active != id) value = now;
        const std::string before = value;
        const bool entered = text_field(ui_, memory_, id, {x, y, w, kField},
                                        ui_.fit(sandbox::fallback(field), "", w - 28, Face::mono));
        if (ImGui::IsItemActive())
            active = id;
        else if (active == id)
            active.clear();
        if (memory_.fields[id] != before) edit(field, memory_.fields[id], true);
        if (entered && ImGui::GetIO().KeyCtrl) ui_.act(session::RunSandbox{});
        return y + kField;
    }

    /// The engine's own words for what is wrong at a key, and where in the file.
    float mistakes(const std::string& key, float x, float y, float w) {
        for (const sandbox::Mistake& mistake : draft_.mistakes_at(key)) {
            const Diagnostic& d = mistake.diagnostic;
            ui_.cross({x + 8, y + 14}, Token::err);
            y = paragraph(ui_, x + 24, y + 2, w - 24, ui_.say(d.message.id, d.message.args), Face::caption,
                          Token::err);
            if (!d.hint.id.empty())
                y = paragraph(ui_, x + 24, y, w - 24, ui_.say(d.hint.id, d.hint.args), Face::caption,
                              Token::soft);
            y = paragraph(ui_, x + 24, y, w - 24, viewpoint_of(d.position), Face::mono_small, Token::mute) +
                6;
        }
        return y;
    }

    Ui& ui_;
    Memory& memory_;
    const sandbox::Draft& draft_;
    const sandbox::Reading& reading_;
    std::vector<std::string> changed_;
};

/// How far the run is, and its stop.
void running_foot(Ui& ui, Memory& memory, const session::Running& running, float x, float y, float w) {
    std::string words;
    if (running.stopping) {
        words = ui.say("sandbox.stopping", {{"name", running.name}});
    } else if (running.steps > 0) {
        const int64_t done = running.steps_done, all = running.steps;
        words = ui.say("ui.loading.step", {{"name", running.name}, {"done", done}, {"steps", all}});
    } else {
        words = ui.say("ui.loading", {{"name", running.name}});
    }
    const auto lines = wrap(ui.measure, words, Face::caption, w);
    for (std::size_t i = 0; i < lines.size() && i < 2; ++i)
        ui.text({x, y + 20 * static_cast<float>(i), w, 20}, lines[i], Face::caption, Token::soft);
    y += 44;
    const float share = running.steps > 0
                            ? static_cast<float>(running.steps_done) / static_cast<float>(running.steps)
                            : 0.05F;
    ui.fill({x, y, w, 4}, Token::ghost, 2);
    ui.fill({x, y, std::max(8.0F, w * share), 4}, Token::accent, 2);
    const std::string stop = ui.say("sandbox.stop");
    const float wide = button_width(ui, stop, false);
    if (button(ui, memory, "sandbox.at.stop", {x, y + 12, wide, 38}, stop, ButtonLook::plain,
               !running.stopping))
        ui.act(session::StopRun{});
}

/// Where to and in which form; asked again where there is a file.
void save_foot(Ui& ui, Memory& memory, const session::SaveForm& asked, float x, float y, float w) {
    session::SaveForm form = asked;
    const std::string id = "sandbox.at.save.path";
    std::string& last = memory.fields["sandbox.at.save.last"];
    if (last != form.path) memory.fields[id] = last = form.path;
    bool entered = text_field(ui, memory, id, {x, y, w, kField}, "scenario.toml");
    if (memory.fields[id] != form.path) {
        form.path = last = memory.fields[id];
        form.exists = false;  // another file
        ui.act(session::AskSave{form});
    }
    y += kField + 8;
    if (asked.exists) {
        y = paragraph(ui, x, y, w, ui.say("sandbox.exists"), Face::caption, Token::warn) + 6;
    } else {
        const int chosen = segmented(ui, memory, "sandbox.at.save.form", {x, y, w, 36},
                                     {ui.say("sandbox.save.whole"), ui.say("sandbox.save.brief")},
                                     static_cast<int>(asked.form));
        if (chosen >= 0) {
            form.form = static_cast<sandbox::SaveForm>(chosen);
            ui.act(session::AskSave{form});
        }
        y += 44;
    }
    const std::string save = ui.say(asked.exists ? "sandbox.replace" : "sandbox.save"),
                      no = ui.say("sandbox.no");
    const float save_w = button_width(ui, save, false), no_w = button_width(ui, no, false);
    const bool pressed = button(ui, memory, asked.exists ? "sandbox.at.replace" : "sandbox.at.save.now",
                                {x, y, save_w, 38}, save, ButtonLook::primary, !asked.path.empty());
    // Enter saves, but never over a file.
    if (pressed || (entered && !asked.exists)) ui.act(session::SaveSandbox{asked.exists});
    if (button(ui, memory, "sandbox.at.save.no", {x + save_w + 8, y, no_w, 38}, no))
        ui.act(session::AskSave{});
}

/// A name for what was changed, beside where the program was started.
std::string name_to_save(const std::string& run) {
    std::string name;
    for (const char c : run.substr(0, run.find(" · "))) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           c == '_' || c == '-' || c == '.';
        name += plain ? c : '_';
    }
    if (name.ends_with(".mscope")) name.resize(name.size() - 7);
    return name + "_changed.toml";
}

/// In the place of Run: how many mistakes there are; a press brings the next one into sight.
void show_mistake(Ui& ui, Memory& memory, const sandbox::Draft& draft, Rect box) {
    const auto count = static_cast<int64_t>(draft.mistakes().size());
    const std::string words =
        ui.fit(ui.say("sandbox.mistakes", {{"n", count}}), ui.say("sandbox.mistakes.short", {{"n", count}}),
               box.w - 24, Face::body);
    if (button(ui, memory, "sandbox.at.mistakes", box, words, ButtonLook::plain, true, Icon::none,
               ui.say("sandbox.run.mistakes"))) {
        const auto last = static_cast<std::size_t>(memory.scrolls["sandbox.at.mistake"]);
        const std::size_t next = last % draft.mistakes().size();
        memory.scrolls["sandbox.at.mistake"] = static_cast<float>(next + 1);
        memory.fields["sandbox.at.sight"] = draft.mistakes()[next].key + "!";
    }
    ui.outline(box, Token::err, 8, 1.5F);
}

void foot(Ui& ui, Memory& memory, const session::SandboxState& sandbox, float x, float y, float w) {
    if (ui.state.running) return running_foot(ui, memory, *ui.state.running, x, y, w);
    const bool good = sandbox.draft.reading().scenario != nullptr;
    const std::string run = ui.say("sandbox.run"), save = ui.say("sandbox.save");
    const std::string held = ui.say("live.open");
    const float half = (w - 8) / 2;
    if (!good) {
        show_mistake(ui, memory, sandbox.draft, {x, y, half, 40});
    } else if (button(ui, memory, "sandbox.at.run", {x, y, half, 40}, run, ButtonLook::primary, true,
                      Icon::none, ui.say("keys.run"))) {
        ui.act(session::RunSandbox{});
    }
    if (button(ui, memory, "sandbox.at.live", {x + half + 8, y, half, 40}, held, ButtonLook::plain, good,
               Icon::none, ui.say(good ? "live.open.what" : "sandbox.run.mistakes")))
        ui.act(session::StartLive{});
    y += 48;
    const std::string undo = ui.say("sandbox.undo"), redo = ui.say("sandbox.redo");
    const float third = (w - 16) / 3;
    if (button(ui, memory, "sandbox.at.undo", {x, y, third, 38}, undo, ButtonLook::plain,
               sandbox.draft.can_undo(), Icon::none, ui.say("keys.undo")))
        ui.act(session::UndoEdit{});
    if (button(ui, memory, "sandbox.at.redo", {x + third + 8, y, third, 38}, redo, ButtonLook::plain,
               sandbox.draft.can_redo(), Icon::none, ui.say("keys.redo")))
        ui.act(session::RedoEdit{});
    const bool saves = session::can_save(sandbox.draft);
    if (button(ui, memory, "sandbox.at.save", {x + 2 * (third + 8), y, third, 38}, save, ButtonLook::plain,
               saves, Icon::none, ui.say(saves ? "sandbox.save.what" : "sandbox.run.mistakes")))
        ui.act(session::AskSave{session::SaveForm{name_to_save(sandbox.name)}});
}

}  // namespace

void show_first_change(Memory& memory) {
    memory.fields["sandbox.at.sight"] = kFirstChanged;
}

void sandbox_panel(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "sandbox";
    const session::SandboxState& sandbox = *ui.state.sandbox;
    ui.fill(box, Token::panel);
    const float x = box.x + 24, w = box.w - 48;
    const bool asks = sandbox.saving && !ui.state.running;
    const float low = asks ? 152.0F : kSandboxFoot;
    const float head = std::max(0.0F, back_to_lesson(ui, memory, x, box.y + 12, w) - box.y - 12);
    {
        Region region(ui, "sandbox", {box.x, box.y + head, box.w, box.h - low - head});
        float y = region.top() + 16;
        if (button(ui, memory, "sandbox.at.close", {x + w - 36, y - 2, 36, 36}, "×", ButtonLook::plain, true,
                   Icon::none, ui.say("keys.sandbox")))
            ui.act(session::ToggleSandbox{});
        y = paragraph(ui, x, y, w - 48, ui.say("sandbox.title"), Face::lesson_title, Token::text) + 4;
        y = paragraph(ui, x, y, w, sandbox.name, Face::mono_small, Token::mute) + 8;
        y = paragraph(ui, x, y, w, ui.say("sandbox.what"), Face::caption, Token::soft) + 14;
        region.content_ends(Fields(ui, memory, sandbox).draw(x, y, w) + 8);
    }
    const float y = box.y + box.h - low;
    ui.hairline(box.x, y, box.w);
    if (asks)
        save_foot(ui, memory, *sandbox.saving, x, y + 12, w);
    else
        foot(ui, memory, sandbox, x, y + 12, w);
}

}  // namespace meshscope::panels
