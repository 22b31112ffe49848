#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/gui/session/actions.h"

namespace meshscope::session {

/// One line of the command palette.
struct PaletteItem {
    scenario::Text label;  ///< found by either language's words
    std::string note;      ///< at the right: the key, or what kind of thing it is
    Action action;
    bool typed = false;  ///< opens what was typed, read as a file's path
};

/// A text of the catalogue in both languages.
using BothTexts = std::function<scenario::Text(const std::string& id)>;

/// Everything that can be done now: the commands (session/commands.h) that mean something, the steps of the
/// open lesson, the runs that stand beside each other, all lessons, what was open lately. Pure.
std::vector<PaletteItem> palette_items(const AppState& state, const BothTexts& texts);

/// Whether what was typed reads as the path of a file: it begins with "/", "./", "../" or "~/", or ends as
/// the files that the window opens do (".mscope", ".toml", ".json", ".xml").
bool reads_as_path(const std::string& query);

/// Puts "Open" with what was typed ahead of `items` where it reads as a path, in the place of what an earlier
/// text had put there; beside what is open, too, where another run has room. `open` and `beside` say so in
/// the language that is shown.
void offer_typed_path(std::vector<PaletteItem>& items, const std::string& query, const AppState& state,
                      const std::string& open, const std::string& beside);

/// How well `query` is found in `text`: its letters in order, whatever stands between; -1 when not. Letters
/// that begin a word, that follow each other and that stand early count more. Case does not matter (Latin
/// letters); Chinese characters count as letters. Cost: linear in the text.
int fuzzy_score(const std::string& query, const std::string& text);

/// The items that the query finds, best first, equals in their order, what opens a typed path before all; all
/// in their order for an empty query.
std::vector<std::size_t> palette_matches(const std::vector<PaletteItem>& items, const std::string& query);

}  // namespace meshscope::session
