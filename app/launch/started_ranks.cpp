#include "app/launch/started_ranks.h"

#include <algorithm>
#include <charconv>
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
    bool runs = false;  ///< false once it has ended, and until its parent has asked how
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
    words >> process.parent;
    for (int i = 5; i < 22; ++i) words >> word;
    if (!(words >> process.start)) return std::nullopt;
    return process;
}

bool has_ended_child(pid_t parent) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename();
        pid_t pid = 0;
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data(), end, pid).ptr != end) continue;
        const auto process = look_at(pid);
        if (process && process->parent == parent && !process->runs) return true;
    }
    return false;
}

}  // namespace

StartedRanks::StartedRanks(Starter starter, std::string variable, std::string value, milliseconds every)
    : starter_(std::move(starter)), variable_(std::move(variable)), value_(std::move(value)), every_(every) {}

bool StartedRanks::all_run() const {
    return static_cast<int32_t>(seen_.size()) >= starter_.ranks &&
           std::ranges::all_of(seen_, [](const auto& one) {
               const auto process = look_at(one.first);
               return process && process->runs && process->start == one.second;
           });
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
    const bool lacking = seen_.empty() ? has_ended_child(starter) : !all_run();
    incomplete_ = lacking ? incomplete_ + passed : milliseconds(0);
    return incomplete_;
}

}  // namespace meshscope::launch
