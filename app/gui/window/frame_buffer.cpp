#include "app/gui/window/frame_buffer.h"

#include "app/gui/window/gl.h"
#include "core/base/error.h"

namespace meshscope::window {
namespace {

Image read_bound(int width, int height) {
    const auto w = static_cast<size_t>(width), h = static_cast<size_t>(height);
    std::vector<uint8_t> rgba(w * h * 4);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
    Image image{width, height, std::vector<uint8_t>(w * h * 3)};
    for (size_t y = 0; y < h; ++y) {
        const uint8_t* from = rgba.data() + (h - 1 - y) * w * 4;  // GL counts rows from the bottom
        uint8_t* to = image.rgb.data() + y * w * 3;
        for (size_t x = 0; x < w; ++x) {
            to[3 * x] = from[4 * x];
            to[3 * x + 1] = from[4 * x + 1];
            to[3 * x + 2] = from[4 * x + 2];
        }
    }
    return image;
}

}  // namespace

FrameBuffer::FrameBuffer(int width, int height) : width_(width), height_(height) {
    glGenTextures(1, &texture_);
    glBindTexture(GL_TEXTURE_2D, texture_);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glGenFramebuffers(1, &buffer_);
    glBindFramebuffer(GL_FRAMEBUFFER, buffer_);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        glDeleteFramebuffers(1, &buffer_);
        glDeleteTextures(1, &texture_);
        throw DeviceError({"window.framebuffer", {{"width", int64_t{width}}, {"height", int64_t{height}}}});
    }
}

FrameBuffer::~FrameBuffer() {
    glDeleteFramebuffers(1, &buffer_);
    glDeleteTextures(1, &texture_);
}

void FrameBuffer::bind() const {
    glBindFramebuffer(GL_FRAMEBUFFER, buffer_);
    glViewport(0, 0, width_, height_);
}

Image FrameBuffer::read() const {
    glBindFramebuffer(GL_FRAMEBUFFER, buffer_);
    return read_bound(width_, height_);
}

void FrameBuffer::finish() const {
    glFinish();
}

}  // namespace meshscope::window
