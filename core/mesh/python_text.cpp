#include "core/mesh/python_text.h"

#include <cstddef>

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
