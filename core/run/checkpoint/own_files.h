#pragma once

#include <string>
#include <string_view>

namespace meshscope::run::checkpoint {

/// The checkpoint's files, beside the manifest.
inline constexpr std::string_view kWholeFile = "whole.safetensors";
std::string rank_file(int32_t rank);

// What lies in a folder of checkpoints need not be ours: a user may keep notes in step_000010, or have a
// folder of that name from elsewhere. Removed is only what a run wrote: in a folder with a manifest that
// holds, the files that it names; in one with our mark alone (an unfinished save) files of the names we give.
// A link to a folder is never ours.

/// Whether a run made this step folder: our mark, or (as earlier versions made them) a manifest that holds.
bool is_own_folder(const std::string& folder);

/// Whether something of this name is there that no run made. An empty folder is nobody's loss.
bool is_taken(const std::string& folder);

/// Whether something lies in our folder that no run wrote.
bool holds_others_files(const std::string& folder);

/// Removes what a run wrote in it, and the folder when it is empty then; what else lies there stays, and the
/// folder with it. Nothing happens to a folder that is not ours. The manifest goes first and the mark last:
/// half of it never looks whole, and what is left can be removed later.
void remove_own(const std::string& folder);

/// Moves what no run wrote from one folder to the other, as far as its names are free there.
void move_others_files(const std::string& from, const std::string& to);

}  // namespace meshscope::run::checkpoint
