#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace meshscope {

/// One typed argument of a message. Lists of numbers (ranks, shapes) stay lists, so each language can print them its way.
using MessageValue = std::variant<int64_t, double, std::string, std::vector<int64_t>>;

struct MessageArg {
    std::string name;
    MessageValue value;
};

/// Something to tell a person, as {id, typed arguments}. The words are made at the edge, from app/i18n/en.toml and
/// zh.toml; the core never writes a sentence. Ids are dotted and lower case: "mesh.larger_than_world".
struct Message {
    std::string id;
    std::vector<MessageArg> args;

    /// The argument called `name`, or null.
    const MessageValue* find(const std::string& name) const;
};

/// `id(name=value, …)`: for logs and debuggers, in no human language. Cost: linear in the text.
std::string describe(const Message& message);

/// One value as text: numbers plain, lists as "[1, 2]".
std::string to_text(const MessageValue& value);

}  // namespace meshscope
