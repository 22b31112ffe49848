#include "core/base/units.h"

#include "tests/test.h"

using namespace meshscope;

TEST_CASE("bytes are told in the largest unit that they reach") {
    CHECK(bytes_text(0) == "0 bytes");
    CHECK(bytes_text(1023) == "1023 bytes");
    CHECK(bytes_text(1536) == "1.5 KiB");
    CHECK(bytes_text(int64_t{16} << 30) == "16 GiB");
    CHECK(bytes_text(int64_t{1} << 62) == "4 EiB");
}
