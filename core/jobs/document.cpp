#include "core/jobs/document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/text.h"
#include "core/base/text_file.h"
#include "core/base/toml_text.h"
#include "core/jobs/command_line.h"

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
    json made = parse_json<json>(text);
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

/// Of a recipe the arguments alone, each "--key" with hyphens; NeMo's, which are paths, as they are.
void take_arguments(Document& document) {
    json& root = document.root;
    json arguments = root;
    if (const auto recipe = root.find("MODEL_ARGS"); recipe != root.end()) {
        if (!recipe->is_object() || recipe->empty())
            refuse_document(document.file, {"jobs.empty", {{"field", std::string("MODEL_ARGS")}}});
        arguments = *recipe;
    }
    json made = json::object();
    for (auto& [key, value] : arguments.items()) {
        std::string name = key;
        if (name.starts_with("--")) {
            std::replace(name.begin() + 2, name.end(), '_', '-');
        } else if (name.find('.') != std::string::npos) {
            document.format = Format::nemo;
        } else {
            name = "--" + name;
            std::replace(name.begin() + 2, name.end(), '_', '-');
        }
        // As the command line has it: a flag that is false is not given.
        if (value == false || value == "false") continue;
        if (value == "true") value = true;
        if (value.is_string() && document.format == Format::megatron)
            if (json number = yaml_scalar(value.get<std::string>()); number.is_number()) value = number;
        made[name] = std::move(value);
    }
    root = std::move(made);
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
