// The welcome page's lessons: search, chapters, cards.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/panels/welcome.h"
#include "app/gui/view/fitting.h"

namespace meshscope::panels {
namespace {

using session::Chapter;
using session::LessonCard;
using session::Reached;

constexpr float kRow = 30, kCardGap = 8, kLeastCard = 148;
constexpr int kMostColumns = 8;

/// How cards stand in a row, and how high each is.
struct Grid {
    int columns = 1;
    float card = 0, picture = 0, high = 0;

    float height(std::size_t cards) const {
        const auto rows = (static_cast<int>(cards) + columns - 1) / columns;
        return static_cast<float>(rows) * (high + kCardGap);
    }
};

Grid grid_of(const Ui& ui, float w) {
    Grid grid;
    grid.columns = std::clamp(static_cast<int>((w + kCardGap) / (kLeastCard + kCardGap)), 1, kMostColumns);
    const auto n = static_cast<float>(grid.columns);
    grid.card = (w - kCardGap * (n - 1)) / n;
    grid.picture = std::clamp(grid.card * 0.45F, 60.0F, 120.0F);
    grid.high = grid.picture + 6 + 2 * ui.line(Face::caption) + 6;
    return grid;
}

bool is_true_or_false(const LessonCard& card) {
    return session::folder_of(card.id).find("_true_") != std::string::npos;
}

void lesson(Ui& ui, Memory& memory, std::size_t index, Rect box, float picture) {
    const LessonCard& card = ui.state.offers[index];
    const Touch t = touch(ui, memory, "offer" + std::to_string(index), box, !ui.state.loading);
    if (t.focused && memory.focus_moved) {
        const float top = ui.px(box.y) - ImGui::GetWindowPos().y;
        if (top < 0 || top + ui.px(box.h) > ImGui::GetWindowHeight())
            ImGui::SetScrollFromPosY(top + ui.px(box.h / 2), 0.5F);
    }
    ui.fill(box, Token::panel, 10);
    ui.fill({box.x, box.y, box.w, picture}, Token::inset, 10);
    lesson_thumbnail(ui, memory, card, {box.x, box.y, box.w, picture},
                     tour_of(ui, memory, static_cast<int>(index), t));
    ui.outline(box, t.hovered ? Token::accent : Token::line, 10, t.hovered ? 1.5F : 1.0F);
    const session::LessonProgress* progress = session::progress_of(ui.state, card);
    const Reached how_far = session::reached(ui.state, card);
    if (how_far == Reached::begun) {
        const float part =
            static_cast<float>(progress->seen.size()) / static_cast<float>(std::max(1, progress->steps));
        ui.fill({box.x + 1, box.y + picture - 2, (box.w - 2) * part, 3}, Token::accent, 1);
    }
    const float line = ui.line(Face::caption), x = box.x + 8;
    const std::string number = card.number > 0 ? std::to_string(card.number) : "";
    const float indent = number.empty() && how_far != Reached::done
                             ? 0
                             : std::max(22.0F, ui.width(number, Face::mono_small) + 6);
    float y = box.y + picture + 6;
    ui.text({x, y, indent, line}, number, Face::mono_small, Token::mute);
    if (how_far == Reached::done) ui.tick({x + 8, y + line * 1.5F}, Token::ok);
    const std::string& title = ui.pick(card.title);
    const auto lines = title_lines(ui, title, box.w - 16 - indent, 2);
    for (const std::string& words : lines) {
        ui.text({x + indent, y, box.w - 16 - indent, line}, words, Face::caption, Token::text);
        y += line;
    }
    if (t.hovered) {
        std::string said = title;
        if (progress != nullptr)
            said += "\n" + ui.say("ui.welcome.progress",
                                  {{"seen", static_cast<int64_t>(progress->seen.size())},
                                   {"steps", int64_t{progress->steps}},
                                   {"answers", static_cast<int64_t>(progress->answers.size())}});
        else
            said += "\n" + ui.pick(card.subtitle);
        tooltip(ui, said);
    }
    if (t.pressed) ui.act(session::OpenPath{card.id});
}

float cards(Ui& ui, Memory& memory, const std::vector<std::size_t>& offers, const Grid& grid, Rect box) {
    for (std::size_t i = 0; i < offers.size(); ++i) {
        const int at = static_cast<int>(i);
        const Rect place{box.x + static_cast<float>(at % grid.columns) * (grid.card + kCardGap),
                         box.y + static_cast<float>(at / grid.columns) * (grid.high + kCardGap), grid.card,
                         grid.high};
        lesson(ui, memory, offers[i], place, grid.picture);
    }
    return box.y + grid.height(offers.size());
}

std::string chapter_title(const Ui& ui, int32_t number) {
    return number > 0 ? ui.say("cli.lesson.chapter." + std::to_string(number)) : ui.say("ui.welcome.others");
}

/// A chapter's line: number, title, a square a lesson, how many are done; folded, what they are called.
bool chapter_line(Ui& ui, Memory& memory, const Chapter& chapter, bool open, Rect box) {
    const Touch t = touch(ui, memory, "chapter" + std::to_string(chapter.number), box);
    if (t.hovered) ui.fill(box, Token::raised, 6);
    ui.hairline(box.x, box.y + box.h - 1, box.w);
    float x = box.x + 6;
    const std::string number = chapter.number > 0 ? std::to_string(chapter.number) : "";
    ui.text({x, box.y, 20, box.h}, number, Face::mono_small, Token::mute);
    x += 26;
    const std::string title = chapter_title(ui, chapter.number);
    const float wide = ui.width(title, Face::body);
    ui.text({x, box.y, wide, box.h}, title, Face::body, t.hovered || open ? Token::text : Token::soft);
    x += wide + 14;
    int64_t done = 0;
    for (const std::size_t i : chapter.offers) {
        const Reached how_far = session::reached(ui.state, ui.state.offers[i]);
        done += how_far == Reached::done ? 1 : 0;
        ui.fill({x, box.y + box.h / 2 - 4, 8, 8},
                how_far == Reached::done    ? Token::ok
                : how_far == Reached::begun ? Token::accent
                                            : Token::line,
                2);
        x += 11;
    }
    const std::string of =
        ui.say("ui.welcome.done_of", {{"done", done}, {"all", static_cast<int64_t>(chapter.offers.size())}});
    const float of_wide = ui.width(of, Face::caption), right = box.x + box.w - 22;
    if (x + 8 + of_wide <= right)
        ui.text({x + 8, box.y, of_wide, box.h}, of, Face::caption,
                done == static_cast<int64_t>(chapter.offers.size()) ? Token::ok : Token::mute);
    x += 8 + of_wide + 18;
    std::string names;
    for (const std::size_t i : chapter.offers) {
        const std::string name = before_colon(ui.pick(ui.state.offers[i].title));
        const std::string more = (names.empty() ? "" : " · ") + name;
        if (x + ui.width(names + more, Face::caption) > right - 8) break;
        names += more;
    }
    if (!open && !names.empty())
        ui.text({x, box.y, ui.width(names, Face::caption), box.h}, names, Face::caption, Token::mute);
    // A corner that points to where the lessons are, or come.
    const Point c{box.x + box.w - 10, box.y + box.h / 2};
    const ImVec2 a = ui.px(open ? Point{c.x - 5, c.y - 2} : Point{c.x - 2, c.y - 5}),
                 b = ui.px(open ? Point{c.x, c.y + 3} : Point{c.x + 3, c.y}),
                 d = ui.px(open ? Point{c.x + 5, c.y - 2} : Point{c.x - 2, c.y + 5});
    ui.draw->AddLine(a, b, ui.colour(Token::soft), ui.px(1.6F));
    ui.draw->AddLine(b, d, ui.colour(Token::soft), ui.px(1.6F));
    return t.pressed;
}

/// Which chapters stand open: from the one to go on with as many as have room; by hand any.
std::set<int32_t> open_chapters(const Ui& ui, const Memory& memory, const std::vector<Chapter>& chapters,
                                const Grid& grid, float room) {
    std::set<int32_t> open;
    const auto next = session::go_on_with(ui.state);
    std::size_t from = 0;
    for (std::size_t c = 0; next && c < chapters.size(); ++c)
        if (std::ranges::find(chapters[c].offers, *next) != chapters[c].offers.end()) from = c;
    float left = room - kRow * static_cast<float>(chapters.size());
    for (std::size_t k = 0; k < chapters.size(); ++k) {
        // On from there, then those before it, the nearest first.
        const std::size_t c = from + k < chapters.size() ? from + k : chapters.size() - 1 - k;
        const float high = grid.height(chapters[c].offers.size()) + 10;
        if (k > 0 && high > left) break;
        left -= high;
        open.insert(chapters[c].number);
    }
    for (const auto& [number, wanted] : memory.chapters) {
        if (wanted)
            open.insert(number);
        else
            open.erase(number);
    }
    return open;
}

/// "All 48", "To do 35", "Is it true? 11": which lessons are shown. Beside the search where they have room,
/// else below it; returns the y below all.
float filters(Ui& ui, Memory& memory, float left, float x0, float right, float y,
              const std::vector<std::string>& labels) {
    float wide = 0;
    for (const std::string& label : labels) wide += ui.width(label, Face::mono) + 24 + 6;
    const bool beside = x0 + wide <= right;
    float x = beside ? right - wide + 6 : left;
    if (!beside) y += 38 + 6;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const float w = ui.width(labels[i], Face::mono) + 24;
        if (chip(ui, memory, "lesson_filter" + std::to_string(i), {x, y + 2, w, 34}, labels[i],
                 memory.lesson_filter == static_cast<int>(i), true))
            memory.lesson_filter = static_cast<int>(i);
        x += w + 6;
    }
    return y + 38;
}

/// "/" anywhere puts the keyboard into the search.
void ask_for_search(Ui& ui, Memory& memory) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.WantTextInput || ui.state.palette || ui.state.error || ui.state.loading) return;
    for (const ImWchar c : io.InputQueueCharacters)
        if (c == '/') {
            memory.focus = "lesson_search";
            memory.activate = true;
        }
}

