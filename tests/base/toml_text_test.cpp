#include "core/base/toml_text.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/random.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

/// "line:column id", or "" for what reads. `hint` becomes the hint's id.
std::string refused(const std::string& text, std::string* hint = nullptr) {
    try {
        parse_toml(text, "f.toml");
        return "";
    } catch (const InputError& error) {
        const Diagnostic& found = error.diagnostics().at(0);
        if (hint) *hint = found.hint.id;
        return std::to_string(found.position.line) + ":" + std::to_string(found.position.column) + " " +
               found.message.id;
    }
}

std::string repeated(int n, const std::string& part) {
    std::string text;
    for (int i = 0; i < n; ++i) text += part;
    return text;
}

/// Tables and arrays below a node, itself included; what its walkers and its end call themselves.
int depth_of(const toml::node& node) {
    int deepest = 0;
    if (const auto* table = node.as_table())
        for (const auto& [key, value] : *table) deepest = std::max(deepest, depth_of(value));
    if (const auto* array = node.as_array())
        for (const toml::node& value : *array) deepest = std::max(deepest, depth_of(value));
    return node.is_table() || node.is_array() ? deepest + 1 : 0;
}

}  // namespace

TEST_CASE("TOML of any depth is refused before anything calls itself") {
    constexpr int kDeep = 300'000;  // a tenth of it is more than a stack holds
    CHECK(refused("a" + repeated(kDeep, ".a") + " = 1") == "1:128 toml.too_deep");
    CHECK(refused("\n\n[a" + repeated(kDeep, ".a") + "]") == "3:129 toml.too_deep");
    CHECK(refused("[[a" + repeated(kDeep, ".a") + "]]") == "1:130 toml.too_deep");
    CHECK(refused("a = " + repeated(kDeep, "[")) == "1:68 toml.too_deep");
    CHECK(refused("a = " + repeated(kDeep / 2, "{b=")) == "1:194 toml.too_deep");
    CHECK(refused("a = " + repeated(kDeep / 4, "[{b=")) == "1:130 toml.too_deep");
    CHECK(refused("[[x.\"a.b\"]]\nk = {分 = [" + repeated(kDeep, "[")).starts_with("2:"));
}

TEST_CASE("headers, dotted keys and brackets count together, strings and comments do not") {
    const std::string half = "[a" + repeated(31, ".a") + "]\n";
    CHECK(refused(half + "b" + repeated(31, ".b") + " = 1").empty());
    CHECK(refused(half + "b" + repeated(32, ".b") + " = 1") == "2:64 toml.too_deep");
    CHECK(refused(half + "b = " + repeated(31, "[") + repeated(31, "]")).empty());
    CHECK(refused(half + "b = " + repeated(32, "[") + repeated(32, "]")) == "2:36 toml.too_deep");
    const std::string dots = repeated(100, ".") + repeated(100, "[") + repeated(100, "{");
    for (const std::string& text :
         {"a = \"" + dots + "\"", "a = '" + dots + "'", "a = \"\"\"\n" + dots + "\n\"\"\"\"\"",
          "a = '''" + dots + "''''", "a = \"\\\"" + dots + "\"", "# " + dots + "\na = 1 # " + dots,
          "\"" + dots + "\" = 1", "a = [1.5, 2.5" + repeated(200, ", 1.5") + "]",
          "a = [{b = 1}" + repeated(200, ", {b.c = 1}") + "]"})
        CHECK(refused(text).empty());
    // What is behind a string is seen again.
    CHECK(refused("a = '''x'''''\nb" + repeated(100, ".b") + " = 1") == "2:128 toml.too_deep");
    CHECK(refused("a = \"\"\"x\\\"\"\"\"\nb" + repeated(100, ".b") + " = 1") == "2:128 toml.too_deep");
    CHECK(refused("\xEF\xBB\xBF[a" + repeated(100, ".a") + "]").ends_with("toml.too_deep"));
}

TEST_CASE("no text that reads is deeper than the limit says, whatever it is made of") {
    constexpr std::array<const char*, 22> kParts{
        "a",    ".b",  "[",      "]",    "{",  "}", "=",      "= 1\n", "\n", "[[a",      "]]\n",
        "'''x", "'''", "\"\"\"", "\\\"", "\"", "'", "# [[\n", ", ",    " ",  ".\"a.b\"", "= {c.d = ["};
    int read = 0;
    for (uint64_t seed = 0; seed < 20'000; ++seed) {
        std::string text;
        const uint64_t n = 1 + uniform_below(12, seed, 0, 0);
        for (uint64_t i = 0; i < n; ++i) text += kParts[uniform_below(kParts.size(), seed, 1, i)];
        const std::string deep = text + "\nz" + repeated(70, ".z") + " = 1\n";
        // Where the text itself reads and leaves no bracket or string open, what follows is seen as it is.
        if (!refused(text).empty()) continue;
        ++read;
        INFO(text);
        const std::string why = refused(deep);
        CHECK((why.ends_with("toml.too_deep") || why.ends_with("toml.syntax")));
        CHECK(depth_of(parse_toml(text, "")) <= 2 * kMostTomlDepth);
    }
    CHECK(read > 100);
}

TEST_CASE("TOML above a megabyte is refused before it is read") {
    CHECK(refused(std::string((1 << 20) + 1, '#')) == "0:0 toml.too_large");
    CHECK(refused(std::string(1 << 20, '#')).empty());
}

TEST_CASE("the slips that are made most are told with what to write instead") {
    const auto hint = [](const std::string& text) {
        std::string id;
        CHECK(refused(text, &id).find(" toml.syntax.") !=
              std::string::npos);  // in our words, not the parser's
        return id;
    };
    CHECK(hint("kind = adamw\n") == "toml.hint.quotes");
    CHECK(hint("names = [dp, tp]\n") == "toml.hint.quotes");
    CHECK(hint("a = 1\na = 2\n") == "toml.hint.once");
    CHECK(hint("[a]\n[b]\n[a]\n") == "toml.hint.once");
    CHECK(hint("steps: 2\n") == "toml.hint.pair");
    CHECK(hint("a = \"b\n").empty());
}
