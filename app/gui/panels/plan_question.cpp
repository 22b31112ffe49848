// What a plan is asked, to be changed: GPUs, their kind, samples a step and their length.
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/panels/plan_chart.h"
#include "app/gui/session/planned.h"
#include "app/gui/view/format.h"
#include "core/time/read_profile.h"

namespace meshscope::panels {
namespace {

constexpr float kSizeRoom = 64;  ///< so that a longer number does not move what stands behind it

/// The next power of two in that direction, within 1 and `most`.
int64_t next_size(int64_t n, int direction, int64_t most) {
    const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n)));
    if (direction > 0) return std::min(most, below * 2);
    return below < n ? below : std::max<int64_t>(1, below / 2);
}

/// The program's own profiles of GPUs, which state a memory. Read once: they are text.
const std::vector<std::string>& gpu_kinds() {
    static const std::vector<std::string> kinds = [] {
        std::vector<std::string> names;
        for (const std::string& name : time::profile_names())
            if (time::named_profile(name).memory_bytes > 0) names.push_back(name);
        return names;
    }();
    return kinds;
}

}  // namespace

float plan_question(Ui& ui, Memory& memory, const session::Planned& plan, Rect box) {
    using scenario::PlanChange;
    const estimate::Question& asked = plan.file.question;
    const float high = 36, gap = 16;
    float x = box.x, y = box.y;
    const auto item = [&](const char* name, const std::string& value, float room, bool less, bool more) {
        const std::string label = ui.say(std::string("ui.plan.ask.") + name);
        const float label_w = ui.width(label, Face::caption) + 8;
        const float value_w = std::max(room, ui.width(value, Face::mono)) + 8 + 2 * kStepperEnd;
        if (x > box.x && x + label_w + value_w > box.x + box.w) {
            x = box.x;
            y += high + 8;
        }
        ui.text({x, y, label_w, high}, label, Face::caption, Token::mute);
        const Rect at{x + label_w, y, value_w, high};
        x += label_w + value_w + gap;
        const bool free = !ui.state.loading;
        return stepper(ui, memory, std::string("plan_") + name, at, value, less && free, more && free);
    };
    const auto ask = [&](const PlanChange& change) { ui.act(session::ChangePlan{change}); };

    const auto size = [&](const char* name, int64_t now, int64_t most) {
        const int direction = item(name, view::format_count(now), kSizeRoom, now > 1, now < most);
        return direction == 0 ? std::nullopt : std::optional(next_size(now, direction, most));
    };
    if (const auto gpus = size("gpus", asked.gpus, estimate::kMostGpus)) ask({.gpus = gpus});
    const std::vector<std::string>& kinds = gpu_kinds();
    const auto at = std::ranges::find(kinds, asked.profile.name) - kinds.begin();
    const auto count = static_cast<std::ptrdiff_t>(kinds.size());
    float widest = 0;
    for (const std::string& kind : kinds) widest = std::max(widest, ui.width(kind, Face::mono));
    if (const int direction = item("gpu", asked.profile.name, widest, count > 1, count > 1))
        ask({.gpu = kinds[static_cast<std::size_t>(at == count ? 0 : (at + direction + count) % count)]});
    if (const auto batch = size("batch", asked.global_batch, estimate::kMostBatch))
        ask({.global_batch = batch});
    const int64_t most = asked.shape.learned_positions ? plan.file.spec.seq : nn::kMostSize;
    if (const auto seq = size("seq", asked.shape.seq, most)) ask({.seq = seq});
    return y + high;
}

}  // namespace meshscope::panels
