#include "app/i18n/catalogue.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "core/base/cause.h"

namespace meshscope::embedded {
std::string_view texts(std::string_view file);
std::vector<std::string_view> texts_files();
}  // namespace meshscope::embedded

namespace meshscope::i18n {
namespace {

using Table = std::map<std::string, std::string, std::less<>>;

/// Adds the strings of a TOML table under dotted ids.
void flatten(const toml::table& table, const std::string& prefix, const std::string& file, Table& out,
             std::vector<std::string>& problems) {
    for (const auto& [key, node] : table) {
        const std::string id = prefix + std::string(key.str());
        if (const toml::table* inner = node.as_table()) {
            flatten(*inner, id + ".", file, out, problems);
        } else if (const auto* text = node.as_string()) {
            if (!out.emplace(id, text->get()).second)
                problems.push_back(file + ": id " + id + " stands twice");
        } else {
            problems.push_back(file + ": " + id + " is not a text");
        }
    }
}

Language language_of_file(std::string_view file) {
    const bool zh = file.ends_with("/zh.toml") || file.ends_with(".zh.toml");
    return zh ? Language::zh : Language::en;
}

/// What stands between braces: {name}, or {name|one|many}, which is the word that fits the number called
/// name.
struct Placeholder {
    std::string_view name, one, many;
    std::size_t length = 0;  ///< in the text, both braces included; 0: none begins there
    bool has_forms = false;
};

Placeholder placeholder_at(std::string_view text, std::size_t i) {
    const std::size_t close = text.find('}', i);
    if (close == std::string_view::npos) return {};
    const std::string_view inner = text.substr(i + 1, close - i - 1);
    Placeholder found;
    const std::size_t bar = std::min(inner.find('|'), inner.size());
    found.name = inner.substr(0, bar);
    const bool word = std::all_of(found.name.begin(), found.name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (found.name.empty() || !word) return {};
    if (bar < inner.size()) {
        const std::size_t second = inner.find('|', bar + 1);
        if (second == std::string_view::npos ||
            inner.find_first_of("|{", second + 1) != std::string_view::npos)
            return {};
        found.one = inner.substr(bar + 1, second - bar - 1);
        found.many = inner.substr(second + 1);
        found.has_forms = true;
    }
    found.length = close - i + 1;
    return found;
}

}  // namespace

std::string_view name(Language language) {
    return language == Language::zh ? "zh" : "en";
}

Catalogue Catalogue::embedded() {
    std::vector<CatalogueFile> files;
    for (const std::string_view file : meshscope::embedded::texts_files())
        files.push_back({std::string(file), language_of_file(file), meshscope::embedded::texts(file)});
    return from_files(files);
}

Catalogue Catalogue::from_files(const std::vector<CatalogueFile>& files) {
    Catalogue catalogue;
    for (const CatalogueFile& file : files) {
        Table& out = file.language == Language::zh ? catalogue.zh_ : catalogue.en_;
        try {
            const toml::table root = toml::parse(file.text, file.name);
            flatten(root, "", file.name, out, catalogue.problems_);
        } catch (const toml::parse_error& error) {
            std::ostringstream text;
            text << file.name << ":" << error.source().begin.line << ":" << error.source().begin.column
                 << ": " << error.description();
            catalogue.problems_.push_back(text.str());
        }
    }
    return catalogue;
}

const std::string* Catalogue::find(std::string_view id, Language language) const {
    const Table& texts = table(language);
    const auto found = texts.find(id);
    return found == texts.end() ? nullptr : &found->second;
}

std::string Catalogue::text(const Message& message, Language language) const {
    const std::string* found = find(message.id, language);
    if (!found) found = find(message.id, language == Language::zh ? Language::en : Language::zh);
    if (!found) return describe(message);
    std::vector<MessageArg> args = message.args;
    for (MessageArg& arg : args) {
        // What the system says of a file is English, and what a wire says of a frame is a word of a program;
        // the usual ones have texts of their own.
        const auto* const word =
            arg.name == "reason" || arg.name == "fault" ? std::get_if<std::string>(&arg.value) : nullptr;
        if (const std::string* said = word ? find("reason." + *word, language) : nullptr) arg.value = *said;
    }
    if (const std::optional<Message> cause = cause_in(message))
        args.push_back({"cause", text(*cause, language)});
    return fill(*found, args);
}

std::string Catalogue::text(std::string_view id, Language language) const {
    return text(Message{std::string(id), {}}, language);
}

Rule Catalogue::rule(std::string_view rule_id, Language language) const {
    const auto part = [&](std::string_view key) {
        const std::string id = "rule." + std::string(rule_id) + "." + std::string(key);
        const std::string* found = find(id, language);
        if (!found) found = find(id, Language::en);
        return found ? *found : std::string();
    };
    constexpr std::string_view kAgain = "recompute.";
    Rule rule{part("sentence"), part("pytorch")};
    if (!rule.sentence.empty() || !rule_id.starts_with(kAgain)) return rule;
    rule = this->rule(rule_id.substr(kAgain.size()), language);
    if (rule.sentence.empty()) return rule;
    return {text({"recompute.again.sentence", {{"sentence", rule.sentence}}}, language),
            text({"recompute.again.pytorch", {{"pytorch", rule.pytorch}}}, language)};
}

std::vector<std::string> Catalogue::ids(Language language) const {
    std::vector<std::string> result;
    for (const auto& [id, text] : table(language)) result.push_back(id);
    return result;
}

std::string Catalogue::all_text() const {
    std::string result;
    for (const Table* texts : {&en_, &zh_})
        for (const auto& [id, text] : *texts) result += text;
    return result;
}

std::string fill(std::string_view text, const std::vector<MessageArg>& args) {
    std::string result;
    result.reserve(text.size() + 32);
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
            result += c;
            i += 2;
            continue;
        }
        const Placeholder found = c == '{' ? placeholder_at(text, i) : Placeholder{};
        if (found.length == 0) {
            result += c;
            ++i;
            continue;
        }
        const auto arg =
            std::find_if(args.begin(), args.end(), [&](const MessageArg& a) { return a.name == found.name; });
        if (arg == args.end()) {
            result += text.substr(i, found.length);
        } else {
            const std::string value = to_text(arg->value);
            result += !found.has_forms ? value : std::string(value == "1" ? found.one : found.many);
        }
        i += found.length;
    }
    return result;
}

std::vector<std::string> placeholders(std::string_view text) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < text.size();) {
        if ((text[i] == '{' || text[i] == '}') && i + 1 < text.size() && text[i + 1] == text[i]) {
            i += 2;
            continue;
        }
        const Placeholder found = text[i] == '{' ? placeholder_at(text, i) : Placeholder{};
        if (found.length > 0) names.emplace(found.name);
        i += found.length > 0 ? found.length : 1;
    }
    return {names.begin(), names.end()};
}

Language language_from(const std::vector<std::string>& values) {
    for (const std::string& value : values)
        if (!value.empty()) return value.starts_with("zh") ? Language::zh : Language::en;
    return Language::en;
}

}  // namespace meshscope::i18n
