#include "core/base/cores.h"

namespace meshscope {

int32_t usable_cores() {
    return 1;  // the page's thread
}

}  // namespace meshscope
