#include "app/gui/panels/panels.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/view/format.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::panels {

/// A traffic and what it was counted of: hops are many, and most frames ask for the same sums.
struct CountedTraffic {
    DocumentMark document;
    time::ClockKind clock = time::ClockKind::modelled;
    view::TrafficFilter filter;
    int64_t until_ns = 0;  ///< or the step, where a step is counted
    view::Traffic traffic;
};

view::TrafficOptions traffic_options(const Ui& ui, Memory& memory) {
    const session::AppState& s = ui.state;
    const time::Clock& clock = *session::shown_clock(s);
    const trace::Trace& trace = *s.document->trace;
    view::TrafficFilter counted = s.traffic;
    counted.window.reset();  // links are counted everywhere, whatever is shown of them
    const int64_t until = counted.span == view::TrafficSpan::run ? 0
                          : counted.span == view::TrafficSpan::step
                              ? view::step_at(trace, clock, s.cursor.t_ns)
                              : s.cursor.t_ns;
    const CountedTraffic* last = memory.traffic.get();
    const DocumentMark mark(s.document);
    if (last == nullptr || last->document != mark || last->clock != s.clock || last->filter != counted ||
        last->until_ns != until)
        memory.traffic = std::make_shared<const CountedTraffic>(CountedTraffic{
            mark, s.clock, counted, until, view::traffic(trace, clock, s.cursor.t_ns, counted)});
    return {s.traffic, &memory.traffic->traffic};
}

void traffic_host(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "traffic";
    const Region region(ui, "scene", box, false);
    const view::TrafficOptions options = traffic_options(ui, memory);
    const view::Picture picture = view::traffic_view(view_input(ui, box.w, box.h), options);
    picture_panel(ui, memory, "traffic", picture, {box.x, box.y});
    // What is under the pointer, with its bytes: small cells have no room for them.
    if (!ImGui::IsItemHovered()) return;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto under = hit(picture, {mouse.x / ui.scale - box.x, mouse.y / ui.scale - box.y});
    if (!under || under->kind != "link") return;
    const view::RankRange from = view::unpack(under->a), to = view::unpack(under->b);
    int64_t bytes = 0;
    for (const view::TrafficLink& link : options.counted->links)
        if (from.contains(link.src) && to.contains(link.dst)) bytes += link.bytes;
    ui.status += " · " + view::format_exact_bytes(bytes);
}

}  // namespace meshscope::panels
