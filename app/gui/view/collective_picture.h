#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/view/collective_layout.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// Draws one collective picture: title, legend and bytes in collective_view.cpp, the groups in
/// collective_groups.cpp, what stands around them in collective_nodes.cpp.
class CollectivePicture {
  public:
    CollectivePicture(const Input& input, const CollectiveOptions& options, const ShownCollective& shown)
        : in_(input), options_(options), p_(input), shown_(shown) {
        instances_ = parallel_instances(input.trace, shown.rank, shown.event);
        for (const auto& instance : instances_) states_.push_back(state_of(input, instance));
        for (std::size_t i = 0; i < instances_.size(); ++i)
            for (std::size_t m = 0; m < instances_[i].ranks.size(); ++m)
                if (instances_[i].ranks[m] == shown.rank && instances_[i].events[m] == shown.event) own_ = i;
    }
    Picture draw();

  private:
    static constexpr float kPad = 20;
    /// Layers of the picture.
    enum : int { kNodes, kHulls, kIdle, kCards, kCells, kFlights, kCapsules, kWords, kSelected };
    /// The state at the cursor; where it stands still it is not found anew in each frame.
    static std::shared_ptr<const CollectiveState> state_of(const Input& input,
                                                           const trace::CollectiveInstance& instance) {
        struct Key {
            int32_t rank, event;
            int64_t t_ns;
            bool operator==(const Key&) const = default;
        };
        return found_once<CollectiveState>(
            input.memo, 4, input.trace, &input.clock,
            Key{instance.ranks.front(), instance.events.front(), input.cursor.t_ns},
            [&] { return collective_state(input.trace, input.clock, instance, input.cursor.t_ns); });
    }
    const CollectiveState& own() const { return *states_[own_]; }
    const trace::Event& event() const { return in_.trace.event(shown_.rank, shown_.event); }
    const trace::Group& group(std::size_t i) const {
        return in_.trace.groups[static_cast<std::size_t>(instances_[i].group)];
    }
    float header();
    // What the hues and marks mean, in full or short words.
    enum class Sign : uint8_t { owner, padding, complete, partial, arriving, leaving };
    struct Entry {
        std::string words;
        Sign sign;
        int64_t origin = 0;  // of an owner
    };
    void draw_sign(const Entry& entry, Point centre);
    std::vector<Entry> legend(bool full) const;
    float legend_width(const std::vector<Entry>& entries) const;
    // Breaks at the picture's edge; gives the y below.
    float draw_legend(const std::vector<Entry>& entries, float x, float y);
    float footer();
    // The members of the shown group whose record has no such call: it broke off, or they are held before it.
    // A row of their circles above `bottom`; gives the y above it.
    float absent(float bottom);
    std::vector<int32_t> absent_ranks() const;
    // All groups that make this call, in a grid; where they do not fit, the shown one and a note.
    void groups(Rect area);
    // "node 0" and where the group stands in the other mesh dims.
    std::vector<std::pair<std::string, Token>> labels_of(std::size_t i) const;
    float label_width(std::size_t i) const;
    int32_t node_of(std::size_t i) const;
    std::size_t dim_position(std::size_t i) const;
    void one_group(std::size_t i, Rect cell, float label_x);
    // Members that have not called it have an empty place among the others, in groups of up to kMostPlaces.
    static constexpr std::size_t kMostPlaces = 8;
    bool has_places() const { return group(own_).ranks.size() <= kMostPlaces; }
    GroupLayout with_absent(const CollectiveState& s, Rect room);
    void absent_place(int32_t rank, const Rect& box, bool card);
    // What a member's end adds to its card: that it died in this call, or called something else.
    std::string end_words(const CollectiveState& s, std::size_t m, float room);
    void card_end(const CollectiveState& s, std::size_t m, const Rect& box, const std::string& words,
                  const Rect& foot);
    // How a member stood, where that was in this call and at the cursor's time; else null.
    const RankEnd* stood_here(const CollectiveState& s, std::size_t m) const;
    // The links of a ring or a tree that are not busy now, in the dim's hue.
    void idle_ring(const CollectiveState& s, const GroupLayout& place, Token hue);
    void card(const CollectiveState& s, std::size_t m, const Rect& box);
    // Which elements of the buffer each cell is: "0–54".
    void range_words(const CollectiveState& s, std::size_t m, const Rect& row);
    // A rank without room for a card: a circle with its number, its buffer as a short row of squares below.
    void circle(const CollectiveState& s, std::size_t m, const GroupLayout& place);
    void flights(const CollectiveState& s, const GroupLayout& place);
    int32_t node_of_rank(int32_t rank) const;
    // The machines behind groups that reach over several: one box round the ranks of each, where they stand
    // together.
    void nodes(Rect area, bool below_each_other);
    // "shard = 0" over the two columns of facing pairs.
    void column_heads(float y);
    // The groups of another dim that join ranks above each other: idle now, so only their pattern.
    void idle_links(std::size_t columns);
    void tell();

    const Input& in_;
    const CollectiveOptions& options_;
    Painter p_;
    ShownCollective shown_;
    std::vector<trace::CollectiveInstance> instances_;
    std::vector<std::shared_ptr<const CollectiveState>> states_;  ///< [instance]
    std::size_t own_ = 0;
    std::vector<std::pair<std::size_t, GroupLayout>> places_;
    std::vector<Rect> hulls_;  ///< of the groups drawn; a node's name keeps off their lines
    std::vector<std::string> tell_;
};

}  // namespace meshscope::view
