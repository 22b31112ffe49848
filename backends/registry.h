#pragma once

#include <memory>

#include "core/run/run.h"

namespace meshscope::backends {

/// Every backend of this build, by name. Today: "threads".
std::unique_ptr<run::Backends> make_registry();

}  // namespace meshscope::backends
