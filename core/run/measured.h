#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/device_facts.h"
#include "core/run/run.h"

namespace meshscope::run {

/// Backends whose worlds ask their device, when the ranks are done, what its memory came to.
class MeasuredBackends final : public Backends {
  public:
    /// `inner` outlives this.
    explicit MeasuredBackends(const Backends& inner) : inner_(inner) {}

    std::unique_ptr<comm::World> open(const std::string& name, const WorldRequest& request) const override;
    std::vector<std::string> names() const override { return inner_.names(); }

    /// Of the first run() that came to its end; nothing where the backend has no device that tells.
    const std::optional<comm::DeviceMemory>& memory() const { return memory_; }

  private:
    const Backends& inner_;
    mutable std::optional<comm::DeviceMemory> memory_;
};

}  // namespace meshscope::run
