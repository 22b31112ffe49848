#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/run/file_calls.h"
#include "tests/test.h"
#include "tests/tree.h"

/// For tests that run programs by file_calls::run.
namespace watched {

/// Of a program's calls each one is tried; under a sanitizer, where everything takes ten times as long, every
/// fifth.
#ifdef MESHSCOPE_EVERY_CALL
inline constexpr std::size_t kEvery = 1;
#else
inline constexpr std::size_t kEvery = 5;
#endif

/// False, with a word of it, where no program can be watched. Folders of the test's own lie in memory from
/// then on, where that can be had: thousands of fsync take a minute on a disk and are the same calls.
inline bool possible() {
    static const std::string reason = [] {
        if (access("/dev/shm", W_OK | X_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
        return file_calls::why_not();
    }();
    if (!reason.empty()) WARN("SKIPPED: " << reason);
    return reason.empty();
}

inline std::string program(const std::string& name) {
    return meshscope::test::bin_folder() + "/" + name;
}

}  // namespace watched
