#pragma once

#include <memory>

#include "core/run/run.h"

namespace meshscope::backends {

/// Every backend of this build, by name: "threads". open() throws InvalidArgument: "backend.not_built" for a
/// name that other builds may have (tcp, mpi, cuda, nccl), "backend.unknown" for any other; both with the
/// possible names.
std::unique_ptr<run::Backends> make_registry();

}  // namespace meshscope::backends
