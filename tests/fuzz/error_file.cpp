// The last words of a worker (TORCHELASTIC_ERROR_FILE), which any program may have written; they go into the
// report.
#include "app/launch/failure.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(error_file) {
    using namespace meshscope::launch;
    static const meshscope::fuzz::Scratch scratch;
    std::vector<Failure> failures(2);
    read_error_file(scratch.hold(input), failures[1]);
    order_by_cause(failures);
    static_cast<void>(report_json("run", 0, failures));
}
