#pragma once

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace meshscope::cli {

struct IntegerRange {
    int64_t least = 0, most = std::numeric_limits<int64_t>::max();
};

/// Adds an option that takes an int64_t, or an optional one. CLI11 2 makes the nearest int64_t of a number
/// that is none (not of one that is no int32_t: that it refuses), and the answer would be another question's:
/// here such a number, and what is none, is out of range, in CLI11's own words, which describe_usage_error()
/// knows.
/// `possible` is what it says that the option takes; of numbers that fit the command finds out.
template <class Integer>
CLI::Option* add_integer(CLI::App& command, const std::string& name, Integer& value, const std::string& help,
                         IntegerRange possible) {
    return command.add_option(name, value, help)->check([possible](const std::string& word) {
        errno = 0;
        char* end = nullptr;
        static_cast<void>(std::strtoll(word.c_str(), &end, 0));  // as CLI11 reads it
        if (errno != ERANGE && !word.empty() && *end == '\0') return std::string();
        return "Value " + word + " not in range " + std::to_string(possible.least) + " to " +
               std::to_string(possible.most);
    });
}

}  // namespace meshscope::cli
