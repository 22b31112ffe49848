#pragma once

#include <exception>
#include <string>

#include "core/base/error.h"

namespace meshscope::contract {

/// What a rank's body threw, in words: the message's id, a "*" behind it when another rank failed first.
template <class Body>
std::string outcome(const Body& body) {
    try {
        body();
        return "fine";
    } catch (const CommError& error) {
        return error.message().id + (error.secondary() ? "*" : "");
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace meshscope::contract
