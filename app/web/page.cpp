// The window as a page: the same stage and session, one frame for each of the browser's. What page.js gives
// as arguments is what the desktop's program takes; lessons and fonts lie in the page's own files.
#include <emscripten/emscripten.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/main/options.h"
#include "app/gui/main/window_loop.h"
#include "app/gui/session/session.h"
#include "app/gui/session/settings.h"
#include "app/i18n/catalogue.h"
#include "app/i18n/error_text.h"

// clang-format off
EM_JS(void, meshscope_failed, (const char* text), { Module['failed'](UTF8ToString(text)); })
EM_JS(void, meshscope_drew, (), { Module['drew'](); })
// clang-format on

namespace meshscope::web {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// Everything lives as long as the page: nothing is ever taken down.
class Page {
  public:
    explicit Page(const std::vector<std::string>& arguments)
        : language_(i18n::language_from({environment("LANG")})),
          options_(gui::parse_options(arguments)),
          session_(session::LessonFolders{{"/scenarios"}}),
          around_{language_ == i18n::Language::zh ? view::Language::zh : view::Language::en,
                  session::settings_path("", environment("HOME")),
                  {"", "/meshscope.html", ""}},
          loop_(options_, catalogue_, session_, around_) {}

    void frame() {
        loop_.frame();
        meshscope_drew();
    }
    void end() { loop_.end(); }

    static void fail(const std::exception& error, i18n::Language language) {
        std::string text;
        for (const std::string& line :
             i18n::describe_error(error, i18n::Catalogue::embedded(), language).lines)
            text += line + '\n';
        meshscope_failed(text.c_str());
    }

  private:
    const i18n::Catalogue catalogue_ = i18n::Catalogue::embedded();
    const i18n::Language language_;
    const gui::Options options_;
    session::Session session_;
    const gui::Surroundings around_;
    gui::WindowLoop loop_;
};

/// The browser calls without anything that could be handed over.
Page* g_page = nullptr;

void frame() {
    try {
        g_page->frame();
    } catch (const std::exception& error) {
        emscripten_cancel_main_loop();
        Page::fail(error, i18n::language_from({environment("LANG")}));
    }
}

}  // namespace
}  // namespace meshscope::web

/// The page is left: what is unfinished is kept.
extern "C" EMSCRIPTEN_KEEPALIVE void meshscope_end() {
    if (meshscope::web::g_page != nullptr) meshscope::web::g_page->end();
}

int main(int argc, char** argv) {
    using namespace meshscope;
    try {
        web::g_page = std::make_unique<web::Page>(std::vector<std::string>(argv + 1, argv + argc)).release();
    } catch (const std::exception& error) {
        web::Page::fail(error, i18n::language_from({web::environment("LANG")}));
        return 1;
    }
    emscripten_set_main_loop(web::frame, 0, 0);
    return 0;
}
