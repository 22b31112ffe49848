#include "app/gui/window/png.h"

#include <cstdlib>
#include <new>

#include "core/base/file_kind.h"
#include "core/base/replace_file.h"

// The writer's own code lies in stb_write.cpp, compiled without our warnings.
extern "C" unsigned char* stbi_write_png_to_mem(const unsigned char* pixels, int stride_bytes, int x, int y,
                                                int n, int* out_len);

namespace meshscope::window {

void write_png(const std::string& path, const Image& image) {
    replace_file(path, png_bytes(image));
}

std::string png_bytes(const Image& image) {
    int size = 0;
    unsigned char* bytes =
        stbi_write_png_to_mem(image.rgb.data(), image.width * 3, image.width, image.height, 3, &size);
    if (bytes == nullptr) throw std::bad_alloc();
    std::string copied(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    std::free(bytes);
    copied.insert(kPngMarkAt, kPngMark);
    return copied;
}

}  // namespace meshscope::window
