// What a plan is asked, to be changed: GPUs, their kind, samples a step and their length.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "app/gui/panels/plan_chart.h"
#include "app/gui/session/planned.h"
#include "app/gui/view/format.h"
#include "core/time/read_profile.h"

namespace meshscope::panels {
namespace {

/// The next power of two in that direction.
int64_t next_power(int64_t n, int way) {
    const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n)));
    if (way > 0) return below * 2;
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
    const auto one = [&](const char* name, const std::string& value, bool less, bool more) {
        const std::string label = ui.say(std::string("ui.plan.ask.") + name);
        const float label_w = ui.width(label, Face::caption) + 8;
        const float value_w = std::max(44.0F, ui.width(value, Face::mono)) + 8 + 2 * kStepperEnd;
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

    if (const int way = one("gpus", view::format_count(asked.gpus), asked.gpus > 1,
                            next_power(asked.gpus, 1) <= estimate::kMostGpus)) {
        // As many samples a GPU as before.
        const int64_t gpus = next_power(asked.gpus, way);
        const int64_t batch =
            std::clamp<int64_t>(asked.global_batch * gpus / asked.gpus, 1, estimate::kMostBatch);
        ask({.gpus = gpus, .global_batch = batch});
    }
    const std::vector<std::string>& kinds = gpu_kinds();
    const auto at = std::ranges::find(kinds, asked.profile.name) - kinds.begin();
    const auto count = static_cast<std::ptrdiff_t>(kinds.size());
    if (const int way = one("gpu", asked.profile.name, count > 1, count > 1))
        ask({.gpu = kinds[static_cast<std::size_t>(at == count ? 0 : (at + way + count) % count)]});
    if (const int way = one("batch", view::format_count(asked.global_batch), asked.global_batch > 1,
                            asked.global_batch <= estimate::kMostBatch / 2))
        ask({.global_batch = next_power(asked.global_batch, way)});
    const int64_t most = asked.shape.learned_positions ? plan.file.spec.seq : nn::kMostSize;
    if (const int way = one("seq", view::format_count(asked.shape.seq), asked.shape.seq > 1,
                            next_power(asked.shape.seq, 1) <= most))
        ask({.seq = next_power(asked.shape.seq, way)});
    return y + high;
}

}  // namespace meshscope::panels
