#include "core/scenario/scenario.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>

#include "core/base/cause.h"
#include "core/base/text_file.h"
#include "core/base/toml_text.h"
#include "core/mesh/roles.h"
#include "core/scenario/readers.h"
#include "core/scenario/section.h"
#include "core/trace/query.h"

namespace meshscope::scenario {
namespace {

constexpr int64_t kFormat = 1;

void check_format(const Section& root) {
    if (!root.has("format")) {
        root.report("format", {"scenario.missing_format", {}},
                    {"scenario.hint.format", {{"format", kFormat}}});
        return;
    }
    const auto* format = root.node("format")->as_integer();
    if (!format) {
        root.wrong_type("format", "integer", *root.node("format"));
    } else if (format->get() != kFormat) {
        root.report("format", {"scenario.unknown_format", {{"found", format->get()}, {"known", kFormat}}});
    }
}

/// Everything but the variants; mistakes go into `diagnostics`.
Scenario read_all(const toml::table& table, const std::string& path, Diagnostics& diagnostics) {
    Scenario scenario;
    scenario.path = path;
    scenario.folder = std::filesystem::path(path).parent_path().string();
    const Section root(diagnostics, &table, "", {1, 1});
    check_format(root);
    const bool mesh_known = read_training(root, scenario);
    read_compare(root, scenario);
    read_lesson_content(root, mesh_known, scenario);
    return scenario;
}

/// Variants against which what is offered is tried; each is one more reading.
constexpr std::size_t kMostTriedVariants = 32;

/// What is wrong with a file's first variants, as "scenario.in_variant".
std::vector<Diagnostic> mistakes_of_variants(const toml::table& table, const std::string& path) {
    Diagnostics own(path);
    const Scenario scenario = read_all(table, path, own);
    std::vector<Diagnostic> found;
    for (const Variant& variant :
         std::span(scenario.variants).first(std::min(scenario.variants.size(), kMostTriedVariants))) {
        if (!variant.ends.empty()) continue;  // what it ends with may be just that
        toml::table changed = table;
        apply_variant(changed, variant.id);
        Diagnostics of_variant(path);
        static_cast<void>(read_all(changed, path, of_variant));
        for (Diagnostic& each : of_variant.take()) {
            each.message = with_cause({"scenario.in_variant", {{"id", variant.id}}}, each.message);
            found.push_back(std::move(each));
        }
    }
    return found;
}

/// A variant that is to run must be readable. Its mistakes are the file's: they stand where it wrote them.
void check_variants(const Scenario& scenario) {
    std::vector<Diagnostic> found;
    for (const Variant& variant : scenario.variants) {
        if (!variant.ends.empty()) continue;  // what it ends with may be just that
        try {
            static_cast<void>(changed_scenario(scenario, variant));
        } catch (const InputError& error) {
            for (Diagnostic each : error.diagnostics()) {
                // They were tried in the variant, and may be wrong for the file's own run.
                if (each.hint.id == "scenario.hint.offers" || each.hint.id == "scenario.hint.no_offer")
                    each.hint = with_cause({"scenario.hint.in_variant", {{"id", variant.id}}}, each.hint);
                found.push_back(std::move(each));
            }
        }
    }
    if (!found.empty()) throw InputError(std::move(found));
}

}  // namespace

toml::table parse_table(std::string_view text, const std::string& path) {
    toml::table root = parse_toml(text, path);
    if (toml::value<std::string>* const kind = root["model"].as_string()) {
        toml::table model;
        model.insert("kind", std::move(*kind));
        root.insert_or_assign("model", std::move(model));
    }
    return root;
}

Scenario read_table(const toml::table& table, const std::string& path, std::string source) {
    Diagnostics diagnostics(path);
    Scenario scenario = read_all(table, path, diagnostics);
    scenario.source = std::move(source);
    if (diagnostics.empty()) return scenario;
    const auto own = [&](const toml::table& changed) {
        Diagnostics found(path);
        static_cast<void>(read_all(changed, path, found));
        return found.take();
    };
    const auto of_variants = [&](const toml::table& changed) { return mistakes_of_variants(changed, path); };
    resolve_offers(diagnostics.refusals(), table, own, 256,
                   scenario.variants.empty() ? ReadMistakes() : of_variants);
    throw InputError(diagnostics.take());
}

int64_t data_parallel_size(const Scenario& s) {
    if (!parallel::declaration(s.parallel.data).data_parallel) return 1;
    int64_t size = 1;
    for (const std::size_t d : mesh::roles_of(s.mesh_names).data)
        if (d < s.mesh_shape.size()) size *= s.mesh_shape[d];  // a wrong number of names was reported
    return size;
}

int32_t world_size(const Scenario& scenario) {
    int64_t ranks = 1;
    for (const int64_t n : scenario.mesh_shape) ranks *= n;
    return static_cast<int32_t>(std::max(ranks, scenario.world_size.value_or(0)));
}

std::string toml_text(const toml::node& node) {
    std::string text;
    if (const toml::table* table = node.as_table()) {
        for (const auto& [key, value] : *table)
            text += (text.empty() ? "{ " : ", ") + std::string(key.str()) + " = " + toml_text(value);
        return text.empty() ? "{}" : text + " }";
    }
    if (const toml::array* array = node.as_array()) {
        for (const toml::node& value : *array) text += (text.empty() ? "[ " : ", ") + toml_text(value);
        return text.empty() ? "[]" : text + " ]";
    }
    if (const auto* number = node.as_floating_point()) return trace::to_text(trace::Cell{number->get()});
    std::ostringstream written;
    node.visit([&](const auto& value) {
        if constexpr (toml::is_value<decltype(value)>) written << value;
    });
    return written.str();
}

std::vector<std::pair<std::string, std::string>> entries(const Scenario& scenario, std::string_view table) {
    std::vector<std::pair<std::string, std::string>> found;
    const toml::table root = parse_table(scenario.source, scenario.path);
    const toml::table* keys = root[table].as_table();
    if (!keys) return found;
    for (const auto& [key, node] : *keys) {
        if (!node.is_table() && !node.is_array()) found.emplace_back(std::string(key.str()), toml_text(node));
    }
    std::ranges::sort(found);
    return found;
}

Scenario parse_scenario(std::string_view text, const std::string& path) {
    Scenario scenario = read_table(parse_table(text, path), path, std::string(text));
    check_variants(scenario);
    return scenario;
}

Scenario read_scenario(const std::string& path) {
    return parse_scenario(read_text_file(path), path);
}

}  // namespace meshscope::scenario
