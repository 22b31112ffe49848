#include "app/gui/session/dropped.h"

#include <sys/stat.h>

#include <fstream>

#include "app/gui/session/session.h"
#include "app/i18n/error_text.h"
#include "core/base/error.h"
#include "core/run/checkpoint/manifest.h"
#include "core/time/read_profile.h"
#include "core/trace/store.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;
using session::Dropped;
using session::look_at_drop;
using test::Folder;
using Kind = session::Dropped::Kind;

namespace {

std::string what(const Dropped& dropped) {
    const auto* value = dropped.alone.find("what");
    return value != nullptr ? std::get<std::string>(*value) : dropped.alone.id;
}

const std::string kScenarios = test::source_root() + "/scenarios/";

}  // namespace

TEST_CASE("a trace, a scenario, a lesson's folder are runs, whatever they are called") {
    const Folder folder;
    trace::write_trace(*test::lesson()->trace, folder.file("a.mscope"));
    std::filesystem::copy_file(folder.file("a.mscope"), folder.file("b.bin"));
    CHECK(look_at_drop(folder.file("a.mscope")).kind == Kind::run);
    CHECK(look_at_drop(folder.file("b.bin")).kind == Kind::run);
    CHECK(look_at_drop(kScenarios + "63_hsdp").kind == Kind::run);
    CHECK(look_at_drop(kScenarios + "63_hsdp/scenario.toml").kind == Kind::run);
}

TEST_CASE("a pipeline's schedule is one by its actions: it opens as the grid, simulated, and says so") {
    const std::string golden = test::golden_folder() + "/pipeline/";
    CHECK(look_at_drop(golden + "1f1b_p4_m8.csv").kind == Kind::run);
    CHECK(look_at_drop(golden + "bad_token.csv").kind ==
          Kind::run);  // what is wrong is told when it is opened
    const Folder folder;
    CHECK(look_at_drop(folder.write("notes", "0F0,0B0\n")).kind == Kind::run);
    CHECK(what(look_at_drop(folder.write("a.csv", "id,rank,step,phase,kernel\n"))) == "drop.what.text");

    const auto document = session::load_document(golden + "zbv_p4_m8.csv", {}, nullptr);
    CHECK(document->name == "ZBVZeroBubble · zbv_p4_m8.csv");
    CHECK(document->path == golden + "zbv_p4_m8.csv");
    CHECK(session::preview(golden + "zbv_p4_m8.csv", {}).inputs ==
          std::vector<std::string>{golden + "zbv_p4_m8.csv"});
    test::Harness app;
    app.open(document);
    app.frames(3);
    CHECK(app.state().view == view::ViewKind::timeline);
    CHECK(app.state().forms.in(view::Form::grid));
    CHECK(document->measured.end_ns == document->modelled.end_ns);
    CHECK(document->measured.kind == time::ClockKind::modelled);
}

TEST_CASE("of a path that is not there that is told, of a word which lessons there are") {
    const session::LessonFolders lessons{{test::source_root() + "/scenarios"}};
    const auto told = [&](const char* what) {
        return test::thrown_id([&] { session::load_document(what, lessons, nullptr); });
    };
    CHECK(told("/no/such/scenario") == "file.cannot_read");
    CHECK(told("nosuch.toml") == "file.cannot_read");
    CHECK(told("nosuch") == "app.lesson_unknown");
}

TEST_CASE("a schedule that is wrong is told in both languages, at its line and column, with what is right") {
    const std::string golden = test::golden_folder() + "/pipeline/";
    const auto told = [&](const char* file, i18n::Language language) {
        try {
            session::load_document(golden + file, {}, nullptr);
        } catch (const Error& error) {
            std::string lines;
            for (const std::string& line : i18n::describe_error(error, test::catalogue(), language).lines)
                lines += line + "\n";
            return lines;
        }
        return std::string("was read");
    };
    const auto has = [&](const char* file, const char* place, const char* en, const char* zh) {
        INFO(file);
        const std::string english = told(file, i18n::Language::en), chinese = told(file, i18n::Language::zh);
        INFO(english << chinese);
        for (const std::string& text : {english, chinese}) CHECK(text.find(place) != std::string::npos);
        CHECK(english.find(en) != std::string::npos);
        CHECK(chinese.find(zh) != std::string::npos);
    };
    has("bad_token.csv", "bad_token.csv:3:13", "2X3 is not a pipeline action", "2X3 不是");
    has("bad_backward_before_forward.csv", ":4:1", "write 3F0 before 3B0", "把 3F0 写在 3B0 之前");
    has("bad_doubled_action.csv", ":1:5", "0F0 has been run already", "删去其中一个");
    has("bad_missing_backward.csv", ":2:33", "write 1B5", "把 1B5 写在");
    has("bad_stage_on_two_ranks.csv", ":3:65", "move 0F7 to row 1", "把 0F7 移到第 1 行");
    has("bad_deadlock.csv", ":2:5", "on rank 2 2B0 comes after 2F1", "rank 2 上的 2B0 排在 2F1 之后");
    has("torch215_dump_1f1b_p4_m8.csv", ":4:1", "counts them from 1", "从 1 开始数");
}

