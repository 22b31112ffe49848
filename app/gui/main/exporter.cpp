#include "app/gui/main/exporter.h"

#include <imgui.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "app/gui/main/drawn_svg.h"
#include "app/gui/main/fade.h"
#include "app/gui/main/seen_picture.h"
#include "app/gui/main/stage.h"
#include "app/gui/main/storyboard.h"
#include "app/gui/main/words.h"
#include "app/gui/view/svg.h"
#include "app/gui/window/film.h"
#include "app/gui/window/fonts.h"
#include "app/gui/window/frame_buffer.h"
#include "app/gui/window/gl.h"
#include "app/gui/window/png.h"
#include "app/html/page.h"
#include "core/base/error.h"
#include "core/base/replace_file.h"
#include "core/trace/trace_bytes.h"

namespace meshscope::gui {
namespace {

/// An export has an ImGui context of its own beside the window's; the window's is put back at the end.
class WithContext {
  public:
    explicit WithContext(ImGuiContext* own) : before_(ImGui::GetCurrentContext()) {
        if (own != nullptr) ImGui::SetCurrentContext(own);
    }
    ~WithContext() { ImGui::SetCurrentContext(before_); }
    WithContext(const WithContext&) = delete;
    WithContext& operator=(const WithContext&) = delete;

  private:
    ImGuiContext* before_;
};

}  // namespace

ExportKind export_kind(const std::string& path) {
    if (const auto kind = session::export_kind_of(path)) return *kind;
    throw InvalidArgument({"export.format", {{"path", path}}});
}

struct Exporter::Impl {
    Impl(ExportJob wanted, const i18n::Catalogue& texts)
        : job(std::move(wanted)), catalogue(texts), kind(export_kind(job.path)) {
        job.state = without_overlays(std::move(job.state));
        job.state.uncovered = !job.masked;
    }

    /// Apart from the constructor, so that what throws here is taken down in the right context.
    void start(const ExportTools& tools) {
        const bool film_wanted = kind == ExportKind::gif || kind == ExportKind::mp4;
        if (job.frames_per_s <= 0) job.frames_per_s = usual_frames_per_s(kind);
        if (film_wanted) {
            frames = job.frames > 0
                         ? job.frames
                         : std::max(1, static_cast<int>(std::lround(job.seconds * job.frames_per_s)));
            open_film(tools.path);
            projector = Projector(shots(), job.frames_per_s, job.look);
            fade = Fade(projector.fade_frames());
        } else {
            job.path = file_to_write(job.path);
        }
        if (kind == ExportKind::html) {
            page = html::find_page(tools.page, tools.program_folder);
            return;
        }
        const WithContext context(nullptr);
        if (kind == ExportKind::svg) {
            host = std::make_unique<window::ImGuiHost>();
        } else {
            target.emplace(job.width, job.height);
            auto drawing = std::make_unique<window::GlHost>(nullptr);
            gl = drawing.get();
            host = std::move(drawing);
        }
        own = ImGui::GetCurrentContext();
        stage.emplace(*host, catalogue);
        stage->resume(job.state);
        stage->note_pictures(kind == ExportKind::svg ? &drawn : nullptr);
        if (kind == ExportKind::png && job.look == FilmLook::tour) {
            Shot still;
            still.tells_step = job.step.has_value();
            Projector({still}, job.frames_per_s, job.look).advance(*stage);
        }
        // ImGui settles sizes of scrolling parts in the frame after it first sees them.
        for (int i = 0; i < kSettling; ++i) draw(1.0);
    }

    ~Impl() {
        const WithContext context(own);
        stage.reset();
        host.reset();
    }

    std::vector<Shot> shots() const {
        const time::Clock& clock = *session::shown_clock(job.state);
        if (job.tour) return storyboard(*job.state.document, clock, frames, job.frames_per_s);
        if (job.step && job.look == FilmLook::tour)
            return step_alone(*job.state.document, clock, *job.step, frames, job.frames_per_s);
        return {{{}, job.from_ns, job.to_ns, 1, frames}};
    }

