#include "app/gui/sandbox/toml_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/toml_text.h"
#include "core/scenario/keys.h"

namespace meshscope::sandbox {
namespace {

/// The place of a key among those of its table in docs/scenario.md; what is not there comes last.
std::size_t place_of(std::string_view table, std::string_view name) {
    std::size_t place = 0;
    for (const scenario::Key& key : scenario::keys()) {
        if (key.table == table && key.name == name) return place;
        ++place;
    }
    return place;
}

std::vector<std::string> ordered_keys(const toml::table& table, std::string_view path) {
    std::vector<std::string> names;
    for (const auto& [key, node] : table) names.emplace_back(key.str());
    std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
        return place_of(path, a) < place_of(path, b);
    });
    return names;
}

bool is_array_of_tables(const toml::node& node) {
    const toml::array* array = node.as_array();
    return array != nullptr && !array->empty() && array->is_homogeneous(toml::node_type::table);
}

/// TOML lets a key stand bare when it has letters, digits, "-" and "_" only.
std::string key_text(const std::string& key) {
    const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_';
    });
    return bare ? key : toml_string(key);
}

/// Tables of one line: a title, a precision. A table that is a section of the file stands on its own.
bool stands_on_one_line(const std::string& path) {
    return path == "title" || path.find('.') != std::string::npos;
}

void write_table(std::string& out, const toml::table& table, const std::string& path) {
    std::vector<std::string> sections;
    for (const std::string& name : ordered_keys(table, path)) {
        const toml::node& node = *table.get(name);
        const std::string inner = path.empty() ? name : path + "." + name;
        if (is_array_of_tables(node) || (node.is_table() && !stands_on_one_line(inner))) {
            sections.push_back(name);
            continue;
        }
        out += key_text(name) + " = " + value_text(node) + "\n";
    }
    for (const std::string& name : sections) {
        const toml::node& node = *table.get(name);
        const std::string inner = path.empty() ? name : path + "." + name;
        if (const toml::table* child = node.as_table()) {
            out += "\n[" + inner + "]\n";
            write_table(out, *child, inner);
            continue;
        }
        for (const toml::node& each : *node.as_array()) {
            out += "\n[[" + inner + "]]\n";
            write_table(out, *each.as_table(), inner);
        }
    }
}

}  // namespace

std::string value_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return toml_string(text->get());
    if (const toml::array* array = node.as_array()) {
        std::string out = "[";
        for (std::size_t i = 0; i < array->size(); ++i) out += (i > 0 ? ", " : "") + value_text((*array)[i]);
        return out + "]";
    }
    if (const toml::table* table = node.as_table()) {
        std::string out;
        for (const auto& [key, value] : *table)
            out += (out.empty() ? " " : ", ") + key_text(std::string(key.str())) + " = " + value_text(value);
        return "{" + out + (out.empty() ? "}" : " }");
    }
    if (const auto* number = node.as_floating_point(); number && std::isfinite(number->get())) {
        // The shortest text that reads back as the same number: 0.1, not 0.10000000000000001.
        char digits[32];
        const auto end = std::to_chars(std::begin(digits), std::end(digits), number->get()).ptr;
        const std::string text = plain_exponent(std::string(std::begin(digits), end));
        return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    }
    std::ostringstream out;
    node.visit([&](const auto& value) {
        if constexpr (toml::is_value<decltype(value)>) out << value;
    });
    return out.str();
}

std::unique_ptr<toml::node> parse_value(std::string_view text) {
    try {
        // A line of its own, so that nothing after the value goes unseen.
        const toml::table made = parse_toml("value = " + std::string(text) + "\n", "");
        if (made.size() != 1) return nullptr;
        std::unique_ptr<toml::node> copy;
        made.get("value")->visit(
            [&](const auto& value) { copy = std::make_unique<std::remove_cvref_t<decltype(value)>>(value); });
        return copy;
    } catch (const InputError&) {
        return nullptr;
    }
}

std::string written(const toml::table& root) {
    std::string out;
    write_table(out, root, "");
    return out;
}

std::string joined(std::string_view table, std::string_view name) {
    return std::string(table) + "." + std::string(name);
}

std::vector<std::string> split_key(std::string_view key) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t dot = key.find('.');
        parts.emplace_back(key.substr(0, dot));
        if (dot == std::string_view::npos) return parts;
        key.remove_prefix(dot + 1);
    }
}

const toml::table* table_at(const toml::table& root, const std::vector<std::string>& path) {
    const toml::table* table = &root;
    for (const std::string& part : path) {
        const toml::node* node = table->get(part);
        if (node == nullptr) return nullptr;
        if (const toml::array* array = node->as_array()) node = array->empty() ? nullptr : array->get(0);
        table = node != nullptr ? node->as_table() : nullptr;
        if (table == nullptr) return nullptr;
    }
    return table;
}

toml::table* table_at(toml::table& root, const std::vector<std::string>& path) {
    return const_cast<toml::table*>(table_at(static_cast<const toml::table&>(root), path));
}

const toml::node* node_at(const toml::table& root, std::string_view key) {
    std::vector<std::string> path = split_key(key);
    const std::string name = path.back();
    path.pop_back();
    const toml::table* table = table_at(root, path);
    return table != nullptr ? table->get(name) : nullptr;
}

std::size_t byte_of(std::string_view text, const toml::source_position& at) {
    std::size_t byte = 0;
    for (toml::source_index line = 1; line < at.line; ++line) {
        const std::size_t end = text.find('\n', byte);
        if (end == std::string_view::npos) return text.size();
        byte = end + 1;
    }
    for (toml::source_index column = 1; column < at.column && byte < text.size(); ++column) {
        ++byte;
        while (byte < text.size() && (static_cast<unsigned char>(text[byte]) & 0xC0) == 0x80) ++byte;
    }
    return byte;
}

}  // namespace meshscope::sandbox
