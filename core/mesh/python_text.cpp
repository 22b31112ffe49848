#include "core/mesh/python_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace meshscope::mesh {

namespace {

std::vector<std::string> texts(const std::vector<int64_t>& items) {
    std::vector<std::string> result;
    for (const int64_t item : items) result.push_back(std::to_string(item));
    return result;
}

std::vector<std::string> reprs(const std::vector<std::string>& items) {
    std::vector<std::string> result;
    for (const std::string& item : items) result.push_back(python_repr(item));
    return result;
}

std::string joined(const std::vector<std::string>& items) {
    std::string text;
    for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ", ") + items[i];
    return text;
}

std::string tuple_of(const std::vector<std::string>& items) {
    return "(" + joined(items) + (items.size() == 1 ? ",)" : ")");
}

std::string nested(const std::vector<int64_t>& shape, size_t dim, const std::vector<int64_t>& items,
                   size_t& next) {
    if (dim == shape.size()) return std::to_string(items.at(next++));
    std::string text = "[";
    for (int64_t i = 0; i < shape[dim]; ++i)
        text += (i == 0 ? "" : ", ") + nested(shape, dim + 1, items, next);
    return text + "]";
}

}  // namespace

std::string python_repr(std::string_view text) {
    const bool single = text.find('\'') != std::string_view::npos;
    const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string result(1, quote);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            result += '\\';
            result += c;
        } else if (c == '\n') {
            result += "\\n";
        } else if (c == '\t') {
            result += "\\t";
        } else if (c == '\r') {
            result += "\\r";
        } else if (byte < 0x20 || byte == 0x7f) {
            constexpr char kDigits[] = "0123456789abcdef";
            result += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
        } else {
            result += c;
        }
    }
    return result + quote;
}

std::string python_product(const std::vector<int64_t>& factors) {
    constexpr uint64_t kBase = 1'000'000'000;
    std::vector<uint64_t> digits{1};  // to the base of 10^9, the lowest first
    bool negative = false;
    const auto times = [&](uint64_t factor) {
        uint64_t carry = 0;
        for (uint64_t& digit : digits) {
            const uint64_t all = digit * factor + carry;
            digit = all % kBase;
            carry = all / kBase;
        }
        if (carry > 0) digits.push_back(carry);
    };
    for (const int64_t factor : factors) {
        if (factor == 0) return "0";
        negative = negative != (factor < 0);
        uint64_t rest = factor < 0 ? 0 - static_cast<uint64_t>(factor) : static_cast<uint64_t>(factor);
        // In parts of at most the base, so that nothing overflows: a·10^18 + b·10^9 + c.
        const std::vector<uint64_t> before = digits;
        std::vector<uint64_t> sum;
        for (std::size_t shift = 0; rest > 0; ++shift, rest /= kBase) {
            digits = before;
            times(rest % kBase);
            sum.resize(std::max(sum.size(), digits.size() + shift) + 1);
            for (std::size_t i = 0; i < digits.size(); ++i) sum[i + shift] += digits[i];
            for (std::size_t i = 0; i + 1 < sum.size(); ++i) {
                sum[i + 1] += sum[i] / kBase;
                sum[i] %= kBase;
            }
        }
        while (sum.back() == 0) sum.pop_back();
        digits = std::move(sum);
    }
    std::string text = std::to_string(digits.back());
    for (std::size_t i = digits.size() - 1; i-- > 0;) {
        const std::string part = std::to_string(digits[i]);
        text += std::string(9 - part.size(), '0') + part;
    }
    return negative ? "-" + text : text;
}

std::string python_tuple(const std::vector<std::string>& items) {
    return tuple_of(reprs(items));
}
std::string python_tuple(const std::vector<int64_t>& items) {
    return tuple_of(texts(items));
}
std::string python_list(const std::vector<std::string>& items) {
    return "[" + joined(reprs(items)) + "]";
}
std::string python_list(const std::vector<int64_t>& items) {
    return "[" + joined(texts(items)) + "]";
}

std::string python_nested_list(const std::vector<int64_t>& shape, const std::vector<int64_t>& items) {
    size_t next = 0;
    return nested(shape, 0, items, next);
}

}  // namespace meshscope::mesh
