#pragma once

#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/message.h"

namespace meshscope {

/// Why the system gave no further thread or process: which limit was met, with its value, as far as that can
/// be known. "error.no_thread_stack" {stack}, "error.no_thread_user" {limit, used}, "error.no_thread_cgroup"
/// {limit}, "error.no_thread". Cost: a look at each process of this machine.
Message no_thread();

/// Throws Error where one of those limits is known to leave fewer than `needed` further threads and
/// processes: "error.too_few_threads" {needed, limit, used, option}. Others may count that cannot be seen
/// here. Cost as above.
void require_threads(int64_t needed);

/// After fork() or posix_spawn() failed so: throws Error with no_thread(), std::bad_alloc for want of memory.
/// Returns for other reasons.
void throw_if_limited(int error);

/// A std::thread, and Error with no_thread() where there is none to be had.
template <class F>
std::thread start_thread(F&& body) {
    try {
        return std::thread(std::forward<F>(body));
    } catch (const std::system_error& error) {
        throw_if_limited(error.code().value());
        throw;
    }
}

}  // namespace meshscope
