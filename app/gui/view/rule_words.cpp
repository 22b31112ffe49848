#include "app/gui/view/rule_words.h"

#include <utility>

namespace meshscope::view {

std::string words_of(const Texts& texts, const std::string& id, std::vector<MessageArg> args) {
    std::string words = texts.text(Message{id, std::move(args)});
    return words.starts_with(id) ? "" : words;
}

Explanation rule_words(const Texts& texts, std::string_view rule) {
    constexpr std::string_view kAgain = "recompute.";
    const auto of = [&](std::string_view id) {
        const std::string start = "rule." + std::string(id);
        return Explanation{words_of(texts, start + ".sentence"), words_of(texts, start + ".pytorch")};
    };
    Explanation found = of(rule);
    if (!found.sentence.empty() || !rule.starts_with(kAgain)) return found;
    found = of(rule.substr(kAgain.size()));
    if (found.sentence.empty()) return found;
    return {words_of(texts, "recompute.again.sentence", {{"sentence", found.sentence}}),
            words_of(texts, "recompute.again.pytorch", {{"pytorch", found.pytorch}})};
}

}  // namespace meshscope::view
