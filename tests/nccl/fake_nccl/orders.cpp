#include "tests/nccl/fake_nccl/orders.h"

#include "tests/nccl/fake_nccl/control.h"

namespace fake_nccl {

Orders& orders() {
    static Orders all;
    return all;
}

std::optional<int> Orders::due(const std::string& function, int rank) {
    for (auto order = orders_.begin(); order != orders_.end(); ++order) {
        if (order->function != function || (order->rank >= 0 && order->rank != rank)) continue;
        if (--order->left > 0) continue;
        const int code = order->code;
        last_error_ = (function.empty() ? "a group of calls" : function) + " was told to fail\n";
        orders_.erase(order);
        return code;
    }
    return std::nullopt;
}

std::optional<ncclResult_t> Orders::called(const char* function, int rank) {
    const std::lock_guard lock(mutex_);
    ++calls_[function];
    const std::optional<int> code = due(function, rank);
    if (!code) return std::nullopt;
    return static_cast<ncclResult_t>(*code);
}

std::optional<int> Orders::begins_group(Kind kind, int rank) {
    if (kind == Kind::init || kind == Kind::split || kind == Kind::finalize) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return due("", rank);
}

void Orders::fail(const char* function, int rank, int nth, int code) {
    const std::lock_guard lock(mutex_);
    orders_.push_back({function, rank, nth, code});
}

void Orders::break_group(int rank, int nth, int code) {
    const std::lock_guard lock(mutex_);
    orders_.push_back({"", rank, nth, code});
}

void Orders::reset() {
    const std::lock_guard lock(mutex_);
    orders_.clear();
    calls_.clear();
    last_error_.clear();
    version_ = 22809;
}

int Orders::calls(const char* function) {
    const std::lock_guard lock(mutex_);
    return calls_[function];
}

void Orders::set_version(int version) {
    const std::lock_guard lock(mutex_);
    version_ = version;
}

const char* Orders::last_error() {
    const std::lock_guard lock(mutex_);
    thread_local std::string mine;  // the pointer must stay good while others fail
    mine = last_error_;
    return mine.c_str();
}

}  // namespace fake_nccl

extern "C" {
void fake_nccl_fail(const char* function, int rank, int nth, int code) {
    fake_nccl::orders().fail(function, rank, nth, code);
}
void fake_nccl_break(int rank, int nth, int code) {
    fake_nccl::orders().break_group(rank, nth, code);
}
void fake_nccl_reset() {
    fake_nccl::orders().reset();
}
int fake_nccl_calls(const char* function) {
    return fake_nccl::orders().calls(function);
}
int fake_nccl_buffers() {
    return fake_nccl::orders().buffers();
}
int fake_nccl_comms() {
    return fake_nccl::orders().comms();
}
void fake_nccl_set_version(int version) {
    fake_nccl::orders().set_version(version);
}
/// By this name the module knows that the library works on the host's memory (MeshscopeNccl::on_host).
extern const int meshscope_nccl_on_host = 1;
}
