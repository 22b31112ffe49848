#include "app/gui/view/mesh_cells.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_layout.h"

namespace meshscope::view {
namespace {

// "2×2 · 1–7": the slice's shape and its span, where the nested list is too long.
std::string span_text(const mesh::Answer& answer) {
    std::string out;
    for (std::size_t d = 0; d < answer.shape.size(); ++d)
        out += (d ? "×" : "") + std::to_string(answer.shape[d]);
    if (answer.ranks.empty()) return out;
    const auto [low, high] = std::minmax_element(answer.ranks.begin(), answer.ranks.end());
    return out + " · " + std::to_string(*low) + "–" + std::to_string(*high);
}

// "0–12 by 4": a group's ranks where the list is too long and their steps are equal.
std::string group_span(const Painter& p, const std::vector<int64_t>& ranks) {
    if (ranks.size() < 3) return format_list(ranks);
    const int64_t step = ranks[1] - ranks[0];
    for (std::size_t i = 1; i < ranks.size(); ++i)
        if (ranks[i] - ranks[i - 1] != step) return format_list(ranks);
    if (step == 1) return std::to_string(ranks.front()) + "–" + std::to_string(ranks.back());
    return p.say("view.mesh.span",
                 {arg("first", ranks.front()), arg("last", ranks.back()), arg("step", step)});
}

/// Fills a column row by row; rows of the same ranks get the same words, which are made once.
class Filling {
  public:
    explicit Filling(MeshCells& cells) : cells_(cells) {}
    Filling(const Filling&) = delete;  // it holds a place in its own map
    Filling& operator=(const Filling&) = delete;

    void add(std::string words) {
        cells_.of.push_back(cells_.words.size());
        cells_.words.push_back(std::move(words));
    }
    template <class Full, class Short>
    void add(const std::vector<int64_t>& ranks, const Full& full, const Short& brief) {
        // Neighbours mostly read the same.
        if (last_ == seen_.end() || last_->first != ranks) {
            bool is_new = false;
            std::tie(last_, is_new) = seen_.try_emplace(ranks, cells_.words.size());
            if (is_new) {
                cells_.words.push_back(full());
                cells_.shorts.push_back(brief());
            }
        }
        cells_.of.push_back(last_->second);
    }

  private:
    MeshCells& cells_;
    std::map<std::vector<int64_t>, std::size_t> seen_;
    std::map<std::vector<int64_t>, std::size_t>::iterator last_ = seen_.end();
};

std::vector<MeshCells> fill(const Painter& p, const MeshQuestion& q, bool covered) {
    const auto& shown = q.slice ? *q.slice : *q.mesh;
    const mesh::Derived whole{{}, {shown}, std::nullopt};
    const auto dims = static_cast<std::size_t>(shown.ndim());
    std::vector<MeshCells> columns(dims + 4);
    columns[0].head = p.say("view.mesh.column.rank");
    columns[1].head = p.say("view.mesh.column.coordinate");
    columns[2].head = p.say(q.slice ? "view.mesh.column.slice" : "view.mesh.column.mesh");
    columns.back().head = p.say("view.mesh.column.local");
    for (std::size_t d = 0; d < dims; ++d) {
        const std::string name = d < shown.names().size() ? shown.names()[d] : "dim " + std::to_string(d);
        const auto at = std::find(q.names.begin(), q.names.end(), name);
        if (at != q.names.end()) columns[3 + d].hue = q.hue(static_cast<std::size_t>(at - q.names.begin()));
        columns[3 + d].head = p.say("view.mesh.column.group", {arg("dim", name)});
    }
    std::vector<Filling> filling(columns.begin(), columns.end());
    const std::vector<int64_t> none;
    const auto guessed = [] { return std::string("?"); };
    const auto nothing = [] { return std::string(); };
    for (std::size_t i = 0; i < q.ranks.size(); ++i) {
        const auto r = q.ranks[i];
        filling[0].add(std::to_string(r));
        filling[1].add(format_tuple(mesh_coordinate(q.shape, static_cast<int64_t>(i))));
        const auto reply = mesh::reply(whole, GlobalRank{static_cast<int32_t>(r)});
        const auto* a = reply.answer ? &*reply.answer : nullptr;
        if (covered && q.slice)
            filling[2].add(none, guessed, guessed);
        else if (a)
            filling[2].add(
                a->ranks, [&] { return mesh::nested_text(*a); }, [&] { return span_text(*a); });
        else
            filling[2].add(none, nothing, nothing);
        for (std::size_t d = 0; d < dims; ++d) {
            if (covered)
                filling[3 + d].add(none, guessed, guessed);
            else if (a && d < a->groups.size())
                filling[3 + d].add(
                    a->groups[d], [&] { return format_list(a->groups[d]); },
                    [&] { return group_span(p, a->groups[d]); });
            else
                filling[3 + d].add(none, nothing, nothing);
        }
        filling.back().add(a && a->coordinate ? format_tuple(*a->coordinate) : "");
    }
    return columns;
}

/// What was found last, and all that the words were made from; the sentences stand for the language.
struct LastCells {
    using Key = std::tuple<mesh::Shape, mesh::Names, std::vector<int64_t>, std::string, bool, std::string>;
    Key of;
    std::shared_ptr<const std::vector<MeshCells>> cells;
};

}  // namespace

std::shared_ptr<const std::vector<MeshCells>> mesh_cells(const Painter& p, const MeshQuestion& q, bool covered,
                                                         Memo* memo) {
    if (memo == nullptr) return std::make_shared<const std::vector<MeshCells>>(fill(p, q, covered));
    LastCells::Key key{q.shape, q.names, q.ranks, q.expression, covered, p.say("view.mesh.column.rank")};
    std::get<5>(key) += p.say("view.mesh.span", {arg("first", 0), arg("last", 2), arg("step", 2)});
    auto& last = memo->the<LastCells>();
    if (!last.cells || last.of != key) {
        last.cells = std::make_shared<const std::vector<MeshCells>>(fill(p, q, covered));
        last.of = std::move(key);
    }
    return last.cells;
}

}  // namespace meshscope::view
