#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/view/picture.h"
#include "core/base/message.h"

struct ImFont;
struct ImFontAtlas;

namespace meshscope::window {

inline constexpr int kFaces = static_cast<int>(view::Face::mono_title) + 1;

/// Nominal size of a face in logical pixels: 14 caption, 16 body, 20, 22, 28; mono 14, 16, 20.
float face_size(view::Face face);
bool is_mono(view::Face face);

/// Where the two faces lie; "" = not found.
struct FontFiles {
    std::string words;  ///< a face with Chinese
    std::string mono;
    std::string symbols;  ///< fills what the first lacks (arrows, mathematics)
};

/// Looks in the tree that the program is installed in, then in the usual folders: WenQuanYi Micro Hei (else
/// Noto Sans CJK), DejaVu Sans Mono, DejaVu Sans.
FontFiles find_fonts();

/// The eight faces in one atlas.
class FontSet {
  public:
    /// Fills `atlas` (cleared first) with the glyphs of `text` and plain Latin at `scale`. Not inside a
    /// frame; the renderer's texture must be made anew after. A missing file is no error: the built-in face
    /// takes its place (Latin only) and a message says so. Cost: 10 to 100 ms.
    std::vector<Message> build(ImFontAtlas& atlas, const FontFiles& files, std::string_view text,
                               float scale);

    ImFont* font(view::Face face) const { return fonts_[static_cast<size_t>(face)]; }
    /// Pixels on screen.
    float pixels(view::Face face) const;
    float scale() const { return scale_; }
    /// True when the face draws this code point with a glyph of its own.
    bool has(view::Face face, char32_t code_point) const;

  private:
    std::array<ImFont*, kFaces> fonts_{};
    float scale_ = 1;
};

/// Measures as ImGui draws.
class FontMeasure final : public view::TextMeasure {
  public:
    explicit FontMeasure(const FontSet& fonts) : fonts_(fonts) {}
    float width(const std::string& text, view::Face face) const override;
    /// Reading distance: 1.5 of the size.
    float line_height(view::Face face) const override;

  private:
    const FontSet& fonts_;
};

/// The code points of a UTF-8 text; damaged bytes give U+FFFD.
std::vector<char32_t> code_points(std::string_view text);

}  // namespace meshscope::window
