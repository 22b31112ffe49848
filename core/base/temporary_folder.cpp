#include "core/base/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/base/cannot_write.h"

namespace meshscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRandom = "XXXXXX";

[[noreturn]] void fail(const std::string& path) {
    throw IoError(cannot_write(path, errno));
}

int open_marker(const fs::path& folder, int flags) {
    return open((folder / kTemporaryMarker).c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/// Whether a folder of ours was left there: this user's, with a marker that is a file and that nobody locks.
bool is_left(const fs::path& folder) {
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
        return false;
    const int marker = open_marker(folder, O_RDONLY);
    if (marker < 0) return false;
    const bool left = fstat(marker, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                      flock(marker, LOCK_EX | LOCK_NB) == 0;
    close(marker);
    return left;
}

/// What killed processes left. What cannot be removed stays.
void sweep(const fs::path& place, const std::string& begin) {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        std::error_code ignored;
        if (name.size() == begin.size() + kRandom.size() && name.starts_with(begin) && is_left(entry->path()))
            fs::remove_all(entry->path(), ignored);
    }
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& name, const std::string& place) {
    std::error_code error;
    const fs::path usual = fs::temp_directory_path(error), general = error ? fs::path("/tmp") : usual;
    const fs::path where = place.empty() ? general : fs::path(place);
    sweep(where, name + ".");
    while (true) {
        path_ = (where / (name + "." + std::string(kRandom))).string();
        if (mkdtemp(path_.data()) == nullptr) fail(path_);
        marker_ = open_marker(path_, O_RDWR | O_CREAT | O_EXCL);
        if (marker_ < 0 && errno != ENOENT) {
            const int reason = errno;
            fs::remove_all(path_, error);
            errno = reason;
            fail(path_);
        }
        // A file system without locks: the folder is used without one, and no other start takes it for left.
        if (marker_ >= 0 && flock(marker_, LOCK_EX) != 0 && errno != EINTR) return;
        // Between its making and its lock somebody else may have taken it for one that was left.
        struct stat held {
        }, there{};
        if (marker_ >= 0 && flock(marker_, LOCK_EX) == 0 && fstat(marker_, &held) == 0 &&
            stat((fs::path(path_) / kTemporaryMarker).c_str(), &there) == 0 && held.st_ino == there.st_ino)
            return;
        if (marker_ >= 0) close(marker_);
        fs::remove_all(path_, error);
    }
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
    close(marker_);
}

}  // namespace meshscope
