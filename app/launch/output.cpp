#include "app/launch/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/cannot_write.h"

namespace meshscope::launch {
namespace {

// A line longer than this is passed on in pieces: a worker must not fill our memory.
constexpr std::size_t kLongestLine = std::size_t{1} << 16;
// A worker that always has more must not keep us from the others, nor from what else is to be done.
constexpr std::size_t kMostReads = 4;

using Buffer = std::array<char, 65536>;

std::string reason(int error) {
    return std::generic_category().message(error);
}

}  // namespace

OutputLines::OutputLines(Writer& out, std::string prefix, const std::string& log,
                         std::function<void(const Message&)> tell)
    : out_(out), prefix_(std::move(prefix)), log_path_(log), tell_(std::move(tell)) {
    if (log.empty()) return;
    log_ = backends::tcp::Fd(open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
    if (!log_.open()) throw IoError(cannot_write(log, errno));
}

void OutputLines::keep(const char* text, std::size_t n) {
    while (log_.open() && n > 0) {
        const ssize_t written = write(log_.get(), text, n);
        if (written >= 0) {
            text += written;
            n -= static_cast<std::size_t>(written);
        } else if (errno != EINTR) {
            // With a gap in it nobody would know what is missing: it ends here.
            tell_({"launch.log_ends", {{"path", log_path_}, {"reason", reason(errno)}}});
            log_.close();
        }
    }
}

void OutputLines::take(const char* text, std::size_t n) {
    keep(text, n);
    std::string lines;
    std::string_view rest(text, n);
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        line_ += rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (end != std::string_view::npos || line_.size() >= kLongestLine) {
            lines += prefix_ + line_ + '\n';
            line_.clear();
        }
    }
    out_.add(lines);
}

bool OutputLines::pump(int descriptor) {
    Buffer buffer;
    for (std::size_t reads = 0; reads < kMostReads && has_room();) {
        const ssize_t n = read(descriptor, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 && errno == EAGAIN;
        take(buffer.data(), static_cast<std::size_t>(n));
        ++reads;
    }
    return true;
}

void OutputLines::finish(int descriptor) {
    Buffer buffer;
    int there = 0;
    if (ioctl(descriptor, FIONREAD, &there) != 0) there = 0;
    for (auto left = static_cast<std::size_t>(std::max(there, 0)); left > 0;) {
        const ssize_t n = read(descriptor, buffer.data(), std::min(left, buffer.size()));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        take(buffer.data(), static_cast<std::size_t>(n));
        left -= static_cast<std::size_t>(n);
    }
    if (!line_.empty()) out_.add(std::exchange(line_, {}).insert(0, prefix_) + '\n');
}

}  // namespace meshscope::launch
