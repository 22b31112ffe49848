#pragma once

#include <vector>

#include "core/tensor/vector_loops.h"

namespace meshscope::tensor {

/// The tables that this machine can run, best first; loops() is the first. (Not in vector_loops.h, which the
/// files compiled for one instruction set include: nothing of the standard library may get into those.)
std::vector<const VectorLoops*> runnable_loops();

}  // namespace meshscope::tensor
