#include "core/run/measured.h"

#include <utility>

namespace meshscope::run {
namespace {

class MeasuredWorld final : public comm::World, public comm::DeviceFacts {
  public:
    /// `device` is the same object as `inner`; `found` outlives this.
    MeasuredWorld(std::unique_ptr<comm::World> inner, const comm::DeviceFacts& device,
                  std::optional<comm::DeviceMemory>& found)
        : inner_(std::move(inner)), device_(device), found_(found) {}

    int32_t size() const override { return inner_->size(); }
    bool whole() const override { return inner_->whole(); }
    int32_t ranks_on_this_machine() const override { return inner_->ranks_on_this_machine(); }
    void run(const std::function<void(comm::Transport&)>& body) override {
        inner_->run(body);
        if (!found_) found_ = device_.memory();
    }
    bool is_stand_in() const override { return device_.is_stand_in(); }
    std::optional<comm::DeviceMemory> memory() const override { return device_.memory(); }

  private:
    std::unique_ptr<comm::World> inner_;
    const comm::DeviceFacts& device_;
    std::optional<comm::DeviceMemory>& found_;
};

}  // namespace

std::unique_ptr<comm::World> MeasuredBackends::open(const std::string& name,
                                                    const WorldRequest& request) const {
    std::unique_ptr<comm::World> world = inner_.open(name, request);
    const auto* const device = dynamic_cast<const comm::DeviceFacts*>(world.get());
    if (device == nullptr) return world;
    return std::make_unique<MeasuredWorld>(std::move(world), *device, memory_);
}

}  // namespace meshscope::run
