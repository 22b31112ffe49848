#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backends/nccl/library.h"
#include "core/base/ids.h"

namespace meshscope::backends::nccl {

struct Timeouts {
    /// Until all ranks have made a communicator.
    std::chrono::milliseconds connect{60'000};
    /// The longest that one call may take. PyTorch's default for NCCL is ten minutes.
    std::chrono::milliseconds operation{600'000};
};

/// What a rank was about when NCCL failed, for the message.
struct Doing {
    GlobalRank rank;
    std::string op;     ///< "all_reduce", "init", "split", "finalize"
    std::string group;  ///< "shard"; "world"
};

/// Throws CommError of NCCL's result `code`: "nccl.unhandled_cuda_error", "nccl.system_error",
/// "nccl.internal_error", "nccl.invalid_argument", "nccl.invalid_usage", "nccl.remote_error", and for codes
/// of other versions "nccl.unknown_result"; all {rank, op, group, code, detail}, `detail` in NCCL's words.
[[noreturn]] void throw_result(const Library& library, int code, const Doing& doing);

/// One communicator of one rank, and a stream of its own. Nothing here blocks for longer than its time-out:
/// NCCL is asked again and again (ncclCommGetAsyncError), and where it fails, is late, or `interrupted` says
/// stop, the communicator is aborted (ncclCommAbort), so that nothing of it hangs. Used by one thread.
class Communicator {
  public:
    /// Asked while waiting; throws what shall end the wait.
    using Interrupted = std::function<void()>;

    /// Begins to make one of `n` ranks that hold the same id. Throws as throw_result.
    Communicator(const Library& library, const MeshscopeNcclId& id, int32_t n, int32_t rank, int32_t device,
                 const Doing& doing);
    /// Aborts what was not closed.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// ncclCommSplit: every rank of this communicator calls it; returns this rank's part, ready, or null
    /// where `color` is -1. Throws as wait.
    std::unique_ptr<Communicator> split(int32_t color, int32_t key, const Timeouts& timeouts,
                                        const Doing& doing, const Interrupted& interrupted);

    /// Begins a group of calls; one at a time. Throws as throw_result, after aborting.
    void begin(std::span<const MeshscopeNcclCall> calls, const Doing& doing);
    /// Returns when what was begun has ended. Throws CommError as throw_result, "nccl.timeout" {rank, op,
    /// group, waited_ms}, and what `interrupted` throws; the communicator was aborted then.
    void wait(std::chrono::milliseconds timeout, const Doing& doing, const Interrupted& interrupted);

    /// Lets NCCL end in order (ncclCommFinalize, then ncclCommDestroy): all its ranks do. Throws as wait.
    void close(std::chrono::milliseconds timeout, const Doing& doing, const Interrupted& interrupted);
    void abort() noexcept;
    bool open() const { return comm_ != nullptr; }

    /// Lets NCCL know of memory that is sent from often; null where it has no use for that, or refuses this
    /// memory: then it is sent from as any other is.
    MeshscopeNcclBuffer* enter_buffer(void* memory, int64_t bytes) noexcept;
    void leave_buffer(MeshscopeNcclBuffer* buffer) noexcept;

  private:
    Communicator(const Library& library, int32_t device);
    /// Whether all that was begun has ended; throws what NCCL says of it.
    bool ended(const Doing& doing);
    [[noreturn]] void fail(int code, const Doing& doing);

    Library library_;
    int32_t device_;
    void* stream_ = nullptr;
    MeshscopeNcclComm* comm_ = nullptr;
};

}  // namespace meshscope::backends::nccl
