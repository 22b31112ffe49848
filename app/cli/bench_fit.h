#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"

namespace meshscope::cli {

/// What `meshscope bench profile --fit` is asked.
struct ProfileFit {
    std::vector<std::string> files;  ///< of nccl-tests, and lists of measured training runs
    std::string base;                ///< the profile whose other figures stay; "": the runs' own, or h100
    std::string name;                ///< "": the base's, with "-fitted" behind it
    std::string out;                 ///< "": standard output
    bool in_place = false, force = false, json = false;
};

/// A profile whose links are fitted from measured collectives, and whose products' speed from measured
/// training steps: written to `out` or standard output, with the rows that were used and what is left of each
/// on standard error; as JSON all of that on standard output.
void fit_profile(const ProfileFit& asked, CommandContext& context);

}  // namespace meshscope::cli
