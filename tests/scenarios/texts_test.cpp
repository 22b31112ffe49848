#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/mesh/device_mesh.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace scenario = meshscope::scenario;
using meshscope::GlobalRank;
using meshscope::mesh::DeviceMesh;
using meshscope::test::content;

namespace {

using Ranks = std::vector<int64_t>;

std::vector<std::string> lesson_folders() {
    std::vector<std::string> folders;
    for (const auto& entry :
         std::filesystem::directory_iterator(meshscope::test::source_root() + "/scenarios")) {
        if (std::filesystem::exists(entry.path() / "scenario.toml")) folders.push_back(entry.path().string());
    }
    std::sort(folders.begin(), folders.end());
    return folders;
}

std::vector<std::string> step_ids(const scenario::LessonText& text) {
    std::vector<std::string> ids;
    for (const auto& step : text.steps) ids.push_back(step.id);
    return ids;
}

/// What is read in one go: neither tables nor blocks of code.
std::string prose_of(const scenario::LessonSection& step) {
    std::string words = step.heading;
    for (const auto& paragraph : step.paragraphs) {
        if (paragraph.code) continue;
        for (const auto& span : paragraph.spans) words += span.text;
    }
    return words;
}

/// Chinese characters and their punctuation: UTF-8 leads of three bytes.
int64_t chinese(const std::string& words) {
    return std::count_if(words.begin(), words.end(), [](char c) { return (c & 0xF0) == 0xE0; });
}

int64_t bullets(const scenario::LessonSection& section) {
    return std::count_if(section.paragraphs.begin(), section.paragraphs.end(),
                         [](const auto& paragraph) { return paragraph.bullet; });
}

/// The mesh that a step shows, as the scenario says.
DeviceMesh mesh_of(const scenario::Scenario& lesson, const std::string& step_id) {
    for (const auto& step : lesson.steps_of_lesson) {
        if (step.id != step_id) continue;
        const auto& shape = step.mesh_shape.empty() ? lesson.mesh_shape : step.mesh_shape;
        const auto& names = step.mesh_shape.empty() ? lesson.mesh_names : step.mesh_names;
        return DeviceMesh::init(shape, names, world_size(lesson));
    }
    throw std::runtime_error("no step " + step_id);
}

}  // namespace

TEST_CASE("every lesson tells the same steps in both languages, and they are the scenario's") {
    const auto folders = lesson_folders();
    REQUIRE(folders.size() >= 2);
    for (const std::string& folder : folders) {
        INFO(folder);
        const auto lesson = scenario::read_scenario(folder + "/scenario.toml");
        std::vector<std::string> ids;
        for (const auto& step : lesson.steps_of_lesson) ids.push_back(step.id);
        CHECK(step_ids(scenario::read_lesson(folder, "en")) == ids);
        CHECK(step_ids(scenario::read_lesson(folder, "zh")) == ids);
        CHECK(!lesson.checks.empty());
        CHECK(lesson.quizzes.size() >= 2);
    }
}

TEST_CASE(
    "every number that a lesson speaks of is defined, used in both languages, and its step has a heading") {
    for (const std::string& folder : lesson_folders()) {
        INFO(folder);
        const auto lesson = scenario::read_scenario(folder + "/scenario.toml");
        const std::set<std::string> defined = scenario::number_names(lesson);
        std::set<std::string> used_en;
        std::set<std::string> used_zh;
        const auto collect = [](std::set<std::string>& into, const std::vector<std::string>& ids) {
            into.insert(ids.begin(), ids.end());
        };
        const auto en = scenario::read_lesson(folder, "en"), zh = scenario::read_lesson(folder, "zh");
        collect(used_en, scenario::number_ids(en));
        collect(used_zh, scenario::number_ids(zh));
        for (const auto* text : {&en, &zh})
            for (const auto* section : text->sections()) CHECK(!section->heading.empty());
        for (const auto& quiz : lesson.quizzes) {
            for (const auto* text : {&quiz.question, &quiz.reveal}) {
                collect(used_en, scenario::number_ids(text->en));
                collect(used_zh, scenario::number_ids(text->zh));
            }
        }
        CHECK(used_en == used_zh);
        for (const std::string& id : used_en) {
            INFO(id);
            CHECK(defined.count(id) == 1);
        }
        const std::string script = content(folder + "/pytorch.py");
        for (const std::string& id : defined) {
            INFO(id << " is for no text, so PyTorch must have it");
            CHECK((used_en.count(id) == 1 || script.find(id) != std::string::npos));
        }
    }
}

