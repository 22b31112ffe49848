#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/gui/view/texts.h"

namespace meshscope::view {

/// What a rule or a kernel is for, in words; empty where the catalogue has none.
struct Explanation {
    std::string sentence;
    std::string pytorch;  ///< the PyTorch call that does the same
};

/// The catalogue's words for `id`; "" when it has none (a message without words is told by its id).
std::string words_of(const Texts& texts, const std::string& id, std::vector<MessageArg> args = {});

/// A rule's words. "recompute.R" is rule R done a second time: R's words, and around them why.
Explanation rule_words(const Texts& texts, std::string_view rule);

}  // namespace meshscope::view
