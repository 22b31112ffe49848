#include "app/gui/window/png.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/base/error.h"

// The writer's own code lies in stb_write.cpp, compiled without our warnings.
extern "C" int stbi_write_png(char const* filename, int w, int h, int comp, const void* data,
                              int stride_in_bytes);

namespace meshscope::window {

void write_png(const std::string& path, const Image& image) {
    const std::string beside = path + ".part";
    std::error_code error;
    if (stbi_write_png(beside.c_str(), image.width, image.height, 3, image.rgb.data(), image.width * 3) !=
        0) {
        std::filesystem::rename(beside, path, error);
        if (!error) return;
    }
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    throw IoError({"window.cannot_write", {{"path", path}}});
}

}  // namespace meshscope::window
