#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/diagnosis/harness.h"

namespace meshscope::diagnosis {

/// One mistake that programs make, after the categories of MPI-Corrbench (tudasc, micro-benches/0-level/coll
/// and conflo/coll) and of PyTorch's test_pg_wrapper.py, and what must be said of it.
struct Mistake {
    std::string name;
    DiagnosisKind kind = DiagnosisKind::mismatch;
    int32_t least_ranks = 2;
    /// `odd` is the rank that is wrong.
    std::function<void(Place&, int32_t odd)> program;
    std::string differs;           ///< mismatch: what must be named
    std::string right_op, odd_op;  ///< the op that the others, and the odd one, are said to be in; "" = any
    bool pair = false;             ///< only the odd rank and its neighbour are concerned
    bool ends = false;             ///< the odd rank ends well, having done too little
    /// deadlock: how many ranks the ring has in a world of n with this odd one; null = two or more.
    std::function<int32_t(int32_t n)> ring;
};

/// All of them, about seventy.
std::vector<Mistake> mistakes();

}  // namespace meshscope::diagnosis
