#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "backends/tcp/frame.h"
#include "core/base/crc32c.h"

namespace meshscope::backends::tcp {

/// Says where the payloads of a data link go.
class FrameSink {
  public:
    virtual ~FrameSink() = default;
    /// A header came. Gives header.length bytes of room for its payload (anything but null when that is 0),
    /// or null when this frame has no place here: then the link is at fault.
    virtual std::byte* begin(const FrameHeader& header) = 0;
    /// The payload is there, and whole.
    virtual void end(const FrameHeader& header) = 0;
};

/// Cuts a data link's bytes into frames, and lets long payloads be read straight to where they belong. Knows
/// no socket: the owner reads bytes into direct(), and behind it into staged(), and says how many came.
class StreamReader {
  public:
    explicit StreamReader(FrameSink& sink);

    /// Where the rest of the present payload goes; empty between payloads.
    std::span<std::byte> direct() { return {place_, left_}; }
    /// Room for at most `most` bytes of what comes after it; never empty.
    std::span<std::byte> staged(std::size_t most);
    /// n bytes came into direct().
    void took_direct(std::size_t n);
    /// n bytes came into staged(), the present payload being complete before them.
    void took_staged(std::size_t n);

    /// How much of the present payload has come, when it goes into the n bytes at `begin`; else 0.
    std::size_t came_into(const std::byte* begin, std::size_t n) const;
    /// The rest of a payload that goes into the n bytes at `from` goes to the same place behind `to` instead.
    void move_place(const std::byte* from, std::size_t n, std::byte* to);

    /// After a fault nothing more may be read.
    FrameFault fault() const { return fault_; }

    /// Room for a whole message frame and headers behind it.
    static constexpr std::size_t kStagedBytes = kMessageBytes + (std::size_t{16} << 10);

  private:
    void cut();
    void end_payload();

    FrameSink& sink_;
    std::unique_ptr<std::byte[]> staging_;
    std::size_t begin_ = 0, end_ = 0;  ///< what came and was not yet looked at
    FrameHeader header_;
    bool in_payload_ = false;
    std::byte* place_ = nullptr;
    std::size_t left_ = 0;
    Crc32c crc_;
    FrameFault fault_ = FrameFault::none;
};

}  // namespace meshscope::backends::tcp
