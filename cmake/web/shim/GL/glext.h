// Nothing beyond GL/gl.h.
#pragma once
