#include "app/i18n/catalogue.h"

#include <toml++/toml.h>

#include <algorithm>
#include <set>
#include <sstream>

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

/// The length of the placeholder that starts at text[i] == '{', its closing brace included; 0 when it is
/// none.
std::size_t placeholder_length(std::string_view text, std::size_t i) {
    const std::size_t close = text.find('}', i);
    if (close == std::string_view::npos || close == i + 1) return 0;
    const std::string_view inner = text.substr(i + 1, close - i - 1);
    const bool word = std::all_of(inner.begin(), inner.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    return word ? close - i + 1 : 0;
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
    return found ? fill(*found, message.args) : describe(message);
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
    return {part("sentence"), part("pytorch")};
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
        const std::size_t length = c == '{' ? placeholder_length(text, i) : 0;
        if (length == 0) {
            result += c;
            ++i;
            continue;
        }
        const std::string_view name = text.substr(i + 1, length - 2);
        const auto arg =
            std::find_if(args.begin(), args.end(), [&](const MessageArg& a) { return a.name == name; });
        if (arg == args.end()) {
            result += text.substr(i, length);
        } else {
            result += to_text(arg->value);
        }
        i += length;
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
        const std::size_t length = text[i] == '{' ? placeholder_length(text, i) : 0;
        if (length > 0) names.emplace(text.substr(i + 1, length - 2));
        i += length > 0 ? length : 1;
    }
    return {names.begin(), names.end()};
}

Language language_from(const std::vector<std::string>& values) {
    for (const std::string& value : values)
        if (!value.empty()) return value.starts_with("zh") ? Language::zh : Language::en;
    return Language::en;
}

}  // namespace meshscope::i18n
