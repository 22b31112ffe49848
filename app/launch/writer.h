#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

namespace meshscope::launch {

/// Writes to a stream from a thread of its own, in the order in which it was told. A reader who does not read
/// (a pager that waits for a key) so holds up what is to be read, and not whoever has it read.
class Writer {
  public:
    /// So much may wait before has_room() says no.
    static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

    /// Nobody else may write to `out` meanwhile. The thread begins with the first text.
    explicit Writer(std::ostream& out);
    /// Waits for the write that is under way; what has not begun is dropped. See finish().
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Takes whole lines; never waits. From any thread.
    void add(const std::string& lines);
    /// Whether who has more can bring it: what is left in a worker's pipe instead holds up that worker.
    bool has_room() const;
    /// Whether nobody reads any more: a write ended with EPIPE, where another program gets SIGPIPE.
    bool reader_has_gone() const { return reader_has_gone_; }
    /// Waits until all is written, as every program does that writes into a pipe. Once `stopped` answers yes
    /// it waits for a reader who reads, but two seconds at most; false when something is left, and then a
    /// write may still be under way that nothing ends: the destructor would wait for it.
    bool finish(const std::function<bool()>& stopped);

  private:
    bool start();
    void write();

    std::ostream& out_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::string text_;         ///< not yet begun
    std::size_t waiting_ = 0;  ///< of what was added and is not written, bytes
    int64_t writes_ = 0;       ///< done
    bool ends_ = false;
    std::atomic<bool> reader_has_gone_{false};
    std::thread thread_;
};

}  // namespace meshscope::launch
