#include "app/launch/writer.h"

#include <cerrno>
#include <chrono>
#include <exception>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

namespace meshscope::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A pipe takes so much as one piece (PIPE_BUF), and a reader that reads at all has soon taken it.
constexpr std::size_t kPiece = 4096;
constexpr milliseconds kLook{20};
// Once this process was told to stop.
constexpr milliseconds kNobodyReads{300}, kLongest{2000};

/// How much of `text` to write at once: whole lines, as far as they are no longer than a piece.
std::size_t piece_of(std::string_view text) {
    if (text.size() <= kPiece) return text.size();
    const std::size_t end = text.rfind('\n', kPiece - 1);
    return end == std::string_view::npos ? kPiece : end + 1;
}

}  // namespace

Writer::Writer(std::ostream& out) : out_(out) {}

Writer::~Writer() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Writer::add(const std::string& lines) {
    if (lines.empty()) return;
    {
        const std::lock_guard lock(mutex_);
        text_ += lines;
        waiting_ += lines.size();
        if (!thread_.joinable() && !start()) return;
    }
    changed_.notify_all();
}

bool Writer::start() {
    try {
        thread_ = std::thread([this] { write(); });
        return true;
    } catch (const std::exception&) {
        // Where there is no thread to be had, whoever tells something waits for the reader.
        out_ << std::exchange(text_, {}) << std::flush;
        waiting_ = 0;
        return false;
    }
}

bool Writer::has_room() const {
    const std::lock_guard lock(mutex_);
    return waiting_ < kMostWaiting;
}

bool Writer::finish(const std::function<bool()>& stopped) {
    std::unique_lock lock(mutex_);
    std::optional<Clock::time_point> stopped_at, wrote_at;
    int64_t writes = writes_;
    while (waiting_ > 0) {
        changed_.wait_for(lock, kLook);
        const auto now = Clock::now();
        if (!stopped_at && !stopped()) continue;
        if (!stopped_at) stopped_at = now;
        if (!wrote_at || writes_ != writes) wrote_at = now;
        writes = writes_;
        if (waiting_ > 0 && (now - *wrote_at > kNobodyReads || now - *stopped_at > kLongest)) return false;
    }
    return true;
}

void Writer::write() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return ends_ || !text_.empty(); });
        const std::string text = std::exchange(text_, {});
        for (std::size_t begin = 0; begin < text.size() && !ends_;) {
            const std::string_view piece =
                std::string_view(text).substr(begin, piece_of(std::string_view(text).substr(begin)));
            lock.unlock();
            // What cannot be written the stream drops, and says at its end.
            const bool was_good = out_.good();
            errno = 0;
            out_ << piece << std::flush;
            if (was_good && !out_.good() && errno == EPIPE) reader_has_gone_ = true;
            lock.lock();
            begin += piece.size();
            waiting_ -= piece.size();
            ++writes_;
            changed_.notify_all();
        }
        if (ends_) return;
    }
}

}  // namespace meshscope::launch
