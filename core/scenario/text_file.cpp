#include "core/scenario/text_file.h"

#include <filesystem>
#include <fstream>

#include "core/base/error.h"

namespace meshscope::scenario {

std::string read_text_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) throw IoError({"file.is_a_folder", {{"path", path}}});
    std::ifstream in(path, std::ios::binary);
    if (!in) throw IoError({"file.cannot_read", {{"path", path}}});
    std::string text(static_cast<std::size_t>(kMostTextBytes) + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad()) throw IoError({"file.cannot_read", {{"path", path}}});
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

}  // namespace meshscope::scenario
