// A hardware profile.
#include "core/time/read_profile.h"

#include "core/base/error.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(profile) {
    try {
        meshscope::time::check(meshscope::time::parse_profile(input, "profile.toml"));
    } catch (const meshscope::InputError&) {
    }
}
