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

/// What is kept, where nothing refuses it.
std::vector<Unfinished> kept_of(const AppState& state, const RunRequest* run, const std::string& saved,
                                const std::string& folder) {
    return keep_unfinished(state, run, saved, folder, [](const Message& message) { FAIL(message.id); });
}

}  // namespace

TEST_CASE("nothing is kept of a window in which nothing was under way") {
    const Folder folder;
    AppState state;
    Effects effects;
    CHECK(kept_of(state, nullptr, "", folder.file("kept")).empty());
    apply(state, ShowDocument{test::lesson()}, effects);
    apply(state, ToggleSandbox{}, effects);
    CHECK(kept_of(state, nullptr, "", folder.file("kept")).empty());
    CHECK(folder.files() == 0);
}

TEST_CASE("edits are kept under a name of their own, the same ones once, saved ones not") {
    const Folder folder;
    const std::string to = folder.file("kept");
    AppState state = edited("[4, 2]");
    const auto first = kept_of(state, nullptr, "", to);
    REQUIRE(first.size() == 1);
    CHECK(first[0] == Unfinished{"edits", "63_hsdp · shape", to + "/63_hsdp-shape.toml"});
    CHECK(content(first[0].path).find("shape = [4, 2]") != std::string::npos);
    CHECK(kept_of(state, nullptr, "", to) == first);

    const std::string before = content(first[0].path);
    const AppState other = edited("[2, 4]");
    const auto second = kept_of(other, nullptr, "", to);
    REQUIRE(second.size() == 1);
    CHECK(second[0].path == to + "/63_hsdp-shape-2.toml");
    CHECK(content(first[0].path) == before);
    CHECK(kept_of(other, nullptr, other.sandbox->draft.text(), to).empty());
}

TEST_CASE("a run is kept with what it was started with, edits after that beside it, an export by its name") {
    const Folder folder;
    AppState state = edited("[4, 2]");
    const auto run = sandbox_request(state);
    REQUIRE(run);
    state.running = Running{run->name, "", 0, 0, false};
    state.exporting = Exporting{"/somewhere/a.mp4", 1, 9};
    auto kept = kept_of(state, &*run, "", folder.file("kept"));
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].what == "run");
    CHECK(kept[0].name == run->name);
    CHECK(kept[1] == Unfinished{"export", "", "/somewhere/a.mp4"});
    Effects effects;
    apply(state, EditSandbox{{{"train.steps", "5"}}}, effects);
    kept = kept_of(state, &*run, "", folder.file("kept"));
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

TEST_CASE("a scenario that ran to be opened is told where it lies, a lesson and a trace need no word") {
    const Folder folder;
    AppState state;
    state.loading = Loading{"long.toml", 3, 9, "/somewhere/long.toml"};
    CHECK(kept_of(state, nullptr, "", folder.file("kept")) ==
          std::vector<Unfinished>{{"run", "long.toml", "/somewhere/long.toml"}});
    state.loading = Loading{"run.mscope", 0, 0, "/somewhere/run.mscope"};
    CHECK(kept_of(state, nullptr, "", folder.file("kept")).empty());  // nothing ran
    state.loading = Loading{"63_hsdp", 1, 3};
    CHECK(kept_of(state, nullptr, "", folder.file("kept")).empty());
    CHECK(folder.files() == 0);
}

TEST_CASE("what is no scenario yet is kept as it was typed") {
    const Folder folder;
    const RunRequest broken{"[mesh\nshape = ", "/x/a.toml", "…", "", nullptr};
    const auto kept = kept_of(AppState{}, &broken, "", folder.file("kept"));
    REQUIRE(kept.size() == 1);
    CHECK(content(kept[0].path) == broken.text);
    CHECK(kept[0].path == folder.file("kept/scenario.toml"));
}

TEST_CASE("a folder that takes nothing is told for each, and what needs no file is kept") {
    const Folder folder;
    std::ofstream(folder.file("kept")) << "a file where the folder should be";
    AppState state = edited("[4, 2]");
    const RunRequest run{"[mesh]", "/x/a.toml", "a", "", nullptr};
    state.exporting = Exporting{"/somewhere/a.mp4", 1, 9};
    std::vector<std::string> refused;
    const auto kept = keep_unfinished(state, &run, "", folder.file("kept"),
                                      [&](const Message& message) { refused.push_back(message.id); });
    CHECK(refused == std::vector<std::string>{"file.cannot_write", "file.cannot_write"});
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].what == "export");
}

TEST_CASE("edits of a run wait while another one is edited, and are kept with that one's") {
    const Folder folder;
    AppState state = edited("[4, 2]");
    const std::string first = state.sandbox->draft.text();
    const auto a = state.document;
    const auto b = std::make_shared<Document>(*a);
    b->name = "other";
    Effects effects;
    apply(state, ShowDocument{b}, effects);
    apply(state, ToggleSandbox{}, effects);
    if (!state.sandbox->open) apply(state, ToggleSandbox{}, effects);
    CHECK(state.sandbox->name == "other");
    CHECK(state.sandbox->draft.text() != first);
    apply(state, EditSandbox{{{"mesh.shape", "[2, 4]"}}}, effects);
    const auto kept = kept_of(state, nullptr, "", folder.file("kept"));
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].name.starts_with("other"));
    CHECK(content(kept[1].path).find("shape = [4, 2]") != std::string::npos);
    apply(state, ShowDocument{a}, effects);
    apply(state, ToggleSandbox{}, effects);
    if (!state.sandbox->open) apply(state, ToggleSandbox{}, effects);
    CHECK(state.sandbox->draft.text() == first);
    CHECK(state.sandbox->draft.can_undo());
    CHECK(state.other_sandboxes.size() == 1);
}
