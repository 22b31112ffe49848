// The registry of the web build: ranks are fibers, and nothing else is there to be opened.
#include <memory>
#include <string>
#include <vector>

#include "backends/fibers/fibers_world.h"
#include "backends/registry.h"
#include "core/base/error.h"

namespace meshscope::backends {
namespace {

constexpr const char* kOnly = "fibers";

class WebRegistry final : public run::Backends {
  public:
    std::unique_ptr<comm::World> open(const std::string& name,
                                      const run::WorldRequest& request) const override {
        require_built(name);
        return std::make_unique<fibers::FibersWorld>(request.size, request.scheduler);
    }
    std::vector<std::string> names() const override { return {kOnly}; }
};

}  // namespace

std::unique_ptr<run::Backends> make_registry(launch::Environment /*environment*/,
                                             std::function<bool()> /*stopped*/) {
    return std::make_unique<WebRegistry>();
}

std::string window_backend() {
    return kOnly;
}

bool has_processes(const std::string& /*name*/) {
    return false;
}

void require_built(const std::string& name, const launch::Environment& /*environment*/) {
    if (name != kOnly)
        throw InvalidArgument({"backend.not_built", {{"name", name}, {"known", std::string(kOnly)}}});
}

int64_t mapped_bytes(const std::string& /*name*/) {
    return 0;
}

std::vector<BackendState> backend_states() {
    return {{kOnly, true, "", "", {}}};
}

}  // namespace meshscope::backends
