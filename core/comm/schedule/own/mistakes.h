#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/resolve_offers.h"

namespace meshscope::comm::own {

/// Collects what is wrong in one file, up to as many as anyone reads.
class Mistakes {
  public:
    explicit Mistakes(std::string file) : file_(std::move(file)) {}

    void add(int line, int column, Message message, Message hint = {}) {
        add({{std::move(message), {file_, line, column, -1}, std::move(hint)}, {}, {}, {}});
    }
    void add(Refusal refusal) {
        if (found_.size() < kMost) found_.push_back(std::move(refusal));
    }
    bool none() const { return found_.empty(); }
    /// All of them, with what could be written instead; for resolve_offers().
    std::vector<Refusal>& refusals() { return found_; }
    bool are_many() const { return found_.size() >= kMost; }
    /// Throws InputError when there are any, in the order of the file.
    void raise() {
        if (found_.empty()) return;
        std::vector<Diagnostic> said;
        for (Refusal& refusal : found_) said.push_back(std::move(refusal.diagnostic));
        std::ranges::stable_sort(said, {}, [](const Diagnostic& each) {
            return std::pair(each.position.line, each.position.column);
        });
        throw InputError(std::move(said));
    }
    const std::string& file() const { return file_; }

  private:
    static constexpr std::size_t kMost = 1000;
    std::string file_;
    std::vector<Refusal> found_;
};

}  // namespace meshscope::comm::own
