#include "core/nn/model/frozen.h"

#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "core/nn/layers/linear.h"

namespace meshscope::nn {
namespace {

/// The number that all of the text is.
std::optional<int64_t> number_of(std::string_view text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

/// Visits every module inside of this one, the outer ones first.
void for_each_below(const Module& outer, const std::function<void(const Module&)>& visit) {
    for (const Module* const module : outer.children()) {
        visit(*module);
        for_each_below(*module, visit);
    }
}

/// "blocks.0-2": what stands before the numbers, and both of them.
struct Range {
    std::string before;
    int64_t first = 0, last = 0;
};

/// The range that an entry is; nothing where it is a name.
std::optional<Range> range_of(const std::string& entry) {
    const std::size_t dot = entry.rfind('.'), dash = entry.rfind('-');
    if (dot == std::string::npos || dash == std::string::npos || dash < dot) return std::nullopt;
    const std::string_view text = entry;
    const auto first = number_of(text.substr(dot + 1, dash - dot - 1)),
               last = number_of(text.substr(dash + 1));
    if (!first || !last) return std::nullopt;
    return Range{entry.substr(0, dot + 1), *first, *last};
}

}  // namespace

std::vector<std::string> expand_range(const std::string& entry) {
    const std::optional<Range> range = range_of(entry);
    if (!range) return {entry};
    std::vector<std::string> names;
    if (range->last - range->first >= kMostSize) return names;
    for (int64_t i = range->first; i <= range->last; ++i) names.push_back(range->before + std::to_string(i));
    return names;
}

std::optional<std::string> first_unknown(const std::set<std::string>& known, const std::string& entry) {
    const std::optional<Range> range = range_of(entry);
    if (!range) return known.contains(entry) ? std::nullopt : std::optional(entry);
    if (range->last < range->first) return "";
    for (int64_t i = range->first; i <= range->last; ++i)
        if (std::string name = range->before + std::to_string(i); !known.contains(name)) return name;
    return std::nullopt;
}

std::set<std::string> names_in(const Model& model) {
    std::set<std::string> names;
    for_each_below(model, [&](const Module& module) { names.insert(module.name()); });
    for (const auto& parameter : model.all_parameters()) names.insert(parameter->name);
    return names;
}

std::vector<std::string> adaptable_layers(const std::string& kind) {
    // Of the smallest model with an adapter beside each.
    ModelSpec spec{.kind = kind, .dim = 2, .hidden = 1, .layers = 1};
    spec.vocab = spec.seq = spec.heads = spec.kv_heads = spec.lora_rank = 1;
    std::vector<std::string> names;
    for_each_below(*make_model(spec), [&](const Module& module) {
        const auto* const linear = dynamic_cast<const Linear*>(&module);
        if (linear == nullptr || linear->lora() == nullptr) return;
        names.push_back(linear->name().substr(linear->name().rfind('.') + 1));
    });
    return names;
}

void freeze(Model& model, const std::vector<std::string>& entries) {
    std::set<std::string> names;
    for (const std::string& entry : entries)
        for (std::string& name : expand_range(entry)) names.insert(std::move(name));
    if (names.empty()) return;
    // A module's parameters may bear another's name: a tied head's weight is called tok.weight.
    for_each_below(model, [&](const Module& module) {
        if (names.contains(module.name()))
            for (Parameter* const parameter : module.parameters()) parameter->frozen = true;
    });
    for (const auto& parameter : model.all_parameters())
        if (names.contains(parameter->name)) parameter->frozen = true;
}

}  // namespace meshscope::nn
