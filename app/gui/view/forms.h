#pragma once

#include <vector>

#include "app/gui/view/sheet.h"

namespace meshscope::view {

/// The switch between the forms of a view, in the order of core/base/forms.def; `shown` is lit. Ids "form" a
/// = Form. What a form is called: message "view.form.WORD".
std::vector<Chip> form_chips(const Painter& painter, Form shown);

}  // namespace meshscope::view
