#include "app/gui/main/bench_app.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

extern char** environ;

namespace meshscope::gui {
namespace {

constexpr std::chrono::seconds kSettling{3}, kWatched{5};

/// This program once more, showing a window, until the object goes. The user's settings stay as they are.
class OwnWindow {
  public:
    OwnWindow(const Options& options, const std::string& lesson)
        : home_(std::filesystem::temp_directory_path() / ("meshscope-idle-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(home_);
        std::vector<std::string> words{"/proc/self/exe", lesson, "--size",
                                       std::to_string(options.width) + "x" + std::to_string(options.height)};
        std::vector<std::string> variables{"HOME=" + home_.string(), "XDG_CONFIG_HOME=" + home_.string()};
        for (char** one = environ; *one != nullptr; ++one) {
            const std::string variable = *one;
            if (!variable.starts_with("HOME=") && !variable.starts_with("XDG_CONFIG_HOME="))
                variables.push_back(variable);
        }
        posix_spawn_file_actions_t quiet;
        ::posix_spawn_file_actions_init(&quiet);
        for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
            ::posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
        if (::posix_spawn(&child_, words.front().c_str(), &quiet, nullptr, pointers(words).data(),
                          pointers(variables).data()) != 0)
            child_ = -1;
        ::posix_spawn_file_actions_destroy(&quiet);
    }
    ~OwnWindow() {
        if (running()) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
        std::error_code ignored;
        std::filesystem::remove_all(home_, ignored);
    }
    OwnWindow(const OwnWindow&) = delete;
    OwnWindow& operator=(const OwnWindow&) = delete;

    bool running() {
        if (child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) != 0) child_ = -1;
        return child_ > 0;
    }

    /// Seconds of processor time so far; nothing once it has ended.
    std::optional<double> cpu_seconds() {
        if (!running()) return std::nullopt;
        std::ifstream in("/proc/" + std::to_string(child_) + "/stat");
        std::string all;
        std::getline(in, all);
        // Behind the name, which may hold anything: the state, ten numbers, user and system time.
        std::istringstream rest(all.substr(all.rfind(')') + 1));
        std::string skipped;
        for (int i = 0; i < 11; ++i) rest >> skipped;
        double user = 0, system = 0;
        rest >> user >> system;
        if (!rest) return std::nullopt;
        return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }

  private:
    static std::vector<char*> pointers(std::vector<std::string>& texts) {
        std::vector<char*> all;
        for (std::string& text : texts) all.push_back(text.data());
        all.push_back(nullptr);
        return all;
    }

    std::filesystem::path home_;
    pid_t child_ = -1;
};

}  // namespace

void bench_idle(const Options& options, const std::string& lesson,
                const std::function<void(const std::string&)>& print) {
    const auto skipped = [&](const char* why) {
        print(std::string("{\"bench\":\"app\",\"what\":\"idle\",\"skipped\":\"") + why + "\"}");
    };
    if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr)
        return skipped("no display");
    OwnWindow window(options, lesson);
    std::this_thread::sleep_for(kSettling);
    const std::optional<double> before = window.cpu_seconds();
    std::this_thread::sleep_for(kWatched);
    const std::optional<double> after = window.cpu_seconds();
    if (!before || !after) return skipped("the window did not stay open");
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(),
                  "{\"bench\":\"app\",\"what\":\"idle\",\"seconds\":%lld,\"core_percent\":%.2f}",
                  static_cast<long long>(kWatched.count()),
                  100 * (*after - *before) / static_cast<double>(kWatched.count()));
    print(line.data());
}

}  // namespace meshscope::gui
