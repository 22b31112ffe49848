#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

namespace meshscope::launch {

/// One stream of a worker's output on its way to ours: whole lines, each behind the worker's name, so that
/// lines of different workers never mix. What is not ended by a newline is kept until it is, or until the
/// stream ends.
class OutputLines {
  public:
    /// `prefix` stands before each line; `log`: a file that gets the same without prefixes, "" for none.
    /// Throws IoError "file.cannot_write".
    OutputLines(std::ostream& out, std::string prefix, const std::string& log);

    /// Reads what is there now from a non-blocking `descriptor`; false at the stream's end.
    bool pump(int descriptor);
    /// Writes out a last line without newline.
    void finish();

  private:
    void add(const char* text, std::size_t n);
    std::ostream& out_;
    std::string prefix_;
    std::string line_;
    std::ofstream log_;
};

}  // namespace meshscope::launch
