#include "core/jobs/document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/text.h"
#include "core/base/text_file.h"
#include "core/base/toml_text.h"
#include "core/jobs/command_line.h"
#include "core/jobs/json_tree.h"

namespace meshscope::jobs {
namespace {

using nlohmann::json;

enum class Language : uint8_t { json_text, yaml, toml, command };

[[noreturn]] void refuse_document(const std::string& path, Message message, Message hint = {}) {
    throw InputError({{std::move(message), {path, 0, 0, -1}, std::move(hint)}});
}

/// Whether the text has an option of a command line: a word "--key" that no colon ends, as YAML's keys have.
bool has_options(std::string_view text) {
    for (std::size_t at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 2)) {
        if (at > 0 && std::string_view(" \t\n\"'(").find(text[at - 1]) == std::string_view::npos) continue;
        const std::size_t end = std::min(text.find_first_of(" \t\r\n=:", at), text.size());
        if (end > at + 2 && (end == text.size() || text[end] != ':') && text[at + 2] >= 'a' &&
            text[at + 2] <= 'z')
            return true;
    }
    return false;
}

bool has_yaml_keys(std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        // The line's first colon that ends a word.
        std::size_t at = line.find(':');
        while (at != std::string_view::npos && at + 1 < line.size() && line[at + 1] != ' ' &&
               line[at + 1] != '\r')
            at = line.find(':', at + 1);
        if (at == std::string_view::npos) continue;
        const std::string_view key = trimmed(line.substr(0, at));
        if (!key.empty() && key.find_first_of(" \t#$\"'=") == std::string_view::npos) return true;
    }
    return false;
}

Language language_of(const std::string& path, std::string_view text) {
    const std::string_view words = trimmed(text);
    if (path.ends_with(".yaml") || path.ends_with(".yml")) return Language::yaml;
    if (path.ends_with(".toml")) return Language::toml;
    if (path.ends_with(".json") || words.starts_with('{') || words.starts_with("\xEF\xBB\xBF{"))
        return Language::json_text;
    if (path.ends_with(".sh") || (has_options(text) && !has_yaml_keys(text))) return Language::command;
    return Language::yaml;
}

json to_json(const toml::node& node) {
    if (const auto* table = node.as_table()) {
        json made = json::object();
        for (const auto& [key, value] : *table) made[std::string(key.str())] = to_json(value);
        return made;
    }
    if (const auto* array = node.as_array()) {
        json made = json::array();
        for (const toml::node& each : *array) made.push_back(to_json(each));
        return made;
    }
    if (const auto* value = node.as_boolean()) return value->get();
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    return {};  // a date: no program here has one
}

/// 2e8 as 200000000.
void make_whole(json& value) {
    if (value.is_structured())
        for (json& each : value) make_whole(each);
    if (!value.is_number_float()) return;
    const auto number = value.get<double>();
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (std::trunc(number) == number && std::abs(number) <= kExact) value = static_cast<int64_t>(number);
}

json parse(const std::string& path, std::string_view text, std::vector<Twice>& twice) {
    switch (language_of(path, text)) {
        case Language::yaml:
            return parse_yaml(text, path, twice);
        case Language::command:
            return parse_command_line(text, twice);
        case Language::toml:
            return to_json(parse_toml(text, path));
        case Language::json_text:
            break;
    }
    json made = parse_json_tree(text, twice);
    if (made.is_discarded()) refuse_document(path, {"jobs.not_json", {}});
    return made;
}

bool has_any(const json& table, auto... keys) {
    return (table.contains(keys) || ...);
}

bool is_table(const json& root, const char* key) {
    const auto found = root.find(key);
    return found != root.end() && found->is_object();
}

std::optional<Format> format_of(const json& root) {
    if (has_any(root, "MODEL_ARGS")) return Format::megatron;
    if (std::ranges::any_of(root.items(), [](const auto& item) { return item.key().starts_with("--"); }))
        return Format::megatron;
    if (has_any(root, "distributed_type", "compute_environment", "num_processes")) return Format::accelerate;
    if (is_table(root, "parallelism") ||
        (is_table(root, "training") && has_any(root, "model", "model_spec", "job")))
        return Format::torchtitan;
    if (has_any(root, "train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization") ||
        (has_any(root, "gradient_accumulation_steps") && has_any(root, "fp16", "bf16", "optimizer")))
        return Format::deepspeed;
    if (has_any(root, "model_type", "architectures")) return Format::model;
    return std::nullopt;
}

/// --tensor_model_parallel_size, with or without its --, with hyphens.
std::string argument_name(std::string_view key) {
    std::string name(key.starts_with("--") ? "" : "--");
    name += key;
    std::replace(name.begin() + 2, name.end(), '_', '-');
    return name;
}

/// Of a recipe the arguments alone, each "--key" with hyphens; NeMo's, which are paths, as they are. Two
/// spellings of one argument are one key.
void take_arguments(Document& document) {
    constexpr std::string_view kRecipe = "MODEL_ARGS";
    json& root = document.root;
    json arguments = root;
    const auto recipe = root.find(kRecipe);
    if (recipe != root.end()) {
        if (!recipe->is_object() || recipe->empty())
            refuse_document(document.file, {"jobs.empty", {{"field", std::string(kRecipe)}}});
        arguments = *recipe;
        for (Twice& each : document.twice)
            if (each.key.starts_with(std::string(kRecipe) + ".")) each.key.erase(0, kRecipe.size() + 1);
    }
    const auto is_path = [](std::string_view key) {
        return !key.starts_with("--") && key.find('.') != std::string_view::npos;
    };
    if (std::ranges::any_of(arguments.items(), [&](const auto& item) { return is_path(item.key()); }))
        document.format = Format::nemo;
    const auto name_of = [&](const std::string& key) { return is_path(key) ? key : argument_name(key); };
    for (Twice& each : document.twice) each.key = name_of(each.key);
    std::map<std::string, json> given;
    for (auto& [key, value] : arguments.items()) {
        if (value == "false") value = false;
        if (value == "true") value = true;
        if (value.is_string() && document.format == Format::megatron)
            if (json number = yaml_scalar(value.get<std::string>()); number.is_number()) value = number;
        const auto [held, fresh] = given.try_emplace(name_of(key), value);
        if (fresh || held->second == value) continue;
        document.twice.push_back({held->first, json_text(held->second), json_text(value)});
        held->second = std::move(value);
    }
    root = json::object();
    for (auto& [name, value] : given)
        if (value != false) root[name] = std::move(value);  // a command line has no flag that is false
}

}  // namespace

Document read_document(const std::string& path) {
    Document document{path, {}, {}, {}};
    const std::string text = read_text_file(path, kMostJobBytes);
    if (static_cast<int64_t>(text.size()) > kMostJobBytes)
        refuse_document(path, {"jobs.too_large", {{"most", kMostJobBytes}}});
    document.root = parse(path, text, document.twice);
    if (!document.root.is_object()) refuse_document(path, {"jobs.unknown", {}}, {"jobs.hint.known", {}});
    const std::optional<Format> format = format_of(document.root);
    if (!format) refuse_document(path, {"jobs.unknown", {}}, {"jobs.hint.known", {}});
    document.format = *format;
    if (document.format == Format::megatron) take_arguments(document);
    make_whole(document.root);
    return document;
}

}  // namespace meshscope::jobs
