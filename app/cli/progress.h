#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

namespace meshscope::cli {

/// One line on a terminal that says how far a run is. Draws at most 20 times a second, and nothing at all
/// when not wanted; finish() and the destructor wipe it.
class ProgressBar {
  public:
    ProgressBar(std::ostream& out, bool wanted) : out_(out), wanted_(wanted) {}
    ~ProgressBar() { finish(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    /// `words` stand behind the bar.
    void show(int64_t done, int64_t all, const std::string& words);
    void finish();

  private:
    std::ostream& out_;
    bool wanted_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace meshscope::cli
