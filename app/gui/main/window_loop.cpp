#include "app/gui/main/window_loop.h"

#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "app/gui/main/first_actions.h"
#include "app/gui/main/kept_settings.h"
#include "app/gui/main/stage.h"
#include "app/gui/main/state_dump.h"
#include "app/gui/main/telling.h"
#include "app/gui/main/window_exports.h"
#include "app/gui/session/dropped.h"
#include "app/gui/session/lesson_pictures.h"
#include "app/gui/session/live_run.h"
#include "app/gui/session/planned.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/session.h"
#include "app/gui/window/glfw_window.h"
#include "core/base/error.h"

namespace meshscope::gui {
namespace {

// A signal handler can reach nothing else.
volatile std::sig_atomic_t g_end = 0;

void ask_to_end(int signal) {
    std::signal(signal, SIG_DFL);  // a second one does not wait
    g_end = 1;
}

/// How often another window is asked for after the driver took the context away, and how long between.
constexpr int kRenewals = 8;
constexpr std::chrono::milliseconds kBetweenRenewals{250};

}  // namespace

class WindowLoop::Loop {
  public:
    Loop(const Options& options, const i18n::Catalogue& catalogue, session::Session& session,
         const Surroundings& around)
        : options_(options),
          catalogue_(catalogue),
          session_(session),
          around_(around),
          kept_(around.settings),
          window_(width(options, kept_.now), height(options, kept_.now), "Meshscope"),
          host_(window_.handle()),
          stage_(host_, catalogue),
          telling_(stage_, catalogue),
          exports_(window_, host_, stage_, telling_, catalogue, around.tools) {}
    ~Loop() { window::GlfwWindow::on_display_gone({}); }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void begin() {
        window::GlfwWindow::on_display_gone([this] { display_gone(); });
        for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, ask_to_end);
        if (std::signal(SIGHUP, ask_to_end) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // under nohup
        stage_.act(session::SetLanguage{around_.language});
        if (!window::GlfwWindow::files_are_seen()) {
            stage_.act(session::OfferPicking{});
            // Files dropped on a page are gone once it is loaded again.
            std::erase_if(kept_.now.remembered.recent, [](const session::Recent& each) {
                std::error_code none;
                return each.path.starts_with('/') && !std::filesystem::exists(each.path, none);
            });
        }
        for (const session::Action& action : session::start_actions(kept_.now)) stage_.act(action);
        set_up(stage_, options_, nullptr);
        kept_.begin(stage_.state());
        tell_settings();
        stage_.act(session::OfferLessons{session_.offers()});
        session_.on_news(window::GlfwWindow::wake);
        runner_.on_news(window::GlfwWindow::wake);
        pictures_.on_news(window::GlfwWindow::wake);
        live_.on_news(window::GlfwWindow::wake);
        if (!options_.open.empty()) session_.open(options_.open);
        for (const std::string& path : options_.beside) session_.open_beside({path, !options_.view});
    }

    bool frame() {
        if (window_.should_close() || g_end != 0) return false;
        const bool moving = stage_.moving();
        window_.poll(moving || settle_ > 0 || untold_ ? 0.0 : 0.5);
        if (take_input()) settle_ = 3;
        const auto now = std::chrono::steady_clock::now();
        const double seconds = std::min(0.1, std::chrono::duration<double>(now - last_).count());
        last_ = now;
        if (!moving && settle_ <= 0 && !untold_ && !stage_.moving()) {
            keep(2.0);
            return true;
        }
        kept_.touch();
        settle_ = std::max(0, settle_ - 1);
        // What moves is told once it has come to rest; a message, which passes, when it comes.
        const std::string passing = stage_.state().toast ? stage_.state().toast->text : "";
        const bool heard = window::GlfwWindow::is_heard(), comes = !passing.empty() && passing != passing_;
        const bool tells = heard && settle_ == 0 && (!moving || comes);
        if (tells) passing_ = passing;
        untold_ = heard && !tells;
        stage_.tell(tells);
        draw(seconds);
        if (stage_.acted()) settle_ = 3;
        if (!stage_.memory().told.empty()) window::GlfwWindow::tell(stage_.memory().told);
        if (window_.context_lost()) {
            renew();
            settle_ = 3;
        }
        outside();
        exports_.frame();
        dump_state(stage_, options_.dump_state, dumped_);
        keep(2.0);
        return true;
    }

    /// The end, however it came: what is under way is kept to be told at the next start. What runs is stopped
    /// by the destructors, after its present step.
    void end() {
        exports_.end();
        if (!kept_.has_file()) return;
        window_.outer_size(kept_.now.width, kept_.now.height);
        keep_at_end();
    }

