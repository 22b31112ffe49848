#pragma once

namespace meshscope {

/// What this thread has stored so far is seen by others before anything that it reads from here on: for "say
/// first, then look" between threads, or between processes that look into each other's memory.
/// (std::atomic_thread_fence(seq_cst), in a form that GCC's thread sanitizer takes.)
inline void fence() {
    __sync_synchronize();
}

}  // namespace meshscope
