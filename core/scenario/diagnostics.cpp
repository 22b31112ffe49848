#include "core/scenario/diagnostics.h"

#include <algorithm>

#include "core/base/joined.h"
#include "core/base/nearest.h"

namespace meshscope::scenario {

void Diagnostics::add(toml::source_position at, Message message, Message hint, std::vector<Offer> offers) {
    found_.push_back({{std::move(message),
                       {file_, static_cast<int>(at.line), static_cast<int>(at.column), -1},
                       std::move(hint)},
                      std::move(offers),
                      {},
                      {}});
}

void Diagnostics::take_back(toml::source_position key, toml::source_region region) {
    const auto is_of = [&](const Refusal& refusal) {
        const std::pair at(refusal.diagnostic.position.line, refusal.diagnostic.position.column);
        const auto pair = [](toml::source_position p) {
            return std::pair(static_cast<int>(p.line), static_cast<int>(p.column));
        };
        return at == pair(key) || (at >= pair(region.begin) && at < pair(region.end));
    };
    std::erase_if(found_, is_of);
}

std::vector<Diagnostic> Diagnostics::take() {
    std::vector<Diagnostic> found;
    for (Refusal& refusal : found_) found.push_back(std::move(refusal.diagnostic));
    found_.clear();
    std::stable_sort(found.begin(), found.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return std::pair(a.position.line, a.position.column) < std::pair(b.position.line, b.position.column);
    });
    return found;
}

Message hint_for(std::string_view word, std::span<const std::string_view> known) {
    const std::string guess = nearest(word, {known.begin(), known.end()});
    if (!guess.empty()) return {"scenario.hint.did_you_mean", {{"guess", guess}}};
    return {"scenario.hint.known", {{"known", joined(known)}}};
}

}  // namespace meshscope::scenario
