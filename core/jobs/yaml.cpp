#include "core/jobs/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/digits.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/text.h"

namespace meshscope::jobs {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 9> kTrue{"yes",  "Yes", "YES", "true", "True",
                                                "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 9> kFalse{"no",    "No",  "NO",  "false", "False",
                                                 "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};

bool is_one_of(std::string_view word, const auto& words) {
    return std::ranges::find(words, word) != words.end();
}

/// The number that a word is: decimal, with _ between digits.
std::optional<json> number_of(std::string_view word) {
    std::string digits;
    bool fraction = false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char c = word[i];
        if (c == '_' && i > 0) continue;
        if (c == '+' && i == 0) continue;
        if (!is_digit(c) &&
            !((c == '-' || c == '+') && (i == 0 || word[i - 1] == 'e' || word[i - 1] == 'E')) && c != '.' &&
            c != 'e' && c != 'E')
            return std::nullopt;
        fraction = fraction || c == '.' || c == 'e' || c == 'E';
        digits += c;
    }
    const std::size_t first = digits.find_first_not_of('-');
    if (first == std::string::npos || first > 1) return std::nullopt;
    const bool begins = digits[first] != 'e' && digits[first] != 'E';
    // A number that begins with 0 is octal to YAML 1.1 and decimal to YAML 1.2: it stays text.
    if (!begins || (!fraction && digits[first] == '0' && digits.size() > first + 1)) return std::nullopt;
    const char* const end = digits.data() + digits.size();
    if (!fraction) {
        int64_t whole = 0;
        const auto read = std::from_chars(digits.data(), end, whole);
        if (read.ec == std::errc() && read.ptr == end) return json(whole);
        return std::nullopt;
    }
    double value = 0;
    const auto read = std::from_chars(digits.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && std::isfinite(value)) return json(value);
    return std::nullopt;
}

/// What a value takes with all that is in it.
struct Weight {
    int64_t values = 1, bytes = 0;
};

/// A list or table that is not closed yet.
struct Open {
    json value;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::optional<std::string> key;  ///< of a table, whose value comes next
    std::vector<json> merged;        ///< what its merge keys name
    Weight weight{};
};

struct Anchored {
    json value;
    Weight weight;
};

class Builder : public YAML::EventHandler {
  public:
    Builder(const std::string& path, std::vector<Twice>& twice) : path_(path), twice_(&twice) {}

    json take() { return std::move(root_); }

