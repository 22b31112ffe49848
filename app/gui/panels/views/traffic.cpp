#include "app/gui/panels/views.h"
#include "app/gui/view/format.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/traffic_view.h"

namespace meshscope::panels {

namespace {

/// Of a window in which the timeline stands below: the matrix wants to be square, and in a lower one the
/// timeline would leave it too little.
constexpr float kLeastHeightShared = 840;

/// A traffic and what it was counted of: hops are many, and most frames ask for the same sums.
struct CountedTraffic {
    DocumentMark document;
    time::ClockKind clock = time::ClockKind::modelled;
    view::TrafficFilter filter;
    int64_t until = -1;  ///< by the filter's span: nanoseconds on the clock, the step, or 0 for the whole run
    view::Traffic traffic;
};

/// The state's filter, with the traffic counted once for as long as it is the same.
view::TrafficOptions traffic_options(const Ui& ui, Memory& memory) {
    const session::AppState& s = ui.state;
    const time::Clock& clock = *session::shown_clock(s);
    const trace::Trace& trace = *s.document->trace;
    view::TrafficFilter filter = s.traffic;
    filter.window.reset();  // links are counted everywhere, whatever is shown of them
    const int64_t until = filter.span == view::TrafficSpan::run ? 0
                          : filter.span == view::TrafficSpan::step
                              ? view::step_at(trace, clock, s.cursor.t_ns, &memory.memo)
                              : s.cursor.t_ns;
    auto& last = memory.memo.the<CountedTraffic>();
    const DocumentMark mark(s.document);
    if (last.document != mark || last.clock != s.clock || last.filter != filter || last.until != until)
        last = {mark, s.clock, filter, until, view::traffic(trace, clock, s.cursor.t_ns, filter)};
    return {s.traffic, &last.traffic};
}

view::Picture picture(const Ui& ui, Memory& memory, view::Size size) {
    return view::traffic_view(view_input(ui, size.width, size.height), traffic_options(ui, memory));
}

/// A chosen event is told as everywhere; a chosen link is a picture.
std::optional<view::Picture> facts(const Ui& ui, Memory& memory, view::Size size) {
    if (ui.state.selection.event) return {};
    return view::traffic_facts(view_input(ui, size.width, size.height), traffic_options(ui, memory));
}

/// A second press on a block of links zooms into it.
Actions select_link(const Ui& ui, const view::Id& id, bool twice) {
    const view::TrafficCell link{view::unpack(id.a), view::unpack(id.b)};
    const bool block = link.from.count > 1 || link.to.count > 1;
    Actions actions;
    if (twice && block) {
        view::TrafficFilter filter = ui.state.traffic;
        filter.window = link;
        actions.emplace_back(session::SetTraffic{filter});
    }
    actions.emplace_back(session::SelectCell{link});
    return actions;
}

/// With its bytes: small cells have no room for them.
std::string link_status(const Ui& ui, Memory& memory, const view::Id& id) {
    const view::RankRange from = view::unpack(id.a), to = view::unpack(id.b);
    int64_t bytes = 0;
    for (const view::TrafficLink& link : traffic_options(ui, memory).counted->links)
        if (from.contains(link.src) && to.contains(link.dst)) bytes += link.bytes;
    return view::name_of(from) + " → " + view::name_of(to) + " · " + view::format_exact_bytes(bytes);
}

Actions show_all(const Ui& ui, const view::Id&, bool) {
    view::TrafficFilter filter = ui.state.traffic;
    filter.window.reset();
    return {session::SetTraffic{filter}};
}
Actions count_span(const Ui& ui, const view::Id& id, bool) {
    view::TrafficFilter filter = ui.state.traffic;
    filter.span = static_cast<view::TrafficSpan>(id.a);
    return {session::SetTraffic{filter}};
}
Actions count_op(const Ui& ui, const view::Id& id, bool) {
    view::TrafficFilter filter = ui.state.traffic;
    filter.op.reset();
    if (id.a >= 0) filter.op = static_cast<uint8_t>(id.a);
    return {session::SetTraffic{filter}};
}

constexpr Target kTargets[] = {
    {"link", select_link, link_status}, {"traffic_all", show_all}, {"traffic_span", count_span},
    {"traffic_op", count_op},           {"cause", select_event},
};

}  // namespace

namespace views {

/// Who sent how many bytes to whom.
extern const View traffic;
const View traffic{.picture = picture,
                   .facts = facts,
                   .targets = kTargets,
                   .scene = fixed_scene,
                   .below = timeline_below,
                   .least_height_shared = kLeastHeightShared};

}  // namespace views
}  // namespace meshscope::panels
