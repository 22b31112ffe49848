#pragma once

#include <string>

#include "core/base/error.h"

namespace meshscope::test {

/// The message id of the Kind of error that `action` throws, or "nothing thrown"; another kind goes on.
template <class Kind = Error, class Action>
std::string thrown_id(const Action& action) {
    try {
        action();
    } catch (const Kind& error) {
        return error.message().id;
    }
    return "nothing thrown";
}

}  // namespace meshscope::test
