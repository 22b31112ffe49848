#include "core/base/text_file.h"

#include <filesystem>
#include <fstream>

#include "core/base/error.h"

namespace meshscope {
namespace {

/// What the shell already opened for this program (`run /dev/stdin`, `run <(…)`) may be a pipe.
bool is_open_already(const std::string& path) {
    return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

}  // namespace

std::string read_text_file(const std::string& path, int64_t most) {
    // The system would take the part before it for the whole name.
    if (path.find('\0') != std::string::npos) throw IoError({"file.name_with_nul", {{"path", path}}});
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status)) throw IoError({"file.is_a_folder", {{"path", path}}});
    // Opening a pipe would wait for a writer, for ever if need be.
    if (!is_open_already(path) && std::filesystem::exists(status) &&
        !std::filesystem::is_regular_file(status))
        throw IoError({"file.not_regular_input", {{"path", path}}});
    std::ifstream in(path, std::ios::binary);
    if (!in) throw IoError({"file.cannot_read", {{"path", path}}});
    std::string text(static_cast<std::size_t>(most) + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad()) throw IoError({"file.cannot_read", {{"path", path}}});
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

}  // namespace meshscope
