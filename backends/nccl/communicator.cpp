#include "backends/nccl/communicator.h"

#include <algorithm>
#include <array>
#include <thread>

#include "core/base/error.h"

namespace meshscope::backends::nccl {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Most calls are over within this; sleeping and waking costs more.
constexpr microseconds kSpin{100};
constexpr microseconds kLongestNap{1'000};

const char* id_of(int code) {
    switch (code) {
        case 1:
            return "nccl.unhandled_cuda_error";
        case 2:
            return "nccl.system_error";
        case 3:
            return "nccl.internal_error";
        case 4:
            return "nccl.invalid_argument";
        case 5:
            return "nccl.invalid_usage";
        case 6:
            return "nccl.remote_error";
        default:
            return "nccl.unknown_result";
    }
}

}  // namespace

void throw_result(const Library& library, int code, const Doing& doing) {
    std::array<char, 512> detail{};
    library.table->last_error(library.handle, detail.data(), static_cast<int32_t>(detail.size()));
    const std::string word = library.table->result_word(code);
    throw CommError({id_of(code),
                     {{"rank", int64_t{doing.rank.value}},
                      {"op", doing.op},
                      {"group", doing.group},
                      {"code", word.empty() ? std::to_string(code) : word},
                      {"detail", detail[0] != 0 ? std::string(detail.data()) : std::string("–")}}},
                    doing.rank);
}

Communicator::Communicator(const Library& library, int32_t device) : library_(library), device_(device) {}

Communicator::Communicator(const Library& library, const MeshscopeNcclId& id, int32_t n, int32_t rank,
                           int32_t device, const Doing& doing)
    : Communicator(library, device) {
    if (const int code = library_.table->stream_make(device, &stream_); code != 0) fail(code, doing);
    if (const int code = library_.table->init(library_.handle, &id, n, rank, device, &comm_); code != 0)
        fail(code, doing);
}

Communicator::~Communicator() {
    abort();
}

void Communicator::abort() noexcept {
    if (comm_ != nullptr) library_.table->abort(library_.handle, comm_);
    if (stream_ != nullptr) library_.table->stream_free(device_, stream_);
    comm_ = nullptr;
    stream_ = nullptr;
}

void Communicator::fail(int code, const Doing& doing) {
    try {
        throw_result(library_, code, doing);  // asks NCCL for its words, so before the abort
    } catch (...) {
        abort();
        throw;
    }
}

std::unique_ptr<Communicator> Communicator::split(int32_t color, int32_t key, const Timeouts& timeouts,
                                                  const Doing& doing, const Interrupted& interrupted) {
    std::unique_ptr<Communicator> part(new Communicator(library_, device_));
    if (const int code = library_.table->stream_make(device_, &part->stream_); code != 0) fail(code, doing);
    const int code = library_.table->split(library_.handle, comm_, color, key, device_, &part->comm_);
    if (code != 0) fail(code, doing);
    // That of the parent: only then the part is known. If it fails, the parent is aborted first, which ends
    // the split, and then what there is of the part.
    wait(timeouts.connect, doing, interrupted);
    if (part->comm_ == nullptr) return nullptr;
    part->wait(timeouts.connect, doing, interrupted);
    return part;
}

void Communicator::begin(std::span<const MeshscopeNcclCall> calls, const Doing& doing) {
    if (comm_ == nullptr) fail(5, doing);  // aborted earlier: ncclInvalidUsage
    const int code = library_.table->run(library_.handle, comm_, calls.data(),
                                         static_cast<int32_t>(calls.size()), stream_);
    if (code != 0) fail(code, doing);
}

bool Communicator::ended(const Doing& doing) {
    int32_t now = 0;
    if (const int code = library_.table->state(library_.handle, comm_, &now); code != 0) fail(code, doing);
    if (now == MESHSCOPE_NCCL_IN_PROGRESS) return false;
    if (now != MESHSCOPE_NCCL_SUCCESS) fail(now, doing);
    int32_t done = 0;
    if (const int code = library_.table->stream_query(device_, stream_, &done); code != 0) fail(code, doing);
    return done != 0;
}

void Communicator::wait(milliseconds timeout, const Doing& doing, const Interrupted& interrupted) {
    if (comm_ == nullptr) fail(5, doing);
    const Clock::time_point began = Clock::now();
    microseconds nap{10};
    while (!ended(doing)) {
        const auto waited = Clock::now() - began;
        try {
            if (interrupted) interrupted();
            if (waited >= timeout)
                throw CommError({"nccl.timeout",
                                 {{"rank", int64_t{doing.rank.value}},
                                  {"op", doing.op},
                                  {"group", doing.group},
                                  {"waited_ms", int64_t{timeout.count()}}}},
                                doing.rank);
        } catch (...) {
            abort();
            throw;
        }
        if (waited < kSpin) {
            std::this_thread::yield();
            continue;
        }
        std::this_thread::sleep_for(nap);
        nap = std::min(2 * nap, kLongestNap);
    }
}

void Communicator::close(milliseconds timeout, const Doing& doing, const Interrupted& interrupted) {
    if (comm_ == nullptr) return;
    if (const int code = library_.table->finalize(library_.handle, comm_); code != 0) fail(code, doing);
    wait(timeout, doing, interrupted);
    if (const int code = library_.table->destroy(library_.handle, comm_); code != 0) fail(code, doing);
    comm_ = nullptr;
    abort();  // of which only the stream is left
}

MeshscopeNcclBuffer* Communicator::enter_buffer(void* memory, int64_t bytes) noexcept {
    MeshscopeNcclBuffer* buffer = nullptr;
    const int code = library_.table->enter_buffer(library_.handle, comm_, memory, bytes, &buffer);
    return code == 0 ? buffer : nullptr;
}

void Communicator::leave_buffer(MeshscopeNcclBuffer* buffer) noexcept {
    if (comm_ != nullptr && buffer != nullptr) library_.table->leave_buffer(library_.handle, comm_, buffer);
}

}  // namespace meshscope::backends::nccl
