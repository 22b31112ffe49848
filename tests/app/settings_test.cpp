#include "app/gui/session/settings.h"

#include <filesystem>

#include "app/gui/session/commands.h"
#include "core/base/error.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::session;
using test::content;
using test::Folder;
namespace fs = std::filesystem;

namespace {

AppState opened() {
    AppState state;
    Effects effects;
    apply(state, ShowDocument{test::lesson()}, effects);
    return state;
}

std::vector<std::string> ids(const std::vector<Message>& messages) {
    std::vector<std::string> found;
    for (const Message& message : messages) found.push_back(message.id);
    return found;
}

}  // namespace

TEST_CASE("the settings lie where the XDG specification puts them") {
    CHECK(settings_path("/x", "/home/a") == "/x/meshscope/settings.json");
    CHECK(settings_path("", "/home/a") == "/home/a/.config/meshscope/settings.json");
    CHECK(settings_path("relative", "/home/a") == "/home/a/.config/meshscope/settings.json");
    CHECK(settings_path("", "").empty());
}

TEST_CASE("what is chosen is written, and read back the same") {
    AppState state = opened();
    Effects effects;
    for (const Action& action : std::vector<Action>{
             SetLanguage{view::Language::zh}, SetTheme{window::ThemeKind::contrast}, SetScale{1.5F},
             SetReducedMotion{true}, GoToLessonStep{3}, SetView{view::ViewKind::memory}, SelectRank{2},
             Guess{test::lesson()->quizzes[0].id, "7"}, Reveal{test::lesson()->quizzes[0].id},
             SetCursor{1000}, SetRange{500, 4000}})
        apply(state, action, effects);
    state.remembered.folder = "/somewhere/else";
    state.remembered.keys["keys.play"] = {{window::Key::p, false, false}};
    Settings kept = settings_of(state, {});
    kept.width = 1600;
    kept.height = 900;
    kept.plain = true;

    const Folder folder;
    const std::string path = folder.file("config/meshscope/settings.json");
    write_settings(path, kept);
    const ReadSettings read = read_settings(path);
    CHECK(read.said.empty());
    CHECK(settings_text(read.settings) == settings_text(kept));

    // A window that starts with them is as the one before was left, and opens the lesson where it was.
    AppState next;
    for (const Action& action : start_actions(read.settings)) apply(next, action, effects);
    CHECK(next.language == view::Language::zh);
    CHECK(next.theme == window::ThemeKind::contrast);
    CHECK(next.scale == 1.5F);
    CHECK(next.reduced_motion);
    CHECK(next.plain);
    CHECK(next.remembered.recent == read.settings.remembered.recent);
    apply(next, ShowDocument{test::lesson()}, effects);
    const Viewpoint* place = viewpoint_kept(read.settings, *test::lesson());
    REQUIRE(place != nullptr);
    apply(next, RestoreViewpoint{*place}, effects);
    CHECK(viewpoint_of(next) == viewpoint_of(state));
    CHECK(next.lesson_step == 3);
    CHECK(next.quizzes[test::lesson()->quizzes[0].id].guess == "7");
    CHECK(next.quizzes[test::lesson()->quizzes[0].id].revealed);
    const LessonProgress& progress = next.remembered.progress.at("63_hsdp");
    CHECK(progress.steps == static_cast<int32_t>(test::lesson()->steps.size()));
    CHECK(progress.seen.count(test::lesson()->steps[3].id) == 1);
    // The places kept are those of documents: another one has none.
    Document other;
    other.name = "other";
    CHECK(viewpoint_kept(read.settings, other) == nullptr);
}

TEST_CASE("a place that the run no longer has is left out, part by part") {
    AppState state = opened();
    Effects effects;
    Viewpoint place;
    place.view = view::ViewKind::timeline;
    place.rank = 99;
    place.event_rank = 1;
    place.event = 1'000'000;
    place.cursor_ns = INT64_MAX;
    place.range_begin_ns = -5;
    place.range_end_ns = INT64_MAX;
    place.lesson_step = 999;
    apply(state, RestoreViewpoint{place}, effects);
    CHECK(state.view == view::ViewKind::timeline);
    CHECK_FALSE(state.selection.rank);
    CHECK_FALSE(state.selection.event);
    CHECK(state.cursor.t_ns == state.document->modelled.end_ns);
    CHECK(state.range_end_ns == 0);
    CHECK(state.lesson_step == static_cast<int32_t>(state.document->steps.size()) - 1);
}

TEST_CASE("a corrupt settings file is moved aside and said, and never lost") {
    const Folder folder;
    const std::string path = folder.write("settings.json", "{\"theme\": \"li");
    const ReadSettings read = read_settings(path);
    CHECK(ids(read.said) == std::vector<std::string>{"settings.moved_aside"});
    CHECK_FALSE(fs::exists(path));
    CHECK(content(path + ".broken") == "{\"theme\": \"li");
    CHECK(settings_text(read.settings) == settings_text({}));
    folder.write("settings.json", "[1, 2]");
    CHECK(ids(read_settings(path).said) == std::vector<std::string>{"settings.moved_aside"});
    CHECK(content(path + ".broken2") == "[1, 2]");
    CHECK(read_settings(path).said.empty());  // none is there
}

