#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::comm::own {

/// What an expression may name: the rank, the number of ranks, the phase's round, and which of a round's
/// messages.
struct Names {
    int64_t r = 0, p = 1, s = 0, i = 0;
};

/// Why an expression cannot be read or has no value. `id` is a message's ("algorithm.expression.…"), `word`
/// what it is about, `at` where in the text (code units from 0).
struct ExpressionError {
    std::string id;
    std::string word;
    std::size_t at = 0;
};

/// A whole-number expression over r, p, s and i, with Python's meaning and order of precedence: or, and, not,
/// comparisons (not chained), | ^ & << >> + - * / % and unary -, parentheses, log2(x) (rounded down), min(x,
/// y), max(x, y). / and // divide and round down, % has the sign of its right side. true is 1, false 0.
class Expression {
  public:
    static constexpr std::size_t kMostCharacters = 200;
    static constexpr int kMostDepth = 32;

    /// A number.
    explicit Expression(int64_t value = 0) : code_{{Op::number, value, 0}} {}
    /// Throws ExpressionError.
    static Expression parse(std::string_view text);

    /// Throws ExpressionError: overflow, division by zero, a shift beyond 62, log2 of what is not positive.
    int64_t value(const Names& names) const;
    /// Whether it names r, s or i ("rsi" or some of them).
    bool names_any(std::string_view which) const;

  private:
    friend class ExpressionParser;
    enum class Op : uint8_t {
        number,
        r,
        p,
        s,
        i,
        negate,
        invert,
        log2,
        add,
        subtract,
        multiply,
        divide,
        modulo,
        left,
        right,
        bit_and,
        bit_xor,
        bit_or,
        less,
        less_equal,
        greater,
        greater_equal,
        equal,
        unequal,
        both,
        either,
        min,
        max
    };
    struct Code {
        Op op = Op::number;
        int64_t number = 0;
        std::size_t at = 0;
    };
    std::vector<Code> code_;  ///< postfix
};

}  // namespace meshscope::comm::own
