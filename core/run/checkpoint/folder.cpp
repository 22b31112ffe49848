#include "core/run/checkpoint/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>

#include "core/base/cannot_write.h"
#include "core/base/folder_mark.h"
#include "core/base/replace_file.h"
#include "core/run/checkpoint/manifest.h"
#include "core/run/checkpoint/own_files.h"

namespace meshscope::run::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step_";
constexpr std::string_view kUnfinished = ".tmp";
constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kBetweenLooks{20};

[[noreturn]] void cannot_write_there(const fs::path& path, const std::error_code& error) {
    throw IoError(meshscope::cannot_write(path.string(), error.value()));
}

/// The number of a folder called step_N; nothing for other names (unfinished ones among them).
std::optional<int64_t> number_of(const std::string& name) {
    if (!name.starts_with(kPrefix) || name.size() == kPrefix.size() || name.size() > 20) return std::nullopt;
    int64_t number = 0;
    for (const char c : std::string_view(name).substr(kPrefix.size())) {
        if (c < '0' || c > '9') return std::nullopt;
        number = number * 10 + (c - '0');
    }
    return number;
}

bool has_manifest(const fs::path& folder) {
    std::error_code error;
    return fs::is_regular_file(folder / kManifestName, error);
}

/// The names inside a folder; nothing where it cannot be listed.
std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        names.push_back(it->path().filename().string());
    std::ranges::sort(names);
    return names;
}

/// Its name goes first: half a checkpoint must not look whole, and what a killed run leaves of it is removed
/// like any unfinished one. Where somebody else's files lie in it they stay where they are. What cannot be
/// removed stays.
void remove_checkpoint(const std::string& path) {
    const std::string going = path + std::string(kUnfinished);
    std::error_code error;
    if (fs::exists(fs::symlink_status(going, error))) return;  // it is about to take this one's place
    if (holds_others_files(path)) return remove_own(path);
    try {
        mark_folder(path);  // an earlier version's has none
    } catch (const IoError&) {
        return;
    }
    fs::rename(path, going, error);
    if (!error) remove_own(going);
}

/// Those that a run made: what else has such a name is left alone.
std::vector<std::string> own_checkpoints(const std::string& folder) {
    std::vector<std::string> own;
    for (std::string& path : complete_checkpoints(folder))
        if (is_own_folder(path)) own.push_back(std::move(path));
    return own;
}

/// Names the first of the two that a checkpoint of so many steps would need and that is somebody else's.
void refuse_taken(const std::string& folder, const std::string& step) {
    const std::string path = (fs::path(folder) / step).string(), going = path + std::string(kUnfinished);
    if (is_taken(path)) refuse(path, {"checkpoint.not_ours", {}}, {"checkpoint.hint.not_ours", {}});
    if (is_taken(going))
        refuse(going, {"checkpoint.not_ours_unfinished", {{"name", step}}},
               {"checkpoint.hint.not_ours_unfinished", {}});
}

}  // namespace

std::string step_name(int32_t steps) {
    std::string digits = std::to_string(steps);
    if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
    return std::string(kPrefix) + digits;
}

std::vector<std::string> complete_checkpoints(const std::string& folder) {
    std::vector<std::pair<int64_t, std::string>> found;
    for (const std::string& name : names_in(folder)) {
        const fs::path path = fs::path(folder) / name;
        if (const auto number = number_of(name); number && has_manifest(path))
            found.emplace_back(*number, path.string());
    }
    std::ranges::sort(found);
    std::vector<std::string> paths;
    for (auto& [number, path] : found) paths.push_back(std::move(path));
    return paths;
}

std::string newest_before(const std::string& folder, int32_t steps) {
    std::string newest;
    for (const std::string& path : complete_checkpoints(folder))
        if (number_of(fs::path(path).filename().string()).value_or(steps) < steps) newest = path;
    return newest;
}