    [[noreturn]] void refuse(const YAML::Mark& mark, Message message) const {
        const bool known = mark.line >= 0 && mark.column >= 0;
        throw InputError(
            {{std::move(message), {path_, known ? mark.line + 1 : 0, known ? mark.column + 1 : 0, -1}, {}}});
    }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, json(), {}, ""); }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end())  // the value that it stands in
            refuse(mark, {"yaml.syntax", {{"detail", std::string("an alias inside its own value")}}});
        count(mark, found->second.weight);
        add(mark, YAML::NullAnchor, found->second.value, found->second.weight, "");
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        const Weight weight{1, static_cast<int64_t>(value.size())};
        count(mark, weight);
        check_tag(mark, tag);
        add(mark, anchor, tag == "?" || tag.empty() ? yaml_scalar(value) : json(value), weight, value);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, json::array());
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, json::object());
    }
    void OnMapEnd() override {
        Open& top = open_.back();
        for (const json& each : top.merged) top.value.insert(each.begin(), each.end());  // never over a key
        close();
    }

  private:
    void count(const YAML::Mark& mark, const Weight& more) {
        all_.values += more.values;
        all_.bytes += more.bytes;
        if (all_.values > kMostYamlValues) refuse(mark, {"yaml.too_many", {{"most", kMostYamlValues}}});
        if (all_.bytes > kMostYamlBytes) refuse(mark, {"yaml.too_long", {{"most", kMostYamlBytes}}});
    }

    /// Only the tags of plain values, or none: a file shall not name types of a program.
    void check_tag(const YAML::Mark& mark, const std::string& tag) const {
        if (tag.empty() || tag == "?" || tag == "!") return;
        for (const char* known : {"str", "int", "float", "bool", "null", "map", "seq"})
            if (tag == std::string("tag:yaml.org,2002:") + known) return;
        refuse(mark, {"yaml.tag", {{"tag", tag}}});
    }

    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, json empty) {
        count(mark, {});
        check_tag(mark, tag);
        if (open_.size() >= static_cast<std::size_t>(kMostJsonDepth))
            refuse(mark, {"yaml.too_deep", {{"most", int64_t{kMostJsonDepth}}}});
        if (!open_.empty() && open_.back().value.is_object() && !open_.back().key)
            refuse(mark, {"yaml.key", {}});
        Open& made = open_.emplace_back();
        made.value = std::move(empty);
        made.anchor = anchor;
        mark_ = mark;
    }

    void close() {
        Open done = std::move(open_.back());
        open_.pop_back();
        add(mark_, done.anchor, std::move(done.value), done.weight, "");
    }

    /// A whole value, in its place; `word` is its text where it is a plain one.
    void add(const YAML::Mark& mark, YAML::anchor_t anchor, json value, Weight weight,
             const std::string& word) {
        if (anchor != YAML::NullAnchor) {
            count(mark, weight);  // it is kept for the aliases
            anchors_[anchor] = {value, weight};
        }
        if (open_.empty()) {
            root_ = std::move(value);
            return;
        }
        Open& top = open_.back();
        top.weight.values += weight.values;
        top.weight.bytes += weight.bytes;
        if (top.value.is_array())
            top.value.push_back(std::move(value));
        else if (!top.key)
            begin_pair(mark, top, value, word);
        else
            end_pair(mark, top, std::move(value));
    }

    void begin_pair(const YAML::Mark& mark, Open& top, const json& value, const std::string& word) {
        if (value.is_structured() || (value.is_null() && word.empty())) refuse(mark, {"yaml.key", {}});
        top.key = value.is_string() ? value.get<std::string>() : word;
    }

    void end_pair(const YAML::Mark& mark, Open& top, json value) {
        const std::string key = *std::exchange(top.key, std::nullopt);
        if (key != "<<") {
            const auto held = top.value.find(key);
            if (held != top.value.end() && *held != value && twice_->size() < kMostTwice)
                twice_->push_back(
                    {full(key), json_text(*held), json_text(value), mark.line + 1, mark.column + 1});
            top.value[key] = std::move(value);
            return;
        }
        if (value.is_object()) value = json::array({std::move(value)});
        const bool fine =
            value.is_array() && std::ranges::all_of(value, [](const json& each) { return each.is_object(); });
        if (!fine) refuse(mark, {"yaml.merge", {}});
        for (json& each : value) top.merged.push_back(std::move(each));
    }

    /// A key of the innermost table, with what that stands in: "fsdp_config.key", "list[2].key".
    std::string full(const std::string& key) const {
        std::string path;
        for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
            const Open& each = open_[i];
            const bool in_table = open_[i + 1].value.is_object();
            path += each.key ? *each.key : "[" + std::to_string(each.value.size()) + "]";
            if (in_table) path += ".";
        }
        return path + key;
    }

    std::string path_;
    json root_;
    std::vector<Open> open_;
    std::map<YAML::anchor_t, Anchored> anchors_;
    std::vector<Twice>* twice_;
    YAML::Mark mark_;
    Weight all_{0, 0};
};

/// What the library would mend in silence: bytes that are no UTF-8, and lines that a tab begins.
void check_text(std::string_view text, const Builder& builder) {
    YAML::Mark mark;
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint c = code_point_at(text, i);
        if (!c.valid || c.value == 0) builder.refuse(mark, {"yaml.not_text", {}});
        if (c.value == '\t' && mark.column == 0) {
            const std::size_t word = text.find_first_not_of(" \t", i);
            const bool empty = word == std::string_view::npos || text[word] == '\n' || text[word] == '\r';
            if (!empty && text[word] != '#') builder.refuse(mark, {"yaml.tab", {}});
        }
        mark.line += c.value == '\n' ? 1 : 0;
        mark.column = c.value == '\n' ? 0 : mark.column + 1;
        i += c.bytes;
    }
}

}  // namespace

json yaml_scalar(std::string_view word) {
    if (is_one_of(word, kNull)) return json();
    if (is_one_of(word, kTrue)) return json(true);
    if (is_one_of(word, kFalse)) return json(false);
    if (const auto number = number_of(word)) return *number;
    return json(std::string(word));
}

json parse_yaml(std::string_view text, const std::string& path, std::vector<Twice>& twice) {
    Builder builder(path, twice);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    check_text(text, builder);
    std::istringstream stream{std::string(text)};
    try {
        YAML::Parser parser(stream);
        if (!parser.HandleNextDocument(builder)) return json();
        json root = builder.take();
        if (parser.HandleNextDocument(builder))
            builder.refuse(YAML::Mark::null_mark(), {"yaml.documents", {}});
        return root;
    } catch (const YAML::Exception& error) {
        builder.refuse(error.mark, {"yaml.syntax", {{"detail", error.msg}}});
    }
}

}  // namespace meshscope::jobs
