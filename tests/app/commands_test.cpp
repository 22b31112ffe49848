#include "app/gui/session/commands.h"

#include <set>

#include "app/gui/session/keys.h"
#include "app/gui/session/palette.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::session;
using test::Harness;
using window::Key;
using window::KeyPress;

namespace {

scenario::Text texts(const std::string& id) {
    return {test::catalogue().text(id, i18n::Language::en), test::catalogue().text(id, i18n::Language::zh)};
}

AppState opened() {
    AppState state;
    Effects effects;
    apply(state, ShowDocument{test::lesson()}, effects);
    return state;
}

/// The best match's label in English.
std::string best(const AppState& state, const std::string& query) {
    const auto items = palette_items(state, texts);
    const auto found = palette_matches(items, query);
    return found.empty() ? "" : items[found.front()].label.en;
}

}  // namespace

TEST_CASE("every command has its sentence in both languages, an id of its own, and no key of another") {
    std::set<std::string> seen;
    for (const Command& command : commands()) {
        INFO(command.id);
        CHECK(seen.insert(command.id).second);
        for (const auto language : {i18n::Language::en, i18n::Language::zh})
            CHECK(test::catalogue().find(command.id, language) != nullptr);
        for (const KeyPress press : command.keys) {
            CHECK(command_of(press, {}) == &command);
            CHECK(parse_key(key_name(press)) == press);
        }
    }
    CHECK(conflicts({}).empty());
}

TEST_CASE("keys are written and read by name, in any case, and what is no key is none") {
    CHECK(key_name({Key::p, true, true}) == "Ctrl+Shift+P");
    CHECK(key_label({Key::left, true, false}) == "Shift ←");
    CHECK(key_name({Key::question, true, false}) == "?");
    CHECK(parse_key("ctrl+SHIFT+p") == KeyPress{Key::p, true, true});
    CHECK(parse_key("Shift+Ctrl+Plus") == KeyPress{Key::plus, true, true});
    CHECK(parse_key("F12") == KeyPress{Key::f12, false, false});
    CHECK(parse_key("pagedown") == KeyPress{Key::page_down, false, false});
    for (const char* none : {"", "Ctrl", "Ctrl+", "Hyper+A", "Ctrl+Ctrl+A", "AB", "F13", "+"})
        CHECK_FALSE(parse_key(none));
}

TEST_CASE("while text is typed, keys that go through it by words are the field's, with Control too") {
    AppState state = opened();
    for (const Key key : {Key::left, Key::right, Key::home, Key::end, Key::z})
        for (const bool shift : {false, true}) {
            CAPTURE(key_name({key, shift, true}));
            CHECK_FALSE(key_action(state, {key, shift, true}, true));
        }
    CHECK(key_action(state, {Key::left, false, true}, false)->get_if<MoveSelection>() != nullptr);
    CHECK(key_action(state, {Key::e, false, true}, true)->get_if<ToggleExport>() != nullptr);
}

TEST_CASE("a user's key goes before the usual ones, and the clash is said") {
    const OwnKeys own{{"keys.export", {{Key::t, false, false}}}};
    CHECK(std::string(command_of({Key::t, false, false}, own)->id) == "keys.export");
    CHECK(command_of({Key::e, false, true}, own) == nullptr);  // its usual key is given up
    const auto found = conflicts(own);
    REQUIRE(found.size() == 1);
    CHECK(std::string(found[0].first) == "keys.export");
    CHECK(std::string(found[0].second) == "keys.theme");
    AppState state = opened();
    state.remembered.keys = own;
    CHECK(key_action(state, {Key::t, false, false}, false)->get_if<ToggleExport>() != nullptr);
}

TEST_CASE("letters found in order, words' beginnings first, in Latin and in Chinese") {
    CHECK(fuzzy_score("mem", "View: Memory") > fuzzy_score("mem", "make me them"));
    CHECK(fuzzy_score("vm", "View: Memory") >= 0);
    CHECK(fuzzy_score("MEM", "view: memory") >= 0);
    CHECK(fuzzy_score("内存", "视图：内存") >= 0);
    CHECK(fuzzy_score("存内", "视图：内存") == -1);
    CHECK(fuzzy_score("memx", "View: Memory") == -1);
    CHECK(fuzzy_score("", "anything") == 0);
    CHECK(fuzzy_score("lesson hsdp", "Lesson · HSDP: …") >= 0);
}

