#pragma once

#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace meshscope::cli {

/// A key that no file can know: what tells this program's own colours from an escape sequence that a file
/// brought along. Six digits and a semicolon, as if it were one more number of the sequence.
std::string make_terminal_key();

/// Stands before standard output and standard error: what this program writes reaches them by here alone. All
/// that could steer a terminal or mislead who reads it is shown instead (printable()), whatever file, process
/// or name it came from; line breaks, tabs and this program's own colours pass. In JSON such characters stand
/// only within strings, where \u001b means the same. Any number of threads may write.
class TerminalBuffer : public std::streambuf {
  public:
    /// Own colours are those with `key` in them; "" lets none pass.
    TerminalBuffer(std::streambuf& to, std::string_view key);
    ~TerminalBuffer() override;
    TerminalBuffer(const TerminalBuffer&) = delete;
    TerminalBuffer& operator=(const TerminalBuffer&) = delete;

  protected:
    std::streamsize xsputn(const char* text, std::streamsize n) override;
    int_type overflow(int_type c) override;
    int sync() override;

  private:
    bool take(std::string_view text);
    bool pass_on(std::size_t n);
    std::string shown(std::string_view text) const;

    std::streambuf& to_;
    std::string own_;  ///< how a colour of ours begins; "" for none
    std::mutex mutex_;
    std::string held_;  ///< not handed on yet
};

}  // namespace meshscope::cli
