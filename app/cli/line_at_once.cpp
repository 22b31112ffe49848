#include "app/cli/line_at_once.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace meshscope::cli {
namespace {

/// The same file, opened anew to be written without waiting: O_NONBLOCK belongs to the description, which
/// others share (a shell, the other ranks), so `fd`'s own must stay as it is. -1: cannot be opened so.
int reopened(int fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool has_room(int fd) {
    pollfd file{fd, POLLOUT, 0};
    return ::poll(&file, 1, 0) == 1 && file.revents == POLLOUT;  // and nobody has hung up
}

}  // namespace

bool write_line_at_once(int fd, std::string_view text) {
    std::string line(text.substr(0, PIPE_BUF - 1));
    line += '\n';
    const auto write_to = [&](int file) {
        return has_room(file) && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    };
    struct stat status {};
    if (::fstat(fd, &status) != 0) return false;
    const bool waits_for_readers = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
    const int own = waits_for_readers ? reopened(fd) : -1;
    if (own < 0) return write_to(fd);  // a file takes all; of a socket the room is known
    const bool written = write_to(own);
    ::close(own);
    return written;
}

}  // namespace meshscope::cli
