#pragma once

#include "app/gui/view/input.h"
#include "app/gui/view/state.h"
#include "app/gui/window/theme.h"
#include "app/i18n/catalogue.h"

namespace meshscope::gui {

inline i18n::Language catalogue_language(view::Language language) {
    return language == view::Language::zh ? i18n::Language::zh : i18n::Language::en;
}

/// The theme's word in options and links.
inline const char* theme_word(window::ThemeKind theme) {
    constexpr const char* kWords[] = {"dark", "light", "contrast"};
    return kWords[static_cast<std::size_t>(theme)];
}

/// The catalogue in one language, as the views and panels ask it.
class CatalogueTexts final : public view::Texts {
  public:
    CatalogueTexts(const i18n::Catalogue& catalogue, view::Language language)
        : catalogue_(catalogue), language_(catalogue_language(language)) {}
    std::string text(const Message& message) const override { return catalogue_.text(message, language_); }

  private:
    const i18n::Catalogue& catalogue_;
    i18n::Language language_;
};

}  // namespace meshscope::gui
