#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/mesh_question.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// Draws one mesh picture; its parts stand in mesh_view.cpp (ranks), mesh_axes.cpp and mesh_structure.cpp.
class MeshPicture {
  public:
    MeshPicture(const Input& input, const MeshOptions& options)
        : in_(input),
          p_(input),
          q_(mesh_question(input, options)),
          progress_(ease_out_quint(options.slice_progress)),
          end_(options.end) {
        count_ = static_cast<int64_t>(q_.ranks.size());
        asking_ = q_.index_of(q_.asking);
    }
    Picture draw();

  private:
    /// Layers of the picture.
    enum : int { kNodes, kSheets, kHulls, kLinks, kRanks, kWords, kSelected };
    enum class Detail { card, circle, square };
    static constexpr float kSheetReach = 0.43F;  // of a pitch, from a circle's middle to its sheet's edge
    // Between the whole mesh and the slice every rank goes straight from one place to the other.
    void place();

    const Point& pos(int64_t index) const { return at_.positions[static_cast<std::size_t>(index)]; }
    Rect body(int64_t index) const;
    std::vector<int64_t> coordinate(int64_t index) const { return mesh_coordinate(q_.shape, index); }
    int64_t stride(std::size_t dim) const;
    bool kept(std::size_t dim) const {
        return std::find(q_.kept.begin(), q_.kept.end(), dim) != q_.kept.end();
    }
    bool same_sheet(int64_t a, int64_t b) const;
    // In a slice the asking rank's sheet stands out, the others step back.
    float strength(int64_t index) const;
    // Row and column headings: "shard = 0" in the dim's hue, the number alone where that is too wide, every
    // k-th where even those would touch.
    void flat_axes();

    static Rect join(Rect a, Rect b) {
        const float x = std::min(a.x, b.x), y = std::min(a.y, b.y);
        return {x, y, std::max(a.x + a.w, b.x + b.w) - x, std::max(a.y + a.h, b.y + b.h) - y};
    }
    // The box round the ranks whose index of `d` is k, in the first block of the dims further out.
    Rect block_of(const PlacedDim& d, int64_t k) const;
    static bool outer_of(const PlacedDim& a, const PlacedDim& b) {
        return std::fabs(a.step.x) + std::fabs(a.step.y) > std::fabs(b.step.x) + std::fabs(b.step.y);
    }
    void headings(const PlacedDim& d, bool folded, float edge);
    float label_room(const PlacedDim&) const { return std::max(label_left_, 40.F); }
    // From a rank to the outer edge of the node or sheet it stands in, so that headings stay clear of it.
    float edge_of(float pitch) const {
        const float sheet = !q_.sliced                  ? 0.F
                            : detail_ == Detail::circle ? kSheetReach * pitch - radius_
                                                        : 12.F;
        return std::max(q_.node_of_rank.empty() ? 0.F : 10.F, sheet);
    }
    // The name with an arrow, where there is no room for "name = index" at each index.
    void axis_name(const PlacedDim& d, float edge, const Id& id);
    void arrow(Point from, Point to, Token hue, const Id& id);
    // Sheets in parallel projection: the two inner dims as arrows from the lower left corner, each outer dim
    // as an arrow between the first two sheets and "tp = 0" under them.
    void corner_axes();
    float lowest() const;
    // A machine is drawn round its ranks where they stand together; else in parts, since a box round others
    // would lie.
    void nodes();
    // The ranks of a machine, ascending, cut where a box round them would have others in it.
    std::vector<std::vector<int64_t>> parts_of(const std::vector<int64_t>& ranks, float margin) const;
    // Once all lines are known: beside its machine, off the frames of the groups where there is room.
    void node_names();
    std::vector<Point> round_of(const std::vector<int64_t>& members, float margin) const;
    bool alone(const std::vector<Point>& outline, const std::vector<int64_t>& members) const;
    void sheets();
    // A line from member to member of every group, in the dim's hue and pattern.
    void links();
    void link(std::size_t dim, int64_t a, int64_t b, int64_t first, bool bow);
    bool bows(std::size_t dim) const;
    // The way from one member to the next: two points, or a bezier's four where it passes beside others.
    std::vector<Point> way(int64_t a, int64_t b, bool bow, float cut) const;
    void ranks();
    // Lines that a coordinate beside its circle must not cross.
    void keep_off(const std::vector<Point>& path, bool closed);
    bool crossed(const Rect& box) const;
    // Where every circle's coordinate stands: all of them, or none.
    void place_coordinates();
    void circle(int64_t i, Token ring, float s, const Id& id);
    static std::string format_tight(const std::vector<int64_t>& at);
    void square(int64_t i, Token ring, float s, const Id& id);
    void card(int64_t i, Token ring, float s, const Id& id);
    // The rank's groups, one line a dim, as get_all_groups() gives them.
    void card_groups(int64_t i, const Rect& b, float y, float pad, float line);
    std::vector<int64_t> group_members(int64_t i, std::size_t d) const;
    std::vector<int64_t> group_ranks(int64_t i, std::size_t d) const;
    // The selected rank's groups, one hull a dim; where others stand between, rings round the members, joined
    // by a band.
    void hulls();
    void you();
    // Every rank with its coordinate, and every group once.
    void tell();

    // How the run ended early (mesh_end.cpp).
    // How a rank stands at the cursor's time; null before it came to stand, and in other runs.
    const RankEnd* stood(int64_t rank) const;
    // What marks it: "lost", "stalled", "missing", "mismatch", "waiting", "finished"; "" for nothing.
    std::string_view end_mark(int64_t rank) const;
    // In a card: what the rank is in, and for whom it waits. `y` on: below the title.
    void card_end(int64_t i, const Rect& b, float y, float pad, float line);
    // On a card, a circle or a square that is drawn already.
    void mark_end(int64_t i);
    // By index, from whoever waits to whom.
    std::vector<std::pair<int64_t, int64_t>> wait_lines() const;
    void waits();
    void wait_line(int64_t from, int64_t to);
    // The point at which the way from a rank to `towards` leaves what is drawn of it.
    Point leave(int64_t i, Point towards, float margin) const;
    // Another rank is chosen than the one that asks: the legend says which mark is which.
    bool two_chosen() const;
    float legend_height() const {
        return end_ == nullptr && !two_chosen() ? 0 : p_.line_height(Face::caption) + 10;
    }
    void chosen_legend();
    void end_legend();
    void tell_end();

    const Input& in_;
    Painter p_;
    MeshQuestion q_;
    float progress_;
    const RunEnd* end_;
    int64_t count_ = 0, asking_ = -1;
    struct Machine {
        int32_t node;
        Rect ranks;
        float margin;
        int64_t part, parts;  ///< the machine lies in so many places, of which this is one
    };
    bool node_name(const Machine& machine, const std::string& words, const Id& id);
    std::vector<Machine> machines_;  ///< each part
    MeshLayout at_;
    Rect area_, card_;
    Detail detail_ = Detail::circle;
    float radius_ = 10, label_left_ = 0;
    std::vector<std::pair<Point, Point>> edges_;
    std::vector<Point> coordinates_;  ///< by index, the texts' top left corners; empty: none is drawn
};

}  // namespace meshscope::view
