#pragma once

#include <functional>
#include <string>

#include "app/gui/view/input.h"
#include "app/gui/view/svg.h"
#include "app/gui/view/utf8.h"
#include "app/i18n/catalogue.h"
#include "tests/view/toy.h"

namespace meshscope::test {

/// Widths near those of the real faces: 0.55 of the size a Latin letter, 0.6 in mono, 1.0 a Chinese one.
class FakeMeasure : public view::TextMeasure {
  public:
    explicit FakeMeasure(float line = 1.45F) : line_(line) {}
    float width(const std::string& text, view::Face face) const override {
        float w = 0;
        const float latin = view::is_mono(face) ? 0.602F : 0.55F;
        for (const auto& letter : view::code_points(text))
            w += view::face_size(face) * (view::is_wide(view::code_point(letter)) ? 1.F : latin);
        return w;
    }
    float line_height(view::Face face) const override { return view::face_size(face) * line_; }

  private:
    float line_;
};

/// The program's own catalogue in one language.
class CatalogueTexts : public view::Texts {
  public:
    explicit CatalogueTexts(view::Language language)
        : language_(language == view::Language::zh ? i18n::Language::zh : i18n::Language::en) {}
    std::string text(const Message& message) const override { return catalogue_.text(message, language_); }

  private:
    i18n::Catalogue catalogue_ = i18n::Catalogue::embedded();
    i18n::Language language_;
};

/// The hand-made HSDP run under the lessons' clock, ready to be handed to a view at any moment.
struct Toy {
    trace::Trace trace = toy_hsdp();
    time::Clock clock = time::modelled(trace, time::classroom());
    view::Selection selection;
    FakeMeasure measure;
    CatalogueTexts texts{view::Language::en};
    view::Input at(int64_t t_ns, view::Size size = {1032, 560}) const {
        return {trace, clock, {t_ns}, selection, size, view::Language::en, measure, texts};
    }
};

}  // namespace meshscope::test
