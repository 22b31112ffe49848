#include "app/gui/session/unfinished.h"

#include <filesystem>

#include "app/gui/session/sandbox_actions.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::session;
using test::content;
using test::Folder;

namespace {

/// The lesson is open, and its sandbox with a mesh of another shape.
AppState edited(const std::string& shape) {
    AppState state;
    Effects effects;
    for (const Action& action : std::vector<Action>{ShowDocument{test::lesson()}, ToggleSandbox{},
                                                    EditSandbox{{{"mesh.shape", shape}}}})
        apply(state, action, effects);
    return state;
}

}  // namespace

TEST_CASE("nothing is kept of a window in which nothing was under way") {
    const Folder folder;
    AppState state;
    Effects effects;
    CHECK(keep_unfinished(state, nullptr, "", folder.file("kept")).empty());
    apply(state, ShowDocument{test::lesson()}, effects);
    apply(state, ToggleSandbox{}, effects);
    CHECK(keep_unfinished(state, nullptr, "", folder.file("kept")).empty());
    CHECK(folder.files() == 0);
}

TEST_CASE("edits are kept under a name of their own, the same ones once, saved ones not") {
    const Folder folder;
    const std::string to = folder.file("kept");
    AppState state = edited("[4, 2]");
    const auto first = keep_unfinished(state, nullptr, "", to);
    REQUIRE(first.size() == 1);
    CHECK(first[0] == Unfinished{"edits", "63_hsdp · shape", to + "/63_hsdp-shape.toml"});
    CHECK(content(first[0].path).find("shape = [4, 2]") != std::string::npos);
    CHECK(keep_unfinished(state, nullptr, "", to) == first);

    const std::string before = content(first[0].path);
    const AppState other = edited("[2, 4]");
    const auto second = keep_unfinished(other, nullptr, "", to);
    REQUIRE(second.size() == 1);
    CHECK(second[0].path == to + "/63_hsdp-shape-2.toml");
    CHECK(content(first[0].path) == before);
    CHECK(keep_unfinished(other, nullptr, other.sandbox->draft.text(), to).empty());
}

TEST_CASE("a run is kept with what it was started with, edits after that beside it, an export by its name") {
    const Folder folder;
    AppState state = edited("[4, 2]");
    const auto run = sandbox_request(state);
    REQUIRE(run);
    state.running = Running{run->name, "", 0, 0, false};
    state.exporting = Exporting{"/somewhere/a.mp4", 1, 9};
    auto kept = keep_unfinished(state, &*run, "", folder.file("kept"));
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].what == "run");
    CHECK(kept[0].name == run->name);
    CHECK(kept[1] == Unfinished{"export", "", "/somewhere/a.mp4"});
    Effects effects;
    apply(state, EditSandbox{{{"train.steps", "5"}}}, effects);
    kept = keep_unfinished(state, &*run, "", folder.file("kept"));
    REQUIRE(kept.size() == 3);
    CHECK(kept[1].what == "edits");
    CHECK(kept[1].path != kept[0].path);

    // It goes through the settings' file, and is told once each.
    Settings settings;
    settings.unfinished = kept;
    bool broken = true;
    const ReadSettings read = parse_settings(settings_text(settings), broken);
    CHECK_FALSE(broken);
    CHECK(read.settings.unfinished == kept);
    std::vector<std::string> ids;
    for (const Message& message : read.said) {
        ids.push_back(message.id);
        for (const auto language : {i18n::Language::en, i18n::Language::zh})
            CHECK(test::catalogue().text(message, language).find('{') == std::string::npos);
    }
    CHECK(ids ==
          std::vector<std::string>{"settings.kept_run", "settings.kept_edits", "settings.kept_export"});
    const ReadSettings wrong = parse_settings(R"({"unfinished": [3, {"what": "war"}]})", broken);
    CHECK(wrong.settings.unfinished.empty());
    CHECK(wrong.said.size() == 2);
}

TEST_CASE("what is no scenario yet is kept as it was typed") {
    const Folder folder;
    const RunRequest broken{"[mesh\nshape = ", "/x/a.toml", "…", "", nullptr};
    const auto kept = keep_unfinished(AppState{}, &broken, "", folder.file("kept"));
    REQUIRE(kept.size() == 1);
    CHECK(content(kept[0].path) == broken.text);
    CHECK(kept[0].path == folder.file("kept/scenario.toml"));
}
