#include "app/gui/sandbox/edit_text.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/gui/sandbox/toml_text.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/toml_text.h"
#include "core/scenario/keys.h"
#include "core/scenario/model_config.h"
#include "core/scenario/readers.h"

namespace meshscope::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kOfOneRun{"lesson", "quiz", "check"};
/// Tables of which a file may have several.
constexpr std::array<std::string_view, 2> kSeveral{"faults", "call"};

toml::table parse(std::string_view text) {
    return scenario::parse_table(text, "");
}

/// Null where the text is no TOML: an edit that went wrong, which has another way.
std::unique_ptr<toml::table> try_parse(std::string_view text) {
    try {
        return std::make_unique<toml::table>(parse(text));
    } catch (const InputError&) {
        return nullptr;
    }
}

bool several(const std::string& name) {
    return std::find(kSeveral.begin(), kSeveral.end(), name) != kSeveral.end();
}

/// The change on the table alone: what the text must say afterwards.
void change_table(toml::table& root, const std::string& key, const toml::node* value) {
    std::vector<std::string> path = split_key(key);
    const std::string name = path.back();
    path.pop_back();
    if (value == nullptr) {
        if (toml::table* table = table_at(root, path)) table->erase(name);
        return;
    }
    toml::table* table = &root;
    for (const std::string& part : path) {
        if (!table->contains(part)) {
            if (several(part))
                table->insert(part, toml::array{toml::table{}});
            else
                table->insert(part, toml::table{});
        }
        table = table_at(*table, {part});
        if (table == nullptr) return;
    }
    value->visit([&](const auto& v) { table->insert_or_assign(name, v); });
}

std::size_t line_begin(std::string_view text, std::size_t at) {
    const std::size_t before = text.substr(0, at).rfind('\n');
    return before == std::string_view::npos ? 0 : before + 1;
}
std::size_t line_end(std::string_view text, std::size_t at) {
    const std::size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
}

/// The name in a header line, "[mesh]" or "[[lesson.step]]"; "" for other lines.
std::string header_name(std::string_view line) {
    line = trimmed(line);
    if (line.empty() || line.front() != '[') return {};
    const std::size_t from = line.find_first_not_of('['), to = line.find(']');
    if (from == std::string_view::npos || to == std::string_view::npos || to < from) return {};
    return std::string(trimmed(line.substr(from, to - from)));
}

/// Where the blocks of lesson, quizzes and checks begin; the end of a text that has none. Training's own
/// tables stand before.
std::size_t training_end(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); at = line_end(text, at)) {
        const std::string name = header_name(text.substr(at, line_end(text, at) - at));
        if (name.empty()) continue;
        const std::string first = split_key(name).front();
        if (std::find(kOfOneRun.begin(), kOfOneRun.end(), first) == kOfOneRun.end()) continue;
        // The comments right above belong to it.
        while (at > 0) {
            const std::size_t before = line_begin(text, at - 1);
            const std::string_view line = trimmed(text.substr(before, at - before));
            if (line.empty() || line.front() != '#') break;
            at = before;
        }
        return at;
    }
    return text.size();
}

/// A block before the lesson's, with an empty line on both sides.
std::string with_block(std::string_view text, const std::string& block) {
    const std::size_t at = training_end(text);
    std::string before(text.substr(0, at));
    const std::string after(text.substr(at));
    while (before.ends_with("\n\n")) before.pop_back();
    if (!before.empty() && !before.ends_with('\n')) before += '\n';
    return before + "\n" + block + (after.empty() ? "" : "\n") + after;
}

/// One line after the table's last plain key, or below its header.
std::string with_line(std::string_view text, const toml::table& table, const std::string& line) {
    toml::source_position last = table.source().begin;
    for (const auto& [key, node] : table) {
        if (const toml::table* child = node.as_table(); child != nullptr && !child->is_inline()) continue;
        if (node.source().begin.line < table.source().begin.line) continue;
        if (node.source().end.line > last.line) last = node.source().end;
    }
    const std::size_t at = line_end(text, byte_of(text, {last.line, 1}));
    std::string before(text.substr(0, at));
    if (!before.empty() && !before.ends_with('\n')) before += '\n';
    return before + line + "\n" + std::string(text.substr(at));
}

/// The change in the text itself; what comes out is looked at before it counts.
std::string change_lines(std::string_view text, const toml::table& root, const std::string& key,
                         const std::string& value) {
    std::vector<std::string> path = split_key(key);
    const std::string name = path.back();
    path.pop_back();
    const toml::table* table = table_at(root, path);
    if (table != nullptr && table->contains(name)) {
        const toml::source_region at = table->get(name)->source();
        const std::size_t from = byte_of(text, at.begin), to = byte_of(text, at.end);
        if (!value.empty()) return std::string(text.substr(0, from)) + value + std::string(text.substr(to));
        // The whole line goes, with what is said behind it.
        const std::size_t begin = line_begin(text, byte_of(text, table->find(name)->first.source().begin));
        return std::string(text.substr(0, begin)) + std::string(text.substr(line_end(text, to)));
    }
    if (value.empty()) return std::string(text);
    const std::string line = name + " = " + value;
    if (path.empty()) return line + "\n" + std::string(text);
    if (table != nullptr && !table->is_inline()) return with_line(text, *table, line);
    if (table != nullptr || path.size() > 1) {
        // A small table that stands as a value: it is written anew.
        toml::table inner;
        if (table != nullptr) inner = *table;
        parse_value(value)->visit([&](const auto& v) { inner.insert_or_assign(name, v); });
        std::string outer = path.front();
        for (std::size_t i = 1; i < path.size(); ++i) outer += "." + path[i];
        return change_lines(text, root, outer, value_text(inner));
    }
    const std::string head = several(path.front()) ? "[[" + path.front() + "]]" : "[" + path.front() + "]";
    return with_block(text, head + "\n" + line + "\n");
}

