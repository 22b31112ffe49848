#include "core/comm/schedule/own/expression.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <utility>

#include "core/base/digits.h"

namespace meshscope::comm::own {

/// Recursive descent, a function a level of precedence.
class ExpressionParser {
  public:
    explicit ExpressionParser(std::string_view text) : text_(text) {}

    Expression all() {
        made_.code_.clear();
        if (text_.size() > Expression::kMostCharacters)
            throw ExpressionError{"algorithm.expression.long", std::to_string(Expression::kMostCharacters),
                                  0};
        level(0);
        skip();
        if (at_ < text_.size()) unexpected();
        return std::move(made_);
    }

  private:
    using Op = Expression::Op;
    struct Binary {
        std::string_view word;
        Op op;
    };
    /// Loosest first; longer words before their beginnings.
    static constexpr std::array<Binary, 1> kOr{{{"or", Op::either}}};
    static constexpr std::array<Binary, 1> kAnd{{{"and", Op::both}}};
    static constexpr std::array<Binary, 6> kCompare{{{"==", Op::equal},
                                                     {"!=", Op::unequal},
                                                     {"<=", Op::less_equal},
                                                     {">=", Op::greater_equal},
                                                     {"<", Op::less},
                                                     {">", Op::greater}}};
    static constexpr std::array<Binary, 1> kBitOr{{{"|", Op::bit_or}}};
    static constexpr std::array<Binary, 1> kBitXor{{{"^", Op::bit_xor}}};
    static constexpr std::array<Binary, 1> kBitAnd{{{"&", Op::bit_and}}};
    static constexpr std::array<Binary, 2> kShift{{{"<<", Op::left}, {">>", Op::right}}};
    static constexpr std::array<Binary, 2> kSum{{{"+", Op::add}, {"-", Op::subtract}}};
    static constexpr std::array<Binary, 4> kProduct{
        {{"*", Op::multiply}, {"//", Op::divide}, {"/", Op::divide}, {"%", Op::modulo}}};
    static constexpr int kNot = 2, kComparison = 3, kUnary = 10;

    static std::span<const Binary> operators(int level) {
        switch (level) {
            case 0:
                return kOr;
            case 1:
                return kAnd;
            case kComparison:
                return kCompare;
            case 4:
                return kBitOr;
            case 5:
                return kBitXor;
            case 6:
                return kBitAnd;
            case 7:
                return kShift;
            case 8:
                return kSum;
            default:
                return kProduct;
        }
    }

