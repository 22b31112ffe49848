#include "display.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/folder.h"
#include "tests/patience.h"
#include "tests/tree.h"

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

VirtualDisplay::VirtualDisplay(const std::string& folder, const std::string& screen,
                               const std::vector<std::string>& more) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    // The server picks a free number itself and tells it, so that tests beside each other do not meet. Its
    // keys do not repeat: on a slow machine one that is held would be typed twice.
    std::vector<std::string> words = {
        "Xvfb", "-displayfd", std::to_string(ends[1]), "-screen", "0", screen, "-r", "-nolisten",
        "tcp",  "-noreset"};
    words.insert(words.end(), more.begin(), more.end());
    server_ = std::make_unique<Child>(words, std::vector<std::string>{}, folder + "/xvfb.log", ends[1]);
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
                     std::vector<std::string> arguments, std::vector<std::string> environment)
    : display_("DISPLAY=" + display.name()), folder_(folder), state_file_(folder + "/state.json") {
    std::vector<std::string> words = {test::bin_folder() + "/meshscope-app", "--dump-state", state_file_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    // The driver is unloaded at the end, and what it kept for itself then looks lost. Leaks of ours are seen
    // in the tests that draw in their own process. The lost context's test loads a library before ASan's.
    const char* const asan = std::getenv("ASAN_OPTIONS");
    const std::string sanitizer = std::string(asan != nullptr ? asan : "");
    // What the caller gives comes last, and holds.
    std::vector<std::string> lines = {
        display_, "LIBGL_ALWAYS_SOFTWARE=1",
        "ASAN_OPTIONS=" + sanitizer + ":detect_leaks=0:verify_asan_link_order=0",
        "XDG_CONFIG_HOME=" + folder + "/config", "MESHSCOPE_SCENARIOS=" + test::source_root() + "/scenarios",
        "MESHSCOPE_PAGE=" + test::source_root() + "/app/web/page.html"};
    lines.insert(lines.end(), environment.begin(), environment.end());
    // Of a window that was open before nothing is to be read.
    std::remove(state_file_.c_str());
    app_ = std::make_unique<Child>(words, lines, folder + "/app.log");
    find_window();
}

void DrivenApp::find_window() {
    const auto until = std::chrono::steady_clock::now() + kGuard;
    while (true) {
        const std::string found = output_of(
            {"xdotool", "search", "--sync", "--onlyvisible", "--name", "Meshscope"}, {display_}, folder_);
        window_ = found.substr(0, found.find('\n'));
        pointer_x_ = pointer_y_ = -1;
        try {
            output_of({"xdotool", "windowfocus", "--sync", window_}, {display_}, folder_);
            return;
        } catch (const std::runtime_error&) {
            // A window that another takes the place of may be found just before it goes.
            if (std::chrono::steady_clock::now() > until) throw;
            pause_ms(20);
        }
    }
}

nlohmann::json DrivenApp::state() const {
    return nlohmann::json::parse(content(state_file_), nullptr, false);
}

nlohmann::json DrivenApp::wait_for(const std::string& what,
                                   const std::function<bool(const nlohmann::json&)>& wanted,
                                   int patience) const {
    nlohmann::json now;
    const auto until = std::chrono::steady_clock::now() + 2 * patience * kGuard;
    do {
        now = state();
        if (now.is_object() && wanted(now)) return now;
        pause_ms(20);
    } while (std::chrono::steady_clock::now() < until && app_->running());
    if (now.is_object()) now.erase("places");
    throw std::runtime_error("the window never came to: " + what + "; state " + now.dump() + "; it said " +
                             output());
}

int64_t DrivenApp::frame() const {
    const nlohmann::json now = state();
    return now.is_object() ? now["frame"].get<int64_t>() : -1;
}

void DrivenApp::seen(int64_t before) const {
    // Input is followed by three frames. Two more than now are certainly after it, too; else the window has
    // come to rest. This only waits: what came of it is for wait_for().
    const int64_t now = frame();
    int64_t latest = now;
    const auto begin = std::chrono::steady_clock::now();
    auto moved = begin;
    while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(20) && app_->running()) {
        const int64_t at = frame();
        if (at >= now + 2) return;
        if (at != latest) moved = std::chrono::steady_clock::now();
        latest = at;
        const bool rests = std::chrono::steady_clock::now() - moved > std::chrono::milliseconds(40);
        if (at >= before + 3 && rests) return;
        pause_ms(5);
    }
}

