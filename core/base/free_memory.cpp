#include "core/base/free_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "core/base/address_space.h"

namespace meshscope {
namespace {

/// The whole number that a text begins with, after white space.
std::optional<int64_t> number(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::nullopt;
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data() + first, text.data() + text.size(), value);
    if (failure != std::errc() || value < 0) return std::nullopt;
    return value;
}

/// The number behind `key` at the beginning of a line.
std::optional<int64_t> value_of(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.starts_with(key)) return number(line.substr(key.size()));
    }
    return std::nullopt;
}

std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void take_less(std::optional<int64_t>& least, std::optional<int64_t> other) {
    if (other && (!least || *other < *least)) least = other;
}

/// The tightest of a cgroup and those above it. In a container the path may be that of the machine outside:
/// the mount's own root is looked at in any case.
std::optional<int64_t> left_below(const std::string& mount, std::string path, const char* limit,
                                  const char* usage) {
    std::optional<int64_t> least;
    while (true) {
        const std::string folder = mount + path;
        if (const std::string at_most = content(folder + limit); !at_most.empty())
            take_less(least,
                      cgroup_left_bytes(at_most, content(folder + usage), content(folder + "/memory.stat")));
        if (path.empty()) return least;
        const std::size_t slash = path.rfind('/');
        path.resize(slash == std::string::npos ? 0 : slash);
    }
}

}  // namespace

std::optional<FreeMemory> free_memory(const MemoryFacts& facts) {
    std::optional<FreeMemory> least;
    const auto look = [&](const std::optional<int64_t>& bytes, MemoryBound bound) {
        if (bytes && (!least || *bytes < least->bytes)) least = FreeMemory{*bytes, bound};
    };
    look(facts.available_bytes, MemoryBound::machine);
    look(facts.cgroup_left_bytes, MemoryBound::cgroup);
    look(facts.address_left_bytes, MemoryBound::address_space);
    return least;
}

std::optional<int64_t> available_bytes(std::string_view meminfo) {
    const auto available = value_of(meminfo, "MemAvailable:");
    if (!available) return std::nullopt;
    return (*available + value_of(meminfo, "SwapFree:").value_or(0)) * 1024;
}

std::optional<int64_t> cgroup_left_bytes(std::string_view limit, std::string_view usage,
                                         std::string_view stat) {
    constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 writes the largest multiple of a page
    const auto most = number(limit), used = number(usage);
    if (!most || !used || *most >= kNoLimit) return std::nullopt;
    auto droppable = value_of(stat, "total_inactive_file ");
    if (!droppable) droppable = value_of(stat, "inactive_file ");
    return std::max<int64_t>(0, *most - std::max<int64_t>(0, *used - droppable.value_or(0)));
}

CgroupPaths cgroup_paths(std::string_view text) {
    CgroupPaths paths;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos) continue;
        const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
        std::string path(line.substr(second + 1));
        while (!path.empty() && path.back() == '/') path.pop_back();
        if (line.starts_with("0::"))
            paths.v2 = path;
        else if (controllers.find(",memory,") != std::string::npos)
            paths.v1 = path;
    }
    return paths;
}

MemoryFacts look_at_memory() {
    MemoryFacts facts;
    facts.available_bytes = available_bytes(content("/proc/meminfo"));
    const CgroupPaths paths = cgroup_paths(content("/proc/self/cgroup"));
    facts.cgroup_left_bytes = left_below("/sys/fs/cgroup", paths.v2, "/memory.max", "/memory.current");
    take_less(facts.cgroup_left_bytes, left_below("/sys/fs/cgroup/memory", paths.v1, "/memory.limit_in_bytes",
                                                  "/memory.usage_in_bytes"));
    if (const auto left = address_space_left()) facts.address_left_bytes = left->left_bytes;
    return facts;
}

}  // namespace meshscope
