#pragma once

#include <cstdint>
#include <vector>

#include "core/base/kinds.h"
#include "core/trace/trace.h"

namespace meshscope::test {

struct Ran {
    trace::Trace trace;
    trace::CollectiveInstance instance;
};

/// One collective on p ranks, of `counts` elements a rank's part (all_reduce and broadcast: their sum),
/// really run.
Ran really_run(CollectiveOp op, Algorithm algorithm, const std::vector<int64_t>& counts,
               std::vector<int32_t> node_of = {});

/// p parts of n elements.
std::vector<int64_t> even(int32_t p, int64_t n);

}  // namespace meshscope::test
