#include "core/base/message.h"

#include <sstream>

namespace meshscope {

const MessageValue* Message::find(const std::string& name) const {
    for (const MessageArg& arg : args)
        if (arg.name == name) return &arg.value;
    return nullptr;
}

std::string to_text(const MessageValue& value) {
    std::ostringstream out;
    if (const auto* n = std::get_if<int64_t>(&value)) {
        out << *n;
    } else if (const auto* x = std::get_if<double>(&value)) {
        out << *x;
    } else if (const auto* s = std::get_if<std::string>(&value)) {
        out << *s;
    } else {
        out << '[';
        const char* separator = "";
        for (const int64_t item : std::get<std::vector<int64_t>>(value)) {
            out << separator << item;
            separator = ", ";
        }
        out << ']';
    }
    return out.str();
}

std::string describe(const Message& message) {
    std::string text = message.id + "(";
    const char* separator = "";
    for (const MessageArg& arg : message.args) {
        text += separator + arg.name + "=" + to_text(arg.value);
        separator = ", ";
    }
    return text + ")";
}

}  // namespace meshscope
