#pragma once

#include <string>
#include <vector>

namespace meshscope::panels {

/// A run of words in one look, from a lesson's text.
struct Span {
    enum class Look { plain, strong, code };
    Look look = Look::plain;
    std::string text;
    std::string link;  ///< what it lights up: "rank:0", "view:timeline", "event:0/12"; "" = nothing
};

/// Reads the few marks that lessons use: **strong**, `code`, [words](link). Everything else is plain.
std::vector<Span> parse_inline(const std::string& text);
/// The words alone.
std::string without_marks(const std::string& text);

/// Cuts text where a line may break: after spaces, and round each Chinese character, but never before a
/// closing mark (，。！？：；、）」”). Pieces are words, single spaces, characters with their closing marks,
/// and "\n".
std::vector<std::string> break_pieces(const std::string& text);

/// Whether a line may break between two pieces without a space between them: beside a Chinese character, but
/// never before a closing mark of either script nor behind an opening one.
bool may_break(const std::string& before, const std::string& after);

/// True for a piece that is nothing but a closing mark.
bool is_closing_mark(const std::string& piece);

/// The UTF-8 characters one by one.
std::vector<std::string> letters(const std::string& text);

}  // namespace meshscope::panels
