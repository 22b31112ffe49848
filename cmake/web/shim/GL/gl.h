// WebGL 2 is OpenGL ES 3.0, which has its own header.
#pragma once
#include <GLES3/gl3.h>
