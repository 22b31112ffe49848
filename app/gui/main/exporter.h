#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/gui/main/options.h"
#include "app/gui/session/app_state.h"
#include "app/i18n/catalogue.h"
#include "core/trace/excerpt.h"

namespace meshscope::gui {

using session::ExportKind;

/// By the name's ending, in either case. Throws InvalidArgument ("export.format": path).
ExportKind export_kind(const std::string& path);

/// Of a film of that kind, where nothing says it.
inline constexpr int usual_frames_per_s(ExportKind kind) {
    return kind == ExportKind::gif ? 12 : 30;
}

/// What is to be written, and from where.
struct ExportJob {
    std::string path;
    session::AppState state;         ///< what is seen: documents, view, cursor, theme, language
    int width = 1280, height = 720;  ///< pixels of the picture
    float content_scale = 1;         ///< of the display it was seen on
    bool masked = false;             ///< what an open question asks for is left out, as the window does
    int64_t from_ns = 0, to_ns = 0;  ///< of a film: where the cursor goes
    std::optional<trace::StepRange> steps;  ///< of a page: those alone; nothing: all
    bool tour = false;               ///< a film of the lesson's steps instead (storyboard.h)
    FilmLook look = FilmLook::window;  ///< of a film, or of a picture
    std::optional<int32_t> step;       ///< a film, or a picture, of that step alone
    double seconds = 10;
    int frames_per_s = 0;  ///< 0: 30 for mp4, 12 for gif
    int frames = 0;        ///< of a film; 0: seconds × frames_per_s
};

/// What an export takes from where it runs.
struct ExportTools {
    std::string path;            ///< PATH, where ffmpeg is looked for
    std::string page;            ///< MESHSCOPE_PAGE: the file meshscope.html; "": beside the program
    std::string program_folder;  ///< where the program lies
};

/// One export, made frame by frame so that a window stays alive beside it: pictures and films are drawn by
/// the window's own panels off screen, vectors are the view's pictures one above the other, a page is
/// meshscope.html with the record in it (app/html), opened as the window shows it. The file is written beside
/// and renamed when it is whole: an Exporter that goes before leaves nothing, and the file that was there
/// stays.
class Exporter {
  public:
    /// The GL context must be current for png, gif and mp4. Throws InvalidArgument ("export.format",
    /// "export.no_ffmpeg", "export.odd_size", "html.no_page"), IoError.
    Exporter(ExportJob job, const i18n::Catalogue& catalogue, const ExportTools& tools);
    ~Exporter();
    Exporter(const Exporter&) = delete;
    Exporter& operator=(const Exporter&) = delete;

    /// Makes the next frame; true when the file is whole. Throws IoError ("file.cannot_write",
    /// "window.film_failed").
    bool step();
    /// Gives the export up without touching the graphics, whose context may be gone: nothing of it is left.
    void abandon();
    int done() const;
    int all() const;
    const std::string& path() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace meshscope::gui
