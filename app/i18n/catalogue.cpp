#include "app/i18n/catalogue.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/toml_text.h"

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

/// What stands between braces: {name}; {name:ranks}, a list of ranks; or {name|one|many}, which is the word
/// that fits the number called name, or how many its list has.
struct Placeholder {
    std::string_view name, one, many;
    std::size_t length = 0;  ///< in the text, both braces included; 0: none begins there
    bool has_forms = false;
    bool is_ranks = false;
};

Placeholder placeholder_at(std::string_view text, std::size_t i) {
    const std::size_t close = text.find('}', i);
    if (close == std::string_view::npos) return {};
    const std::string_view inner = text.substr(i + 1, close - i - 1);
    Placeholder found;
    const std::size_t bar = std::min(inner.find('|'), inner.size());
    found.name = inner.substr(0, bar);
    constexpr std::string_view kRanks = ":ranks";
    if (bar == inner.size() && found.name.ends_with(kRanks)) {
        found.name.remove_suffix(kRanks.size());
        found.is_ranks = true;
    }
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

/// What the system says of a file, and what types are called, is English; what a wire says of a frame is a
/// word of a program. The usual ones have texts of their own; null where there is none.
const std::string* own_text(const Catalogue& texts, const std::string& id, const MessageArg& arg,
                            Language language) {
    const auto* const word = std::get_if<std::string>(&arg.value);
    if (word == nullptr) return nullptr;
    if (arg.name == "reason" || arg.name == "fault") return texts.find("reason." + *word, language);
    const bool is_type = id == "scenario.wrong_type" && (arg.name == "wanted" || arg.name == "found");
    return is_type ? texts.find("type." + *word, language) : nullptr;
}

/// Whether the letter that begins at `at` is Chinese, or one of its signs: three bytes from U+3000 on.
bool is_chinese(std::string_view text, std::size_t at) {
    if (at + 2 >= text.size()) return false;
    const auto lead = static_cast<unsigned char>(text[at]);
    return lead >= 0xE3 && lead <= 0xEF;
}

/// In Chinese a shortened list ends in a word; no space follows it before the next word.
bool has_needless_space(std::string_view before, std::string_view after) {
    return after.starts_with(' ') && is_chinese(after, 1) && before.size() >= 3 &&
           is_chinese(before, before.size() - 3);
}

std::string words_of(const std::vector<int64_t>& ranks, const AndMore& and_more) {
    const FoldedRanks folded = fold_ranks(ranks);
    return folded.more == 0 ? folded.shown : and_more ? and_more(folded) : folded_ranks(ranks);
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
            flatten(parse_toml(file.text, file.name), "", file.name, out, catalogue.problems_);
        } catch (const InputError& error) {
            const Diagnostic& found = error.diagnostics().front();
            catalogue.problems_.push_back(file.name + ":" + std::to_string(found.position.line) + ":" +
                                          std::to_string(found.position.column) + ": " +
                                          describe(found.message));
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
        if (const std::string* said = own_text(*this, message.id, arg, language)) arg.value = *said;
        // Names, paths and words come from files and other processes; the sentence goes to a person.
        if (auto* const given = std::get_if<std::string>(&arg.value)) *given = printable(*given, "\n\t");
    }
    if (const std::optional<Message> cause = cause_in(message))
        args.push_back({"cause", text(*cause, language)});
    return fill(*found, args, [&](const FoldedRanks& ranks) {
        return text({"ranks.and_more", {{"shown", ranks.shown}, {"more", ranks.more}}}, language);
    });
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

std::string fill(std::string_view text, const std::vector<MessageArg>& args, const AndMore& and_more) {
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
            const auto* const list = std::get_if<std::vector<int64_t>>(&arg->value);
            if (found.has_forms) {
                const bool is_one = list != nullptr ? list->size() == 1 : to_text(arg->value) == "1";
                result += is_one ? found.one : found.many;
            } else {
                result += found.is_ranks && list != nullptr ? words_of(*list, and_more) : to_text(arg->value);
            }
        }
        i += found.length;
        if (found.is_ranks && has_needless_space(result, text.substr(i))) ++i;
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
