#include "app/gui/panels/views.h"
#include "app/gui/view/code_view.h"

namespace meshscope::panels {
namespace {

view::Picture picture(const Ui& ui, Memory&, view::Size size) {
    return view::code_view(view_input(ui, size.width, size.height));
}

std::optional<view::Picture> facts(const Ui& ui, Memory&, view::Size size) {
    return view::code_facts(view_input(ui, size.width, size.height));
}

Actions copy_place(const Ui& ui, const view::Id&, bool) {
    return {session::CopyText{view::code_location(view_input(ui, 100, 100))},
            session::ShowToast{ui.say("ui.copied")}};
}
std::string copy_status(const Ui& ui, Memory&, const view::Id&) {
    return ui.say("ui.copy_hint");
}

constexpr Target kTargets[] = {{"source", copy_place, copy_status}};
constexpr std::string_view kFactsTabStops[] = {"event"};

}  // namespace

namespace views {

/// The rule that issued the event, PyTorch's call, and our own source.
extern const View code;
const View code{.picture = picture,
                .facts = facts,
                .targets = kTargets,
                .facts_tab_stops = kFactsTabStops,
                .film = nullptr};

}  // namespace views
}  // namespace meshscope::panels
