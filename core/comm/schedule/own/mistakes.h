#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace meshscope::comm::own {

/// Collects what is wrong in one file, up to as many as anyone reads.
class Mistakes {
  public:
    explicit Mistakes(std::string file) : file_(std::move(file)) {}

    void add(int line, int column, Message message, Message hint = {}) {
        if (found_.size() < kMost)
            found_.push_back({std::move(message), {file_, line, column, -1}, std::move(hint)});
    }
    bool none() const { return found_.empty(); }
    bool are_many() const { return found_.size() >= kMost; }
    /// Throws InputError when there are any, in the order of the file.
    void raise() {
        std::ranges::stable_sort(found_, {}, [](const Diagnostic& each) {
            return std::pair(each.position.line, each.position.column);
        });
        if (!found_.empty()) throw InputError(std::move(found_));
    }
    const std::string& file() const { return file_; }

  private:
    static constexpr std::size_t kMost = 1000;
    std::string file_;
    std::vector<Diagnostic> found_;
};

}  // namespace meshscope::comm::own
