#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/view_words.h"
#include "core/time/clock.h"

namespace meshscope::view {

enum class Language : uint8_t { en, zh };

/// The views that core/base/views.def lists, in its order: kViewNames (core/base/view_words.h) has their
/// words.
enum class ViewKind : uint8_t {
#define MESHSCOPE_VIEW(word) word,
#include "core/base/views.def"
#undef MESHSCOPE_VIEW
};

inline constexpr auto kViewKinds = std::to_array<ViewKind>({
#define MESHSCOPE_VIEW(word) ViewKind::word,
#include "core/base/views.def"
#undef MESHSCOPE_VIEW
});
inline constexpr std::string_view view_name(ViewKind kind) {
    return kViewNames[static_cast<std::size_t>(kind)];
}
inline std::optional<ViewKind> view_named(std::string_view name) {
    if (name == kOldNameOfTensors) return ViewKind::tensors;
    const auto at = std::find(kViewNames.begin(), kViewNames.end(), name);
    if (at == kViewNames.end()) return std::nullopt;
    return static_cast<ViewKind>(at - kViewNames.begin());
}

/// The one time cursor: nanoseconds on the shown clock. Everything on screen is a pure function of it.
struct Cursor {
    int64_t t_ns = 0;
};

/// Ranks [first, first + count).
struct RankRange {
    int32_t first = 0, count = 1;
    bool contains(int32_t rank) const { return rank >= first && rank < first + count; }
    friend bool operator==(const RankRange&, const RankRange&) = default;
};

/// A cell of the traffic matrix: who sends to whom; blocks of ranks where the matrix is folded.
struct TrafficCell {
    RankRange from, to;
    friend bool operator==(const TrafficCell&, const TrafficCell&) = default;
};

/// Which bytes the traffic matrix counts.
enum class TrafficSpan : uint8_t { run, step, cursor };  ///< the run; the cursor's step; up to the cursor
struct TrafficFilter {
    std::optional<uint8_t> op;  ///< a CollectiveOp; nothing: all
    TrafficSpan span = TrafficSpan::run;
    std::optional<TrafficCell> window;  ///< the part of the matrix that is shown; nothing: all of it
    friend bool operator==(const TrafficFilter&, const TrafficFilter&) = default;
};

/// What a view shows in several ways, by core/base/forms.def: kFormNames has their words.
enum class Form : uint8_t {
#define MESHSCOPE_FORM(view, word) word,
#include "core/base/forms.def"
#undef MESHSCOPE_FORM
};
inline constexpr auto kFormViews = std::to_array<ViewKind>({
#define MESHSCOPE_FORM(view, word) ViewKind::view,
#include "core/base/forms.def"
#undef MESHSCOPE_FORM
});
inline constexpr std::string_view form_name(Form form) {
    return kFormNames[static_cast<std::size_t>(form)];
}
inline std::optional<Form> form_named(std::string_view name) {
    const auto at = std::find(kFormNames.begin(), kFormNames.end(), name);
    if (at == kFormNames.end()) return std::nullopt;
    return static_cast<Form>(at - kFormNames.begin());
}
inline constexpr ViewKind view_of_form(Form form) {
    return kFormViews[static_cast<std::size_t>(form)];
}
/// The form that a view opens in; nothing where it has no forms.
inline constexpr std::optional<Form> first_form(ViewKind view) {
    for (std::size_t i = 0; i < kFormViews.size(); ++i)
        if (kFormViews[i] == view) return static_cast<Form>(i);
    return std::nullopt;
}

/// The form that each view is in.
class Forms {
  public:
    std::optional<Form> of(ViewKind view) const {
        const std::optional<Form> chosen = chosen_[static_cast<std::size_t>(view)];
        return chosen ? chosen : first_form(view);
    }
    bool in(Form form) const { return of(view_of_form(form)) == form; }
    void set(Form form) { chosen_[static_cast<std::size_t>(view_of_form(form))] = form; }
    friend bool operator==(const Forms&, const Forms&) = default;

  private:
    std::array<std::optional<Form>, kViewKinds.size()> chosen_;
};

/// The one selection; every view lights up what belongs to it.
struct Selection {
    std::optional<int32_t> rank;        ///< selected rank: all its groups light up everywhere
    std::optional<int32_t> event_rank;  ///< selected event: of which rank …
    std::optional<int32_t> event;       ///< … and its id
    std::optional<int32_t> group;       ///< selected group (index into Trace::groups)
    std::optional<int32_t> chunk;
    std::optional<TrafficCell> cell;  ///< selected cell of the traffic matrix
    std::string parameter;     ///< selected parameter ("net1.weight"); "": none
    int64_t row = -1;          ///< selected row of it; -1: none
    std::string slice;         ///< what the slice box holds: "replicate,shard"; "" = no slice
    int32_t asking_rank = 0;   ///< "be rank r"

    void choose_event(int32_t of_rank, int32_t id) {
        event_rank = of_rank;
        event = id;
    }
    void drop_event() {
        event_rank.reset();
        event.reset();
    }
};

}  // namespace meshscope::view
