#include "core/base/start_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <string>

#include "core/base/address_space.h"
#include "core/base/error.h"
#include "core/base/free_memory.h"

namespace meshscope {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> number_in(const std::string& path) {
    std::ifstream in(path);
    int64_t value = 0;
    if (!(in >> value)) return std::nullopt;  // "max"
    return value;
}

/// Threads of one process, where it is this user's: those that ulimit -u counts.
int64_t threads_of(const fs::path& process) {
    std::ifstream in(process / "status");
    int64_t threads = 0;
    bool ours = false;
    for (std::string line; std::getline(in, line);) {
        const auto number = [&](std::size_t at) {
            const std::size_t first = line.find_first_of("0123456789", at);
            int64_t value = 0;
            if (first != std::string::npos)
                std::from_chars(line.data() + first, line.data() + line.size(), value);
            return value;
        };
        if (line.starts_with("Uid:")) ours = number(4) == static_cast<int64_t>(getuid());
        if (line.starts_with("Threads:")) threads = number(8);
    }
    return ours ? threads : 0;
}

/// This user's threads, as far as they can be seen here.
int64_t threads_of_user() {
    int64_t all = 0;
    std::error_code error;
    for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!name.empty() && name[0] >= '0' && name[0] <= '9') all += threads_of(it->path());
    }
    return all;
}

constexpr const char* kCgroupLimit = "cgroup pids";

/// A limit of threads and processes, and how many of them there are.
struct Limit {
    int64_t most = 0, used = 0;

    int64_t left() const { return most - used; }
};

/// The tightest cgroup's, this process' or one above it.
std::optional<Limit> cgroup_limit() {
    std::ifstream in("/proc/self/cgroup");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string mount = "/sys/fs/cgroup";
    std::optional<Limit> least;
    for (std::string below = cgroup_paths(text).v2;; below = fs::path(below).parent_path().string()) {
        const std::string folder = mount + (below == "/" ? "" : below);
        const auto most = number_in(folder + "/pids.max"), used = number_in(folder + "/pids.current");
        if (most && used && (!least || *most - *used < least->left())) least = Limit{*most, *used};
        if (below.empty() || below == "/") return least;
    }
}

/// The kernel lets root pass, where that is the machine's root.
bool is_root() {
    std::ifstream in("/proc/self/uid_map");
    int64_t inside = 0, outside = 0;
    return geteuid() == 0 && (!(in >> inside >> outside) || outside == 0);
}

/// ulimit -u; nothing where it does not bind.
std::optional<Limit> user_limit() {
    rlimit limit{};
    if (is_root() || getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::nullopt;
    return Limit{static_cast<int64_t>(limit.rlim_cur), threads_of_user()};
}

}  // namespace

Message no_thread() {
    constexpr int64_t kBeside = 64 << 10;  // its guard page, and what is kept of it
    if (const int64_t stack = thread_stack_bytes(); stack > 0 && !can_map(stack + kBeside))
        return {"error.no_thread_stack", {{"stack_bytes", stack}, {"stack_kb", stack / 1024}}};
    if (const auto group = cgroup_limit(); group && group->left() <= 0)
        return {"error.no_thread_cgroup", {{"limit", group->most}}};
    if (const auto user = user_limit())
        return {"error.no_thread_user", {{"limit", user->most}, {"used", user->used}}};
    return {"error.no_thread", {}};
}

void require_threads(int64_t needed) {
    const auto look = [&](const std::optional<Limit>& limit, const char* option) {
        if (limit && limit->left() < needed)
            throw Error({"error.too_few_threads",
                         {{"needed", needed},
                          {"limit", limit->most},
                          {"used", limit->used},
                          {"option", std::string(option)}}});
    };
    look(user_limit(), "ulimit -u");
    look(cgroup_limit(), kCgroupLimit);
}

void throw_if_limited(int error) {
    if (error == ENOMEM) throw std::bad_alloc();
    if (error == EAGAIN) throw Error(no_thread());
}

}  // namespace meshscope
