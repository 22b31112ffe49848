#include "app/gui/main/kept_settings.h"

#include <filesystem>
#include <utility>

#include "app/gui/session/unfinished.h"
#include "core/base/error.h"

namespace meshscope::gui {

KeptSettings::KeptSettings(std::string path) : path_(std::move(path)), read_(session::read_settings(path_)) {
    now = read_.settings;
    unfinished_ = !std::exchange(now.unfinished, {}).empty();
}

void KeptSettings::begin(const session::AppState& state) {
    written_ = unfinished_ ? "" : session::settings_text(session::settings_of(state, now));
}

bool KeptSettings::due(double every_s) const {
    const auto since = std::chrono::steady_clock::now() - kept_at_;
    return has_file() && !read_.stays && touched_ && std::chrono::duration<double>(since).count() >= every_s;
}

void KeptSettings::keep(const session::AppState& state, const Tell& tell) {
    kept_at_ = std::chrono::steady_clock::now();
    touched_ = false;
    now = session::settings_of(state, now);
    std::string text = session::settings_text(now);
    if (text == written_) return;
    try {
        session::write_settings(path_, now);
        written_ = std::move(text);
    } catch (const Error& error) {
        if (!refused_) tell(error.message());
        refused_ = true;
    }
}

void KeptSettings::keep_at_end(const session::AppState& state, const session::RunRequest* run,
                               const std::string& saved, const Tell& tell) {
    now = session::settings_of(state, now);
    const std::string folder = std::filesystem::path(path_).parent_path() / "unfinished";
    now.unfinished = session::keep_unfinished(state, run, saved, folder, tell);
    auto& recent = now.remembered.recent;
    for (const session::Unfinished& one : now.unfinished) {
        if (one.what == "export") continue;
        std::erase_if(recent, [&](const session::Recent& r) { return r.path == one.path; });
        recent.insert(recent.begin(), {one.path, std::filesystem::path(one.path).stem()});
    }
    if (recent.size() > session::kMostRecent) recent.resize(session::kMostRecent);
    if (read_.stays || session::settings_text(now) == written_) return;
    try {
        session::write_settings(path_, now);
    } catch (const Error& error) {
        tell(error.message());
    }
}

}  // namespace meshscope::gui