    void level(int which) {
        if (which == kNot) return negation();
        if (which == kUnary) return unary();
        level(which + 1);
        while (const Binary* found = next_of(operators(which))) {
            const std::size_t at = at_ - found->word.size();
            level(which + 1);
            emit(found->op, at);
            if (which == kComparison && next_of(operators(which)) != nullptr)
                throw ExpressionError{"algorithm.expression.chained", "", at};
        }
    }
    void negation() {
        const Deeper deeper(*this);
        if (!takes_word("not")) return level(kComparison);
        const std::size_t at = at_ - 3;
        negation();
        emit(Op::invert, at);
    }
    void unary() {
        const Deeper deeper(*this);
        skip();
        const std::size_t at = at_;
        if (takes("-")) {
            unary();
            return emit(Op::negate, at);
        }
        if (takes("+")) return unary();
        atom();
    }
    void atom() {
        skip();
        const std::size_t at = at_;
        if (at_ >= text_.size()) throw ExpressionError{"algorithm.expression.ends", "", at_};
        if (takes("(")) {
            level(0);
            return close();
        }
        if (is_digit(text_[at_])) return number();
        const std::string_view word = word_here();
        at_ += word.size();
        if (word == "r") return emit(Op::r, at);
        if (word == "p") return emit(Op::p, at);
        if (word == "s") return emit(Op::s, at);
        if (word == "i") return emit(Op::i, at);
        if (word == "log2") return call(Op::log2, 1, at);
        if (word == "min") return call(Op::min, 2, at);
        if (word == "max") return call(Op::max, 2, at);
        at_ = at;
        if (word.empty()) unexpected();
        throw ExpressionError{"algorithm.expression.name", std::string(word), at};
    }
    void call(Op op, int arguments, std::size_t at) {
        if (!takes("(")) unexpected();
        for (int i = 0; i < arguments; ++i) {
            if (i > 0 && !takes(",")) unexpected();
            level(0);
        }
        close();
        emit(op, at);
    }
    void close() {
        if (!takes(")")) unexpected();
    }
    void number() {
        int64_t value = 0;
        const std::size_t at = at_;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) throw ExpressionError{"algorithm.expression.number", "", at_};
        at_ = static_cast<std::size_t>(end - text_.data());
        if (!word_here().empty()) unexpected();
        made_.code_.push_back({Op::number, value, at});
    }

    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }
    bool takes(std::string_view word) {
        skip();
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    bool takes_word(std::string_view word) {
        skip();
        if (word_here() != word) return false;
        at_ += word.size();
        return true;
    }
    const Binary* next_of(std::span<const Binary> operators) {
        for (const Binary& each : operators)
            if (is_letter(each.word.front()) ? takes_word(each.word) : is_here(each) && takes(each.word))
                return &each;
        return nullptr;
    }
    /// Not the beginning of a longer one: < of <<.
    bool is_here(const Binary& each) {
        skip();
        const std::string_view rest = text_.substr(at_);
        return each.word != "<" && each.word != ">" ? true
                                                    : !(rest.starts_with("<<") || rest.starts_with(">>"));
    }
    std::string_view word_here() const {
        std::size_t end = at_;
        while (end < text_.size() && (is_letter(text_[end]) || (end > at_ && is_digit(text_[end])))) ++end;
        return text_.substr(at_, end - at_);
    }
    static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

    [[noreturn]] void unexpected() {
        skip();
        if (at_ >= text_.size()) throw ExpressionError{"algorithm.expression.ends", "", at_};
        std::size_t end = at_ + 1;  // a whole code point
        while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
        throw ExpressionError{"algorithm.expression.unexpected", std::string(text_.substr(at_, end - at_)),
                              at_};
    }
    void emit(Op op, std::size_t at) { made_.code_.push_back({op, 0, at}); }

    /// Counts how deep the parser calls itself.
    class Deeper {
      public:
        explicit Deeper(ExpressionParser& parser) : parser_(parser) {
            if (++parser_.depth_ > 2 * Expression::kMostDepth)
                throw ExpressionError{"algorithm.expression.deep", std::to_string(Expression::kMostDepth),
                                      parser_.at_};
        }
        ~Deeper() { --parser_.depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;

      private:
        ExpressionParser& parser_;
    };

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    Expression made_;
};

namespace {

int64_t floor_divide(int64_t a, int64_t b) {
    const int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

}  // namespace

Expression Expression::parse(std::string_view text) {
    return ExpressionParser(text).all();
}

bool Expression::names_any(std::string_view which) const {
    const auto named = [&](Op op) {
        const char name = op == Op::r   ? 'r'
                          : op == Op::s ? 's'
                          : op == Op::i ? 'i'
                          : op == Op::p ? 'p'
                                        : '\0';
        return name != '\0' && which.find(name) != std::string_view::npos;
    };
    return std::ranges::any_of(code_, [&](const Code& each) { return named(each.op); });
}

namespace {

/// a op b, of two numbers. `fail` throws: an overflow, a division by zero, a shift that is none.
template <class Op, class Fail>
int64_t combined(Op op, int64_t a, int64_t b, const Fail& fail) {
    switch (op) {
        case Op::add:
            if (__builtin_add_overflow(a, b, &a)) fail("algorithm.expression.overflow");
            break;
        case Op::subtract:
            if (__builtin_sub_overflow(a, b, &a)) fail("algorithm.expression.overflow");
            break;
        case Op::multiply:
            if (__builtin_mul_overflow(a, b, &a)) fail("algorithm.expression.overflow");
            break;
        case Op::divide:
        case Op::modulo:
            if (b == 0) fail("algorithm.expression.zero");
            if (b == -1)  // the least number divided by it overflows
                a = op == Op::modulo ? 0 : (a == INT64_MIN ? (fail("algorithm.expression.overflow"), 0) : -a);
            else
                a = op == Op::divide ? floor_divide(a, b) : a - floor_divide(a, b) * b;
            break;
        case Op::left:
        case Op::right:
            if (b < 0 || b > 62) fail("algorithm.expression.shift");
            if (op == Op::right)
                a >>= b;
            else if (__builtin_mul_overflow(a, int64_t{1} << b, &a))
                fail("algorithm.expression.overflow");
            break;
        case Op::bit_and:
            return a & b;
        case Op::bit_xor:
            return a ^ b;
        case Op::bit_or:
            return a | b;
        case Op::less:
            return a < b ? 1 : 0;
        case Op::less_equal:
            return a <= b ? 1 : 0;
        case Op::greater:
            return a > b ? 1 : 0;
        case Op::greater_equal:
            return a >= b ? 1 : 0;
        case Op::equal:
            return a == b ? 1 : 0;
        case Op::unequal:
            return a != b ? 1 : 0;
        case Op::both:
            return a != 0 && b != 0 ? 1 : 0;
        case Op::either:
            return a != 0 || b != 0 ? 1 : 0;
        case Op::min:
            return std::min(a, b);
        case Op::max:
            return std::max(a, b);
        default:
            break;
    }
    return a;
}

}  // namespace

int64_t Expression::value(const Names& names) const {
    std::array<int64_t, 2 * kMostCharacters> stack;  // as many as there are characters at most
    std::size_t n = 0;
    for (const Code& code : code_) {
        const auto fail = [&](const char* id) { throw ExpressionError{id, "", code.at}; };
        const auto leaf = [&](int64_t value) { stack[n++] = value; };
        switch (code.op) {
            case Op::number:
                leaf(code.number);
                continue;
            case Op::r:
                leaf(names.r);
                continue;
            case Op::p:
                leaf(names.p);
                continue;
            case Op::s:
                leaf(names.s);
                continue;
            case Op::i:
                leaf(names.i);
                continue;
            case Op::negate:
                if (__builtin_sub_overflow(int64_t{0}, stack[n - 1], &stack[n - 1]))
                    fail("algorithm.expression.overflow");
                continue;
            case Op::invert:
                stack[n - 1] = stack[n - 1] == 0 ? 1 : 0;
                continue;
            case Op::log2:
                if (stack[n - 1] <= 0) fail("algorithm.expression.log2");
                stack[n - 1] = std::bit_width(static_cast<uint64_t>(stack[n - 1])) - 1;
                continue;
            default:
                break;
        }
        const int64_t b = stack[--n];
        stack[n - 1] = combined(code.op, stack[n - 1], b, fail);
    }
    return stack[0];
}

}  // namespace meshscope::comm::own
