#pragma once

#include <string>
#include <vector>

#include "app/gui/view/picture.h"
#include "app/gui/view/stepping.h"
#include "core/trace/trace.h"

namespace meshscope::panels {

/// How often a kind of collective ran.
struct ClassCount {
    std::string op;
    view::Token hue = view::Token::text;
    int64_t events = 0;
    int64_t bytes = 0;  ///< sent by the rank
};

/// The collectives of the rank and step of `ref`, by operation, in order of first issue. Cost: the rank's
/// events.
std::vector<ClassCount> count_collectives(const trace::Trace& trace, view::EventRef ref);

}  // namespace meshscope::panels
