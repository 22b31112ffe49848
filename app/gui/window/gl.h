#pragma once

/// OpenGL 3.3 by prototypes: libOpenGL exports every function, so no loader is needed. In a page it is the
/// part of it that WebGL 2 has (cmake/web/shim).
#ifndef GL_GLEXT_PROTOTYPES
#define GL_GLEXT_PROTOTYPES 1
#endif
#include <GL/gl.h>
#include <GL/glext.h>

namespace meshscope::window {

/// The line that shaders begin with: glfw_desktop.cpp, glfw_page.cpp.
const char* shader_version();

}  // namespace meshscope::window
