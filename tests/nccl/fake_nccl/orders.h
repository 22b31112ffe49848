#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/nccl/fake_nccl/clique.h"

namespace fake_nccl {

/// What tests told the library to do (control.h), and what it counts for them.
class Orders {
  public:
    /// Counts a call; the code it must return at once, if it must.
    std::optional<ncclResult_t> called(const char* function, int rank);
    /// A communicator's thread begins a group whose first call is of this kind: how it breaks, if it does.
    std::optional<int> begins_group(Kind kind, int rank);

    void fail(const char* function, int rank, int nth, int code);
    void break_group(int rank, int nth, int code);
    void reset();
    int calls(const char* function);
    void comm_made() { add(comms_, 1); }
    void comm_gone() { add(comms_, -1); }
    void buffers(int by) { add(buffers_, by); }
    int comms() { return read(comms_); }
    int buffers() { return read(buffers_); }
    void set_version(int version);
    int version() { return read(version_); }
    /// For ncclGetLastError.
    const char* last_error();

  private:
    struct Order {
        std::string function;  ///< empty: a group
        int rank = -1, left = 0, code = 0;
    };
    std::optional<int> due(const std::string& function, int rank);
    void add(int& number, int by) {
        const std::lock_guard lock(mutex_);
        number += by;
    }
    int read(const int& number) {
        const std::lock_guard lock(mutex_);
        return number;
    }

    std::mutex mutex_;
    std::vector<Order> orders_;
    std::map<std::string, int> calls_;
    int comms_ = 0, buffers_ = 0, version_ = 22809;
    std::string last_error_;
};

/// The library's one.
Orders& orders();

}  // namespace fake_nccl
