#include <unistd.h>

#include <cstdlib>

/// Stands before OpenGL's library (LD_PRELOAD) and plays a driver that started anew: once for each time that
/// the file is there.
extern "C" unsigned int glGetGraphicsResetStatus() {
    constexpr unsigned int kUnknownContextReset = 0x8255;
    const char* file = std::getenv("MESHSCOPE_TEST_LOSE_CONTEXT");
    return file != nullptr && ::unlink(file) == 0 ? kUnknownContextReset : 0;
}
