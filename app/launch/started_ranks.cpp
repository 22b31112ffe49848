#include "app/launch/started_ranks.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "app/launch/worker.h"

namespace meshscope::launch {
namespace {

using std::chrono::milliseconds;

struct Running {
    pid_t parent = 0;
    uint64_t start = 0;  ///< in the system's ticks
};

/// Of a process that still runs; nothing once it has ended, waited for or not.
std::optional<Running> look_at(pid_t pid) {
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
    Running running;
    words >> running.parent;
    for (int i = 5; i < 22; ++i) words >> word;
    if (!(words >> running.start)) return std::nullopt;
    return running;
}

}  // namespace

StartedRanks::StartedRanks(Starter starter, std::string variable, std::string value, milliseconds every)
    : starter_(std::move(starter)), variable_(std::move(variable)), value_(std::move(value)), every_(every) {}

milliseconds StartedRanks::incomplete() {
    const auto now = Clock::now();
    if (now - looked_ < every_) return incomplete_;
    const auto passed = std::min(std::chrono::duration_cast<milliseconds>(now - looked_), 2 * every_);
    looked_ = now;
    if (static_cast<int32_t>(seen_.size()) < starter_.ranks) {
        const std::vector<pid_t> found = marked(variable_, value_, starter_.rank_variable);
        for (const pid_t pid : found) {
            const auto running = look_at(pid);
            // What a rank itself started has its variables, and may end.
            if (running && std::ranges::find(found, running->parent) == found.end())
                seen_.emplace(pid, running->start);
        }
    }
    const bool all = static_cast<int32_t>(seen_.size()) >= starter_.ranks &&
                     std::ranges::all_of(seen_, [](const auto& one) {
                         const auto running = look_at(one.first);
                         return running && running->start == one.second;
                     });
    incomplete_ = all || seen_.empty() ? milliseconds(0) : incomplete_ + passed;
    return incomplete_;
}

}  // namespace meshscope::launch
