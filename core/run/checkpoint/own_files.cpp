#include "core/run/checkpoint/own_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "core/base/error.h"
#include "core/base/folder_mark.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/manifest.h"

namespace meshscope::run::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRankFile = "rank_", kEnding = ".safetensors";

bool all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// A name that this program gives to a file of a checkpoint.
bool is_our_name(std::string_view name) {
    if (name == kManifestName || name == kFolderMark || name == kWholeFile) return true;
    if (!name.starts_with(kRankFile) || !name.ends_with(kEnding)) return false;
    name.remove_prefix(kRankFile.size());
    return name.size() > kEnding.size() && all_digits(name.substr(0, name.size() - kEnding.size()));
}

/// One that ReplaceFile gives to it while it is being written: .NAME.part-PID-N.
bool is_our_part(std::string_view name) {
    constexpr std::string_view kPart = ".part-";
    const std::size_t part = name.rfind(kPart);
    if (!name.starts_with('.') || part == std::string_view::npos || part == 0) return false;
    const std::string_view numbers = name.substr(part + kPart.size());
    const std::size_t dash = numbers.find('-');
    return dash != std::string_view::npos && all_digits(numbers.substr(0, dash)) &&
           all_digits(numbers.substr(dash + 1)) && is_our_name(name.substr(1, part - 1));
}

/// The files that the folder's manifest names; false where it has none that holds.
bool read_names(const fs::path& folder, std::set<std::string>& names) {
    const fs::path manifest = folder / kManifestName;
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(manifest, error))) return false;
    try {
        for (const SavedFile& file : parse_manifest(read_bytes(manifest.string()), manifest.string()).files)
            names.insert(file.name);
        return true;
    } catch (const Error&) {
        return false;
    }
}

bool is_folder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(fs::symlink_status(path, error));
}

/// What lies in a folder, ours and others'.
struct Inside {
    std::vector<fs::path> ours, others;
};

Inside look_into(const fs::path& folder) {
    std::set<std::string> named;
    const bool has_manifest = read_names(folder, named), marked = is_marked_folder(folder.string());
    Inside inside;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        std::error_code none;
        const bool file = fs::is_regular_file(it->symlink_status(none));
        const bool known =
            name == kManifestName ? has_manifest || marked
            : has_manifest ? named.contains(name) || (marked && (name == kFolderMark || is_our_part(name)))
                           : marked && (is_our_name(name) || is_our_part(name));
        (file && known ? inside.ours : inside.others).push_back(it->path());
    }
    return inside;
}

}  // namespace

std::string rank_file(int32_t rank) {
    std::string digits = std::to_string(rank);
    if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
    return std::string(kRankFile) + digits + std::string(kEnding);
}

bool is_own_folder(const std::string& folder) {
    std::set<std::string> names;
    return is_folder(folder) && (is_marked_folder(folder) || read_names(folder, names));
}

bool is_taken(const std::string& folder) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(folder, error);
    if (status.type() == fs::file_type::not_found) return false;
    if (!fs::is_directory(status)) return true;
    return !is_own_folder(folder) && !fs::is_empty(folder, error);
}

bool holds_others_files(const std::string& folder) {
    return is_folder(folder) && !look_into(folder).others.empty();
}

void remove_own(const std::string& folder) {
    if (!is_own_folder(folder)) return;
    Inside inside = look_into(folder);
    const auto rank = [](const fs::path& path) {
        const std::string name = path.filename().string();
        return name == kManifestName ? 0 : name == kFolderMark ? 2 : 1;
    };
    std::ranges::stable_sort(inside.ours, {}, rank);
    if (!is_marked_folder(folder)) {
        try {
            mark_folder(folder);  // an earlier version's: without its manifest nobody would know it
        } catch (const IoError&) {
            return;
        }
        inside.ours.push_back(fs::path(folder) / kFolderMark);
    }
    for (const fs::path& path : inside.ours) {
        std::error_code error;
        if (!fs::remove(path, error) && error) return;
    }
    std::error_code not_empty;
    fs::remove(folder, not_empty);
}

void move_others_files(const std::string& from, const std::string& to) {
    if (!is_folder(from)) return;
    for (const fs::path& path : look_into(from).others) {
        std::error_code error;
        const fs::path there = fs::path(to) / path.filename();
        if (!fs::exists(fs::symlink_status(there, error))) fs::rename(path, there, error);
    }
}

}  // namespace meshscope::run::checkpoint
