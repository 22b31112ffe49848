#include "tests/run/file_calls.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/folder.h"

#if defined(__linux__) && defined(__x86_64__)
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <set>
#endif

namespace file_calls {

namespace fs = std::filesystem;

Files files_below(const std::string& folder) {
    Files files;
    if (!fs::exists(folder)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
            files.emplace_back(entry.path().lexically_relative(folder).string(),
                               meshscope::test::content(entry.path()));
    std::ranges::sort(files);
    return files;
}

void put_back(const Files& files, const std::string& folder) {
    fs::remove_all(folder);
    for (const auto& [name, bytes] : files) {
        const fs::path path = fs::path(folder) / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << bytes;
    }
}

#if defined(__linux__) && defined(__x86_64__)

namespace {

/// Where a system call has its file: the number of an argument, -1 where it has none.
struct Known {
    long number;
    const char* name;
    int descriptor;    ///< an open file
    int folder, path;  ///< a path, and what it is relative to (-1: the working folder)
    bool grows, syncs;
};

constexpr std::array kKnown{
    Known{SYS_open, "open", -1, -1, 0, true, false},
    Known{SYS_openat, "openat", -1, 0, 1, true, false},
    Known{SYS_creat, "creat", -1, -1, 0, true, false},
    Known{SYS_write, "write", 0, -1, -1, true, false},
    Known{SYS_writev, "writev", 0, -1, -1, true, false},
    Known{SYS_pwrite64, "pwrite", 0, -1, -1, true, false},
    Known{SYS_pwritev, "pwritev", 0, -1, -1, true, false},
    Known{SYS_fallocate, "fallocate", 0, -1, -1, true, false},
    Known{SYS_copy_file_range, "copy_file_range", 2, -1, -1, true, false},
    Known{SYS_truncate, "truncate", -1, -1, 0, false, false},
    Known{SYS_ftruncate, "ftruncate", 0, -1, -1, false, false},
    Known{SYS_fsync, "fsync", 0, -1, -1, false, true},
    Known{SYS_fdatasync, "fdatasync", 0, -1, -1, false, true},
    Known{SYS_close, "close", 0, -1, -1, false, false},
    Known{SYS_rename, "rename", -1, -1, 0, false, false},
    Known{SYS_renameat, "renameat", -1, 0, 1, false, false},
    Known{SYS_renameat2, "renameat2", -1, 0, 1, false, false},
    Known{SYS_link, "link", -1, -1, 1, true, false},
    Known{SYS_linkat, "linkat", -1, 2, 3, true, false},
    Known{SYS_symlink, "symlink", -1, -1, 1, true, false},
    Known{SYS_symlinkat, "symlinkat", -1, 1, 2, true, false},
    Known{SYS_unlink, "unlink", -1, -1, 0, false, false},
    Known{SYS_unlinkat, "unlinkat", -1, 0, 1, false, false},
    Known{SYS_mkdir, "mkdir", -1, -1, 0, true, false},
    Known{SYS_mkdirat, "mkdirat", -1, 0, 1, true, false},
    Known{SYS_rmdir, "rmdir", -1, -1, 0, false, false},
};

/// Lets the kernel stop the process at these calls and no others: threads that spin make a million.
bool stop_at_known_calls() {
    std::vector<sock_filter> program{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    for (const Known& known : kKnown) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(known.number), 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE |
                          PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;

/// The text at an address of a stopped thread.
std::string text_at(pid_t thread, unsigned long long address) {
    std::string text;
    const int memory = open(("/proc/" + std::to_string(thread) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
    char c = 0;
    while (memory >= 0 && text.size() < 4096 && pread(memory, &c, 1, static_cast<off_t>(address++)) == 1 &&
           c != 0)
        text += c;
    if (memory >= 0) close(memory);
    return text;
}

/// What a descriptor of a thread leads to.
std::string file_of(pid_t thread, const std::string& descriptor) {
    std::array<char, 4096> target{};
    const ssize_t length = readlink(("/proc/" + std::to_string(thread) + "/" + descriptor).c_str(),
                                    target.data(), target.size());
    return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length))};
}

std::string path_of(pid_t thread, const Known& known, const user_regs_struct& registers) {
    const std::array<unsigned long long, 5> arguments{registers.rdi, registers.rsi, registers.rdx,
                                                      registers.r10, registers.r8};
    const auto argument = [&](int which) { return arguments[static_cast<std::size_t>(which)]; };
    const auto descriptor = [&](int which) {
        return file_of(thread, "fd/" + std::to_string(static_cast<int>(argument(which))));
    };
    if (known.descriptor >= 0) return descriptor(known.descriptor);
    std::string path = text_at(thread, argument(known.path));
    if (path.starts_with('/')) return path;
    const bool from_here = known.folder < 0 || static_cast<int>(argument(known.folder)) == AT_FDCWD;
    return (from_here ? file_of(thread, "cwd") : descriptor(known.folder)) + "/" + path;
}

/// Whether a descriptor was opened to be written.
bool for_writing(pid_t thread, unsigned long long descriptor) {
    std::ifstream info("/proc/" + std::to_string(thread) + "/fdinfo/" + std::to_string(descriptor));
    std::string key;
    unsigned flags = 0;
    while (info >> key)
        if (key == "flags:") info >> std::oct >> flags;
    return (flags & O_ACCMODE) != O_RDONLY;
}

/// Whether a call is of the kind that is counted.
bool counts(pid_t thread, const Known& known, const user_regs_struct& registers, Counted counted) {
    if (known.number == SYS_close && !for_writing(thread, registers.rdi)) return false;
    const bool opens = known.number == SYS_open || known.number == SYS_openat;
    const auto flags = known.number == SYS_open ? registers.rsi : registers.rdx;
    if (opens && (flags & O_CREAT) == 0) return false;
    if (counted == Counted::growing) return known.grows;
    return counted != Counted::syncing || known.syncs;
}

/// A thread stands before a call.
void meet(pid_t thread, const Plan& plan, Ended& ended) {
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;
    const auto* const known =
        std::ranges::find(kKnown, static_cast<long>(registers.orig_rax), &Known::number);
    if (known == kKnown.end() || !counts(thread, *known, registers, plan.counted)) return;
    const std::string path = path_of(thread, *known, registers);
    if (path != plan.below && !path.starts_with(plan.below + "/")) return;
    ended.calls.push_back({known->name, path});
    const std::size_t n = ended.calls.size();
    if (plan.fate == Fate::killed && n == plan.nth) kill(thread, SIGKILL);  // its whole process
    if ((plan.fate == Fate::fails && n == plan.nth) ||
        (plan.fate == Fate::fails_from && plan.nth > 0 && n >= plan.nth)) {
        registers.orig_rax = ~0ULL;  // no call: what rax holds is taken for its answer
        registers.rax = static_cast<unsigned long long>(-static_cast<long long>(plan.error));
        ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
    }
}

/// In the child: becomes the program, watched.
[[noreturn]] void become(const std::vector<std::string>& words, const std::string& err) {
    const int nowhere = open("/dev/null", O_RDWR), err_file = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(nowhere, 0);
    dup2(nowhere, 1);
    dup2(err_file, 2);
    setenv("LC_ALL", "C", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);       // threads that would only be stopped and let go
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // its search for leaks needs ptrace for itself
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    if (!stop_at_known_calls() || ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(126);
    raise(SIGSTOP);
    execv(arguments[0], arguments.data());
    _exit(127);
}

/// Starts a program that stands before its first instruction; -1 when that is not allowed.
pid_t start(const std::vector<std::string>& words, const std::string& err) {
    const pid_t program = fork();
    if (program == 0) become(words, err);
    int status = 0;
    if (program < 0 || waitpid(program, &status, 0) != program) return -1;
    if (!WIFSTOPPED(status)) return -1;
    if (ptrace(PTRACE_SETOPTIONS, program, nullptr, kOptions) == 0) return program;
    kill(program, SIGKILL);
    waitpid(program, &status, 0);
    return -1;
}

}  // namespace

std::string why_not() {
    const meshscope::test::Folder folder;
    const std::string touched = folder.file("touched");
    // The proof that it works: a shell that cannot make a file.
    try {
        const Ended ended = run({"/bin/sh", "-c", ": > " + touched},
                                {folder.path.string(), Counted::changing, Fate::fails, 1, EIO});
        if (ended.calls.size() != 1 || fs::exists(touched)) return "system calls cannot be changed here";
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

Ended run(const std::vector<std::string>& words, const Plan& plan) {
    const meshscope::test::Folder folder;
    const std::string err = folder.file("err");
    const pid_t program = start(words, err);
    if (program < 0) throw std::runtime_error("ptrace or seccomp is forbidden here");
    Ended ended;
    std::set<pid_t> begun{program};
    ptrace(PTRACE_CONT, program, nullptr, nullptr);
    for (int status = 0;;) {
        const pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR) continue;
        if (thread < 0) break;  // nobody is left
        if (!WIFSTOPPED(status)) {
            if (thread == program)
                ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        const int event = status >> 16;
        int signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP) meet(thread, plan, ended);
        // A new thread begins with a stop that nobody sent.
        if (event != 0 || (signal == SIGSTOP && begun.insert(thread).second)) signal = 0;
        ptrace(PTRACE_CONT, thread, nullptr, static_cast<long>(signal));
    }
    ended.err = meshscope::test::content(err);
    return ended;
}

#else

std::string why_not() {
    return "only on Linux and x86-64";
}

Ended run(const std::vector<std::string>&, const Plan&) {
    throw std::runtime_error(why_not());
}

#endif

}  // namespace file_calls
