#include "core/base/cause.h"

#include <new>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/base/start_thread.h"

namespace meshscope {
namespace {

const std::string kInside = "cause.";

}  // namespace

Message message_of(const std::exception& error) {
    if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->message();
    if (dynamic_cast<const std::bad_alloc*>(&error)) return {"error.out_of_memory", {}};
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system != nullptr && system->code() == std::errc::not_enough_memory)
        return {"error.out_of_memory", {}};
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) return no_thread();
    return {"error.unforeseen", {{"what", std::string(error.what())}}};
}

Message message_of(const std::exception_ptr& error) {
    if (!error) return {};
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return message_of(known);
    } catch (...) {
        return {"error.unforeseen", {{"what", std::string("?")}}};
    }
}

Message with_cause(Message message, const Message& cause) {
    message.args.push_back({kInside + "id", cause.id});
    for (const MessageArg& arg : cause.args) message.args.push_back({kInside + arg.name, arg.value});
    return message;
}

std::optional<Message> cause_in(const Message& message) {
    std::optional<Message> cause;
    for (const MessageArg& arg : message.args) {
        if (!arg.name.starts_with(kInside)) continue;
        const std::string name = arg.name.substr(kInside.size());
        if (!cause) {  // the id comes first; an argument of the cause may have that name, too
            const auto* const id = name == "id" ? std::get_if<std::string>(&arg.value) : nullptr;
            if (id == nullptr) return std::nullopt;
            cause = Message{*id, {}};
        } else {
            cause->args.push_back({name, arg.value});
        }
    }
    return cause;
}

}  // namespace meshscope
