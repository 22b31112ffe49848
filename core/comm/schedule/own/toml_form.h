#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/schedule/own/expression.h"
#include "core/comm/schedule/own/program.h"

namespace meshscope::comm::own {

/// An expression of a file, and where it stands.
struct Written {
    Expression expression;
    int line = 0, column = 0;  ///< of its first character
};

/// A message of a round, or a copy inside a rank: for which ranks, how often, and of what.
struct Move {
    int line = 0, column = 0;
    std::optional<Written> when, each, to, chunk, at, count;
    std::optional<Place> from_buffer, to_buffer;
    bool adds = false;
};

/// Rounds that are alike.
struct Phase {
    int line = 0;
    std::optional<Written> rounds, when;
    std::vector<Move> copies, sends;
};

/// One message or copy, said outright.
struct ExplicitStep {
    int line = 0, column = 0;
    int64_t round = 0, from = -1, to = -1, rank = -1, chunk = 0, at = 0, count = 1;
    std::optional<Place> from_buffer, to_buffer;
    bool adds = false;
};

/// An algorithm in the documented TOML form (docs/algorithms.md).
struct TomlForm {
    std::string name;
    CollectiveOp op = CollectiveOp::all_reduce;
    std::optional<int64_t> ranks;
    std::optional<Written> require, chunks, scratch;
    std::vector<Phase> phases;
    std::vector<ExplicitStep> steps;
    int line = 1;
};

/// Throws InputError with every mistake of the file, each at its place.
TomlForm read_toml_form(std::string_view text, const std::string& file);

/// Whether its `require` holds for so many ranks. Throws InputError where it has no value.
bool holds(const TomlForm& form, int32_t ranks, const std::string& file);

/// Expressions of a file that are evaluated at most: where nothing is sent, too.
inline constexpr int64_t kMostValues = int64_t{1} << 25;

/// Its steps for so many ranks. Throws InputError where an expression has no value or names what is not
/// there, and "algorithm.too_many_steps" where more than `most_values` are to be evaluated.
Program expanded(const TomlForm& form, int32_t ranks, const std::string& file,
                 int64_t most_values = kMostValues);

}  // namespace meshscope::comm::own
