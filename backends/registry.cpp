#include "backends/registry.h"

namespace meshscope::backends {
}  // namespace meshscope::backends