    void open_film(const std::string& path_value) {
        if (kind == ExportKind::mp4 && (job.width % 2 != 0 || job.height % 2 != 0))
            throw InvalidArgument(
                {"export.odd_size", {{"width", int64_t{job.width}}, {"height", int64_t{job.height}}}});
        const std::string ffmpeg = window::find_program("ffmpeg", path_value);
        if (ffmpeg.empty()) throw InvalidArgument({"export.no_ffmpeg", {{"path", job.path}}});
        film.emplace(ffmpeg, job.path, job.width, job.height, job.frames_per_s,
                     kind == ExportKind::gif ? window::FilmKind::gif : window::FilmKind::mp4);
    }

    /// `own` must be ImGui's context.
    void draw(double seconds) {
        ImDrawData* data = stage->frame(job.width, job.height, seconds, job.content_scale);
        if (gl == nullptr) return;
        target->bind();
        gl->draw(data, job.width, job.height, window::theme(stage->state().theme).fill(view::Token::bg));
        glBindFramebuffer(GL_FRAMEBUFFER, 0);
    }

    /// What was drawn; the window's own target is bound again.
    window::Image shot() const {
        window::Image image = target->read();
        glBindFramebuffer(GL_FRAMEBUFFER, 0);
        return image;
    }

    bool step() {
        const WithContext context(own);
        if (kind == ExportKind::html) {
            write_page();
        } else if (kind == ExportKind::svg) {
            const window::FontMeasure measure(host->fonts());
            replace_file(job.path,
                         view::svg(stacked(drawn), palette(window::theme(job.state.theme)), &measure));
        } else if (kind == ExportKind::png) {
            replace_file(job.path, window::png_bytes(shot()));
        } else {
            add_frame();
        }
        return ++done >= frames;
    }

    void add_frame() {
        if (projector.advance(*stage)) {
            for (int settling = 0; settling < kSettling; ++settling) draw(0);
            fade.begin();
        }
        draw(1.0 / job.frames_per_s);
        film->add(fade.frame(shot()));
        if (done + 1 == frames) film->finish();
    }

    void write_page() const {
        const session::AppState& s = job.state;
        const trace::Trace& trace = *s.document->trace;
        const auto part = html::part_for_page(trace, job.steps, catalogue);
        // Of an excerpt the moment and the lesson are others.
        std::vector<std::string> words = session::command_words(s);
        if (part) words = {"--lang", s.language == view::Language::zh ? "zh" : "en"};
        words.insert(words.end(), {"--theme", theme_word(s.theme)});
        html::PageRecord record{s.document->name, html::place_of(words)};
        if (!record.name.ends_with(".mscope")) record.name += ".mscope";
        html::export_page(trace::trace_bytes(part ? *part : trace), record, page, job.path);
    }

    ExportJob job;
    const i18n::Catalogue& catalogue;
    ExportKind kind;
    std::string page;
    int done = 0, frames = 1;
    Projector projector{{}};
    Fade fade{0};
    std::optional<window::Film> film;
    std::optional<window::FrameBuffer> target;
    std::unique_ptr<window::ImGuiHost> host;
    window::GlHost* gl = nullptr;
    ImGuiContext* own = nullptr;
    std::optional<Stage> stage;
    std::vector<panels::Drawn> drawn;
};

Exporter::Exporter(ExportJob job, const i18n::Catalogue& catalogue, const ExportTools& tools)
    : impl_(std::make_unique<Impl>(std::move(job), catalogue)) {
    impl_->start(tools);
}
Exporter::~Exporter() = default;

bool Exporter::step() {
    return impl_->step();
}
void Exporter::abandon() {
    impl_->film.reset();
}
int Exporter::done() const {
    return impl_->done;
}
int Exporter::all() const {
    return impl_->frames;
}
const std::string& Exporter::path() const {
    return impl_->job.path;
}

}  // namespace meshscope::gui
