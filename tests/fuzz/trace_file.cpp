// A trace file, byte by byte: SQLite's own format, our header and our checksums.
#include "core/base/error.h"
#include "core/trace/store.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(trace_file) {
    static const meshscope::fuzz::Scratch scratch;
    try {
        static_cast<void>(meshscope::trace::read_trace(scratch.hold(input)));
    } catch (const meshscope::InputError&) {
    }
}
