#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::view {

/// The code points of a UTF-8 text, each as its own text. Bytes that begin no valid sequence stand alone.
std::vector<std::string> code_points(std::string_view text);

/// The code point's number; of an invalid byte its value.
char32_t code_point(std::string_view one);

/// True for Chinese characters and full-width marks: they are as wide as they are high, and lines may break
/// at them.
bool is_wide(char32_t code);

/// The pieces between which a line may break: Latin words, single spaces, single Chinese characters with the
/// closing marks that must not begin a line, and "\n".
std::vector<std::string> break_pieces(std::string_view text);

/// Joins those pieces between which a reader would stumble over the line's end, where what they make passes
/// `fits`: "rank 0", "912 B", "第 1 步". Cost: one call of `fits` for each that is joined.
std::vector<std::string> numbers_kept(std::vector<std::string> pieces,
                                      const std::function<bool(const std::string&)>& fits);

}  // namespace meshscope::view
