// A checkpoint's manifest; one that is accepted must come back the same from its own text.
#include "core/run/checkpoint/manifest.h"

#include <cstdlib>

#include "core/base/error.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(manifest) {
    using namespace meshscope::run::checkpoint;
    try {
        const std::string text = to_json(parse_manifest(input, "manifest.json"));
        if (to_json(parse_manifest(text, "again")) != text) std::abort();
    } catch (const meshscope::InputError&) {
    }
}
