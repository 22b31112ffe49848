#pragma once

#include <array>
#include <string>
#include <string_view>

namespace meshscope {

/// What the command line, lessons and records call the views of the window: core/base/views.def, in its
/// order.
inline constexpr auto kViewNames = std::to_array<std::string_view>({
#define MESHSCOPE_VIEW(word) #word,
#include "core/base/views.def"
#undef MESHSCOPE_VIEW
});
/// What the view `tensors` was called while the rows that ranks keep were all that it showed: lessons and
/// users' files may still say so.
inline constexpr std::string_view kOldNameOfTensors = "parameters";

/// The forms of the views that have several: core/base/forms.def, in its order; and the view of each.
inline constexpr auto kFormNames = std::to_array<std::string_view>({
#define MESHSCOPE_FORM(view, word) #word,
#include "core/base/forms.def"
#undef MESHSCOPE_FORM
});
inline constexpr auto kViewNamesOfForms = std::to_array<std::string_view>({
#define MESHSCOPE_FORM(view, word) #view,
#include "core/base/forms.def"
#undef MESHSCOPE_FORM
});

/// The forms of a view in their order: "lanes|grid|timed_grid"; "" where it has none.
inline std::string form_words(std::string_view view, std::string_view between) {
    std::string words;
    for (std::size_t i = 0; i < kFormNames.size(); ++i)
        if (kViewNamesOfForms[i] == view) (words += words.empty() ? "" : between) += kFormNames[i];
    return words;
}

}  // namespace meshscope