/// The hits of a search, the best first; a mesh that was typed stands before them.
float hits(Ui& ui, Memory& memory, const std::vector<std::size_t>& found, const std::string& query,
           bool entered, Rect box) {
    float y = box.y;
    const auto dims = session::mesh_named(query);
    if (dims) {
        const session::RunRequest request = session::mesh_request(*dims);
        const std::string words = ui.say("ui.welcome.search_mesh", {{"mesh", request.name}});
        const float w = std::min(box.w, button_width(ui, words, true));
        if (button(ui, memory, "search_mesh", {box.x, y, w, 38}, words, ButtonLook::primary,
                   !ui.state.loading, Icon::next) ||
            (entered && !ui.state.loading))
            ui.act(session::OpenMesh{*dims});
        y += 50;
    } else if (entered && !found.empty() && !ui.state.loading) {
        ui.act(session::OpenPath{ui.state.offers[found.front()].id});
    }
    const std::string said = found.empty() && dims ? ""
                             : found.empty()
                                 ? ui.say("ui.welcome.none")
                                 : ui.say("ui.welcome.found", {{"n", static_cast<int64_t>(found.size())}});
    if (!said.empty()) y = paragraph(ui, box.x, y, box.w, said, Face::caption, Token::mute) + 8;
    return cards(ui, memory, found, grid_of(ui, box.w), {box.x, y, box.w, box.h});
}

}  // namespace

