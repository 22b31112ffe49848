#pragma once

#include <cstdint>
#include <vector>

namespace meshscope::window {

/// An image in memory: rows from the top, three bytes a pixel.
struct Image {
    int width = 0, height = 0;
    std::vector<uint8_t> rgb;
};

/// An off-screen target of the current GL context.
class FrameBuffer {
  public:
    /// Throws DeviceError ("window.framebuffer") when the driver refuses the size.
    FrameBuffer(int width, int height);
    ~FrameBuffer();
    FrameBuffer(const FrameBuffer&) = delete;
    FrameBuffer& operator=(const FrameBuffer&) = delete;

    void bind() const;
    /// Waits for the drawing and copies it out. Cost: one read of width·height·4 bytes.
    Image read() const;
    /// Waits until all drawing is done.
    void finish() const;
    int width() const { return width_; }
    int height() const { return height_; }

  private:
    int width_, height_;
    unsigned int buffer_ = 0, texture_ = 0;
};

}  // namespace meshscope::window
