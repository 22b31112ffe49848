#pragma once

#include <string>

#include "app/gui/view/paint.h"

namespace meshscope::view {

/// A facts column as a picture that grows downwards: heads, sentences, rows with a figure at the right, sums.
/// Everything drawn is told as text too.
class FactList {
  public:
    explicit FactList(const Input& input);

    void head(const std::string& words, const std::string& note);
    void sentence(const std::string& words, const Id& id = {}, Token colour = Token::soft);
    /// A swatch, what it is (or `brief` where that is too long), its figure; below it what else is known.
    /// Returns the swatch, to be filled otherwise; it stays valid until the next call.
    Shape& row(Token hue, const std::string& what, const std::string& brief, const std::string& figure,
               const std::string& note, const Id& id);
    void sum(const std::string& words, const std::string& figure);
    void space(float pixels) { y += pixels; }
    /// As high as the size, or higher.
    Picture take();

    Painter p;
    float y = 14;  ///< where the next line begins

  private:
    static constexpr float kPad = 24;
    float right_, height_;
};

}  // namespace meshscope::view