std::string one_change(std::string_view text, const Change& change) {
    const toml::table root = parse(text);
    std::unique_ptr<toml::node> value;
    if (!change.value.empty()) {
        value = parse_value(change.value);
        if (!value) throw InvalidArgument({"sandbox.no_value", {{"text", change.value}}});
    }
    toml::table wanted = root;
    change_table(wanted, change.key, value.get());
    if (wanted == root) return std::string(text);
    // model = "hf:FILE" has no lines of a table that could be changed.
    if (parse_toml(text, "")["model"].is_string()) return written(wanted);
    const std::string edited = change_lines(text, root, change.key, change.value);
    const auto now = try_parse(edited);
    // A file that is written in an unusual way (dotted keys, tables in one line) is written anew.
    return now && *now == wanted ? edited : written(wanted);
}

/// A path that was meant from one folder, as it is written in another.
std::string moved_path(const std::string& path, const std::string& from, const std::string& to) {
    if (path.empty() || fs::path(path).is_absolute()) return path;
    const fs::path file = (fs::absolute(from.empty() ? "." : from) / path).lexically_normal();
    const fs::path near = file.lexically_relative(fs::absolute(to.empty() ? "." : to).lexically_normal());
    return near.empty() ? file.generic_string() : near.generic_string();
}

void move_paths(std::string& text, const std::string& from, const std::string& to) {
    const toml::table root = parse(text);
    std::vector<Change> changes;
    const auto move = [&](const std::string& table, const std::string& name) {
        const std::string key = joined(table, name);
        const toml::node* node = node_at(root, key);
        if (node == nullptr || !node->is_string()) return;
        const std::string path = node->as_string()->get();
        // A model's kind may name a file behind a word.
        const std::string before(name == "kind" ? scenario::kConfigPrefix : "");
        const bool file =
            name == "kind" ? path.starts_with(before) : name != "profile" || path.ends_with(".toml");
        const std::string moved = file ? before + moved_path(path.substr(before.size()), from, to) : path;
        if (moved != path) changes.push_back({key, toml_string(moved)});
    };
    move("model", "weights");
    move("model", "kind");
    move("data", "file");
    move("checkpoint", "folder");
    move("checkpoint", "resume");
    move("hardware", "profile");
    if (const toml::node* node = root["compare"]["scenarios"].node(); node && node->is_array()) {
        toml::array moved;
        for (const toml::node& each : *node->as_array())
            if (each.is_string()) moved.push_back(moved_path(each.as_string()->get(), from, to));
        if (moved.size() == node->as_array()->size() && moved != *node->as_array())
            changes.push_back({joined("compare", "scenarios"), value_text(moved)});
    }
    text = changed_text(text, changes);
}

bool is_configured(const toml::table& model) {
    const toml::node* const kind = model.get("kind");
    return kind != nullptr && kind->is_string() &&
           kind->as_string()->get().starts_with(scenario::kConfigPrefix);
}

/// Takes away what a default says anyway.
void drop_defaults(toml::table& root) {
    for (const scenario::Key& key : scenario::keys()) {
        toml::table* table = key.table.empty() ? nullptr : table_at(root, split_key(key.table));
        // Of tables of which there may be several each is its own; they stay as they are.
        if (table == nullptr || several(split_key(key.table).front())) continue;
        // What stands beside a configuration overrules it, a default too.
        if (key.table == "model" && is_configured(*table)) continue;
        const toml::node* node = table->get(key.name);
        if (node == nullptr) continue;
        const auto usual = parse_value(key.fallback);
        if (usual && value_text(*usual) == value_text(*node)) table->erase(key.name);
    }
    for (auto it = root.begin(); it != root.end();) {
        const toml::table* table = it->second.as_table();
        if (table != nullptr && table->empty())
            it = root.erase(it);
        else
            ++it;
    }
}

}  // namespace

std::string changed_text(std::string_view text, const std::vector<Change>& changes) {
    std::string now(text);
    static_cast<void>(parse(now));
    for (const Change& change : changes) now = one_change(now, change);
    return now;
}

std::string without_lesson(std::string_view text) {
    toml::table wanted = parse(text);
    for (const std::string_view name : kOfOneRun) wanted.erase(name);
    std::string kept;
    bool keeps = true;
    std::string comments;  // whether they stay is known at the next line that is none
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = line_end(text, at);
        const std::string_view line = text.substr(at, next - at);
        at = next;
        if (trimmed(line).starts_with('#')) {
            comments += line;
            continue;
        }
        const std::string name = header_name(line);
        if (!name.empty()) {
            const std::string first = split_key(name).front();
            keeps = std::find(kOfOneRun.begin(), kOfOneRun.end(), first) == kOfOneRun.end();
        }
        if (keeps) kept += comments + std::string(line);
        comments.clear();
    }
    if (keeps) kept += comments;
    while (kept.ends_with("\n\n")) kept.pop_back();
    const auto now = try_parse(kept);
    return now && *now == wanted ? kept : written(wanted);
}

std::string saved_text(std::string_view text, SaveForm form, const std::string& from_folder,
                       const std::string& to_folder) {
    std::string saved = without_lesson(text);
    move_paths(saved, from_folder, to_folder);
    if (form == SaveForm::whole) return saved;
    toml::table root = parse(saved);
    drop_defaults(root);
    return written(root);
}

}  // namespace meshscope::sandbox