void DrivenApp::act(std::vector<std::string> words) const {
    const int64_t before = frame();
    xdotool(std::move(words));
    seen(before);
}

void DrivenApp::xdotool(std::vector<std::string> words) const {
    words.insert(words.begin(), "xdotool");
    for (std::string& word : words) {
        if (word == "@") word = window_;
    }
    output_of(words, {display_}, folder_);
}

void DrivenApp::move(double x, double y) const {
    const int to_x = static_cast<int>(x), to_y = static_cast<int>(y);
    if (to_x == pointer_x_ && to_y == pointer_y_) return;
    act({"mousemove", "--window", "@", std::to_string(to_x), std::to_string(to_y)});
    pointer_x_ = to_x;
    pointer_y_ = to_y;
}

void DrivenApp::press() const {
    act({"mousedown", "1"});
    act({"mouseup", "1"});
}

void DrivenApp::click(const nlohmann::json& box) const {
    move(box[0].get<double>() + box[2].get<double>() / 2, box[1].get<double>() + box[3].get<double>() / 2);
    press();
}

void DrivenApp::click_at(const std::function<nlohmann::json(const nlohmann::json&)>& where) const {
    nlohmann::json box = where(state());
    for (int i = 0; i < 100; ++i) {
        move(box[0].get<double>() + box[2].get<double>() / 2,
             box[1].get<double>() + box[3].get<double>() / 2);
        const nlohmann::json now = where(state());
        if (now == box) return press();
        box = now;
    }
    throw std::runtime_error("what is to be clicked never stands still");
}

void DrivenApp::click(const std::string& widget) const {
    click_at([&](const nlohmann::json&) {
        return wait_for(
            widget, [&](const nlohmann::json& s) { return s["boxes"].contains(widget); })["boxes"][widget];
    });
}

void DrivenApp::scroll_and_click(const std::string& widget, double top, double bottom) const {
    nlohmann::json now =
        wait_for(widget, [&](const nlohmann::json& s) { return s["boxes"].contains(widget); });
    for (int i = 0; i < 300; ++i) {
        const nlohmann::json box = now["boxes"][widget];
        const double y = box[1].get<double>() + box[3].get<double>() / 2;
        if (y > top && y < bottom) return click(widget);
        move(box[0].get<double>() + box[2].get<double>() / 2, (top + bottom) / 2);
        act({"click", y < top ? "4" : "5"});
        now = wait_for(widget, [&](const nlohmann::json& s) { return s["boxes"].contains(widget); });
    }
    throw std::runtime_error(widget + " never came into sight");
}

void DrivenApp::key(const std::string& name) const {
    xdotool({"key", name});
}

void DrivenApp::hold(const std::vector<std::string>& keys) const {
    for (const std::string& name : keys) act({"keydown", name});
    for (auto name = keys.rbegin(); name != keys.rend(); ++name) act({"keyup", *name});
}

void DrivenApp::fill(const std::string& field, const std::string& text) const {
    click(field);
    wait_for("typing in " + field, [](const nlohmann::json& s) { return s["typing"] == true; });
    hold({"ctrl", "a"});
    act({"type", "--delay", "20", text});
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

int DrivenApp::end(int signal) {
    ::kill(app_->pid(), signal);
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

bool has_place(const nlohmann::json& state, const std::string& kind, int a, int b) {
    for (const auto& p : state["places"])
        if (p["kind"] == kind && p["a"] == a && (b < 0 || p["b"] == b)) return true;
    return false;
}

nlohmann::json place(const nlohmann::json& state, const std::string& kind, int a, int b) {
    for (const auto& p : state["places"]) {
        if (p["kind"] == kind && p["a"] == a && (b < 0 || p["b"] == b)) return p["box"];
    }
    throw std::runtime_error("no " + kind + " " + std::to_string(a) + " on screen");
}

}  // namespace meshscope::test
