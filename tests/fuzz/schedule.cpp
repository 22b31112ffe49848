// A pipeline schedule in PyTorch's CSV form. What is read is written, and read again: it must be the same
// text.
#include <cstdlib>

#include "core/base/error.h"
#include "core/parallel/pipeline/csv.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(schedule) {
    using namespace meshscope::parallel::pipeline;
    try {
        const std::string text = to_csv(from_csv(input, "schedule.csv"));
        if (to_csv(from_csv(text, "schedule.csv")) != text) std::abort();
    } catch (const meshscope::InputError&) {
    }
}
