#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// A program whose file-system calls are watched from outside (ptrace and a seccomp filter, Linux on x86-64),
/// so that a test can kill it at the n-th of them or let that one fail.
namespace file_calls {

/// A call that was made, or was about to be.
struct Call {
    std::string name, path;
};

/// Which calls count. Those that only look (stat, readdir, read) never do: killed at one of them a program
/// leaves what it leaves at the next call that does more.
enum class Counted {
    changing,  ///< open that may create, write, truncate, fsync, close of what was written, rename, unlink,
               ///< mkdir, rmdir …
    growing,   ///< of these what needs room: creating files and folders, writing
    syncing    ///< fsync, fdatasync
};

enum class Fate {
    none,
    killed,     ///< SIGKILL before the call is made
    fails,      ///< the call is not made; the program is told `error`
    fails_from  ///< so do all counted calls that come after it
};

struct Plan {
    std::string below;  ///< a folder, absolute: only calls on files in it, or on itself, count
    Counted counted = Counted::changing;
    Fate fate = Fate::none;
    std::size_t nth = 0;  ///< of the counted calls, from 1; 0: none
    int error = 0;        ///< errno
};

struct Ended {
    int exit_code = -1;       ///< 128 + signal when one ended it
    std::string err;          ///< what it wrote to stderr
    std::vector<Call> calls;  ///< the counted ones, in the order they were begun
};

/// Why programs cannot be watched here; "" when they can.
std::string why_not();

/// Runs a program and all that it starts to the end. `words[0]` is its path; its output goes nowhere. Other
/// children of the calling process must have been waited for. Throws std::runtime_error when it cannot be
/// watched.
Ended run(const std::vector<std::string>& words, const Plan& plan);

/// A folder's files by name below it, with their bytes: to compare folders and to put them back.
using Files = std::vector<std::pair<std::string, std::string>>;
Files files_below(const std::string& folder);
/// Makes `folder` hold these files and nothing else.
void put_back(const Files& files, const std::string& folder);

}  // namespace file_calls
