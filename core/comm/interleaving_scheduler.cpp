#include "core/comm/interleaving_scheduler.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"

namespace meshscope::comm {
namespace {

// Streams of the counter-based generator, so that choices and priorities do not repeat each other.
constexpr uint64_t kChoices = 1, kPriorities = 2, kChanges = 3;

class RandomScheduler final : public InterleavingScheduler {
  public:
    explicit RandomScheduler(uint64_t seed) : seed_(seed) {}
    std::size_t choose(std::span<const NextStep> runnable) override {
        if (runnable.size() == 1) return 0;
        return static_cast<std::size_t>(uniform_below(runnable.size(), seed_, kChoices, position_++));
    }

  private:
    uint64_t seed_;
    uint64_t position_ = 0;
};

class PctScheduler final : public InterleavingScheduler {
  public:
    PctScheduler(uint64_t seed, int32_t depth, int64_t steps) : seed_(seed) {
        for (int32_t i = 1; i < depth; ++i)
            changes_.push_back(static_cast<int64_t>(
                uniform_below(static_cast<uint64_t>(steps), seed, kChanges, static_cast<uint64_t>(i))));
        std::sort(changes_.begin(), changes_.end());
    }
    std::size_t choose(std::span<const NextStep> runnable) override {
        const auto priority = [&](const NextStep& a) { return priority_of(a.rank.value); };
        const auto first =
            std::max_element(runnable.begin(), runnable.end(),
                             [&](const NextStep& a, const NextStep& b) { return priority(a) < priority(b); });
        // Changes lower the rank that would run at that step below every priority given so far.
        for (; next_change_ < changes_.size() && changes_[next_change_] <= step_; ++next_change_)
            priorities_[first->rank.value] = -1.0 - static_cast<double>(next_change_);
        ++step_;
        return static_cast<std::size_t>(first - runnable.begin());
    }

  private:
    double priority_of(int32_t rank) {
        const auto found = priorities_.find(rank);
        if (found != priorities_.end()) return found->second;
        const double made = uniform(seed_, kPriorities, static_cast<uint64_t>(rank));
        return priorities_.emplace(rank, made).first->second;
    }

    uint64_t seed_;
    std::vector<int64_t> changes_;
    std::size_t next_change_ = 0;
    int64_t step_ = 0;
    std::map<int32_t, double> priorities_;
};

std::optional<uint64_t> number(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}

}  // namespace

std::string_view name(NextStep::What value) {
    constexpr std::array<std::string_view, 4> kNames{"start", "post", "receive", "wait"};
    return kNames.at(static_cast<std::size_t>(value));
}

std::unique_ptr<InterleavingScheduler> random_scheduler(uint64_t seed) {
    return std::make_unique<RandomScheduler>(seed);
}

std::unique_ptr<InterleavingScheduler> pct_scheduler(uint64_t seed, int32_t depth, int64_t steps) {
    return std::make_unique<PctScheduler>(seed, depth, steps);
}

std::unique_ptr<InterleavingScheduler> make_scheduler(std::string_view schedule) {
    std::vector<std::string_view> words;
    for (std::string_view rest = schedule;;) {
        const std::size_t colon = rest.find(':');
        words.push_back(rest.substr(0, colon));
        if (colon == std::string_view::npos) break;
        rest.remove_prefix(colon + 1);
    }
    std::vector<uint64_t> numbers;
    for (std::size_t i = 1; i < words.size(); ++i)
        if (const auto value = number(words[i])) numbers.push_back(*value);
    const bool all_read = numbers.size() + 1 == words.size();
    if (all_read && words[0] == "random" && numbers.size() == 1) return random_scheduler(numbers[0]);
    constexpr uint64_t kMostDepth = 100, kMostSteps = uint64_t{1} << 40;
    if (all_read && words[0] == "pct" && (numbers.size() == 2 || numbers.size() == 3)) {
        const uint64_t steps = numbers.size() == 3 ? numbers[2] : 1000;
        if (numbers[1] >= 1 && numbers[1] <= kMostDepth && steps >= 1 && steps <= kMostSteps)
            return pct_scheduler(numbers[0], static_cast<int32_t>(numbers[1]), static_cast<int64_t>(steps));
    }
    throw InvalidArgument({"comm.bad_schedule", {{"schedule", std::string(schedule)}}});
}

}  // namespace meshscope::comm
