#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/scenario/keys.h"
#include "tests/sanitizer.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

/// A key somewhere in a file: the tables and list elements that lead to it, and its name.
struct Place {
    std::vector<std::string> path;  ///< names of tables, "3" for an element of a list
    std::string table, key;         ///< as keys() has them
};

void collect(toml::node& node, const std::string& table, std::vector<std::string>& path,
             std::vector<Place>& into) {
    if (toml::table* inner = node.as_table()) {
        for (auto&& [key, value] : *inner) {
            const std::string name(key.str());
            into.push_back({path, table, name});
            path.push_back(name);
            collect(value, table.empty() ? name : table + "." + name, path, into);
            path.pop_back();
        }
    } else if (toml::array* list = node.as_array()) {
        for (std::size_t i = 0; i < list->size(); ++i) {
            if (!list->get(i)->is_table()) continue;
            path.push_back(std::to_string(i));
            collect(*list->get(i), table, path, into);
            path.pop_back();
        }
    }
}

toml::table& table_at(toml::table& root, const std::vector<std::string>& path) {
    toml::node* node = &root;
    for (const std::string& part : path)
        node = node->is_array() ? node->as_array()->get(std::stoul(part)) : node->as_table()->get(part);
    return *node->as_table();
}

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

/// Scenarios that hold together every key there is, so that each is tried beside those it has to do with.
std::vector<std::pair<std::string, std::string>> scenarios() {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/scenarios"))
        if (std::filesystem::exists(entry.path() / "scenario.toml"))
            found.emplace_back((entry.path() / "scenario.toml").string(),
                               text_of((entry.path() / "scenario.toml").string()));
    std::ranges::sort(found);
    return found;
}

/// Every place of a scenario changed by `change`, one at a time; what is found each time.
template <class Change>
std::vector<std::string> more_than_one(const Change& change) {
    std::vector<std::string> wrong;
    std::size_t tried = 0;
    std::map<std::string, int> of_key;
    for (const auto& [path, text] : scenarios()) {
        toml::table root = toml::parse(text, path);
        std::vector<Place> places;
        std::vector<std::string> way;
        collect(root, "", way, places);
        for (const Place& place : places) {
            const auto known = scenario::keys_of(place.table);
            const auto key = std::ranges::find(known, place.key, &scenario::Key::name);
            if (key == known.end()) continue;  // of a variant's `set`
            // The same key in twenty scenarios is tried beside twenty sets of others; more brings no more.
            if (++of_key[place.table + "." + place.key] > (kSanitizer ? 2 : 20)) continue;
            toml::table changed = toml::parse(text, path);
            if (!change(table_at(changed, place.path), *key)) continue;
            std::ostringstream source;
            source << changed;
            ++tried;
            std::string all;
            const std::vector<std::string> found =
                mistakes_of([&] { scenario::parse_scenario(source.str(), path); });
            for (const std::string& mistake : found) all += "\n    " + mistake;
            if (found.size() != 1 || found.front() == "(none)")
                wrong.push_back(path + ": " + place.table + "." + place.key + all);
        }
    }
    CHECK(tried > (kSanitizer ? 40 : 100));  // the lessons hold some 30 keys that take a number
    return wrong;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("a value of a wrong type is one mistake whatever else the file says") {
    const auto wrong = more_than_one([](toml::table& table, const scenario::Key& key) {
        table.insert_or_assign(key.name, toml::date{1979, 5, 27});  // no key takes one
        return true;
    });
    INFO(joined(wrong));
    CHECK(wrong.empty());
}

TEST_CASE("a number out of its range is one mistake whatever else the file says") {
    const auto wrong = more_than_one([](toml::table& table, const scenario::Key& key) {
        if (!table.get(key.name)->is_integer() || key.name == "format") return false;
        table.insert_or_assign(key.name, int64_t{-1} << 60);
        return true;
    });
    INFO(joined(wrong));
    CHECK(wrong.empty());
}

TEST_CASE("a misspelt key is one mistake whatever else the file says") {
    const auto wrong = more_than_one([](toml::table& table, const scenario::Key& key) {
        const std::string name = std::string(key.name) + "x";
        // What is meant must be clear: two letters are near to much.
        if (key.name.size() < 4 || key.name == "format") return false;
        toml::node* const node = table.get(key.name);
        node->visit([&](auto& value) { table.insert_or_assign(name, std::move(value)); });
        table.erase(key.name);
        return true;
    });
    INFO(joined(wrong));
    CHECK(wrong.empty());
}

TEST_CASE("what two readers find in one table is told once") {
    CHECK(mistakes(kDdp + "join = true\n[data]\npadded = [8]\nmasked = -100\n") ==
          std::vector<std::string>{"11:1 scenario.unknown_key", "12:1 scenario.unknown_key"});
}
