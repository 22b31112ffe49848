#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/launch/writer.h"
#include "backends/tcp/socket.h"
#include "core/base/message.h"

namespace meshscope::launch {

/// One stream of a worker's output on its way to ours: whole lines, each behind the worker's name, so that
/// lines of different workers never mix. What is not ended by a newline is kept until it is, or until the
/// stream ends. Nothing here waits, neither for the worker nor for who reads us.
class OutputLines {
  public:
    /// `prefix` stands before each line; `log`: a file that gets the same without prefixes, "" for none.
    /// `tell` hears once when the log can take no more: "launch.log_ends" {path, reason}. Throws IoError
    /// "file.cannot_write".
    OutputLines(Writer& out, std::string prefix, const std::string& log,
                std::function<void(const Message&)> tell);

    /// Whether pump() would take anything.
    bool has_room() const { return out_.has_room(); }
    /// Reads from a non-blocking `descriptor` what is there now, while there is room and for a moment at
    /// most; false at the stream's end.
    bool pump(int descriptor);
    /// Reads what is in the pipe at this moment, whether or not there is room, and writes out a last line
    /// without newline: for a worker that has ended. What it left running may go on writing there.
    void finish(int descriptor);

  private:
    void take(const char* text, std::size_t n);
    void keep(const char* text, std::size_t n);

    Writer& out_;
    std::string prefix_;
    std::string line_;
    std::string log_path_;
    backends::tcp::Fd log_;
    std::function<void(const Message&)> tell_;
};

}  // namespace meshscope::launch
