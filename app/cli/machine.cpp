#include "app/cli/machine.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "core/base/cores.h"

namespace meshscope::cli {
namespace {

namespace fs = std::filesystem;

/// The rest of the first line of a /proc file that starts with `key` and a colon.
std::string proc_value(const char* file, std::string_view key) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(key)) continue;
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::size_t first = line.find_first_not_of(" \t", colon + 1);
        return first == std::string::npos ? "" : line.substr(first);
    }
    return "";
}

int64_t kilobytes(std::string_view key) {
    std::istringstream in(proc_value("/proc/meminfo", key));
    int64_t kb = 0;
    in >> kb;
    return kb * 1024;
}

std::vector<std::string> find_chinese_fonts(const std::string& home) {
    constexpr std::array<std::string_view, 6> kNames{"wqy-microhei", "wqy-zenhei",        "NotoSansCJK",
                                                     "NotoSerifCJK", "DroidSansFallback", "SourceHanSans"};
    std::vector<std::string> folders{"/usr/share/fonts", "/usr/local/share/fonts"};
    if (!home.empty()) folders.push_back(home + "/.local/share/fonts");
    std::vector<std::string> found;
    for (const std::string& folder : folders) {
        std::error_code error;
        fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error),
            end;
        for (; !error && it != end; it.increment(error)) {
            const std::string file = it->path().filename().string();
            const bool known =
                std::any_of(kNames.begin(), kNames.end(), [&](auto n) { return file.starts_with(n); });
            if (known) found.push_back(it->path().string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

bool can_load(const char* library) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return false;
    dlclose(handle);
    return true;
}

int64_t limit(__rlimit_resource resource) {
    rlimit value{};
    if (getrlimit(resource, &value) != 0 || value.rlim_cur == RLIM_INFINITY) return -1;
    return static_cast<int64_t>(value.rlim_cur);
}

}  // namespace

void pin_thread(int place) {
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    place %= CPU_COUNT(&usable);
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &usable) && place-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            sched_setaffinity(0, sizeof one, &one);  // refused: measured unpinned
            return;
        }
}

std::string find_program(const std::string& name, const std::string& path_variable) {
    std::istringstream folders(path_variable);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (folder.empty()) continue;
        const std::string file = folder + "/" + name;
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return "";
}

Machine look_at_machine(const std::function<std::string(const char*)>& environment) {
    Machine machine;
    machine.cpu = proc_value("/proc/cpuinfo", "model name");
    machine.cores = usable_cores();
    machine.memory_bytes = kilobytes("MemTotal");
    machine.memory_available_bytes = kilobytes("MemAvailable");
    machine.chinese_fonts = find_chinese_fonts(environment("HOME"));
    machine.display = environment("DISPLAY");
    machine.egl = can_load("libEGL.so.1");
    machine.opengl = can_load("libGL.so.1");
    machine.ffmpeg = find_program("ffmpeg", environment("PATH"));
    machine.open_files_limit = limit(RLIMIT_NOFILE);
    machine.address_space_limit_bytes = limit(RLIMIT_AS);
    return machine;
}

}  // namespace meshscope::cli
