#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// The most ranks a scenario may ask for. A real run starts fewer (run::kMostRunRanks).
inline constexpr int64_t kMostRanks = 65536;

/// Reads [model] [data] [train] [optimizer] [mesh] [parallel] [record] [hardware] [run] [[faults]], or what
/// stands in their place where there are [[call]]s, into `scenario`, whose folder is set, and reports what is
/// wrong with each alone and with all together (a batch that does not divide, a mesh larger than the world
/// …). What could not be read keeps its default. False when the mesh could not be read: then the number of
/// ranks is not known.
bool read_training(const Section& root, Scenario& scenario);

/// The hardware profile that `key` names: one of the program's by name, or a file ending in .toml, relative
/// to `folder`, whose own mistakes are reported with it. Nothing where the key is absent or wrong.
std::optional<time::Profile> read_profile(const Section& section, std::string_view key,
                                          const std::string& folder);

}  // namespace meshscope::scenario
