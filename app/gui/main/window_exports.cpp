#include "app/gui/main/window_exports.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "app/gui/main/seen_picture.h"
#include "app/gui/session/app_state.h"
#include "app/gui/window/png.h"
#include "core/base/replace_file.h"

namespace meshscope::gui {

namespace fs = std::filesystem;

WindowExports::WindowExports(window::GlfwWindow& window, window::GlHost& host, Stage& stage,
                             const Telling& telling, const i18n::Catalogue& catalogue,
                             const ExportTools& tools)
    : window_(window), host_(host), stage_(stage), telling_(telling), catalogue_(catalogue), tools_(tools) {}

void WindowExports::start(const session::StartExport& wanted) {
    std::error_code none;
    if (!wanted.replace && fs::exists(wanted.path, none)) return stage_.act(session::AskReplace{wanted.path});
    const ExportKind kind = export_kind(wanted.path);
    if (kind == ExportKind::png) return write_picture(wanted.path);
    const session::AppState& s = stage_.state();
    ExportJob job;
    job.path = wanted.path;
    job.state = s;
    window_.size(job.width, job.height);
    job.content_scale = window_.content_scale();
    job.masked = kind == ExportKind::svg;  // as it is seen; films have no questions
    // A film's width and height must be even.
    job.width -= job.width % 2;
    job.height -= job.height % 2;
    const bool part = s.range_end_ns > s.range_begin_ns;
    if (s.document) {  // a plan's page has no time
        job.from_ns = part ? s.range_begin_ns : 0;
        job.to_ns = part ? s.range_end_ns : session::shown_clock(s)->end_ns;
    }
    try {
        exporter_ = std::make_unique<Exporter>(std::move(job), catalogue_, tools_);
        const std::string whole = fs::absolute(wanted.path, none).string();
        stage_.act(session::ShowExporting{session::Exporting{whole, 0, exporter_->all()}});
    } catch (const std::exception& error) {
        failed(error);
    }
}

void WindowExports::frame() {
    if (!exporter_) return;
    try {
        const bool whole = exporter_->step();
        session::Exporting now = stage_.state().exporting.value_or(session::Exporting{});
        now.done = exporter_->done();
        stage_.act(session::ShowExporting{now});
        if (whole) written(now.path);
    } catch (const std::exception& error) {
        failed(error);
    }
}

void WindowExports::cancel() {
    if (const std::string path = drop(); !path.empty())
        telling_.tell({"ui.export.cancelled", {{"path", path}}});
}

std::string WindowExports::drop() {
    std::string path = exporter_ ? exporter_->path() : "";
    exporter_.reset();
    stage_.act(session::ShowExporting{std::nullopt});
    return path;
}

void WindowExports::abandon() {
    if (exporter_) exporter_->abandon();
}

/// At once, since the window itself draws it.
void WindowExports::write_picture(const std::string& wanted) {
    try {
        const std::string path = file_to_write(fs::absolute(wanted).string());
        stage_.act(session::ShowExporting{session::Exporting{path, 0, 1}});
        int width = 0, height = 0;
        window_.size(width, height);
        replace_file(path,
                     window::png_bytes(seen_picture(stage_, host_, width, height, window_.content_scale())));
        written(path);
    } catch (const std::exception& error) {
        failed(error);
    }
}

void WindowExports::written(const std::string& path) {
    drop();
    window::GlfwWindow::hand_over(path);
    telling_.tell({"ui.export.written", {{"path", path}}});
}

void WindowExports::failed(const std::exception& error) {
    drop();
    telling_.show(error);
}

}  // namespace meshscope::gui
