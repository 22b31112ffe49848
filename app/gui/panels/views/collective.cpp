#include <algorithm>

#include "app/gui/panels/views.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/paint.h"

namespace meshscope::panels {
namespace {

/// The call on show, without what the lesson's open question asks for.
view::Picture picture(const Ui& ui, Memory&, view::Size size) {
    const view::Input input = view_input(ui, size.width, size.height);
    view::CollectiveOptions options;
    options.reduced_motion = ui.state.reduced_motion;
    options.end = told_end(ui);
    if (const auto shown = view::shown_collective(input)) {
        const trace::Event& event = input.trace.event(shown->rank, shown->event);
        const bool members =
            event.group >= 0 && ui.quiz_mask.asks(input.trace.groups[static_cast<size_t>(event.group)].ranks);
        if (members || ui.quiz_mask.asks_peer()) {
            view::Painter painter(input);
            const std::string why = ui.say(members ? "ui.covered.members" : "ui.covered.peer");
            painter.tell(why);
            painter.paragraph(why, {24, 20}, Face::body, Token::soft, size.width - 48);
            return painter.take();
        }
        options.covered = ui.quiz_mask.asks_bytes(event.sent_bytes);
    }
    return view::collective_view(input, options);
}

/// The end of a round of the call on show.
Actions go_to_round(const Ui& ui, const view::Id& id, bool) {
    const auto shown = view::shown_collective(view_input(ui, 100, 100));
    if (!shown) return {};
    const auto rank = static_cast<size_t>(shown->rank);
    const trace::RankTrace& record = ui.state.document->trace->ranks[rank];
    for (size_t i = 0; i < record.hops.size(); ++i)
        if (record.hops[i].event == shown->event && record.hops[i].round == id.a)
            return {session::SetCursor{session::shown_clock(ui.state)->hops[rank][i].end_ns}};
    return {};
}

Actions select_chunk(const Ui&, const view::Id& id, bool) {
    return {session::SelectChunk{static_cast<int32_t>(id.a), static_cast<int32_t>(id.b)}};
}
std::string chunk_status(const Ui&, Memory&, const view::Id& id) {
    return "rank " + std::to_string(id.a) + " · chunk " + std::to_string(id.b);
}

Actions select_group(const Ui&, const view::Id& id, bool) {
    return {session::SelectGroup{static_cast<int32_t>(id.a)}};
}

/// The call to its end in all groups that are drawn.
time::Interval film(const session::Document& document, const time::Clock& clock, view::EventRef at) {
    const auto interval = [&](int32_t rank, int32_t event) {
        return clock.events[static_cast<size_t>(rank)][static_cast<size_t>(event)];
    };
    time::Interval span = interval(at.rank, at.event);
    for (const auto& group : view::parallel_instances(*document.trace, at.rank, at.event))
        for (size_t m = 0; m < group.ranks.size(); ++m) {
            if (group.events[m] < 0) continue;  // it never came
            const time::Interval own = interval(group.ranks[m], group.events[m]);
            span = {std::min(span.begin_ns, own.begin_ns), std::max(span.end_ns, own.end_ns)};
        }
    return span;
}

constexpr Target kTargets[] = {
    {"chunk", select_chunk, chunk_status},
    {"flight", select_rank},
    {"group", select_group},
    {"hop", go_to_round},
};

}  // namespace

namespace views {

/// One call: whose buffers hold what, and the chunks on their way.
extern const View collective;
const View collective{.picture = picture,
                      .targets = kTargets,
                      .scene = fixed_scene,
                      .below = timeline_below,
                      .film = film,
                      .collectives_only = true};

}  // namespace views
}  // namespace meshscope::panels