float welcome_lessons(Ui& ui, Memory& memory, Rect box) {
    const auto& offers = ui.state.offers;
    ask_for_search(ui, memory);
    const std::string head = ui.say("ui.welcome.lessons");
    const float head_w = ui.width(head, Face::lesson_title);
    ui.text({box.x, box.y, head_w, 38}, head, Face::lesson_title, Token::text);
    const float search_x = box.x + head_w + 24, cap = ui.width("/", Face::mono_small) + 16;
    const float search_w =
        std::clamp(box.w * 0.36F, std::min(180.0F, box.x + box.w - search_x - cap - 8), 440.0F);
    const bool entered =
        text_field(ui, memory, "lesson_search", {search_x, box.y, search_w, 38}, ui.say("ui.welcome.search"));
    key_cap(ui, search_x + search_w + 8, box.y + 6, "/");
    int64_t open_ones = 0, statements = 0;
    for (const LessonCard& card : offers) {
        open_ones += session::reached(ui.state, card) != Reached::done ? 1 : 0;
        statements += is_true_or_false(card) ? 1 : 0;
    }
    const float below = filters(ui, memory, box.x, search_x + search_w + cap + 24, box.x + box.w, box.y,
                                {ui.say("ui.welcome.all", {{"n", static_cast<int64_t>(offers.size())}}),
                                 ui.say("ui.welcome.todo", {{"n", open_ones}}),
                                 ui.say("ui.welcome.statements", {{"n", statements}})});
    float y = below + 12;
    const std::string query = memory.fields["lesson_search"];
    const auto wanted = [&](std::size_t i) {
        return memory.lesson_filter == 1   ? session::reached(ui.state, offers[i]) != Reached::done
               : memory.lesson_filter == 2 ? is_true_or_false(offers[i])
                                           : true;
    };
    if (query.find_first_not_of(' ') != query.npos) {
        std::vector<std::size_t> found = session::find_lessons_by(offers, query);
        std::erase_if(found, [&](std::size_t i) { return !wanted(i); });
        return hits(ui, memory, found, query, entered, {box.x, y, box.w, box.h});
    }
    std::vector<Chapter> chapters = session::chapters_of(offers);
    for (Chapter& chapter : chapters)
        std::erase_if(chapter.offers, [&](std::size_t i) { return !wanted(i); });
    std::erase_if(chapters, [](const Chapter& chapter) { return chapter.offers.empty(); });
    const Grid grid = grid_of(ui, box.w);
    const auto open = open_chapters(ui, memory, chapters, grid, box.y + box.h - y);
    for (const Chapter& chapter : chapters) {
        const bool is_open = open.contains(chapter.number);
        if (chapter_line(ui, memory, chapter, is_open, {box.x, y, box.w, kRow}))
            memory.chapters[chapter.number] = !is_open;
        y += kRow;
        if (is_open) y = cards(ui, memory, chapter.offers, grid, {box.x, y + 8, box.w, box.h}) + 2;
    }
    return y;
}

}  // namespace meshscope::panels
