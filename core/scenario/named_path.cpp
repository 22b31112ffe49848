#include "core/scenario/named_path.h"

#include <filesystem>

namespace meshscope::scenario {

namespace fs = std::filesystem;

std::string existing_file(const Section& section, std::string_view key, const std::string& folder) {
    const std::optional<std::string> given = section.text(key);
    if (!given) return "";
    if (given->empty()) {
        section.report(key, {"scenario.empty_path", {{"key", section.full(key)}}});
        return "";
    }
    std::error_code error;
    const fs::path path = fs::path(*given).is_absolute() ? fs::path(*given) : fs::path(folder) / *given;
    const fs::path absolute = fs::absolute(path, error).lexically_normal();
    if (fs::is_regular_file(absolute, error)) return absolute.string();
    section.report(key, {"scenario.no_such_file", {{"key", section.full(key)}, {"path", absolute.string()}}},
                   {"scenario.hint.relative_path", {}});
    return "";
}

std::string folder_path(const Section& section, std::string_view key, const std::string& folder) {
    const std::optional<std::string> given = section.text(key);
    if (!given) return "";
    if (given->empty()) {
        section.report(key, {"scenario.empty_folder", {{"key", section.full(key)}}});
        return "";
    }
    std::error_code error;
    return fs::absolute(fs::path(*given).is_absolute() ? fs::path(*given) : fs::path(folder) / *given, error)
        .lexically_normal()
        .string();
}

}  // namespace meshscope::scenario
