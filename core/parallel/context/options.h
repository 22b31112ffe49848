#pragma once

#include <cstdint>

namespace meshscope::parallel {

/// How the ranks of a cp group bring queries and keys together.
enum class ContextMethod : uint8_t {
    allgather,  ///< ring attention; one all_gather of keys and values a layer (PyTorch's default)
    alltoall,   ///< ring attention; keys and values go round in N - 1 permutes, behind the computing
    ulysses,    ///< four all_to_alls a layer turn tokens cut by sequence into heads cut over the ranks
};

struct ContextParallelOptions {
    ContextMethod method = ContextMethod::allgather;
    bool load_balance = true;  ///< ring attention: each rank takes a part of the front and one of the back
};

}  // namespace meshscope::parallel
