#include "app/launch/output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <ostream>
#include <string_view>

#include "core/base/error.h"

namespace meshscope::launch {
namespace {

// A line longer than this is passed on in pieces: a worker must not fill our memory.
constexpr std::size_t kLongestLine = std::size_t{1} << 16;

}  // namespace

OutputLines::OutputLines(std::ostream& out, std::string prefix, const std::string& log)
    : out_(out), prefix_(std::move(prefix)) {
    if (log.empty()) return;
    log_.open(log, std::ios::app);
    if (!log_) throw IoError({"file.cannot_write", {{"path", log}, {"reason", std::string("open")}}});
}

void OutputLines::add(const char* text, std::size_t n) {
    std::string_view rest(text, n);
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        line_ += rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (end != std::string_view::npos || line_.size() >= kLongestLine) {
            out_ << prefix_ << line_ << '\n';
            line_.clear();
        }
    }
    out_.flush();
}

bool OutputLines::pump(int descriptor) {
    std::array<char, 65536> buffer{};
    while (true) {
        const ssize_t n = read(descriptor, buffer.data(), buffer.size());
        if (n > 0) {
            if (log_.is_open()) log_.write(buffer.data(), n).flush();
            add(buffer.data(), static_cast<std::size_t>(n));
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        return n < 0 && errno == EAGAIN;
    }
}

void OutputLines::finish() {
    if (line_.empty()) return;
    out_ << prefix_ << line_ << '\n';
    out_.flush();
    line_.clear();
}

}  // namespace meshscope::launch