  private:
    static int width(const Options& options, const session::Settings& kept) {
        return options.size_given || kept.width == 0 ? options.width : kept.width;
    }
    static int height(const Options& options, const session::Settings& kept) {
        return options.size_given || kept.height == 0 ? options.height : kept.height;
    }

    /// What the settings' file had to be told of, and what was unfinished. Edits that were kept stop nobody.
    void tell_settings() {
        session::ErrorBox box;
        for (const Message& message : kept_.said())
            if (message.id == "settings.kept_edits")
                telling_.tell(message);
            else
                box.lines.push_back(telling_.words(message));
        if (!box.lines.empty()) stage_.act(session::ShowError{box});
    }

    void keep_at_end() {
        const session::AppState& s = stage_.state();
        const bool held = s.live && !s.live->world.ended;
        const session::RunRequest* run = s.running && run_ ? &*run_ : held && held_ ? &*held_ : nullptr;
        kept_.keep_at_end(s, run, saved_, [this](const Message& message) { telling_.say(message); });
    }

    /// Neither window nor graphics can be used, and the program ends when this returns.
    void display_gone() {
        exports_.abandon();
        if (kept_.has_file()) keep_at_end();
        telling_.say({"window.display_gone", {}});
    }

    /// Another window and context in the place of those that the driver took away.
    void renew() {
        Message told{"window.renewed", {}};
        if (const std::string path = exports_.drop(); !path.empty())
            told = {"window.renewed_export", {{"path", path}}};
        host_.detach();
        for (int i = 0;; ++i) {
            try {
                window_.renew();
                break;
            } catch (const DeviceError&) {
                if (i < kRenewals) {
                    std::this_thread::sleep_for(kBetweenRenewals);
                    continue;
                }
                throw;
            }
        }
        host_.attach(window_.handle());
        telling_.tell(told);
    }

    /// Writes what is to be kept, at most every so many seconds, when it changed.
    void keep(double every_s) {
        if (!kept_.due(every_s)) return;
        window_.outer_size(kept_.now.width, kept_.now.height);
        kept_.keep(stage_.state(), [this](const Message& message) { telling_.tell(message); });
    }

    bool take_input() {
        bool any = window_.take_dirty();
        for (const window::KeyPress press : window_.take_keys()) {
            stage_.key(press);
            any = true;
        }
        for (const std::string& path : window_.take_drops()) {
            drop(path);
            any = true;
        }
        for (const session::Action& news : session_.news(catalogue_, telling_.language())) {
            const bool opened = news.get_if<session::ShowDocument>() != nullptr;
            const auto* plan = news.get_if<session::ShowPlan>();
            if (opened || plan != nullptr) keep(0);  // where it was looked at in the one before
            stage_.act(news);
            if (plan != nullptr) window_.set_title("Meshscope · " + plan->plan->name);
            if (opened) first_document();
            any = true;
        }
        const session::AppState& now = stage_.state();
        for (const session::Action& picture : pictures_.news(now.loading || now.running || now.document)) {
            stage_.act(picture);
            any = true;
        }
        const i18n::Language language = telling_.language();
        for (const auto& news : {runner_.news(catalogue_, language), live_.news(catalogue_, language)})
            for (const session::Action& action : news) {
                stage_.act(action);
                any = true;
            }
        return any;
    }

    /// A second run is laid beside the first; a profile and a checkpoint need one to be laid on.
    void drop(const std::string& path) {
        using Kind = session::Dropped::Kind;
        session::Dropped dropped = session::look_at_drop(path);
        const auto& open = stage_.state().document;
        if (dropped.kind == Kind::plan) return stage_.act(session::OpenPath{dropped.path});
        if (dropped.kind == Kind::run) return stage_.act(session::OpenBeside{dropped.path, true});
        if (dropped.kind == Kind::profile && open) return session_.open_retimed(open, dropped.path);
        if (dropped.kind == Kind::checkpoint && open && !open->path.empty())
            return stage_.act(session::OpenBeside{open->path, true, {}, dropped.path});
        // What the thing is, in words, is a text of the catalogue of its own.
        for (MessageArg& arg : dropped.alone.args)
            if (arg.name == "what") arg.value = telling_.words({to_text(arg.value), {}});
        stage_.act(session::ShowError{{{telling_.words(dropped.alone)}}});
    }