std::string find_checkpoint(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(path, error))
        throw IoError({"checkpoint.cannot_read",
                       {{"path", path},
                        {"reason", error ? error.message()
                                         : std::generic_category().message(
                                               fs::exists(path, error) ? ENOTDIR : ENOENT)}}});
    if (has_manifest(path)) return path;
    const std::vector<std::string> complete = complete_checkpoints(path);
    if (!complete.empty()) return complete.back();
    // Part of a checkpoint, or a folder of nothing but parts?
    fs::path part;
    for (const std::string& name : names_in(path)) {
        if (name.starts_with(kPrefix)) part = fs::path(path) / name;
        if (name.ends_with(".safetensors")) part = path;
    }
    if (!part.empty())
        refuse(part.string(), {"checkpoint.incomplete", {{"name", std::string(kManifestName)}}},
               {"checkpoint.hint.incomplete", {}});
    refuse(path, {"checkpoint.none_found", {}}, {"checkpoint.hint.none_found", {}});
}

std::string read_bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in)
        throw IoError(
            {"checkpoint.cannot_read", {{"path", path}, {"reason", std::generic_category().message(errno)}}});
    return bytes;
}

FolderLock::~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
}

void FolderLock::take(const std::string& folder) {
    if (taken_) return;
    if (folder_ < 0) folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) throw IoError(cannot_write(folder, errno));
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (::flock(folder_, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) break;  // no locks here
        if (std::chrono::steady_clock::now() >= until)
            refuse(folder, {"checkpoint.folder_taken", {}}, {"checkpoint.hint.folder_taken", {}});
        std::this_thread::sleep_for(kBetweenLooks);
    }
    taken_ = true;
}

std::string begin_checkpoint(const std::string& folder, int32_t steps, FolderLock& lock) {
    const fs::path path = fs::path(folder) / (step_name(steps) + std::string(kUnfinished));
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) cannot_write_there(folder, error);
    lock.take(folder);
    remove_unfinished(folder);
    refuse_taken(folder, step_name(steps));
    fs::create_directory(path, error);  // an empty one may stand there
    if (error) cannot_write_there(path, error);
    mark_folder(path.string());
    return path.string();
}

void commit_checkpoint(const std::string& folder, int32_t steps) {
    const fs::path name = fs::path(folder) / step_name(steps);
    const fs::path unfinished = name.string() + std::string(kUnfinished);
    sync_folder(unfinished.string());
    // Both change names at once, so that a reader always finds one of them whole.
    const auto exchange = [&] {
        return renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0;
    };
    std::error_code error;
    fs::rename(unfinished, name, error);
    const bool replaces = error == std::errc::directory_not_empty || error == std::errc::file_exists;
    if (replaces) error = exchange() ? std::error_code() : std::error_code(errno, std::generic_category());
    if (error) cannot_write_there(name, error);
    try {
        sync_folder(folder);
    } catch (const IoError&) {  // the new name may not last: nobody shall count on it
        if (!replaces || !exchange()) fs::rename(name, unfinished, error);
        throw;
    }
    if (!replaces) return;
    move_others_files(unfinished.string(), name.string());
    remove_own(unfinished.string());  // the one that was replaced
    ::rmdir(unfinished.c_str());      // if nothing but what was moved lay in it
}

void refuse_taken_places(const std::string& folder, int32_t after, int32_t steps, int32_t every) {
    const auto is_saved = [&](int64_t step) {
        return step > after && (step == steps || (step < steps && every > 0 && step % every == 0));
    };
    for (const std::string& name : names_in(folder)) {
        const std::string step =
            name.ends_with(kUnfinished) ? name.substr(0, name.size() - kUnfinished.size()) : name;
        const auto number = number_of(step);
        if (number && is_saved(*number)) refuse_taken(folder, step);
    }
}

void prune_checkpoints(const std::string& folder, int32_t keep) {
    if (keep <= 0) return;
    const std::vector<std::string> complete = own_checkpoints(folder);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < complete.size(); ++i)
        remove_checkpoint(complete[i]);
}

void drop_checkpoints_after(const std::string& folder, int32_t steps) {
    for (const std::string& path : own_checkpoints(folder))
        if (number_of(fs::path(path).filename().string()).value_or(steps) > steps) remove_checkpoint(path);
}

void remove_unfinished(const std::string& folder) {
    for (const std::string& name : names_in(folder))
        if (name.ends_with(kUnfinished) && number_of(name.substr(0, name.size() - kUnfinished.size()))) {
            const fs::path path = fs::path(folder) / name;
            remove_own(path.string());
            std::error_code not_empty;  // a save that was killed before it put its mark there
            if (fs::is_directory(fs::symlink_status(path, not_empty))) ::rmdir(path.c_str());
        }
}

}  // namespace meshscope::run::checkpoint
