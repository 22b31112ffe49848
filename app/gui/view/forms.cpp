#include "app/gui/view/forms.h"

namespace meshscope::view {
namespace {

/// The grid on the clock is a grid too: slots or which clock is chosen beside the switch.
Form chip_of(Form form) {
    return form == Form::timed_grid ? Form::grid : form;
}

}  // namespace

std::vector<Chip> form_chips(const Painter& painter, Form shown) {
    std::vector<Chip> chips;
    for (std::size_t i = 0; i < kFormNames.size(); ++i) {
        const auto form = static_cast<Form>(i);
        if (view_of_form(form) != view_of_form(shown) || chip_of(form) != form) continue;
        chips.push_back({painter.say("view.form." + std::string(form_name(form))),
                         {"form", static_cast<int64_t>(form)},
                         form == chip_of(shown)});
    }
    return chips;
}

}  // namespace meshscope::view
