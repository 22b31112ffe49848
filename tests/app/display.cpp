#include "display.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/folder.h"

namespace meshscope::test {
namespace {

void pause_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
             const std::string& output_to, int keep_fd) {
    std::vector<char*> argv;
    for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        const int out = ::open(output_to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(out, STDERR_FILENO);
        if (keep_fd >= 0) ::fcntl(keep_fd, F_SETFD, 0);
        for (const std::string& line : environment) ::putenv(const_cast<char*>(line.c_str()));
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    if (pid_ < 0) throw std::runtime_error("fork failed");
}

Child::~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    for (int i = 0; i < 100 && running(); ++i) pause_ms(20);
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
}

bool Child::running() {
    if (pid_ <= 0) return false;
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = -1;
        return false;
    }
    return true;
}

int Child::wait() {
    int status = 0;
    if (pid_ <= 0 || ::waitpid(pid_, &status, 0) != pid_) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

VirtualDisplay::VirtualDisplay(const std::string& folder, const std::string& screen) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    // The server picks a free number itself and tells it, so that tests beside each other do not meet.
    server_ = std::make_unique<Child>(
        std::vector<std::string>{"Xvfb", "-displayfd", std::to_string(ends[1]), "-screen", "0", screen,
                                 "-nolisten", "tcp", "-noreset"},
        std::vector<std::string>{}, folder + "/xvfb.log", ends[1]);
    ::close(ends[1]);
    // The number and the end of its line come in two writes; a pipe closed between them would end the server.
    std::string text;
    ssize_t got = 0;
    char letter = 0;
    while ((got = ::read(ends[0], &letter, 1)) == 1 && letter != '\n') text += letter;
    ::close(ends[0]);
    if (got <= 0) {
        throw std::runtime_error("Xvfb did not start (package xvfb): " + content(folder + "/xvfb.log"));
    }
    name_ = ":" + std::to_string(std::atoi(text.c_str()));
}

std::string output_of(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                      const std::string& folder) {
    const std::string out = folder + "/output.txt";
    Child child(arguments, environment, out);
    const int status = child.wait();
    if (status != 0) {
        throw std::runtime_error(arguments[0] + " ended with " + std::to_string(status) + ": " +
                                 content(out));
    }
    return content(out);
}

DrivenApp::DrivenApp(const VirtualDisplay& display, const std::string& folder,
                     std::vector<std::string> arguments)
    : display_("DISPLAY=" + display.name()), folder_(folder), state_file_(folder + "/state.json") {
    std::vector<std::string> words = {std::string(MESHSCOPE_BIN_DIR) + "/meshscope-app", "--dump-state",
                                      state_file_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    app_ = std::make_unique<Child>(
        words,
        std::vector<std::string>{display_, "LIBGL_ALWAYS_SOFTWARE=1", "XDG_CONFIG_HOME=" + folder + "/config",
                                 "MESHSCOPE_SCENARIOS=" MESHSCOPE_SOURCE_ROOT "/scenarios"},
        folder + "/app.log");
    const std::string found = output_of(
        {"xdotool", "search", "--sync", "--onlyvisible", "--name", "Meshscope"}, {display_}, folder_);
    window_ = found.substr(0, found.find('\n'));
    output_of({"xdotool", "windowfocus", "--sync", window_}, {display_}, folder_);
}

nlohmann::json DrivenApp::state() const {
    return nlohmann::json::parse(content(state_file_), nullptr, false);
}

nlohmann::json DrivenApp::wait_for(const std::string& what,
                                   const std::function<bool(const nlohmann::json&)>& wanted) const {
    nlohmann::json now;
    for (int i = 0; i < 400; ++i) {
        now = state();
        if (now.is_object() && wanted(now)) return now;
        pause_ms(50);
    }
    if (now.is_object()) now.erase("places");
    throw std::runtime_error("the window never came to: " + what + "; state " + now.dump() + "; it said " +
                             output());
}

void DrivenApp::xdotool(std::vector<std::string> words) const {
    words.insert(words.begin(), "xdotool");
    for (std::string& word : words) {
        if (word == "@") word = window_;
    }
    output_of(words, {display_}, folder_);
}

void DrivenApp::move(double x, double y) const {
    xdotool({"mousemove", "--window", "@", std::to_string(static_cast<int>(x)),
             std::to_string(static_cast<int>(y))});
    pause_ms(80);
}

void DrivenApp::click(const nlohmann::json& box) const {
    move(box[0].get<double>() + box[2].get<double>() / 2, box[1].get<double>() + box[3].get<double>() / 2);
    xdotool({"click", "1"});
}

void DrivenApp::key(const std::string& name) const {
    xdotool({"key", name});
}

int DrivenApp::close() {
    // What a window manager's close button sends; xdotool can only destroy the window.
    static const char* const kAskToClose = R"(
import ctypes, sys
x = ctypes.CDLL("libX11.so.6")
x.XOpenDisplay.restype = ctypes.c_void_p
x.XInternAtom.restype = ctypes.c_ulong
class Ask(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("sent", ctypes.c_int), ("display", ctypes.c_void_p),
                ("window", ctypes.c_ulong), ("kind", ctypes.c_ulong), ("format", ctypes.c_int),
                ("data", ctypes.c_long * 5), ("rest", ctypes.c_long * 24)]
d = ctypes.c_void_p(x.XOpenDisplay(None))
ask = Ask(33, 0, 1, d, int(sys.argv[1]), x.XInternAtom(d, b"WM_PROTOCOLS", 0), 32)
ask.data[0] = x.XInternAtom(d, b"WM_DELETE_WINDOW", 0)
x.XSendEvent(d, ctypes.c_ulong(int(sys.argv[1])), 0, ctypes.c_long(0), ctypes.byref(ask))
x.XFlush(d)
x.XSync(d, 0)
)";
    output_of({"python3", "-c", kAskToClose, window_}, {display_}, folder_);
    return app_->wait();
}

double DrivenApp::cpu_seconds() const {
    const std::string stat = content("/proc/" + std::to_string(app_->pid()) + "/stat");
    // After the name in brackets: state, ten numbers, then user and system time in ticks.
    std::istringstream in(stat.substr(stat.rfind(')') + 2));
    std::string skipped;
    double user = 0, system = 0;
    for (int i = 0; i < 11; ++i) in >> skipped;
    in >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string DrivenApp::output() const {
    return content(folder_ + "/app.log");
}

nlohmann::json place(const nlohmann::json& state, const std::string& kind, int a, int b) {
    for (const auto& p : state["places"]) {
        if (p["kind"] == kind && p["a"] == a && (b < 0 || p["b"] == b)) return p["box"];
    }
    throw std::runtime_error("no " + kind + " " + std::to_string(a) + " on screen");
}

}  // namespace meshscope::test
