#include "core/scenario/keys.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/scenario/scenario.h"
#include "tests/test.h"

using namespace meshscope;
using scenario::Key;
using scenario::KeySupport;

namespace {

struct Row {
    std::string type, fallback, meaning;
};

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" ");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" ") - first + 1);
}

/// The rows of docs/scenario.md: "table.key" → the other cells. A section is opened by "### `[train]`" or
/// "### `[[quiz]]`".
std::map<std::string, Row> documented() {
    std::ifstream in(std::string(MESHSCOPE_SOURCE_ROOT) + "/docs/scenario.md");
    REQUIRE(in);
    std::map<std::string, Row> rows;
    std::string table = "?";
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("### `")) {
            table = line.substr(5, line.find('`', 5) - 5);
            table.erase(0, table.find_first_not_of("["));
            table = table.substr(0, table.find(']'));
            if (table == "top") table.clear();
        } else if (line.starts_with("## ")) {
            table = "?";
        } else if (line.starts_with("| `") && table != "?") {
            std::vector<std::string> cells;
            std::istringstream split(line.substr(1));
            for (std::string cell; std::getline(split, cell, '|');) cells.push_back(trimmed(cell));
            REQUIRE(cells.size() == 4);
            const std::string key = cells[0].substr(1, cells[0].find('`', 1) - 1);
            const std::string full = table.empty() ? key : table + "." + key;
            INFO(full);
            CHECK(rows.emplace(full, Row{cells[1], cells[2], cells[3]}).second);
        }
    }
    return rows;
}

std::string full_name(const Key& key) {
    return key.table.empty() ? std::string(key.name) : std::string(key.table) + "." + std::string(key.name);
}

std::string without_marks(std::string text) {
    std::string result;
    for (const char c : text)
        if (c != '`') result += c;
    return result;
}

}  // namespace

TEST_CASE("docs/scenario.md tables every key with the reader's type and default, and no other") {
    const auto rows = documented();
    std::set<std::string> known;
    for (const Key& key : scenario::keys()) {
        const std::string full = full_name(key);
        INFO(full);
        CHECK(known.insert(full).second);
        const auto row = rows.find(full);
        REQUIRE(row != rows.end());
        CHECK(row->second.type == key.type);
        CHECK(without_marks(row->second.fallback) == key.fallback);
        CHECK(row->second.meaning.size() > 5);
        CHECK((row->second.meaning.find("not in this version") != std::string::npos) ==
              (key.support == KeySupport::later));
    }
    for (const auto& [full, row] : rows) {
        INFO(full);
        CHECK(known.count(full) == 1);
    }
}

TEST_CASE("every key of the table is looked at by the reader") {
    // A date has the type of no key: each key that is read must say so, at its place.
    for (const Key& key : scenario::keys()) {
        const std::string full = full_name(key);
        INFO(full);
        std::string text = "format = 1\n";
        std::string expected =
            key.support == KeySupport::later ? "scenario.not_supported" : "scenario.wrong_type";
        if (full == "format") text.clear();
        // Tables inside arrays of tables need their outer entry.
        if (key.table.starts_with("quiz.")) text += "[[quiz]]\n";
        if (key.table == "quiz.choice.hint") text += "[[quiz.choice]]\n";
        if (key.table == "lesson.step.mesh") text += "[[lesson.step]]\n";
        if (key.table.starts_with("quiz.choice") || key.table == "quiz.choice")
            text.insert(text.find("[[quiz]]\n") + 9, "kind = \"choice\"\n");
        const bool listed = key.table == "lesson.step" || key.table == "lesson.number" ||
                            key.table == "quiz" || key.table == "quiz.choice" || key.table == "quiz.hint" ||
                            key.table == "check";
        if (key.table == "quiz" && key.name == "choice")
            text += "[[quiz]]\nkind = \"choice\"\n";
        else if (!key.table.empty())
            text += (listed ? "[[" : "[") + std::string(key.table) + (listed ? "]]\n" : "]\n");
        if (full == "parallel.units") text += "data = \"fsdp2\"\n[model]\nkind = \"toy\"\n[parallel2]\n";
        if (full == "parallel.units") text = "format = 1\n[model]\nkind = \"toy\"\n[parallel]\n";
        text += std::string(key.name) + " = 2026-01-01\n";
        bool found = false;
        try {
            scenario::parse_scenario(text, "dates.toml");
        } catch (const InputError& error) {
            for (const Diagnostic& d : error.diagnostics()) {
                const MessageValue* about = d.message.find("key");
                found |= d.message.id == expected && about && to_text(*about) == full;
            }
        }
        INFO(text);
        CHECK(found);
    }
}
