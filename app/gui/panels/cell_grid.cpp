#include "app/gui/panels/cell_grid.h"

#include <algorithm>
#include <cmath>

namespace meshscope::panels {
namespace {

using window::LookItem;

constexpr uint32_t kBetween = 65535;
constexpr size_t kMostPixels = 8192;  ///< of a side
constexpr size_t kMostEmpty = 2;      ///< places a cell

/// Where cells begin and end along an axis.
class Axis {
  public:
    Axis(std::span<const LookItem> items, size_t side) {
        float low = items[0].place[side], high = items[0].place[side + 2];
        for (const LookItem& item : items) {
            low = std::min(low, item.place[side]);
            high = std::max(high, item.place[side + 2]);
        }
        origin_ = low;
        if (!(high - low >= 1) || high - low > static_cast<float>(kMostPixels)) return;
        // The end of the cell that begins at each pixel; 0: none does.
        std::vector<uint32_t> ends(static_cast<size_t>(high - low), 0);
        for (const LookItem& item : items) {
            const uint32_t begin = pixel(item.place[side]), end = pixel(item.place[side + 2]);
            if (end <= begin || (ends[begin] != 0 && ends[begin] != end)) return;
            ends[begin] = end;
        }
        pixels_.assign(ends.size(), kBetween);
        for (uint32_t at = 0; at < ends.size(); ++at) {
            if (ends[at] == 0) continue;
            if (pixels_[at] != kBetween) return;  // cells that overlap
            for (uint32_t p = at; p < ends[at]; ++p)
                pixels_[p] = count_ | std::min(p - at, 255U) << 16 | std::min(ends[at] - 1 - p, 255U) << 24;
            ++count_;
        }
        good_ = count_ < kBetween;
    }
    bool good() const { return good_; }
    size_t count() const { return count_; }
    const std::vector<uint32_t>& pixels() const { return pixels_; }
    float low() const { return origin_; }
    float high() const { return origin_ + static_cast<float>(pixels_.size()); }
    size_t cell_at(float begin) const { return pixels_[pixel(begin)] & 65535U; }

  private:
    uint32_t pixel(float at) const { return static_cast<uint32_t>(at - origin_); }
    float origin_ = 0;
    std::vector<uint32_t> pixels_;  ///< as shaders/heat.vert tells
    uint32_t count_ = 0;
    bool good_ = false;
};

bool alike(const LookItem& a, const LookItem& b) {
    const float w = a.place[2] - a.place[0], h = a.place[3] - a.place[1];
    return b.shape[1] == 0 && b.shape[2] > 0 && b.shape[0] == a.shape[0] &&
           std::fabs(b.place[2] - b.place[0] - w) <= 1 && std::fabs(b.place[3] - b.place[1] - h) <= 1;
}

}  // namespace

size_t cells_from(std::span<const LookItem> items) {
    const bool is_box = items[0].shape[2] > 0;  // a circle may stand between pixels
    if (!is_box || items[0].shape[1] > 0) return 1;
    size_t n = 1;
    for (; n < items.size() && alike(items[0], items[n]); ++n) {
        const auto &before = items[n - 1].place, &now = items[n].place;
        const bool same_row = now[1] == before[1] && now[0] >= before[2];
        const bool lower = now[1] >= before[3] && now[1] <= 2 * before[3] - before[1] + 4;
        if (!same_row && !lower) break;
    }
    return n;
}

std::optional<CellGrid> cell_grid(std::span<const LookItem> items) {
    const Axis across(items, 0), down(items, 1);
    if (!across.good() || !down.good()) return {};
    const size_t places = across.count() * down.count();
    if (places > items.size() * (1 + kMostEmpty)) return {};
    CellGrid grid;
    grid.place = {across.low(), down.low(), across.high(), down.high()};
    grid.radius = items[0].shape[0];
    grid.columns = static_cast<int>(across.count());
    grid.numbers = across.pixels();
    grid.numbers.insert(grid.numbers.end(), down.pixels().begin(), down.pixels().end());
    const size_t cells = grid.numbers.size();
    grid.numbers.resize(cells + places, 0);
    std::vector<bool> seen(places, false);
    for (const LookItem& item : items) {
        const size_t at = down.cell_at(item.place[1]) * across.count() + across.cell_at(item.place[0]);
        if (seen[at]) return {};  // two over each other
        seen[at] = true;
        grid.numbers[cells + at] = item.fill;
    }
    return grid;
}

}  // namespace meshscope::panels
