#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "app/gui/session/commands.h"
#include "app/gui/session/keys.h"
#include "app/gui/view/state.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::session;

TEST_CASE("docs/window.md names every command with its usual keys, in the table's order") {
    const std::string page = test::content(test::source_root() + "/docs/window.md");
    std::string expected;
    for (const Command& command : commands()) {
        std::string keys;
        for (const window::KeyPress press : command.keys)
            keys += (keys.empty() ? "`" : ", `") + key_name(press) + "`";
        expected += "| `" + std::string(command.id + 5) + "` | " + (keys.empty() ? "none" : keys) + " |\n";
    }
    INFO(expected);
    CHECK(page.find(expected) != std::string::npos);
}

TEST_CASE("every view has its words in both languages, and docs/window.md a row that tells what it answers") {
    const std::string page = test::content(test::source_root() + "/docs/window.md");
    for (const view::ViewKind kind : view::kViewKinds) {
        const std::string word(view::view_name(kind));
        INFO(word);
        for (const std::string& id : {"ui.view." + word, "ui.view." + word + ".short", "keys." + word})
            for (const auto language : {i18n::Language::en, i18n::Language::zh})
                CHECK(test::catalogue().find(id, language) != nullptr);
        const std::string label = test::catalogue().text("ui.view." + word, i18n::Language::en);
        CHECK(page.find("\n| " + label + " | `" + word + "` | ") != std::string::npos);
    }
}

namespace {

std::string page(const std::string& name) {
    return test::content(test::source_root() + "/docs/" + name);
}

/// What stands between two marks, wherever it does.
std::vector<std::string> between(const std::string& text, const std::string& open, const std::string& close) {
    std::vector<std::string> out;
    for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
        at += open.size();
        const std::size_t end = text.find(close, at);
        if (end == std::string::npos) break;
        out.push_back(text.substr(at, end - at));
        at = end + close.size();
    }
    return out;
}

}  // namespace

TEST_CASE("the pictures of the window's pages are there, told in words, and small") {
    for (const char* name : {"window.md", "sandbox.md", "teaching.md", "teaching.zh.md"}) {
        const auto pictures = between(page(name), "![", ")");
        INFO(name);
        CHECK_FALSE(pictures.empty());
        for (const std::string& picture : pictures) {
            INFO(picture);
            const std::size_t middle = picture.find("](");
            REQUIRE(middle != std::string::npos);
            CHECK(middle >= 20);
            const std::string file = test::source_root() + "/docs/" + picture.substr(middle + 2);
            REQUIRE(std::filesystem::exists(file));
            CHECK(std::filesystem::file_size(file) < 150'000);
        }
    }
}

TEST_CASE("every key that a teacher is told is the usual key of some command") {
    std::set<std::string> usual;
    for (const Command& command : commands())
        for (const window::KeyPress press : command.keys) usual.insert(key_name(press));
    std::size_t told = 0;
    for (const char* name : {"teaching.md", "teaching.zh.md"})
        for (std::string word : between(page(name), "`", "`")) {
            if (word == "空格") word = "Space";
            if (word == "Ctrl +") word = "Ctrl+Plus";
            if (word == "PgUp") word = "PageUp";
            if (!parse_key(word)) continue;
            ++told;
            INFO(name << ": " << word);
            CHECK(usual.count(word) == 1);
        }
    CHECK(told >= 14);
}
