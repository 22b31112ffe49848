#include "app/gui/main/telling.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "app/gui/main/words.h"
#include "app/gui/session/actions.h"
#include "app/gui/window/glfw_window.h"
#include "app/i18n/error_text.h"

namespace meshscope::gui {

i18n::Language Telling::language() const {
    return catalogue_language(stage_.state().language);
}

std::string Telling::words(Message message) const {
    if (!window::GlfwWindow::files_are_seen()) {
        const std::string own = message.id + "_in_page";
        if (catalogue_.find(own, language()) != nullptr) message.id = own;
        for (MessageArg& arg : message.args)
            if (arg.name == "path") arg.value = std::filesystem::path(to_text(arg.value)).filename().string();
    }
    return catalogue_.text(message, language());
}

void Telling::tell(const Message& message) const {
    stage_.act(session::ShowToast{words(message)});
}

void Telling::show(const std::exception& error) const {
    stage_.act(session::ShowError{{i18n::describe_error(error, catalogue_, language()).lines}});
}

void Telling::say(const Message& message) const {
    std::fprintf(stderr, "meshscope-app: %s\n", words(message).c_str());
}

}  // namespace meshscope::gui
