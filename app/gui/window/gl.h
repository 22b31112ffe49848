#pragma once

/// OpenGL 3.3 by prototypes: libOpenGL exports every function, so no loader is needed.
#ifndef GL_GLEXT_PROTOTYPES
#define GL_GLEXT_PROTOTYPES 1
#endif
#include <GL/gl.h>
#include <GL/glext.h>
