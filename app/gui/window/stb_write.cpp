// stb_image_write's implementation: the one file compiled without our warnings.
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
