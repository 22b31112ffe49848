#include "core/scenario/keys.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/parallel/model_declaration.h"
#include "core/scenario/scenario.h"
#include "tests/test.h"
#include "tests/tree.h"

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
    std::ifstream in(test::source_root() + "/docs/scenario.md");
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

TEST_CASE("each mesh dim that shares a model out is declared once, and its keys are keys of the format") {
    for (std::size_t i = 0; i < mesh::kRoles; ++i) {
        const auto role = static_cast<mesh::Role>(i);
        INFO(mesh::name(role));
        const auto all = parallel::model_declarations();
        CHECK(std::ranges::count_if(all, [&](const parallel::ModelDeclaration* each) {
                  return each->role == role;
              }) == (mesh::is_data(role) ? 0 : 1));
    }
    for (const parallel::ModelDeclaration* const each : parallel::model_declarations())
        for (const parallel::StrategyKey& declared : each->keys) {
            INFO(declared.name);
            const auto keys = scenario::keys_of(each->table);
            const auto key = std::ranges::find(keys, declared.name, &Key::name);
            REQUIRE(key != keys.end());
            CHECK(key->type == declared.type());
        }
}

namespace {

/// A file in which `key` holds a date, and what must stand around it so that the reader gets there.
std::string file_with_a_date(const Key& key) {
    const std::string entry = std::string(key.name) + " = 2026-01-01\n";
    const std::string table(key.table), format = "format = 1\n";
    if (full_name(key) == "format") return entry;
    if (table.empty()) return format + entry;
    const std::string toy = "[model]\nkind = \"toy\"\n";  // units are looked up in a model
    if (full_name(key) == "parallel.units") return format + toy + "[parallel]\n" + entry;
    if (full_name(key) == "quiz.choice") return format + "[[quiz]]\nkind = \"choice\"\n" + entry;
    static const std::set<std::string> kLists{
        "lesson.step", "lesson.number", "lesson.variant", "lesson.variant.number",
        "quiz",        "quiz.choice",   "quiz.hint",      "check",
        "faults",      "call"};
    std::string text = format;
    if (table.starts_with("quiz.")) text += "[[quiz]]\nkind = \"choice\"\n";
    if (table == "quiz.choice.hint") text += "[[quiz.choice]]\n";
    if (table == "check.title") text += "[[check]]\n";
    if (table == "lesson.variant.number") text += "[[lesson.variant]]\n";
    if (table == "lesson.number.estimate") text += "[[lesson.number]]\n";
    if (table == "lesson.step.mesh") text += "[[lesson.step]]\n";
    return text + (kLists.count(table) ? "[[" + table + "]]\n" : "[" + table + "]\n") + entry;
}

}  // namespace

TEST_CASE("every key of the table is looked at by the reader") {
    // A date has the type of no key: each key that is read must say so.
    for (const Key& key : scenario::keys()) {
        const std::string expected =
            key.support == KeySupport::later ? "scenario.not_supported" : "scenario.wrong_type";
        const std::string text = file_with_a_date(key);
        INFO(text);
        bool found = false;
        try {
            scenario::parse_scenario(text, "dates.toml");
        } catch (const InputError& error) {
            for (const Diagnostic& d : error.diagnostics()) {
                const MessageValue* about = d.message.find("key");
                found |= d.message.id == expected && about && to_text(*about) == full_name(key);
            }
        }
        CHECK(found);
    }
}