TEST_CASE("settings that cannot be read are said, and never written over") {
    const Folder folder;
    const std::string path = folder.file("settings.json");
    fs::create_directories(path);  // a folder stands where the file should be
    const ReadSettings read = read_settings(path);
    CHECK(ids(read.said) == std::vector<std::string>{"settings.unreadable"});
    CHECK(read.stays);
    CHECK(fs::is_directory(path));
    CHECK_FALSE(read_settings(folder.file("none.json")).stays);
}

TEST_CASE("a file of which something is left out is kept as it was") {
    const Folder folder;
    const std::string text = R"({"theme": "pink", "language": "zh"})";
    const std::string path = folder.write("settings.json", text);
    CHECK(ids(read_settings(path).said) == std::vector<std::string>{"settings.wrong", "settings.copied"});
    CHECK(content(path + ".before") == text);
    CHECK(ids(read_settings(path).said) == std::vector<std::string>{"settings.wrong"});  // once
    const std::string good = folder.write("good.json", R"({"language": "zh"})");
    CHECK(read_settings(good).said.empty());
    CHECK_FALSE(fs::exists(good + ".before"));
}

TEST_CASE("what cannot be in the settings is left out by name, all else is taken") {
    bool broken = true;
    const ReadSettings read =
        parse_settings(R"({"theme": "pink", "language": "zh", "text_size": 9, "window": [5],
        "recent": [{"path": "/a", "name": "a"}, 3], "places": [{"view": "memory"}], "future": true,
        "lessons": {"63_hsdp": {"seen": ["a"], "answers": 4}},
        "keys": {"play": "P", "fly": "F", "theme": "Hyper+X", "export": ["Ctrl+S", "F9"], "language": []}})",
                       broken);
    CHECK_FALSE(broken);
    CHECK(read.settings.language == view::Language::zh);
    CHECK_FALSE(read.settings.theme);
    CHECK_FALSE(read.settings.scale);
    CHECK(read.settings.width == 0);
    CHECK(read.settings.remembered.recent == std::vector<Recent>{{"/a", "a"}});
    CHECK(read.settings.remembered.progress.at("63_hsdp").seen == std::set<std::string>{"a"});
    CHECK(read.settings.remembered.keys.size() == 3);
    std::vector<std::string> keys;
    for (const Message& message : read.said)
        if (const auto* key = message.find("key"); key != nullptr && message.id == "settings.wrong")
            keys.push_back(std::get<std::string>(*key));
    CHECK(keys == std::vector<std::string>{"theme", "text_size", "window", "recent",
                                           "lessons.63_hsdp.answers", "places"});
    const auto said = ids(read.said);
    CHECK(std::count(said.begin(), said.end(), "settings.unknown_command") == 1);
    CHECK(std::count(said.begin(), said.end(), "settings.unknown_key") == 1);
    CHECK(std::count(said.begin(), said.end(), "settings.key_conflict") == 0);
}

TEST_CASE("what was kept under the old name of Tensors is still found") {
    bool broken = true;
    const ReadSettings read = parse_settings(
        R"({"places": [{"of": "a", "view": "parameters"}], "keys": {"parameters": "P"}})", broken);
    CHECK_FALSE(broken);
    CHECK(read.said.empty());
    REQUIRE(read.settings.viewpoints.size() == 1);
    CHECK(read.settings.viewpoints[0].second.view == view::ViewKind::tensors);
    CHECK(read.settings.viewpoints[0].second.forms.in(view::Form::rows));
    CHECK(read.settings.remembered.keys.size() == 1);
}

TEST_CASE("a place that names no document, and numbers that are none, are left out") {
    bool broken = true;
    const ReadSettings read = parse_settings(
        R"({"window": [1e300, 800], "places": [{"of": 7}, {"of": ""}, {"of": "a", "row": 1e300, "lesson_step": 2}]})",
        broken);
    CHECK_FALSE(broken);
    CHECK(read.settings.width == 0);
    REQUIRE(read.settings.viewpoints.size() == 1);
    CHECK(read.settings.viewpoints[0].second.row == -1);
    CHECK(read.settings.viewpoints[0].second.lesson_step == 2);
    std::vector<std::string> keys;
    for (const Message& message : read.said) keys.push_back(std::get<std::string>(*message.find("key")));
    CHECK(keys == std::vector<std::string>{"window", "places", "places", "places.row"});
}

TEST_CASE("a folder that cannot be written is an error with its path") {
    const Folder folder;
    folder.write("file", "");
    CHECK_THROWS_AS(write_settings(folder.file("file/meshscope/settings.json"), {}), IoError);
}
