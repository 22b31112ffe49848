#include "tests/tree.h"

namespace meshscope::test {

std::string source_root() {
    return MESHSCOPE_SOURCE_ROOT;
}

std::string golden_folder() {
    return source_root() + "/tests/golden";
}

std::string bin_folder() {
    return MESHSCOPE_BIN_DIR;
}

}  // namespace meshscope::test
