#include "app/gui/main/render_film.h"

#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <vector>

#include "app/gui/main/fade.h"
#include "app/gui/main/out_folder.h"
#include "app/gui/main/stage.h"
#include "app/gui/main/storyboard.h"
#include "app/gui/window/film.h"
#include "app/gui/window/frame_buffer.h"
#include "app/gui/window/headless_context.h"
#include "app/gui/window/png.h"
#include "app/gui/window/shell_line.h"
#include "core/base/error.h"
#include "core/base/file_kind.h"

namespace meshscope::gui {
namespace {

/// Processor time of this thread or of the process.
double cpu_ms(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

int64_t moment(const session::AppState& state, double fraction) {
    return std::llround(fraction * static_cast<double>(session::shown_clock(state)->end_ns));
}

/// Everything needed to draw off screen, in the order it must be made.
struct Studio {
    Studio(const Options& options, const i18n::Catalogue& catalogue)
        : target(options.width, options.height), host(nullptr), stage(host, catalogue) {}

    void draw(double seconds) { submit(stage.frame(target.width(), target.height(), seconds)); }
    void submit(ImDrawData* data) {
        target.bind();
        host.draw(data, target.width(), target.height(),
                  window::theme(stage.state().theme).fill(view::Token::bg));
    }

    window::HeadlessContext context;
    window::FrameBuffer target;
    window::GlHost host;
    Stage stage;
};

std::string frame_file(const std::string& folder, int frame) {
    char name[32];
    std::snprintf(name, sizeof(name), "frame_%05d.png", frame);
    return (std::filesystem::path(folder) / name).string();
}

/// A stage ready for the first frame, and what it shows then.
Projector set_up_film(Stage& stage, const Options& options, std::shared_ptr<const session::Document> document,
                      int frames, const Beside& beside) {
    const bool tour = tours_lesson(options, *document, frames);
    const FilmLook look = usual_look(options, *document, frames);
    if (tour) document = without_questions(*document);
    set_up(stage, options, document, beside);
    // It is watched, not answered: an open question leaves nothing out of it.
    session::AppState whole = stage.state();
    whole.uncovered = true;
    stage.resume(std::move(whole));
    stage.act(session::ShowRunOfStep{true});
    // One picture of a run that ended early is of where it broke off, as it opens.
    const bool broke_off = document->end && !document->end_is_taught && frames == 1;
    if (options.step_moment() || (broke_off && !options.from && !options.to)) {
        Shot still;
        still.tells_step = is_of_step(options);
        return Projector({still}, options.frames_per_s, look);
    }
    const time::Clock& clock = *session::shown_clock(stage.state());
    if (tour)
        return Projector(storyboard(*document, clock, frames, options.frames_per_s), options.frames_per_s,
                         look);
    if (plays_step(options, frames, look))
        return Projector(step_alone(*document, clock, options.lesson_step, frames, options.frames_per_s),
                         options.frames_per_s, look);
    if (const auto view = usual_film_view(options, frames)) stage.act(session::SetView{*view});
    const double from = options.from.value_or(0), to = options.to.value_or(1);
    return Projector({{{}, moment(stage.state(), from), moment(stage.state(), to), 1, frames}},
                     options.frames_per_s, look);
}

}  // namespace

FilmReport render_film(std::shared_ptr<const session::Document> document, const Options& options,
                       const i18n::Catalogue& catalogue, const std::string& path_value,
                       const std::function<void(int, int)>& progress, const Beside& beside) {
    make_out_folder(options.render);
    const int frames = film_frames(options, *document, options.frames_per_s);
    for (int i = 0; !options.force && i < frames; ++i)
        refuse_other_kind(frame_file(options.render, i), FileKind::png);

    Studio studio(options, catalogue);
    const double seconds = 1.0 / options.frames_per_s;
    Projector projector = set_up_film(studio.stage, options, std::move(document), frames, beside);

    FilmReport report{frames, options.render, "", ""};
    std::optional<window::Film> film;
    if (!options.mp4.empty()) {
        const std::string ffmpeg = window::find_program("ffmpeg", path_value);
        if (ffmpeg.empty()) {
            report.command = window::as_shell_line(
                window::film_command(options.render, options.frames_per_s, options.mp4));
        } else {
            film.emplace(ffmpeg, options.mp4, options.width, options.height, options.frames_per_s);
        }
    }
    // ImGui settles sizes of scrolling parts in the frame after it first sees them.
    for (int i = 0; i < kSettling; ++i) studio.draw(1.0);
    Fade fade(projector.fade_frames());
    for (int i = 0; i < frames; ++i) {
        if (projector.advance(studio.stage)) {
            for (int settling = 0; settling < kSettling; ++settling) studio.draw(0);
            fade.begin();
        }
        studio.draw(seconds);
        const window::Image image = fade.frame(studio.target.read());
        window::write_png(frame_file(options.render, i), image);
        if (film) film->add(image);
        if (progress) progress(i + 1, frames);
    }
    if (film) {
        film->finish();
        report.mp4 = options.mp4;
    }
    return report;
}

std::vector<FrameCost> bench_frames(std::shared_ptr<const session::Document> document, const Options& options,
                                    const i18n::Catalogue& catalogue, const Beside& beside) {
    Studio studio(options, catalogue);
    set_up(studio.stage, options, std::move(document), beside);
    for (int i = 0; i < 3; ++i) studio.draw(1.0);
    std::vector<FrameCost> costs;
    for (int i = 0; i < options.bench; ++i) {
        FrameCost cost;
        studio.target.finish();
        const auto begin = std::chrono::steady_clock::now();
        const double mine = cpu_ms(CLOCK_THREAD_CPUTIME_ID), all = cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
        studio.stage.act(
            session::SetCursor{moment(studio.stage.state(), static_cast<double>(i) / options.bench)});
        ImDrawData* data = studio.stage.frame(studio.target.width(), studio.target.height(), 1.0 / 60);
        const double built = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
        studio.submit(data);
        studio.target.finish();
        const double end = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
        cost.build_cpu_ms = built - mine;
        cost.submit_cpu_ms = end - built;
        cost.raster_cpu_ms = std::max(0.0, cpu_ms(CLOCK_PROCESS_CPUTIME_ID) - all - (end - mine));
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        cost.ms = took.count();
        cost.vertices = data->TotalVtxCount;
        for (int k = 0; k < data->CmdListsCount; ++k) cost.commands += data->CmdLists[k]->CmdBuffer.Size;
        costs.push_back(cost);
    }
    return costs;
}

}  // namespace meshscope::gui
