#include "app/gui/main/window_loop.h"

#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "app/gui/main/render_film.h"
#include "app/gui/main/stage.h"
#include "app/gui/main/state_dump.h"
#include "app/gui/main/words.h"
#include "app/gui/session/live_run.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/session.h"
#include "app/gui/window/glfw_window.h"

namespace meshscope::gui {
namespace {

/// The file always holds a whole state: written beside and renamed.
void dump(const Stage& stage, const std::string& path, std::string& last) {
    if (path.empty()) return;
    const std::string now = state_as_json(stage);
    if (now == last) return;
    last = now;
    const std::string beside = path + ".part";
    {
        std::ofstream out(beside, std::ios::binary | std::ios::trunc);
        out << now << '\n';
    }
    std::error_code ignored;
    std::filesystem::rename(beside, path, ignored);
}

class Loop {
  public:
    Loop(const Options& options, const i18n::Catalogue& catalogue, session::Session& session)
        : options_(options),
          catalogue_(catalogue),
          session_(session),
          window_(options.width, options.height, "Meshscope"),
          host_(window_.handle()),
          stage_(host_, catalogue) {}

    void run() {
        set_up(stage_, options_, nullptr);
        stage_.act(session::OfferLessons{session_.offers()});
        session_.on_news(window::GlfwWindow::wake);
        runner_.on_news(window::GlfwWindow::wake);
        live_.on_news(window::GlfwWindow::wake);
        if (!options_.open.empty()) session_.open(options_.open);
        for (const std::string& path : options_.beside) session_.open_beside({path, !options_.view});
        auto last = std::chrono::steady_clock::now();
        int settle = 3;  // frames that ImGui needs after a change: hover, sizes of scrolling parts
        while (!window_.should_close()) {
            const bool moving = session::in_motion(stage_.state());
            window_.poll(moving || settle > 0 ? 0.0 : 0.5);
            if (take_input()) settle = 3;
            const auto now = std::chrono::steady_clock::now();
            const double seconds = std::min(0.1, std::chrono::duration<double>(now - last).count());
            last = now;
            if (!moving && settle <= 0 && !session::in_motion(stage_.state())) continue;
            settle = std::max(0, settle - 1);
            draw(seconds);
            outside();
            dump(stage_, options_.dump_state, dumped_);
        }
    }

  private:
    bool take_input() {
        bool any = window_.take_dirty();
        for (const window::KeyPress press : window_.take_keys()) {
            stage_.key(press);
            any = true;
        }
        for (const std::string& path : window_.take_drops()) {
            // A second file is laid beside the first.
            stage_.act(session::OpenBeside{path, true});
            any = true;
        }
        for (const session::Action& news :
             session_.news(catalogue_, catalogue_language(stage_.state().language))) {
            const bool opened = std::holds_alternative<session::ShowDocument>(news);
            stage_.act(news);
            if (opened) first_document();
            any = true;
        }
        const i18n::Language language = catalogue_language(stage_.state().language);
        for (const auto& news : {runner_.news(catalogue_, language), live_.news(catalogue_, language)})
            for (const session::Action& action : news) {
                stage_.act(action);
                any = true;
            }
        return any;
    }

    /// The command line's wishes hold for the first document only.
    void first_document() {
        if (stage_.state().document) window_.set_title("Meshscope · " + stage_.state().document->name);
        if (opened_) return;
        opened_ = true;
        if (options_.lesson_step >= 0) stage_.act(session::GoToLessonStep{options_.lesson_step});
        if (options_.view) stage_.act(session::SetView{*options_.view});
    }

    void draw(double seconds) {
        int width = 0, height = 0;
        window_.size(width, height);
        if (width <= 0 || height <= 0) return;  // minimised
        ImDrawData* data = stage_.frame(width, height, seconds, window_.content_scale());
        host_.draw(data, width, height, window::theme(stage_.state().theme).fill(view::Token::bg));
        window_.present();
    }

    void outside() {
        const session::Effects effects = stage_.take_effects();
        for (const std::string& text : effects.copy) window_.copy_text(text);
        for (const std::string& path : effects.open) session_.open(path);
        for (const session::OpenBeside& next : effects.beside) session_.open_beside(next);
        if (effects.stop_run) runner_.stop();
        if (effects.run) runner_.start(*effects.run);
        if (effects.stop_live) live_.stop();
        if (effects.start_live) live_.start(*effects.start_live);
        if (effects.let_go) live_.let_go(*effects.let_go);
        if (effects.save)
            for (const session::Action& next :
                 session::save(*effects.save, catalogue_, catalogue_language(stage_.state().language)))
                stage_.act(next);
        for (const Message& message : effects.tell)
            stage_.act(
                session::ShowToast{catalogue_.text(message, catalogue_language(stage_.state().language))});
        for (const Message& message : stage_.take_messages()) {
            const std::string line = catalogue_.text(message, catalogue_language(stage_.state().language));
            std::fprintf(stderr, "meshscope-app: %s\n", line.c_str());
            stage_.act(session::ShowToast{line});
        }
    }

    const Options& options_;
    const i18n::Catalogue& catalogue_;
    session::Session& session_;
    window::GlfwWindow window_;
    window::GlHost host_;
    Stage stage_;
    session::Runner runner_;
    session::LiveRun live_;
    std::string dumped_;
    bool opened_ = false;
};

}  // namespace

void run_window(const Options& options, const i18n::Catalogue& catalogue, session::Session& session) {
    Loop(options, catalogue, session).run();
}

}  // namespace meshscope::gui
