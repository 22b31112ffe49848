#include "core/scenario/given_files.h"

#include <filesystem>
#include <optional>
#include <system_error>

namespace meshscope::scenario {
namespace {

namespace fs = std::filesystem;

/// What is `given`, absolute, taken from `folder` where relative; empty where it is empty, which is reported
/// as `empty_id`.
fs::path given_path(const Section& section, std::string_view key, const std::string& given,
                    const std::string& folder, const std::string& empty_id) {
    if (given.empty()) {
        section.refuse(key, {empty_id, {{"key", section.full(key)}}});
        return {};
    }
    std::error_code error;
    const fs::path path = fs::path(given).is_absolute() ? fs::path(given) : fs::path(folder) / given;
    return fs::absolute(path, error).lexically_normal();
}

}  // namespace

std::string existing_file(const Section& section, std::string_view key, const std::string& folder) {
    const std::optional<std::string> given = section.text(key);
    return given ? existing_file(section, key, *given, folder) : "";
}

std::string existing_file(const Section& section, std::string_view key, const std::string& given,
                          const std::string& folder) {
    const fs::path path = given_path(section, key, given, folder, "scenario.empty_path");
    std::error_code error;
    if (path.empty() || fs::is_regular_file(path, error)) return path.string();
    if (fs::is_directory(path, error)) {
        section.report(key,
                       {"scenario.folder_for_file", {{"key", section.full(key)}, {"path", path.string()}}});
        return "";
    }
    if (fs::exists(path, error)) {
        section.report(key, {"file.not_regular_input", {{"path", path.string()}}});
        return "";
    }
    section.report(key, {"scenario.no_such_file", {{"key", section.full(key)}, {"path", path.string()}}},
                   {"scenario.hint.relative_path", {}});
    return "";
}

std::string folder_path(const Section& section, std::string_view key, const std::string& folder) {
    const std::optional<std::string> given = section.text(key);
    return given ? given_path(section, key, *given, folder, "scenario.empty_folder").string() : "";
}

}  // namespace meshscope::scenario