TEST_CASE(
    "every lesson stands in its chapter, and both languages have its goals, breaks, changes and summary") {
    for (const std::string& folder : lesson_folders()) {
        INFO(folder);
        const auto lesson = scenario::read_scenario(folder + "/scenario.toml");
        const std::string name = std::filesystem::path(folder).filename().string();
        CHECK(lesson.chapter == scenario::chapter_of_folder(name));
        CHECK(lesson.chapter > 0);
        CHECK(!lesson.title.en.empty());
        CHECK(!lesson.title.zh.empty());
        CHECK(lesson.steps_of_lesson.size() >= 4);
        for (const char* language : {"en", "zh"}) {
            INFO(language);
            const auto text = scenario::read_lesson(folder, language);
            CHECK(bullets(text.goals) >= 2);
            CHECK(bullets(text.goals) <= 4);
            CHECK(bullets(text.summary) == 5);
            for (const auto* section : {&text.to_break, &text.to_change}) {
                CHECK(!section->paragraphs.empty());
                const std::string words = prose_of(*section);
                INFO(section->id);
                if (std::string(language) == "en") CHECK(std::count(words.begin(), words.end(), ' ') < 85);
                if (std::string(language) == "zh") CHECK(chinese(words) <= 140);
            }
            for (const auto* section : text.sections()) {
                std::string words = section->heading;  // code may hold what it likes
                scenario::for_each_span(section->paragraphs, [&](const scenario::Span& span) {
                    if (span.kind != scenario::SpanKind::code) words += span.text;
                });
                CHECK(words.find('!') == std::string::npos);
                CHECK(words.find("\xEF\xBC\x81") == std::string::npos);  // full-width exclamation mark
            }
        }
    }
}

TEST_CASE(
    "every lesson has its PyTorch script, which runs alone and prints two numbers of the lesson or more") {
    for (const std::string& folder : lesson_folders()) {
        INFO(folder);
        const std::string script = content(folder + "/pytorch.py");
        const auto lines = std::count(script.begin(), script.end(), '\n');
        CHECK(lines >= 30);
        CHECK(lines <= 100);
        CHECK(script.find("__main__") != std::string::npos);
        const auto names = scenario::number_names(scenario::read_scenario(folder + "/scenario.toml"));
        CHECK(std::count_if(names.begin(), names.end(), [&](const std::string& name) {
                  return script.find(name) != std::string::npos;
              }) >= 2);
    }
}

TEST_CASE("a lesson's steps are short, and nobody is praised or shouted at") {
    for (const std::string& folder : lesson_folders()) {
        for (const auto& step : scenario::read_lesson(folder, "en").steps) {
            const std::string words = prose_of(step);
            INFO(folder << " " << step.id);
            CHECK(std::count(words.begin(), words.end(), ' ') < 75);
            CHECK(words.find('!') == std::string::npos);
        }
        for (const auto& step : scenario::read_lesson(folder, "zh").steps) {
            const std::string words = prose_of(step);
            INFO(folder << " " << step.id);
            CHECK(chinese(words) <= 110);
            CHECK(words.find("\xEF\xBC\x81") == std::string::npos);  // full-width exclamation mark
        }
    }
}

TEST_CASE("what lesson 1 says of other meshes is what DeviceMesh answers") {
    const auto lesson =
        scenario::read_scenario(meshscope::test::source_root() + "/scenarios/12_device_mesh/scenario.toml");

    const DeviceMesh slice = mesh_of(lesson, "slice").slice({"shard"});
    CHECK(slice.ranks(GlobalRank{5}) == Ranks{4, 5, 6, 7});
    CHECK(slice.ranks(GlobalRank{2}) == Ranks{0, 1, 2, 3});
    CHECK(mesh_of(lesson, "by-hand").cost().new_group == 6);
    CHECK(mesh_of(lesson, "one-line").cost().split_group == 2);

    const DeviceMesh cube = mesh_of(lesson, "two-of-three");
    CHECK(cube.coordinate(GlobalRank{1}) == Ranks{0, 0, 1});
    CHECK(cube.coordinate(GlobalRank{5}) == Ranks{1, 0, 1});
    const DeviceMesh sheet = cube.slice({"replicate", "shard"});
    CHECK(sheet.ranks(GlobalRank{1}) == Ranks{1, 3, 5, 7});
    CHECK(sheet.ranks(GlobalRank{4}) == Ranks{0, 2, 4, 6});
    CHECK(sheet.coordinate(GlobalRank{1}) == Ranks{0, 0});
    CHECK(cube.slice({"shard", "tp"}).ranks(GlobalRank{1}) == Ranks{0, 1, 2, 3});
    CHECK_THROWS_AS(mesh_of(lesson, "name-order").slice({"shard", "replicate"}), meshscope::InvalidArgument);

    const DeviceMesh pp_tp = mesh_of(lesson, "pp-tp");
    CHECK(pp_tp.coordinate(GlobalRank{5}) == Ranks{2, 1});
    CHECK(pp_tp.group(GlobalRank{5}, 0) == Ranks{1, 3, 5, 7});
    CHECK(pp_tp.group(GlobalRank{5}, 1) == Ranks{4, 5});

    const auto& world = *std::find_if(lesson.steps_of_lesson.begin(), lesson.steps_of_lesson.end(),
                                      [](const auto& step) { return step.id == "world"; });
    CHECK_THROWS_AS(DeviceMesh::init(world.mesh_shape, world.mesh_names, 6), meshscope::InvalidArgument);
    CHECK(!DeviceMesh::init(world.mesh_shape, world.mesh_names, 9).coordinate(GlobalRank{8}).has_value());
}
