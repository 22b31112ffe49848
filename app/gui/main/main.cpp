/// meshscope-app: the window, and the same pictures without a display.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "app/gui/main/bench_app.h"
#include "app/gui/main/exporter.h"
#include "app/gui/main/lesson_pages.h"
#include "app/gui/main/options.h"
#include "app/gui/main/render_film.h"
#include "app/gui/main/storyboard.h"
#include "app/gui/main/window_loop.h"
#include "app/gui/main/words.h"
#include "app/gui/session/dropped.h"
#include "app/gui/session/planned.h"
#include "app/gui/session/session.h"
#include "app/gui/session/settings.h"
#include "app/gui/window/headless_context.h"
#include "app/i18n/catalogue.h"
#include "app/i18n/error_text.h"
#include "core/base/address_space.h"
#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "core/base/open_parts.h"
#include "core/base/replace_file.h"
#include "core/base/same_file.h"

namespace meshscope::gui {
namespace {

// A signal handler can reach nothing else.
volatile std::sig_atomic_t g_cancelled = 0;  ///< the signal that asked to stop
volatile std::sig_atomic_t g_polled = 0;     ///< what runs looks at g_cancelled

extern "C" void on_cancel(int signal) {
    // A terminal that is closed says so twice: that is one wish.
    if (signal == SIGHUP && g_polled != 0 && g_cancelled != 0) return;
    // A second one means it, and where nobody looks at the flag the first does.
    if (g_polled == 0 || g_cancelled != 0) {
        remove_open_parts();
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
    g_cancelled = signal;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::filesystem::path program_folder() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

ExportTools export_tools() {
    return {environment("PATH"), environment("MESHSCOPE_PAGE"), program_folder().string()};
}

/// Beside the installed program, beside the build, and where MESHSCOPE_SCENARIOS points.
session::LessonFolders lesson_folders() {
    session::LessonFolders found;
    const std::string wanted = environment("MESHSCOPE_SCENARIOS");
    if (!wanted.empty()) found.paths.push_back(wanted);
    const std::filesystem::path program = program_folder();
    for (const char* from : {"../share/meshscope/scenarios", "../../../scenarios"}) {
        found.paths.push_back((program / from).lexically_normal().string());
    }
    found.paths.push_back("scenarios");
    found.home = environment("HOME");
    std::error_code none;
    for (std::string& path : found.paths) path = std::filesystem::absolute(path, none).string();
    return found;
}

class Program {
  public:
    Program() : catalogue_(i18n::Catalogue::embedded()) {
        language_ =
            i18n::language_from({environment("LC_ALL"), environment("LC_MESSAGES"), environment("LANG")});
    }

    int run(const std::vector<std::string>& arguments) {
        try {
            Options options = parse_options(arguments);
            const auto system_language =
                language_ == i18n::Language::zh ? view::Language::zh : view::Language::en;
            const bool in_window = options.render.empty() && options.export_to.empty() &&
                                   options.lesson_pages.empty() && options.bench == 0 && !options.bench_all;
            if (options.language) language_ = catalogue_language(*options.language);
            // A window has a language of its own from before; what is drawn without one is the same for all.
            if (!options.language && !in_window) options.language = system_language;
            if (options.help || options.version) {
                return print(options.help ? help_text(language_) : version_line());
            }
            check_before(options);
            if (options.bench > 0) return bench(options);
            if (options.bench_all) return bench_all(options);
            if (!options.render.empty()) return film(options);
            if (!options.export_to.empty()) return export_file(options);
            if (!options.lesson_pages.empty()) return lesson_pages(options);
            if (environment("DISPLAY").empty() && environment("WAYLAND_DISPLAY").empty()) {
                // What could not be shown on any display is told first.
                if (!options.open.empty())
                    static_cast<void>(session::preview(options.open, lesson_folders()));
                for (const std::string& name : options.beside)
                    static_cast<void>(session::preview(name, lesson_folders()));
                tell({"app.no_display", {}});
                return static_cast<int>(i18n::ExitCode::backend_missing);
            }
            session::Session session(lesson_folders());
            const Surroundings around{
                system_language, session::settings_path(environment("XDG_CONFIG_HOME"), environment("HOME")),
                export_tools()};
            run_window(options, catalogue_, session, around);
            return 0;
        } catch (const InvalidArgument& error) {
            const std::string& id = error.message().id;
            const bool ours = id.rfind("app.", 0) == 0 || id.rfind("export.", 0) == 0;
            const bool missing = id == "export.no_ffmpeg" || id == "html.no_page";
            if (missing) return fail(error, static_cast<int>(i18n::ExitCode::backend_missing));
            const bool usage = ours && id != "app.lesson_unknown";
            return usage ? fail(error, static_cast<int>(i18n::ExitCode::usage)) : fail(error);
        } catch (const DeviceError& error) {
            const i18n::ErrorText text = i18n::describe_error(error, catalogue_, language_);
            const bool memory = text.exit_code == i18n::ExitCode::out_of_memory;
            return fail(error, static_cast<int>(memory ? text.exit_code : i18n::ExitCode::backend_missing));
        } catch (const Cancelled& error) {
            return g_cancelled != 0 ? fail(error, 128 + g_cancelled) : fail(error);
        } catch (const std::exception& error) {
            return fail(error);
        }
    }

  private:
    void tell(const Message& message) const {
        std::fprintf(stderr, "meshscope-app: %s\n", catalogue_.text(message, language_).c_str());
    }

    int fail(const std::exception& error, int code = -1) const {
        const i18n::ErrorText text = i18n::describe_error(error, catalogue_, language_);
        for (const std::string& line : text.lines) std::fprintf(stderr, "meshscope-app: %s\n", line.c_str());
        return code >= 0 ? code : static_cast<int>(text.exit_code);
    }

    /// A full disk or a closed pipe is seen when the text leaves the program.
    int print(const std::string& text) const {
        if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
        tell({"error.stdout", {}});
        return static_cast<int>(i18n::ExitCode::io);
    }

    /// What can be told before a scenario is run: an output that is an input, a lesson step that is none.
    static void check_before(Options& options) {
        for (std::string* output : {&options.mp4, &options.dump_state, &options.export_to})
            if (!output->empty()) *output = file_to_write(*output);
        if (!options.force) refuse_other_kinds(options);
        if (options.open.empty()) return;
        session::Preview preview;
        try {
            preview = session::preview(options.open, lesson_folders());
        } catch (const Error&) {
            return;  // it is told when it is opened: in the window, where there is one
        }
        for (const std::string& output : {options.mp4, options.dump_state, options.export_to})
            refuse_to_overwrite(output, preview.inputs);
        for (const std::string& output : {options.mp4, options.dump_state, options.export_to})
            refuse_to_overwrite(output, options.beside);
        if (preview.lesson_steps) check_step(options, *preview.lesson_steps);
    }

    static void refuse_other_kinds(const Options& options) {
        refuse_other_kind(options.mp4, FileKind::mp4);
        refuse_other_kind(options.dump_state, FileKind::json);
        if (options.export_to.empty()) return;
        constexpr std::array kKinds{
            std::pair{ExportKind::svg, FileKind::svg}, std::pair{ExportKind::png, FileKind::png},
            std::pair{ExportKind::gif, FileKind::gif}, std::pair{ExportKind::mp4, FileKind::mp4},
            std::pair{ExportKind::html, FileKind::html}};
        for (const auto& [format, kind] : kKinds)
            if (export_kind(options.export_to) == format) refuse_other_kind(options.export_to, kind);
    }

    static void check_step(const Options& options, int32_t steps) {
        if (options.lesson_step < steps) return;
        if (steps == 0) throw InvalidArgument({"app.no_steps", {{"name", options.open}}});
        throw InvalidArgument(
            {"app.no_such_step", {{"step", int64_t{options.lesson_step} + 1}, {"steps", int64_t{steps}}}});
    }

    std::shared_ptr<const session::Document> load(const Options& options) const {
        auto document = session::load_document(options.open, lesson_folders(), nullptr);
        const bool chinese = language_ == i18n::Language::zh;
        for (const session::FailedCheck& check : document->failed_checks) {
            const scenario::Text& title = check.title;
            const bool zh = title.en.empty() || (chinese && !title.zh.empty());
            tell({"app.check_failed",
                  {{"check", zh ? title.zh : title.en}, {"why", catalogue_.text(check.why, language_)}}});
        }
        check_step(options, static_cast<int32_t>(document->steps.size()));
        return document;
    }

    /// What was given beside it, and what its scenario compares with: as many as stand side by side.
    Beside load_beside(const Options& options, const session::Document& document) const {
        Beside found;
        const auto add = [&](const std::string& what, const std::string& strategy) {
            if (found.size() + 1 < session::kMostRuns)
                found.push_back(session::load_document(what, lesson_folders(), nullptr, nullptr, strategy));
        };
        for (const std::string& name : options.beside) add(name, "");
        for (const auto& next : document.compare)
            add(next.path.empty() ? document.path : next.path, next.strategy);
        return found;
    }

    int film(const Options& options) const {
        const auto document = load(options);
        const bool terminal = isatty(STDERR_FILENO) == 1;
        const auto progress = [&](int done, int all) {
            if (g_cancelled != 0)
                throw Cancelled(
                    {"app.film_cancelled",
                     {{"done", int64_t{done}}, {"frames", int64_t{all}}, {"folder", options.render}}});
            if (!terminal) return;
            std::fprintf(stderr, "\r%d / %d", done, all);
            if (done == all) std::fputc('\n', stderr);
        };
        const Beside beside = load_beside(options, *document);
        g_polled = 1;
        const FilmReport report =
            render_film(document, options, catalogue_, environment("PATH"), progress, beside);
        tell({"app.rendered", {{"frames", int64_t{report.frames}}, {"folder", report.folder}}});
        if (!report.mp4.empty()) tell({"app.film", {{"path", report.mp4}}});
        if (!report.command.empty()) tell({"app.no_ffmpeg", {{"command", report.command}}});
        return 0;
    }

    /// The same exporter as the window's, off screen. Ctrl-C ends it after the present frame; nothing is left
    /// then.
    int export_file(const Options& options) const {
        if (session::opens_as_plan(options.open)) return export_plan(options);
        auto document = load(options);
        ExportJob job;
        job.path = options.export_to;
        const ExportKind kind = export_kind(job.path);
        const bool film = kind == ExportKind::gif || kind == ExportKind::mp4;
        const int fps = options.fps_given ? options.frames_per_s : usual_frames_per_s(kind);
        const int frames = film ? film_frames(options, *document, fps) : 1;
        job.tour = film && tours_lesson(options, *document, frames);
        job.look = usual_look(options, *document, frames);
        if (is_of_step(options)) job.step = options.lesson_step;
        if (job.tour) document = without_questions(*document);
        session::Effects ignored;
        for (const session::Action& action :
             first_actions(options, document, load_beside(options, *document)))
            session::apply(job.state, action, ignored);
        if (const auto view = usual_film_view(options, frames); film && !job.tour && view)
            session::apply(job.state, session::SetView{*view}, ignored);
        const auto moment = [&](double part) {
            return std::llround(part * static_cast<double>(session::shown_clock(job.state)->end_ns));
        };
        if (!options.at && options.from)
            session::apply(job.state, session::SetCursor{moment(options.from.value_or(0))}, ignored);
        job.from_ns = moment(options.from.value_or(0));
        job.to_ns = moment(options.to.value_or(1));
        job.width = options.width;
        job.height = options.height;
        job.steps = options.steps;
        job.frames = frames;
        job.frames_per_s = fps;
        std::optional<window::HeadlessContext> context;
        if (kind != ExportKind::svg && kind != ExportKind::html) context.emplace();
        return write_export(std::move(job));
    }

    /// A picture of a plan's page, the fastest layout chosen.
    int export_plan(const Options& options) const {
        if (!options.beside.empty()) throw InvalidArgument({"app.plan_alone", {{"path", options.open}}});
        for (const auto& [given, option] :
             {std::pair{options.lesson_step >= 0, "--step"}, std::pair{options.view.has_value(), "--view"},
              std::pair{options.form.has_value(), "--form"}, std::pair{options.clock.has_value(), "--clock"},
              std::pair{options.rank.has_value(), "--rank"}, std::pair{options.at.has_value(), "--at"},
              std::pair{options.from.has_value(), "--from"}, std::pair{options.to.has_value(), "--to"},
              std::pair{options.steps.has_value(), "--steps"}})
            if (given)
                throw InvalidArgument({"app.plan_no_place", {{"option", option}, {"path", options.open}}});
        ExportJob job;
        job.path = options.export_to;
        session::Effects ignored;
        for (const session::Action& action : first_actions(options, nullptr))
            session::apply(job.state, action, ignored);
        session::apply(job.state,
                       session::ShowPlan{session::load_plan(
                           options.open, [] {}, nullptr)},
                       ignored);
        if (!session::can_export(job.state, export_kind(job.path)))
            throw InvalidArgument({"export.plan_format", {{"path", job.path}}});
        job.width = options.width;
        job.height = options.height;
        job.frames = 1;
        const window::HeadlessContext context;
        return write_export(std::move(job));
    }

    int write_export(ExportJob job) const {
        g_polled = 1;
        const std::string path = job.path;
        Exporter exporter(std::move(job), catalogue_, export_tools());
        const bool progress = isatty(STDERR_FILENO) == 1 && exporter.all() > 1;
        while (!exporter.step()) {
            if (progress) std::fprintf(stderr, "\r%d / %d", exporter.done(), exporter.all());
            if (g_cancelled != 0) throw Cancelled({"export.cancelled", {{"path", path}}});
        }
        if (progress) std::fputs("\r", stderr);
        tell({"ui.export.written", {{"path", path}}});
        return 0;
    }

    int lesson_pages(const Options& options) const {
        const auto document = load(options);
        if (document->steps.empty()) throw InvalidArgument({"app.pages_need_lesson", {}});
        const bool terminal = isatty(STDERR_FILENO) == 1;
        const auto progress = [&](int done, int all) {
            if (g_cancelled != 0) throw Cancelled({"export.cancelled", {{"path", options.lesson_pages}}});
            if (terminal) std::fprintf(stderr, done == all ? "\r%d / %d\n" : "\r%d / %d", done, all);
        };
        const Beside beside = load_beside(options, *document);
        g_polled = 1;
        const int pictures =
            write_lesson_pages(document, options, beside, options.lesson_pages, catalogue_, progress);
        tell({"app.pages_written", {{"pictures", int64_t{pictures}}, {"folder", options.lesson_pages}}});
        return 0;
    }

    /// One JSON line: the median and the 95th percentile of a frame, drawing finished.
    int bench(const Options& options) const {
        const auto document = load(options);
        std::vector<double> ms;
        for (const FrameCost& cost :
             bench_frames(document, options, catalogue_, load_beside(options, *document)))
            ms.push_back(cost.ms);
        std::sort(ms.begin(), ms.end());
        const double median = ms[ms.size() / 2], slow = ms[ms.size() * 95 / 100];
        std::printf(
            "{\"bench\":\"app\",\"frames\":%zu,\"width\":%d,\"height\":%d,\"ms_median\":%.2f,\"ms_p95\":%.2f,"
            "\"fps_median\":%.1f}\n",
            ms.size(), options.width, options.height, median, slow, 1000.0 / median);
        return print("");
    }

    /// JSON lines, each as soon as it is known.
    int bench_all(const Options& options) const {
        const std::string lesson = options.open.empty() ? "78_three_d" : options.open;
        bench_app(options, catalogue_, lesson_folders(), lesson, [](const std::string& line) {
            std::puts(line.c_str());
            std::fflush(stdout);
        });
        return print("");
    }

    i18n::Catalogue catalogue_;
    i18n::Language language_ = i18n::Language::en;
};

}  // namespace
}  // namespace meshscope::gui

int main(int argc, char** argv) {
    // A file that may not grow any more is told as a full disk is.
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGINT, meshscope::gui::on_cancel);
    std::signal(SIGTERM, meshscope::gui::on_cancel);
    // A closed terminal ends what is drawn to files as SIGTERM does, unless nohup has it ignored.
    if (std::signal(SIGHUP, meshscope::gui::on_cancel) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
    try {
        meshscope::spare_address_space();
        return meshscope::gui::Program().run({argv + 1, argv + argc});
    } catch (const std::bad_alloc&) {  // too little even for the texts
        std::fputs("meshscope-app: out of memory / 内存不足\n", stderr);
        return static_cast<int>(meshscope::i18n::ExitCode::out_of_memory);
    }
}