    /// The command line's wishes hold for the first document only.
    void first_document() {
        if (!stage_.state().document) return;
        window_.set_title("Meshscope · " + stage_.state().document->name);
        // Where it was looked at last; what the command line says of the first goes before.
        const session::Viewpoint* place = session::viewpoint_kept(kept_.now, *stage_.state().document);
        const bool told = options_.view || options_.lesson_step >= 0 || options_.rank || options_.at;
        // A run that ended early is opened where it broke off.
        const session::Document& front = *stage_.state().document;
        const bool broke_off = front.end && !front.end_is_taught;
        if (place != nullptr && !broke_off && (opened_ || !told))
            stage_.act(session::RestoreViewpoint{*place});
        if (opened_) return;
        opened_ = true;
        if (!options_.open.empty()) tell_settings();  // what was told before has gone with what was in front
        try {
            for (const session::Action& action : place_actions(options_, *stage_.state().document))
                stage_.act(action);
        } catch (const Error& error) {
            telling_.show(error);
        }
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
        if (effects.copy_command) {
            window_.copy_text(window::GlfwWindow::way_to(session::command_words(stage_.state())));
            telling_.tell({"ui.copied", {}});
        }
        for (const session::StartExport& wanted : effects.exports) exports_.start(wanted);
        if (effects.cancel_export) exports_.cancel();
        if (effects.pick_files) window::GlfwWindow::pick_files();
        if (effects.cancel_loading) session_.cancel();
        if (effects.pictures) pictures_.want(*effects.pictures);
        if (!effects.open.empty() || effects.open_text || effects.open_layout || effects.change_plan)
            pictures_.pause();
        for (const std::string& path : effects.open) session_.open(path);
        if (effects.open_text) session_.open(*effects.open_text);
        if (effects.open_layout && stage_.state().plan)
            session_.open_layout(stage_.state().plan, *effects.open_layout);
        for (const session::OpenBeside& next : effects.beside) session_.open_beside(next);
        if (effects.change_plan && stage_.state().plan)
            session_.change_plan(stage_.state().plan, *effects.change_plan);
        if (effects.stop_run) runner_.stop();
        if (effects.run) {
            runner_.start(*effects.run);
            run_ = effects.run;
        }
        if (effects.stop_live) live_.stop();
        if (effects.start_live) {
            live_.start(*effects.start_live);
            held_ = effects.start_live;
        }
        if (effects.let_go) live_.let_go(*effects.let_go);
        if (effects.save)
            for (const session::Action& next :
                 session::save(*effects.save, catalogue_, telling_.language())) {
                const auto* ended = next.get_if<session::SaveEnded>();
                if (ended != nullptr && !ended->exists) {
                    saved_ = effects.save->text;
                    window::GlfwWindow::hand_over(effects.save->to.path);
                }
                stage_.act(next);
            }
        for (const Message& message : effects.tell) telling_.tell(message);
        for (const Message& message : stage_.take_messages()) {
            const std::string line = telling_.words(message);
            std::fprintf(stderr, "meshscope-app: %s\n", line.c_str());
            stage_.act(session::ShowToast{line});
        }
    }

    const Options& options_;
    const i18n::Catalogue& catalogue_;
    session::Session& session_;
    const Surroundings& around_;
    KeptSettings kept_;
    window::GlfwWindow window_;
    window::GlHost host_;
    Stage stage_;
    Telling telling_;
    WindowExports exports_;
    session::Runner runner_;
    session::LessonPictures pictures_;
    session::LiveRun live_;
    std::string saved_;                              ///< the sandbox's text that was saved last
    std::optional<session::RunRequest> run_, held_;  ///< what they were started with last
    std::string dumped_;
    bool opened_ = false;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();  ///< frame
    int settle_ = 3;  ///< frames that ImGui needs after a change: hover, sizes of scrolling parts
    bool untold_ = false;  ///< the latest frame was not told as text
    std::string passing_;  ///< the message that was told last
};

WindowLoop::WindowLoop(const Options& options, const i18n::Catalogue& catalogue, session::Session& session,
                       const Surroundings& around)
    : loop_(std::make_unique<Loop>(options, catalogue, session, around)) {
    loop_->begin();
}
WindowLoop::~WindowLoop() = default;

bool WindowLoop::frame() {
    return loop_->frame();
}
void WindowLoop::end() {
    loop_->end();
}

void run_window(const Options& options, const i18n::Catalogue& catalogue, session::Session& session,
                const Surroundings& around) {
    WindowLoop loop(options, catalogue, session, around);
    try {
        while (loop.frame()) {
        }
    } catch (...) {
        loop.end();  // nothing of what was under way is lost with the window
        throw;
    }
    loop.end();
}

}  // namespace meshscope::gui
