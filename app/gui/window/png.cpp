#include "app/gui/window/png.h"

#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>

#include "core/base/error.h"

// The writer's own code lies in stb_write.cpp, compiled without our warnings.
extern "C" int stbi_write_png(char const* filename, int w, int h, int comp, const void* data,
                              int stride_in_bytes);
extern "C" unsigned char* stbi_write_png_to_mem(const unsigned char* pixels, int stride_bytes, int x, int y,
                                                int n, int* out_len);

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

std::string png_bytes(const Image& image) {
    int size = 0;
    unsigned char* bytes =
        stbi_write_png_to_mem(image.rgb.data(), image.width * 3, image.width, image.height, 3, &size);
    if (bytes == nullptr) throw std::bad_alloc();
    std::string copied(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    std::free(bytes);
    return copied;
}

}  // namespace meshscope::window