TEST_CASE("the palette lists each command that means something now, by both languages' words") {
    const AppState empty, open = opened();
    const auto has = [](const std::vector<PaletteItem>& items, const std::string& id) {
        for (const PaletteItem& item : items)
            if (item.label.en == texts(id).en) return true;
        return false;
    };
    for (const Command& command : commands()) {
        const std::string id = command.id;
        if (id == "keys.palette") continue;
        INFO(command.id);
        // What would only open the palette again is no line of it.
        CHECK(has(palette_items(open, texts), command.id) ==
              (id != "keys.open_path" && command.action(open).has_value()));
        CHECK(has(palette_items(empty, texts), command.id) == command.action(empty).has_value());
    }
    CHECK(best(open, "memory") == "View: Memory");
    CHECK(best(open, "视图内存") == "View: Memory");
    CHECK(best(open, "高对比") == "Dark, light, high contrast");
    CHECK(best(open, "qqqq").empty());
    // The lesson's steps, lessons and what was open lately.
    AppState state = opened();
    LessonCard offer;
    offer.id = "/lessons/81_uneven/scenario.toml";
    offer.title = {"Uneven inputs", "不均匀的输入"};
    state.offers = {offer};
    state.remembered.recent = {{"/tmp/mine.mscope", "mine.mscope"}};
    CHECK(best(state, "uneven") == "Lesson · Uneven inputs");
    CHECK(best(state, "mine") == "Open again · mine.mscope");
    CHECK(best(state, "step 3").rfind("Step 3", 0) == 0);
}

TEST_CASE("Ctrl+O over an open run takes a path, which is opened in its place or beside it") {
    Harness app;
    app.open(test::lesson());
    app.key(Key::o, false, true);
    REQUIRE(app.state().palette);
    app.type("/tmp/l.mscope");  // letters of keys, too: none of them is pressed
    app.frames(2);
    CHECK(app.state().language == view::Language::en);
    app.key(Key::enter);
    CHECK_FALSE(app.state().palette);
    const Effects effects = app.stage().take_effects();
    CHECK(effects.open == std::vector<std::string>{"/tmp/l.mscope"});
    CHECK(app.state().document != nullptr);

    std::vector<PaletteItem> items;
    for (const char* words : {"memory", "a/b", "json", ".json", "step 3."}) {
        offer_typed_path(items, words, app.state(), "Open", "Open beside");
        INFO(words);
        CHECK(items.empty());
    }
    for (const char* path : {"~/mine", "./x", "../x", "my ring.toml", "plan.json", "allreduce.xml"}) {
        offer_typed_path(items, path, app.state(), "Open", "Open beside");
        INFO(path);
        REQUIRE(items.size() == 2);  // what an earlier text had put there is gone
        CHECK(items[0].label.en == std::string("Open · ") + path);
        CHECK(items[1].label.en == std::string("Open beside · ") + path);
        CHECK(palette_matches(items, path) == std::vector<std::size_t>{0, 1});
    }
    offer_typed_path(items, "/x", AppState(), "Open", "Open beside");
    CHECK(items.size() == 1);  // beside nothing
}

TEST_CASE("Ctrl+K, a few letters and Enter do it, arrows choose, Escape leaves all as it was") {
    Harness app;
    app.open(test::lesson());
    app.key(Key::k, false, true);
    REQUIRE(app.state().palette);
    CHECK(app.stage().typing());
    app.type("memo");
    app.frames(2);
    app.key(Key::enter);
    CHECK_FALSE(app.state().palette);
    CHECK(app.state().view == view::ViewKind::memory);

    app.key(Key::p, true, true);
    REQUIRE(app.state().palette);
    app.type("view");
    app.frames(2);
    app.key(Key::down);
    app.key(Key::enter);
    CHECK_FALSE(app.state().palette);
    CHECK(app.state().view == view::ViewKind::collective);

    app.key(Key::k, false, true);
    app.type("l");  // typed, not the language
    CHECK(app.state().language == view::Language::en);
    app.key(Key::escape);
    CHECK_FALSE(app.state().palette);
    CHECK(app.state().view == view::ViewKind::collective);
    // A click does the same.
    app.key(Key::k, false, true);
    app.click(app.widget("palette0"));
    CHECK(app.state().key_sheet);
}

