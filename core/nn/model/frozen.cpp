#include "core/nn/model/frozen.h"

#include <algorithm>
#include <charconv>

namespace meshscope::nn {
namespace {

/// The number that all of the text is.
std::optional<int64_t> number_of(std::string_view text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
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

std::optional<std::string> first_unknown(Model& model, const std::string& entry) {
    const std::optional<Range> range = range_of(entry);
    if (!range) return has_name(model, entry) ? std::nullopt : std::optional(entry);
    if (range->last < range->first) return "";
    for (int64_t i = range->first; i <= range->last; ++i)
        if (std::string name = range->before + std::to_string(i); !has_name(model, name)) return name;
    return std::nullopt;
}

bool has_name(Model& model, const std::string& name) {
    if (!name.empty() && model.find(name) != nullptr) return true;
    return std::ranges::any_of(model.all_parameters(), [&](const auto& p) { return p->name == name; });
}

void freeze(Model& model, const std::vector<std::string>& entries) {
    for (const std::string& entry : entries)
        for (const std::string& name : expand_range(entry)) {
            // A module's parameters may bear another's name: a tied head's weight is called tok.weight.
            if (Module* const module = name.empty() ? nullptr : model.find(name))
                for (Parameter* parameter : module->parameters()) parameter->frozen = true;
            for (const auto& parameter : model.all_parameters())
                if (parameter->name == name) parameter->frozen = true;
        }
}

}  // namespace meshscope::nn
