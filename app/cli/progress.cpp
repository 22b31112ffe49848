#include "app/cli/progress.h"

#include <algorithm>
#include <ostream>

namespace meshscope::cli {

void ProgressBar::show(int64_t done, int64_t all, const std::string& words) {
    if (!wanted_) return;
    const auto now = std::chrono::steady_clock::now();
    if (drawn_ && done < all && now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    drawn_ = true;
    constexpr int64_t kWidth = 30;
    const int64_t full = all > 0 ? std::clamp<int64_t>(done * kWidth / all, 0, kWidth) : kWidth;
    out_ << "\r[" << std::string(static_cast<std::size_t>(full), '#')
         << std::string(static_cast<std::size_t>(kWidth - full), '.') << "] " << words << "\x1b[K"
         << std::flush;
}

void ProgressBar::finish() {
    if (drawn_) out_ << "\r\x1b[K" << std::flush;
    drawn_ = false;
}

}  // namespace meshscope::cli
