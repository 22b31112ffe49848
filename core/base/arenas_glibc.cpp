#include <malloc.h>

#include "core/base/arenas.h"

namespace meshscope {

void keep_to_arenas(int most) {
    mallopt(M_ARENA_MAX, most);
}

}  // namespace meshscope
