#pragma once

#include <atomic>

#include "core/base/fence.h"

namespace meshscope::backends::threads {

/// The two halves of "say first, then look" where one side says something all the time and the other hardly
/// ever: if A says a, passes light(), and looks for b, while B says b, passes heavy(), and looks for a, then
/// at least one of the two sees what the other said.
///
/// Symmetric at first: both are a fence(), for which a thread waits until all its stores are in its cache: as
/// long as a cache line takes to change cores. Asymmetric: light() costs nothing, and heavy() lets the kernel
/// put a fence into every running thread of the process (membarrier(2), a few µs).
class AsymmetricFence {
  public:
    /// Where the kernel can; otherwise it stays symmetric. Before any thread uses it.
    void make_asymmetric() noexcept;

    void light() const noexcept {
        if (asymmetric_)
            std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler, too, keeps the order
        else
            fence();
    }
    void heavy() const noexcept;

  private:
    bool asymmetric_ = false;
};

}  // namespace meshscope::backends::threads
