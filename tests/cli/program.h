#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/folder.h"

/// The built `meshscope`, run as a user runs it.
namespace program {

struct Ended {
    int exit_code = -1;  ///< 128 + signal when one ended it
    std::string out, err;
};

struct How {
    int interrupt_after_ms = 0;              ///< > 0: SIGINT so long after it catches that
    std::string out_file{};                  ///< where stdout goes instead of `out`
    std::vector<std::string> environment{};  ///< "NAME=value" beside LC_ALL=C and MESHSCOPE_PAGE
    std::string folder{};                    ///< where it is started; else where the test runs
    std::string in_file = "/dev/null";       ///< its standard input; "" for none at all
    std::function<void()> prepare{};         ///< done by the child before it becomes the program: a limit
};

Ended run(const std::vector<std::string>& words, const How& how = {});

/// For a child process: becomes the program; `environment` as in How. It never returns.
[[noreturn]] void become(const std::vector<std::string>& words, const std::vector<std::string>& environment);

/// Waits until the program that a child became has a handler for `signal`: one that is sent before would end
/// it by default, however long a busy machine takes to start it. False when that is not so within a minute.
bool await_handler(pid_t child, int signal);

/// The same as run on a terminal of its own, `typed` being typed into it; `out` is what the terminal showed.
Ended run_on_terminal(const std::vector<std::string>& words, const std::string& typed);

using meshscope::test::content;
using meshscope::test::Folder;

}  // namespace program
