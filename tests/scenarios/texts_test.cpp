#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/mesh/device_mesh.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"
#include "tests/test.h"

namespace scenario = meshscope::scenario;
using meshscope::GlobalRank;
using meshscope::mesh::DeviceMesh;

namespace {

using Ranks = std::vector<int64_t>;

std::vector<std::string> lesson_folders() {
    std::vector<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator(MESHSCOPE_SOURCE_ROOT "/scenarios")) {
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

std::string words_of(const scenario::LessonSection& step) {
    std::string words = step.heading;
    for (const auto& paragraph : step.paragraphs) {
        for (const auto& span : paragraph.spans) words += span.text;
    }
    return words;
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
        std::set<std::string> defined;
        for (const auto& number : lesson.numbers) defined.insert(number.id);
        std::set<std::string> used_en;
        std::set<std::string> used_zh;
        const auto collect = [](std::set<std::string>& into, const std::string& text) {
            for (const std::string& id : scenario::number_ids(text)) into.insert(id);
        };
        for (const auto& step : scenario::read_lesson(folder, "en").steps) {
            collect(used_en, words_of(step));
            CHECK(!step.heading.empty());
        }
        for (const auto& step : scenario::read_lesson(folder, "zh").steps) {
            collect(used_zh, words_of(step));
            CHECK(!step.heading.empty());
        }
        for (const auto& quiz : lesson.quizzes) {
            collect(used_en, quiz.reveal.en);
            collect(used_zh, quiz.reveal.zh);
        }
        CHECK(used_en == defined);
        CHECK(used_zh == defined);
    }
}

TEST_CASE("a lesson's steps are short, and nobody is praised or shouted at") {
    for (const std::string& folder : lesson_folders()) {
        for (const auto& step : scenario::read_lesson(folder, "en").steps) {
            const std::string words = words_of(step);
            INFO(folder << " " << step.id);
            CHECK(std::count(words.begin(), words.end(), ' ') < 75);
            CHECK(words.find('!') == std::string::npos);
        }
        for (const auto& step : scenario::read_lesson(folder, "zh").steps) {
            const std::string words = words_of(step);
            INFO(folder << " " << step.id);
            // UTF-8 leads of three bytes: Chinese characters and their punctuation.
            CHECK(std::count_if(words.begin(), words.end(), [](char c) { return (c & 0xF0) == 0xE0; }) <=
                  110);
            CHECK(words.find("\xEF\xBC\x81") == std::string::npos);  // full-width exclamation mark
        }
    }
}

TEST_CASE("what lesson 1 says of other meshes is what DeviceMesh answers") {
    const auto lesson =
        scenario::read_scenario(MESHSCOPE_SOURCE_ROOT "/scenarios/12_device_mesh/scenario.toml");

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
