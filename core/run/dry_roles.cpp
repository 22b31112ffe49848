#include "core/run/dry_roles.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/mesh/roles.h"

namespace meshscope::run {
namespace {

/// Which coordinates of a dim are run.
enum class Chosen : uint8_t { first, ends, all };

std::vector<int64_t> coordinates_of(int64_t size, Chosen chosen) {
    std::vector<int64_t> coordinates;
    for (int64_t c = 0; c < size; ++c)
        if (chosen == Chosen::all || c == 0 || (chosen == Chosen::ends && c + 1 == size))
            coordinates.push_back(c);
    return coordinates;
}

/// The ranks of a mesh by their coordinates.
class Places {
  public:
    explicit Places(const mesh::DeviceMesh& mesh) : mesh_(mesh), ranks_(mesh.ranks(GlobalRank{0})) {}

    int32_t rank(const std::vector<int64_t>& coordinate) const {
        int64_t place = 0;
        for (std::size_t d = 0; d < coordinate.size(); ++d)
            place = place * mesh_.size(static_cast<int64_t>(d)) + coordinate[d];
        return static_cast<int32_t>(ranks_[static_cast<std::size_t>(place)]);
    }
    /// Ascending, of every combination of the dims' coordinates.
    std::vector<int32_t> all(const std::vector<Chosen>& chosen) const {
        std::vector<int64_t> places{0};  // into the row-major list of ranks
        for (std::size_t d = 0; d < chosen.size(); ++d) {
            const int64_t size = mesh_.size(static_cast<int64_t>(d));
            std::vector<int64_t> next;
            for (const int64_t place : places)
                for (const int64_t c : coordinates_of(size, chosen[d])) next.push_back(place * size + c);
            places = std::move(next);
        }
        std::vector<int32_t> found;
        found.reserve(places.size());
        for (const int64_t place : places)
            found.push_back(static_cast<int32_t>(ranks_[static_cast<std::size_t>(place)]));
        std::ranges::sort(found);
        return found;
    }

  private:
    const mesh::DeviceMesh& mesh_;
    std::vector<int64_t> ranks_;
};

std::vector<Chosen> chosen_of(const mesh::DeviceMesh& mesh) {
    const mesh::Roles roles = mesh::roles_of(mesh.names());
    std::vector<Chosen> chosen(static_cast<std::size_t>(mesh.ndim()), Chosen::ends);
    for (const mesh::Role role : {mesh::Role::pp, mesh::Role::cp})
        if (const auto d = roles.of(role)) chosen[*d] = Chosen::all;
    return chosen;
}

/// Of so few numbers (a norm, a loss) some ranks of a ring send one more than others.
constexpr int64_t kFewNumbers = 256;

bool same_event(const trace::Event& a, const trace::Event& b) {
    const auto what = [](const trace::Event& e) {
        return std::tie(e.step, e.kind, e.stream, e.phase, e.op, e.reduce_op, e.dtype, e.algorithm,
                        e.prefetch, e.microbatch, e.name, e.unit, e.rule, e.padding, e.in_elements,
                        e.out_elements, e.flops, e.touched_bytes);
    };
    const bool few = std::max(a.in_elements, a.out_elements) <= kFewNumbers;
    return what(a) == what(b) && (few || a.sent_bytes == b.sent_bytes);
}

bool same_change(const trace::MemoryChange& a, const trace::MemoryChange& b) {
    return std::tie(a.after_event, a.category, a.label, a.delta_bytes) ==
           std::tie(b.after_event, b.category, b.label, b.delta_bytes);
}

}  // namespace

std::vector<int32_t> distinct_ranks(const mesh::DeviceMesh& mesh, int32_t world_size, int32_t all_up_to) {
    std::vector<Chosen> chosen = chosen_of(mesh);
    if (world_size <= all_up_to) std::ranges::fill(chosen, Chosen::all);
    return Places(mesh).all(chosen);
}

bool same_work(const trace::RankRecord& a, const trace::RankRecord& b) {
    return a.strings == b.strings && std::ranges::equal(a.events, b.events, same_event) &&
           std::ranges::equal(a.memory, b.memory, same_change);
}

std::vector<int32_t> fewest_ranks(const mesh::DeviceMesh& mesh, bool balanced,
                                  const std::function<const trace::RankRecord*(int32_t rank)>& record_of) {
    const Places places(mesh);
    const mesh::Roles roles = mesh::roles_of(mesh.names());
    std::vector<Chosen> widest = chosen_of(mesh);
    if (const auto cp = roles.of(mesh::Role::cp); cp && balanced) widest[*cp] = Chosen::ends;
    std::vector<Chosen> chosen(widest.size(), Chosen::first);
    const auto pp = roles.of(mesh::Role::pp);
    if (pp) chosen[*pp] = Chosen::all;

    const auto last_of = [&](std::size_t d) { return mesh.size(static_cast<int64_t>(d)) - 1; };
    const std::vector<int64_t> stages =
        pp && last_of(*pp) > 0 ? std::vector<int64_t>{0, last_of(*pp)} : std::vector<int64_t>{0};
    bool cancelled = false;
    /// Looks from a corner along each dim that seems to be of one kind; whether one was not.
    const auto look = [&](std::vector<int64_t> corner) {
        bool found = false;
        for (const int64_t stage : stages) {
            if (pp) corner[*pp] = stage;
            const trace::RankRecord* const here = record_of(places.rank(corner));
            for (std::size_t d = 0; here != nullptr && d < corner.size(); ++d) {
                if (chosen[d] != Chosen::first || last_of(d) == 0) continue;
                std::vector<int64_t> other = corner;
                other[d] = last_of(d);
                const trace::RankRecord* const there = record_of(places.rank(other));
                if (there == nullptr) {
                    cancelled = true;
                } else if (!same_work(*here, *there)) {
                    chosen[d] = widest[d];
                    found = true;
                }
            }
            cancelled = cancelled || here == nullptr;
        }
        return found;
    };
    std::vector<int64_t> corner(chosen.size(), 0);
    while (!cancelled && look(corner))
        for (std::size_t d = 0; d < chosen.size(); ++d)
            if (chosen[d] != Chosen::first) corner[d] = last_of(d);
    return places.all(cancelled ? widest : chosen);
}

}  // namespace meshscope::run
