#include "core/base/folder_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "core/base/cannot_write.h"

namespace meshscope {
namespace {

constexpr std::string_view kWords =
    "This folder was made by Meshscope, which may remove what it wrote here.\n";

std::string mark_in(const std::string& folder) {
    return folder + "/" + kFolderMark;
}

}  // namespace

void mark_folder(const std::string& folder) {
    const std::string path = mark_in(folder);
    const auto refuse = [&](int error) { throw IoError(cannot_write(path, error)); };
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST && is_marked_folder(folder)) return;
    if (file < 0) refuse(errno);
    const ssize_t written = write(file, kWords.data(), kWords.size());
    const int error = written < 0 ? errno : 0;
    close(file);
    if (error != 0) refuse(error);
}

bool is_marked_folder(const std::string& folder) {
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
    const int file = open(mark_in(folder).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    std::array<char, kWords.size() + 1> text{};
    const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const ssize_t got = regular ? read(file, text.data(), text.size()) : -1;
    close(file);
    return got >= 0 && kWords.starts_with(std::string_view(text.data(), static_cast<std::size_t>(got)));
}

}  // namespace meshscope