TEST_CASE("copy as text gives every view's own facts, and the command line shows the same again") {
    Harness app;
    app.open(test::lesson());
    std::set<std::string> told;
    for (const auto kind : view::kViewKinds) {
        app.stage().act(SetView{kind});
        app.frames(2);
        app.stage().take_effects();
        app.key(Key::c, true, true);
        const Effects effects = app.stage().take_effects();
        INFO(view::view_name(kind));
        REQUIRE(effects.copy.size() == 1);
        CHECK(effects.copy[0].size() > 60);
        told.insert(effects.copy[0]);
    }
    CHECK(told.size() == view::kViewKinds.size());

    app.stage().act(SetView{view::ViewKind::timeline});
    app.stage().act(GoToLessonStep{1});
    app.stage().act(SetView{view::ViewKind::timeline});
    app.stage().act(SelectEvent{{1, 5}, true});
    app.stage().act(CopyCommand{});
    CHECK(app.stage().take_effects().copy_command);
    const auto words = command_words(app.state());
    CHECK(words == std::vector<std::string>{"meshscope-app", test::lesson()->path, "--step", "2", "--view",
                                            "timeline", "--rank", "1", "--at", "5", "--lang", "en"});
}

TEST_CASE("the export sheet asks where, proposes a name by its view, and asks once more before it replaces") {
    Harness app;
    app.open(test::lesson());
    app.stage().act(SetView{view::ViewKind::traffic});
    app.key(Key::e, false, true);
    REQUIRE(app.state().export_sheet);
    CHECK(app.state().export_sheet->path == "63_hsdp-traffic.png");
    app.click(app.widget("export_format4"));
    app.click(app.widget("export_go"));
    auto effects = app.stage().take_effects();
    REQUIRE(effects.exports.size() == 1);
    CHECK(effects.exports[0].path == "63_hsdp.html");
    CHECK_FALSE(effects.exports[0].replace);
    app.stage().act(AskReplace{"63_hsdp.html"});
    app.frames(2);
    app.click(app.widget("export_go"));
    effects = app.stage().take_effects();
    REQUIRE(effects.exports.size() == 1);
    CHECK(effects.exports[0].replace);
    app.stage().act(ShowExporting{Exporting{"/out/63_hsdp.html", 1, 9}});
    app.frames(2);
    CHECK_FALSE(app.state().export_sheet);
    app.click(app.widget("export_cancel"));
    CHECK(app.stage().take_effects().cancel_export);
    app.stage().act(ShowExporting{std::nullopt});
    // The next one goes there, too.
    app.key(Key::e, false, true);
    CHECK(app.state().export_sheet->path == "/out/63_hsdp-traffic.png");
}

TEST_CASE("presenting: large type, one key a step, the text only when it is asked for") {
    Harness app;
    app.open(test::lesson());
    app.key(Key::f5);
    REQUIRE(app.state().presenter);
    CHECK(app.stage().pixels_a_unit() == Approx(kPresenterScale));
    app.key(Key::space);
    CHECK(app.state().lesson_step == 1);
    CHECK_FALSE(app.state().playing);
    app.key(Key::page_down);
    CHECK(app.state().lesson_step == 2);
    app.key(Key::page_up);
    CHECK(app.state().lesson_step == 1);
    app.key(Key::n);
    CHECK(app.state().notes);
    app.key(Key::escape);
    CHECK_FALSE(app.state().presenter);
    CHECK_FALSE(app.state().notes);
    app.key(Key::space);
    CHECK(app.state().playing);
}
