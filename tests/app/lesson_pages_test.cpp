#include "app/gui/main/lesson_pages.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "app/gui/main/drawn_svg.h"
#include "app/gui/view/svg.h"
#include "app/gui/window/theme.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using nlohmann::json;
using test::content;
using test::Folder;

namespace {

int write(const std::string& lesson, const std::string& folder) {
    return gui::write_lesson_pages(test::lesson(lesson), {}, {}, folder, test::catalogue(), nullptr);
}

/// Its colours of fills and strokes in the order in which they stand.
std::vector<std::string> colours(const std::string& svg) {
    static const std::regex colour("(?:fill|stroke)=\"(#[0-9A-F]{6})\"");
    const std::string body = svg.substr(svg.find("<defs>"));
    std::vector<std::string> found;
    for (std::sregex_iterator it(body.begin(), body.end(), colour), end; it != end; ++it)
        found.push_back((*it)[1]);
    return found;
}

}  // namespace

TEST_CASE("a lesson's pages hold its texts and answers, and a picture a step in both languages") {
    const Folder folder;
    CHECK(write("63_hsdp", folder.file("pages")) == 16);
    const json lesson = json::parse(content(folder.file("pages/lesson.json")));
    REQUIRE(lesson["steps"].size() == 8);
    const json& gather = lesson["steps"][1];
    CHECK(gather["id"] == "gather");
    CHECK(gather["body"]["en"].get<std::string>().find("turns 55 elements into 110.") != std::string::npos);
    CHECK(gather["body"]["zh"].get<std::string>().find("{{") == std::string::npos);
    const json& told = gather["pictures"]["zh"]["answered"];
    CHECK(told["file"] == "gather.zh.svg");
    CHECK(told["scene"][0] == "all_gather  net1，前向，第 1 跳，共 1 跳");
    CHECK(content(folder.file("pages/gather.zh.svg")).find("all_gather") != std::string::npos);
    CHECK(content(folder.file("pages/gather.en.svg")) != content(folder.file("pages/scatter.en.svg")));
    CHECK(lesson["after"].size() == 3);
    CHECK(lesson["variants"]["change"][0]["key"] == "parallel.reshard_after_forward");
    const json& question = lesson["questions"][0];
    CHECK(question["answer"] == "33");
    CHECK(question["hints"].size() == 4);
}

TEST_CASE("a lesson.json that is somebody else's is refused before any picture is drawn") {
    const Folder folder;
    std::filesystem::create_directory(folder.file("pages"));
    std::ofstream(folder.file("pages/lesson.json")) << "{\"mine\": 1}\n";
    CHECK(test::thrown_id<InvalidArgument>([&] { write("22_ring", folder.file("pages")); }) ==
          "file.other_kind");
    CHECK(std::distance(std::filesystem::directory_iterator(folder.file("pages")), {}) == 1);
    CHECK(content(folder.file("pages/lesson.json")) == "{\"mine\": 1}\n");
}

TEST_CASE("a question's own picture leaves out what it asks, the other one shows it") {
    const Folder folder;
    write("22_ring", folder.file("pages"));
    const json lesson = json::parse(content(folder.file("pages/lesson.json")));
    std::set<std::string> asked;
    for (const json& step : lesson["steps"])
        if (step["pictures"]["en"].contains("asked")) asked.insert(step["id"]);
    CHECK(asked == std::set<std::string>{"chunks", "gathered"});
    const json& chunks = lesson["steps"][0]["pictures"]["en"];
    REQUIRE(lesson["steps"][0]["id"] == "chunks");
    const std::string sends = "rank 0 → rank 1  chunk 3";
    CHECK(chunks["asked"]["scene"].dump().find(sends) == std::string::npos);
    CHECK(chunks["answered"]["scene"].dump().find(sends) != std::string::npos);
    CHECK(content(folder.file("pages/chunks.en.asked.svg")) != content(folder.file("pages/chunks.en.svg")));
}

TEST_CASE("where only a picture's words leave out what is asked, they do so beside the same file") {
    const Folder folder;
    write("51_adam_memory", folder.file("pages"));
    const json lesson = json::parse(content(folder.file("pages/lesson.json")));
    REQUIRE(lesson["questions"][0]["answer"] == "12864");
    for (const char* language : {"en", "zh"}) {
        const json& pictures = lesson["steps"][0]["pictures"][language];
        REQUIRE(pictures.contains("asked"));
        CHECK(pictures["asked"]["file"] == pictures["answered"]["file"]);
        CHECK(pictures["asked"]["scene"].dump().find("12,864") == std::string::npos);
        CHECK(pictures["answered"]["scene"].dump().find("12,864") != std::string::npos);
    }
}

TEST_CASE("a picture in two themes is the light one, with one dark colour for each of its own") {
    using view::Token;
    view::Picture picture;
    for (const Token token : {Token::panel, Token::text, Token::sky, Token::compute}) {
        view::Shape shape;
        shape.kind = view::ShapeKind::rect;
        shape.box = {0, 0, 10, 10};
        shape.fill = token;
        shape.stroke = Token::line;
        picture.shapes.push_back(shape);
        // White on a hue, which stays white, is in the light theme the colour of the panel.
        shape.kind = view::ShapeKind::text;
        shape.text = "=\"#1";
        shape.fill = Token::ink;
        shape.on = token;
        picture.shapes.push_back(shape);
    }
    const auto light = gui::palette(window::theme(window::ThemeKind::light));
    const auto dark = gui::palette(window::theme(window::ThemeKind::dark));
    const std::string both = view::svg(picture, light, dark);
    const auto own = colours(both), as_light = colours(view::svg(picture, light)),
               as_dark = colours(view::svg(picture, dark));
    REQUIRE(own.size() == as_light.size());
    REQUIRE(own.size() > 12);
    const std::string rules = both.substr(0, both.find("</style>"));
    std::map<std::string, std::string> dark_of;
    for (std::size_t i = 0; i < own.size(); ++i) {
        INFO(own[i] << ' ' << as_light[i] << ' ' << as_dark[i]);
        CHECK(own[i].substr(0, 5) == as_light[i].substr(0, 5));
        CHECK(dark_of.emplace(own[i], as_dark[i]).first->second == as_dark[i]);
        CHECK(rules.find("[fill=\"" + own[i] + "\"]{fill:" + as_dark[i] + "}") != std::string::npos);
    }
    CHECK(std::set(as_light.begin(), as_light.end()).size() < dark_of.size());
}
