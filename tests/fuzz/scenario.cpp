// A scenario file and all that reading one checks: TOML, keys, values, what fits together.
#include "core/scenario/scenario.h"

#include "core/base/error.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(scenario) {
    try {
        const auto scenario = meshscope::scenario::parse_scenario(input, "scenario.toml");
        static_cast<void>(meshscope::scenario::world_size(scenario));
    } catch (const meshscope::InputError&) {
    }
}
