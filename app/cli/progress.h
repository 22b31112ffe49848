#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

namespace meshscope::cli {

/// One line on a terminal that says how far a run is. Draws at most 20 times a second, and nothing at all
/// when not wanted; finish() and the destructor wipe it.
class ProgressBar {
  public:
    /// `columns` gives the width of the terminal, which may change while the bar stands there; 0: not known.
    ProgressBar(std::ostream& out, bool wanted, std::function<int()> columns = stderr_columns)
        : out_(out), wanted_(wanted), columns_(std::move(columns)) {}
    ~ProgressBar() { finish(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    /// `words` stand behind the bar. Both together never fill a line: the bar shrinks, then goes, and then
    /// the words are cut.
    void show(int64_t done, int64_t all, const std::string& words);
    void finish();

  private:
    static int stderr_columns();

    std::ostream& out_;
    bool wanted_;
    std::function<int()> columns_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace meshscope::cli
