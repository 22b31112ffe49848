#include "core/base/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/base/cannot_write.h"

namespace meshscope {
namespace {

/// As many as Linux follows itself.
constexpr int kMostLinks = 40;

[[noreturn]] void refuse(const std::string& path, int error) {
    throw IoError(cannot_write(path, error));
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// What `path` leads to when symbolic links are followed, also when that does not exist yet: a rename would
/// put a file in the place of the link.
std::string behind_links(std::string path, const std::string& asked) {
    std::array<char, 4096> target{};
    for (int followed = 0; followed <= kMostLinks; ++followed) {
        const ssize_t length = readlink(path.c_str(), target.data(), target.size());
        if (length < 0) return path;  // no link
        if (length == static_cast<ssize_t>(target.size())) refuse(asked, ENAMETOOLONG);
        const std::string next(target.data(), static_cast<std::size_t>(length));
        path = next.starts_with('/') ? next : folder_of(path) + "/" + next;
    }
    refuse(asked, ELOOP);
}

/// A name in the same folder (a rename cannot cross file systems) that no one else uses.
std::string part_name(const std::string& path, int attempt) {
    const std::size_t slash = path.rfind('/');
    const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
    return path.substr(0, name) + "." + path.substr(name) + ".part-" + std::to_string(getpid()) + "-" +
           std::to_string(attempt);
}

}  // namespace

std::string file_to_write(const std::string& path) {
    std::string target = behind_links(path, path);
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        if (S_ISDIR(status.st_mode)) refuse(path, EISDIR);
        throw IoError(Message{"file.not_regular_output", {{"path", path}}});
    }
    return target;
}

ReplaceFile::ReplaceFile(std::string path) : path_(std::move(path)), target_(file_to_write(path_)) {
    for (int attempt = 0; file_ < 0; ++attempt) {
        part_ = part_name(target_, attempt);
        file_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file_ < 0 && (errno != EEXIST || attempt == 100)) refuse(path_, errno);
    }
    open_.emplace(part_.c_str());
}

ReplaceFile::~ReplaceFile() {
    if (file_ >= 0) close(file_);
    if (!committed_) unlink(part_.c_str());
}

void ReplaceFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) refuse(path_, errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void ReplaceFile::commit() {
    if (fsync(file_) != 0) refuse(path_, errno);
    const int closed = close(file_);
    file_ = -1;
    if (closed != 0) refuse(path_, errno);
    if (std::rename(part_.c_str(), target_.c_str()) != 0) refuse(path_, errno);
    committed_ = true;
    open_.reset();
    sync_folder(folder_of(target_));  // the rename itself must survive a power cut
}

void sync_folder(const std::string& folder) {
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return;  // it may be written but not read
    const int error = fsync(file) == 0 ? 0 : errno;
    close(file);
    // A file system that cannot sync folders has still done what was asked of it.
    const bool cannot = error == EINVAL || error == ENOTSUP || error == ENOSYS || error == EROFS;
    if (error != 0 && !cannot) refuse(folder, error);
}

void replace_file(const std::string& path, std::string_view bytes) {
    ReplaceFile file(path);
    file.write(bytes);
    file.commit();
}

}  // namespace meshscope
