#include "app/gui/view/mesh_layout.h"

#include <algorithm>
#include <cmath>

namespace meshscope::view {
namespace {

// Units are cells. The tilt of a sheet: its columns run a little up, its rows lean a little right.
constexpr float kRise = 0.135F, kLean = 0.245F;
constexpr float kBlockGap = 0.7F;  // between blocks of an outer dim, beyond a cell where they are flat
constexpr float kSliceGap = 0.6F;  // and of a dropped dim, pulled apart
constexpr float kMostSkewed = 190, kMostWide = 270, kMostHigh = 180, kSkewFrom = 58;

struct Axis {
    std::vector<PlacedDim> dims;  // inner first
};

struct Arrangement {
    Axis x, y;
};

bool has(const std::vector<std::size_t>& list, std::size_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
}

// Which dims go across and which down, inner first.
Arrangement arrange(const std::vector<int64_t>& shape, const std::vector<std::size_t>& kept) {
    Arrangement out;
    const auto put = [&](Axis& axis, std::size_t d) {
        PlacedDim p;
        p.dim = d;
        p.size = shape[d];
        p.horizontal = &axis == &out.x;
        p.inner = axis.dims.empty();
        axis.dims.push_back(p);
    };
    std::vector<std::size_t> inner = kept, outer;
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (!has(kept, d)) outer.push_back(d);
    if (kept.empty()) {
        // The whole mesh: the first two dims make a sheet, later ones set sheets side by side and below each
        // other. Of four or more the first is the outermost, down.
        const std::size_t first = shape.size() >= 4 ? 1 : 0;
        inner.clear();
        for (std::size_t d = first; d < std::min(shape.size(), first + 2); ++d) inner.push_back(d);
        outer.clear();
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (!has(inner, d)) outer.push_back(d);
    }
    if (inner.size() == 1) {
        put(out.x, inner[0]);
    } else {
        for (std::size_t i = 0; i < inner.size(); ++i) put(i % 2 == 0 ? out.y : out.x, inner[i]);
    }
    // The last dropped dim sets sheets side by side, the one before it below each other, and so on.
    bool across = inner.size() > 1;
    for (auto d = outer.rbegin(); d != outer.rend(); ++d, across = !across) put(across ? out.x : out.y, *d);
    return out;
}

// Extent of an axis in cells, and the step of each of its dims.
float steps_of(Axis& axis, const std::vector<std::size_t>& kept, float apart, float first_extra) {
    float extent = 0;
    for (std::size_t i = 0; i < axis.dims.size(); ++i) {
        auto& d = axis.dims[i];
        const bool dropped = !kept.empty() && !has(kept, d.dim);
        // Tilted sheets stand apart by their lean already; flat blocks need a gap beyond the cell.
        const float base = first_extra > 0 ? kBlockGap : 1 + kBlockGap;
        float step = i == 0 ? 1.F : extent + base + (i == 1 ? first_extra : 0.F);
        if (dropped) step += kSliceGap * apart * (i == 0 ? 0.5F : 1.F);
        (d.horizontal ? d.step.x : d.step.y) = step;
        extent += step * static_cast<float>(d.size - 1);
    }
    return extent;
}

// Folds the inner horizontal dim into rows while that makes the cells larger.
void fold(Arrangement& a, const std::vector<std::size_t>& kept, Rect area) {
    if (a.x.dims.empty()) return;
    const auto pitch = [&](Arrangement trial) {
        const float ex = steps_of(trial.x, kept, 1, 0) + 1, ey = steps_of(trial.y, kept, 1, 0) + 1;
        return std::min(area.w / ex, area.h / ey);
    };
    const float plain = pitch(a);
    if (plain >= 28 || a.x.dims[0].size < 8) return;
    const int64_t n = a.x.dims[0].size;
    Arrangement best = a;
    float best_pitch = plain;
    for (int64_t w = 4; w < n; w *= 2) {
        Arrangement trial = a;
        trial.x.dims[0].size = w;
        PlacedDim rows = trial.x.dims[0];
        rows.horizontal = false;
        rows.div = w;
        rows.size = (n + w - 1) / w;
        for (auto& d : trial.y.dims) d.inner = false;
        trial.y.dims.insert(trial.y.dims.begin(), rows);
        if (const float p = pitch(trial); p > best_pitch * 1.15F) {
            best = trial;
            best_pitch = p;
        }
    }
    a = best;
}

}  // namespace

std::vector<int64_t> mesh_coordinate(const std::vector<int64_t>& shape, int64_t index) {
    std::vector<int64_t> out(shape.size(), 0);
    for (std::size_t d = shape.size(); d-- > 0;) {
        out[d] = index % shape[d];
        index /= shape[d];
    }
    return out;
}

std::string mesh_place(const trace::Trace& trace, int32_t rank) {
    const auto& info = trace.info;
    const auto at = std::ranges::find(info.mesh_ranks, rank);
    if (at == info.mesh_ranks.end() || info.mesh_shape.empty()) return "";
    const auto where = mesh_coordinate(info.mesh_shape, at - info.mesh_ranks.begin());
    std::string out = "(";
    for (std::size_t d = 0; d < where.size(); ++d) out += (d > 0 ? "," : "") + std::to_string(where[d]);
    return out + ")";
}

MeshLayout mesh_layout(const std::vector<int64_t>& shape, const std::vector<std::size_t>& kept, Rect area,
                       float apart) {
    Arrangement a = arrange(shape, kept);
    fold(a, kept, area);
    MeshLayout out;
    const bool deep = a.x.dims.size() + a.y.dims.size() >= 3 && shape.size() >= 3;
    const auto sheet_rows = a.y.dims.empty() ? 1 : a.y.dims[0].size,
               sheet_columns = a.x.dims.empty() ? 1 : a.x.dims[0].size;
    const auto solve = [&](bool skewed) {
        const float lean = skewed ? kLean * static_cast<float>(sheet_rows - 1) : 0;
        const float rise = skewed ? kRise * static_cast<float>(sheet_columns - 1) : 0;
        const float ex = steps_of(a.x, kept, apart, lean) + lean + 1,
                    ey = steps_of(a.y, kept, apart, rise) + rise + 1;
        out.pitch_x = std::min(area.w / ex, skewed ? kMostSkewed : kMostWide);
        out.pitch_y = std::min(area.h / ey, skewed ? kMostSkewed : kMostHigh);
        // Sheets keep their angles; a flat grid may be somewhat wider than high, never the other way round.
        const float ratio = skewed ? 1.1F : 1.9F;
        out.pitch_x = std::min(out.pitch_x, out.pitch_y * ratio);
        out.pitch_y = std::min(out.pitch_y, out.pitch_x * 1.1F);
        out.skewed = skewed;
    };
    solve(deep);
    if (deep && out.pitch() < kSkewFrom) solve(false);

    const auto place = [&](Axis& axis) {
        for (std::size_t i = 0; i < axis.dims.size(); ++i) {
            auto& d = axis.dims[i];
            d.step = {d.step.x * out.pitch_x, d.step.y * out.pitch_y};
            if (out.skewed && i == 0) {
                if (d.horizontal)
                    d.step.y = -kRise * out.pitch_y;
                else
                    d.step.x = kLean * out.pitch_x;
            }
            out.dims.push_back(d);
        }
    };
    place(a.x);
    place(a.y);

    int64_t ranks = 1;
    for (const int64_t s : shape) ranks *= s;
    Point low{1e9F, 1e9F}, high{-1e9F, -1e9F};
    for (int64_t i = 0; i < ranks; ++i) {
        const auto at = mesh_coordinate(shape, i);
        Point p;
        for (const auto& d : out.dims) {
            const auto k = static_cast<float>(at[d.dim] / d.div % d.size);
            p = {p.x + k * d.step.x, p.y + k * d.step.y};
        }
        low = {std::min(low.x, p.x), std::min(low.y, p.y)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y)};
        out.positions.push_back(p);
    }
    const Point shift{area.x + (area.w - (high.x - low.x)) / 2 - low.x,
                      area.y + (area.h - (high.y - low.y)) / 2 - low.y};
    for (auto& p : out.positions) p = {p.x + shift.x, p.y + shift.y};
    return out;
}

}  // namespace meshscope::view