TEST_CASE("a profile is one by its tables, the run in front is played again under it") {
    const Folder folder;
    const std::string path = folder.write("fast.toml", time::profile_text(time::named_profile("h100")));
    const Dropped dropped = look_at_drop(path);
    CHECK(dropped.kind == Kind::profile);
    CHECK(dropped.alone.id == "drop.profile_alone");
    const auto made = session::retimed(*test::lesson(), path);
    CHECK(made->name == "63_hsdp · h100");
    CHECK(made->trace == test::lesson()->trace);
    CHECK(made->modelled.end_ns == time::modelled(*made->trace, time::named_profile("h100")).end_ns);
    CHECK(made->modelled.profile == "h100");
    CHECK(test::lesson()->modelled.profile == "classroom");
}

TEST_CASE("a checkpoint is one by its manifest: its folder, the folder of several, a file in it") {
    const Folder folder;
    run::checkpoint::Manifest manifest;
    manifest.kind = "rank0";
    manifest.steps = 5;
    manifest.losses = {5, 4, 3, 2, 1};
    manifest.mesh_shape = {2, 2};
    manifest.strategy = "fsdp2";
    folder.write("all/step_000005/manifest.json", run::checkpoint::to_json(manifest));
    folder.write("all/step_000005/rank_00000.safetensors", "x");
    for (const char* path : {"all", "all/step_000005", "all/step_000005/manifest.json",
                             "all/step_000005/rank_00000.safetensors"}) {
        INFO(path);
        const Dropped dropped = look_at_drop(folder.file(path));
        CHECK(dropped.kind == Kind::checkpoint);
        REQUIRE(dropped.alone.id == "drop.checkpoint_alone");
        CHECK(std::get<int64_t>(*dropped.alone.find("steps")) == 5);
        CHECK(std::get<std::string>(*dropped.alone.find("mesh")) == "2x2");
    }
    folder.write("bad/manifest.json", "{");
    CHECK(look_at_drop(folder.file("bad")).kind == Kind::checkpoint);
    CHECK(look_at_drop(folder.file("bad")).alone.id != "drop.checkpoint_alone");
}

TEST_CASE("a pipe is waited for nowhere: not as a file, not as a checkpoint's manifest, not to be opened") {
    const Folder folder;
    const std::string pipe = folder.file("pipe");
    for (const std::string& path : {pipe, folder.file("pipe.toml"), folder.file("manifest.json")})
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK(what(look_at_drop(pipe)) == "drop.what.binary");
    CHECK(what(look_at_drop(folder.path.string())) == "drop.what.folder");
    CHECK_FALSE(session::is_database(pipe));
    for (const std::string& path : {pipe, folder.file("pipe.toml"), std::string("/dev/null")}) {
        CHECK(test::thrown_id([&] { session::load_document(path, {}, nullptr); }) ==
              "file.not_regular_input");
        CHECK(test::thrown_id([&] { session::preview(path, {}); }) == "file.not_regular_input");
    }
    CHECK(test::thrown_id([&] { session::load_document(folder.path.string(), {}, nullptr); }) ==
          "file.is_a_folder");
}

TEST_CASE("anything else is refused by what it is") {
    const Folder folder;
    CHECK(what(look_at_drop(folder.file("none"))) == "drop.nothing");
    CHECK(what(look_at_drop(folder.path.string())) == "drop.what.folder");
    CHECK(what(look_at_drop(folder.write("empty.mscope", ""))) == "drop.what.empty");
    CHECK(what(look_at_drop(folder.write("a.png", "\x89PNG\r\n\x1a\n....."))) == "drop.what.picture");
    CHECK(what(look_at_drop(folder.write("a.json", " {\"traceEvents\": []}"))) == "drop.what.json");
    CHECK(what(look_at_drop(folder.write("a.md", "# hello\n"))) == "drop.what.text");
    CHECK(what(look_at_drop(folder.write("a.toml", "[tool]\nx = 1\n"))) == "drop.what.toml");
    CHECK(what(look_at_drop(folder.write("w.safetensors", "x"))) == "drop.what.tensors");
    CHECK(what(look_at_drop(folder.write("a.bin", std::string("\0\1\2\3", 4)))) == "drop.what.binary");
    std::string other = "SQLite format 3";
    other.resize(100, '\0');
    CHECK(what(look_at_drop(folder.write("a.db", other))) == "drop.what.sqlite");
    for (const char* id :
         {"empty", "folder", "json", "picture", "toml", "sqlite", "text", "binary", "tensors"})
        CHECK(test::catalogue().find(std::string("drop.what.") + id, i18n::Language::zh) != nullptr);
}
