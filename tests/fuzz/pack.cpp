// What one process hands another: a message, then a rank's record. The checksum is made here, or no input
// would get past it; a record that unpacks is merged, which must refuse what cannot be.
#include "core/base/pack.h"

#include <cstring>
#include <vector>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/trace/record_bytes.h"
#include "core/trace/trace.h"
#include "tests/fuzz/target.h"
#include "tests/trace/example.h"

FUZZ_TARGET(pack) {
    using namespace meshscope;
    const auto data = std::as_bytes(std::span(input));
    std::vector<std::byte> bytes(data.begin(), data.end());
    Crc32c crc;
    crc.add(bytes);
    const uint32_t sum = crc.value();
    bytes.resize(bytes.size() + sizeof sum);
    std::memcpy(bytes.data() + input.size(), &sum, sizeof sum);
    try {
        Unpacker unpacker(bytes);
        static_cast<void>(describe(unpack_message(unpacker)));
        std::vector<trace::RankRecord> records = trace::example::records();
        records[0] = trace::unpack_record(unpacker);
        unpacker.finish();
        static_cast<void>(trace::merge(trace::example::info(), trace::example::groups(), std::move(records)));
    } catch (const InvalidArgument&) {
    }
}
