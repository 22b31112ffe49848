#include "app/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "app/cli/table.h"

namespace meshscope::cli {

void ProgressBar::show(int64_t done, int64_t all, const std::string& words) {
    if (!wanted_) return;
    const auto now = std::chrono::steady_clock::now();
    if (drawn_ && done < all && now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    drawn_ = true;
    constexpr int64_t kWidest = 30, kNarrowest = 5;
    // The last column stays free: some terminals begin a new line there.
    const int room = std::max(0, columns_() - 1);
    const int64_t left = room == 0 ? kWidest : room - display_width(words) - 3;
    out_ << '\r';
    if (left >= kNarrowest) {
        const int64_t width = std::min(left, kWidest);
        const int64_t full = all > 0 ? std::clamp<int64_t>(done * width / all, 0, width) : width;
        out_ << '[' << std::string(static_cast<std::size_t>(full), '#')
             << std::string(static_cast<std::size_t>(width - full), '.') << "] ";
    }
    out_ << (room == 0 ? words : cut_to_width(words, room)) << "\x1b[K" << std::flush;
}

int ProgressBar::stderr_columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void ProgressBar::finish() {
    if (drawn_) out_ << "\r\x1b[K" << std::flush;
    drawn_ = false;
}

}  // namespace meshscope::cli
