#include "app/launch/started_ranks.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "app/launch/worker.h"

namespace meshscope::launch {
namespace {

using std::chrono::milliseconds;

struct Process {
    bool runs = false;    ///< false once it has ended, and until its parent has asked how
    bool sleeps = false;  ///< it waits for something
    pid_t parent = 0;
    uint64_t start = 0;  ///< in the system's ticks
};

/// Nothing where there is none of this number.
std::optional<Process> look_at(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    // Its name, which may hold anything, stands in brackets; the state is the third word, the start the 22nd.
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream words(line.substr(name_end + 1));
    std::string word;
    words >> word;
    Process process;
    process.runs = word != "Z" && word != "X";
    process.sleeps = word == "S";
    words >> process.parent;
    for (int i = 5; i < 22; ++i) words >> word;
    if (!(words >> process.start)) return std::nullopt;
    return process;
}

struct Children {
    bool any = false;
    bool ended = false;  ///< one of them has, and its parent has not asked how
};

Children children_of(pid_t parent) {
    Children children;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename();
        pid_t pid = 0;
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data(), end, pid).ptr != end) continue;
        const auto process = look_at(pid);
        if (!process || process->parent != parent) continue;
        children.any = true;
        children.ended = children.ended || !process->runs;
    }
    return children;
}

/// Whether a starter waits though it has started nothing.
bool waits_alone(pid_t starter, const Children& children) {
    const auto process = look_at(starter);
    return process && process->sleeps && !children.any;
}

}  // namespace

StartedRanks::StartedRanks(Starter starter, std::string variable, std::string value, milliseconds every)
    : starter_(std::move(starter)), variable_(std::move(variable)), value_(std::move(value)), every_(every) {}

bool StartedRanks::all_run() const {
    return static_cast<int32_t>(seen_.size()) >= starter_.ranks && std::ranges::all_of(seen_, runs);
}

bool StartedRanks::runs(const std::pair<const pid_t, uint64_t>& seen) {
    const auto process = look_at(seen.first);
    return process && process->runs && process->start == seen.second;
}

bool StartedRanks::send(int signal) const {
    if (static_cast<int32_t>(seen_.size()) < starter_.ranks) return false;
    for (const auto& one : seen_)
        if (runs(one)) kill(one.first, signal);
    return true;
}

milliseconds StartedRanks::incomplete(pid_t starter) {
    const auto now = Clock::now();
    if (now - looked_ < every_) return incomplete_;
    const auto passed = std::min(std::chrono::duration_cast<milliseconds>(now - looked_), 2 * every_);
    looked_ = now;
    if (static_cast<int32_t>(seen_.size()) < starter_.ranks) {
        const std::vector<pid_t> found = marked(variable_, value_, starter_.rank_variable);
        for (const pid_t pid : found) {
            const auto process = look_at(pid);
            // What a rank itself started has its variables, and may end.
            if (process && process->runs && std::ranges::find(found, process->parent) == found.end())
                seen_.emplace(pid, process->start);
        }
    }
    is_idle_ = false;
    if (!seen_.empty()) {
        incomplete_ = all_run() ? milliseconds(0) : incomplete_ + passed;
    } else if (const Children children = children_of(starter); children.ended) {
        incomplete_ += passed;
    } else {
        is_idle_ = waits_alone(starter, children);
        incomplete_ = is_idle_ ? incomplete_ + passed / 2 : milliseconds(0);
    }
    return incomplete_;
}

}  // namespace meshscope::launch
