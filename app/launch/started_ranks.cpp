#include "app/launch/started_ranks.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "app/launch/worker.h"

namespace meshscope::launch {
namespace {

using std::chrono::milliseconds;

/// When a process that still runs was started, in the system's ticks; nothing once it has ended, waited for
/// or not.
std::optional<uint64_t> start_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    // Its name, which may hold anything, stands in brackets; the state is the third word, the start the 22nd.
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream words(line.substr(name_end + 1));
    std::string word;
    words >> word;
    if (word == "Z" || word == "X") return std::nullopt;
    for (int i = 4; i < 22; ++i) words >> word;
    uint64_t start = 0;
    if (!(words >> start)) return std::nullopt;
    return start;
}

}  // namespace

StartedRanks::StartedRanks(Starter starter, std::string variable, std::string value, milliseconds every)
    : starter_(std::move(starter)), variable_(std::move(variable)), value_(std::move(value)), every_(every) {}

milliseconds StartedRanks::incomplete() {
    const auto now = Clock::now();
    if (now - looked_ < every_) return incomplete_;
    const auto passed = std::min(std::chrono::duration_cast<milliseconds>(now - looked_), 2 * every_);
    looked_ = now;
    if (static_cast<int32_t>(seen_.size()) < starter_.ranks)
        for (const pid_t pid : marked(variable_, value_, starter_.rank_variable))
            if (const auto start = start_of(pid)) seen_.emplace(pid, *start);
    const bool all =
        static_cast<int32_t>(seen_.size()) >= starter_.ranks &&
        std::ranges::all_of(seen_, [](const auto& one) { return start_of(one.first) == one.second; });
    incomplete_ = all || seen_.empty() ? milliseconds(0) : incomplete_ + passed;
    return incomplete_;
}

}  // namespace meshscope::launch
