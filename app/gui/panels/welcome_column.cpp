// The welcome page's left side: go on, a new mesh, a file.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/panels/strokes.h"
#include "app/gui/panels/welcome.h"
#include "app/gui/view/fitting.h"
#include "app/gui/view/paint.h"

namespace meshscope::panels {
namespace {

constexpr float kGap = 12, kPad = 14;

/// A mark a step of the lesson: those that were seen are filled.
void step_marks(Ui& ui, const session::LessonProgress& progress, Rect box) {
    const auto steps = static_cast<float>(std::max(1, progress.steps));
    const float each = box.w / steps;
    for (int32_t i = 0; i < progress.steps; ++i)
        ui.fill({box.x + each * static_cast<float>(i), box.y, std::max(1.0F, each - 4), box.h},
                std::cmp_less(i, progress.seen.size()) ? Token::accent : Token::line, 2);
}

/// What to go on with; the first lesson at the first start.
float go_on_card(Ui& ui, Memory& memory, Rect box) {
    const auto next = session::go_on_with(ui.state);
    if (!next) return box.y;
    const session::LessonCard& card = ui.state.offers[*next];
    const session::LessonProgress* progress = session::progress_of(ui.state, card);
    constexpr float kPicture = 92, kButton = 38;
    const float inside = box.w - 2 * kPad, line = ui.line(Face::caption);
    const std::string number = card.number > 0 ? std::to_string(card.number) : "";
    const float indent = number.empty() ? 0 : ui.width(number, Face::mono_small) + 8;
    const auto title = title_lines(ui, ui.pick(card.title), inside - indent, 2);
    const float high = kPicture + 8 + line + 2 + line * static_cast<float>(title.size()) + 6 +
                       (progress != nullptr ? 12.0F : 0.0F) + kButton + 12;
    const Rect at{box.x, box.y, box.w, high};
    const Touch t = touch(ui, memory, "continue", at, !ui.state.loading);
    ui.fill(at, Token::raised, 12);
    ui.fill({at.x, at.y, at.w, kPicture}, Token::inset, 12);
    lesson_thumbnail(ui, memory, card, {at.x, at.y, at.w, kPicture}, tour_of(ui, memory, -2, t));
    ui.outline(at, Token::accent, 12, t.hovered ? 2.0F : 1.5F);
    const float x = at.x + kPad;
    float y = at.y + kPicture + 8;
    const std::string head = ui.say(progress != nullptr                    ? "ui.welcome.continue"
                                    : ui.state.remembered.progress.empty() ? "ui.welcome.begin"
                                                                           : "ui.welcome.next");
    ui.text({x, y, inside, line}, head, Face::caption, Token::accent);
    if (progress != nullptr) {
        const std::string of = ui.say(
            "ui.welcome.done_of",
            {{"done", static_cast<int64_t>(progress->seen.size())}, {"all", int64_t{progress->steps}}});
        if (ui.width(head, Face::caption) + ui.width(of, Face::caption) + 12 <= inside)
            ui.text({x, y, inside, line}, of, Face::caption, Token::mute, Align::right);
    }
    y += line + 2;
    if (!number.empty()) ui.text({x, y, indent, line}, number, Face::mono_small, Token::mute);
    for (const std::string& words : title) {
        ui.text({x + indent, y, inside - indent, line}, words, Face::caption, Token::text);
        y += line;
    }
    y += 6;
    if (progress != nullptr) {
        step_marks(ui, *progress, {x, y, inside, 4});
        y += 12;
    }
    const Point middle{x + kButton / 2, y + kButton / 2 - 2};
    ui.draw->AddCircleFilled(ui.px(middle), ui.px(13), ui.colour(Token::accent), 0);
    ui.draw->AddTriangleFilled(ui.px(Point{middle.x + 6, middle.y}), ui.px(Point{middle.x - 4, middle.y - 6}),
                               ui.px(Point{middle.x - 4, middle.y + 6}), ui.colour(Token::onacc));
    const std::string does = ui.say(progress != nullptr ? "ui.welcome.resume" : "ui.welcome.start");
    ui.text({x + kButton + 4, y - 2, inside - kButton - 4, kButton}, does, Face::body, Token::text);
    const float cap = ui.width("Enter", Face::mono_small) + 16;
    if (kButton + 4 + ui.width(does, Face::body) + 10 + cap <= inside)
        key_cap(ui, x + inside - cap, y + kButton / 2 - 15, "Enter");
    if (t.pressed) ui.act(session::OpenPath{card.id});
    return at.y + high + kGap;
}

constexpr std::array kDims{"replicate", "shard", "tp"};

/// What stands in the fields: sizes from 1 on; nothing where one is no size. A dim of one rank is left out.
std::optional<std::vector<session::MeshDim>> typed_mesh(const Memory& memory) {
    std::vector<session::MeshDim> dims;
    for (std::size_t d = 0; d < kDims.size(); ++d) {
        const std::string& field = memory.fields.at("mesh" + std::to_string(d));
        const bool digits = std::ranges::all_of(field, [](unsigned char c) { return std::isdigit(c) != 0; });
        if (!digits) return std::nullopt;
        int64_t size = field.empty() ? 1 : 0;
        for (const char c : field)
            size = std::min<int64_t>(size * 10 + (c - '0'), session::kMostMeshRanks + 1);
        if (size < 1) return std::nullopt;
        if (size > 1) dims.push_back({kDims[d], size});
    }
    if (dims.empty()) dims.push_back({"shard", 1});
    return dims;
}

float mesh_card(Ui& ui, Memory& memory, Rect box) {
    for (std::size_t d = 0; d < kDims.size(); ++d) memory.fields.try_emplace("mesh" + std::to_string(d), "2");
    const float line = ui.line(Face::caption), field_h = 34;
    const Rect at{box.x, box.y, box.w, kPad + line + 8 + field_h + 4 + line + 8};
    ui.fill(at, Token::raised, 12);
    ui.outline(at, Token::line, 12);
    const float x = at.x + kPad, inside = at.w - 2 * kPad;
    float y = at.y + kPad - 4;
    const auto dims = typed_mesh(memory);
    int64_t ranks = 1;
    if (dims)
        for (const session::MeshDim& dim : *dims) ranks = std::min<int64_t>(ranks * dim.size, 1'000'000);
    const bool fits = dims && ranks <= session::kMostMeshRanks;
    const std::string why = !dims  ? ui.say("ui.welcome.mesh_sizes")
                            : fits ? ui.say("ui.n_ranks", {{"n", ranks}})
                                   : ui.say("ui.welcome.mesh_most", {{"n", session::kMostMeshRanks}});
    ui.text({x, y, inside, line}, ui.say("ui.welcome.new_mesh"), Face::body, Token::text);
    ui.text({x, y, inside, line}, why, Face::caption, fits ? Token::mute : Token::err, Align::right);
    y += line + 8;
    constexpr float kArrow = 36, kTimes = 18;
    const float wide = (inside - kArrow - 10 - 2 * kTimes) / 3;
    bool entered = false;
    float field_x = x;
    for (std::size_t d = 0; d < kDims.size(); ++d) {
        const bool first =
            text_field(ui, memory, "mesh" + std::to_string(d), {field_x, y, wide, field_h}, "1");
        entered = entered || first;
        ui.text({field_x - 8, y + field_h + 3, wide + 16, line}, kDims[d], Face::caption,
                view::dim_hue(kDims[d], d), Align::centre);
        if (d + 1 < kDims.size())
            ui.text({field_x + wide, y, kTimes, field_h}, "×", Face::body, Token::mute, Align::centre);
        field_x += wide + kTimes;
    }
    const bool pressed =
        button(ui, memory, "new_mesh", {x + inside - kArrow, y, kArrow, field_h}, "", ButtonLook::primary,
               fits && !ui.state.loading, Icon::next, fits ? ui.say("ui.welcome.mesh_runs") : why);
    if ((pressed || entered) && fits && !ui.state.loading) ui.act(session::OpenMesh{*dims});
    return at.y + at.h + kGap;
}

float open_row(Ui& ui, Memory& memory, Rect box) {
    if (ui.state.picks_files) {
        if (button(ui, memory, "pick_file", {box.x, box.y, box.w, 40}, ui.say("ui.welcome.pick"),
                   ButtonLook::plain, !ui.state.loading))
            ui.act(session::AskPath{});
        return box.y + 40 + kGap;
    }
    if (ui.state.asks_path) {
        memory.focus = "open_path";
        memory.activate = true;
        ui.act(session::AskPath{false});
    }
    constexpr float kHigh = 40;
    const float cap = ui.width("Ctrl O", Face::mono_small) + 16;
    if (text_field(ui, memory, "open_path", {box.x, box.y, box.w - cap - 10, kHigh},
                   ui.say("ui.welcome.open"))) {
        const std::string& path = memory.fields["open_path"];
        if (!path.empty() && !ui.state.loading) ui.act(session::OpenPath{path});
    }
    key_cap(ui, box.x + box.w - cap, box.y + 7, "Ctrl O");
    return box.y + kHigh + kGap;
}

float drop_zone(Ui& ui, Rect box) {
    const auto lines = wrap(ui.measure, ui.say("ui.welcome.drop"), Face::caption, box.w - 28);
    const float line = ui.line(Face::caption), high = line * static_cast<float>(lines.size()) + 24;
    const auto path =
        rounded_rect(ui.px(Point{box.x, box.y}), ui.px(Point{box.x + box.w, box.y + high}), ui.px(12));
    stroke(*ui.draw, path, true, view::Stroke::dashed, ui.colour(Token::line2), ui.px(1.4F), ui.scale);
    float y = box.y + 12;
    for (const std::string& words : lines) {
        ui.text({box.x + 14, y, box.w - 28, line}, words, Face::caption, Token::mute, Align::centre);
        y += line;
    }
    return box.y + high + kGap;
}

/// What was open lately, one line each, as many as have room; two in any case.
float recent_rows(Ui& ui, Memory& memory, Rect box, float bottom) {
    const auto& recent = ui.state.remembered.recent;
    if (recent.empty()) return box.y;
    const float line = ui.line(Face::caption), row = 32;
    ui.text({box.x, box.y, box.w, line}, ui.say("ui.welcome.recent"), Face::caption, Token::mute);
    float y = box.y + line + 4;
    for (std::size_t i = 0; i < recent.size() && (i < 2 || y + row <= bottom); ++i) {
        const Rect at{box.x, y, box.w, row};
        const Touch t = touch(ui, memory, "recent" + std::to_string(i), at, !ui.state.loading);
        if (t.hovered) {
            ui.fill(at, Token::raised, 8);
            tooltip(ui, recent[i].path);
        }
        const auto card = std::ranges::find(ui.state.offers, recent[i].path, &session::LessonCard::id);
        const std::string words = card != ui.state.offers.end() && card->number > 0
                                      ? std::to_string(card->number) + " · " + ui.pick(card->title)
                                      : recent[i].name;
        const std::string name = view::elided(ui.measure, words, Face::body, at.w - 16);
        ui.text({at.x + 8, y, at.w - 16, row}, name, Face::body, t.hovered ? Token::text : Token::soft);
        if (t.pressed) ui.act(session::OpenPath{recent[i].path});
        y += row;
    }
    return y;
}

}  // namespace

float welcome_column(Ui& ui, Memory& memory, Rect box, float bottom) {
    const auto below = [&](float y) { return Rect{box.x, y, box.w, box.h}; };
    float y = go_on_card(ui, memory, box);
    y = mesh_card(ui, memory, below(y));
    y = open_row(ui, memory, below(y));
    y = drop_zone(ui, below(y));
    return recent_rows(ui, memory, below(y), bottom);
}

}  // namespace meshscope::panels
