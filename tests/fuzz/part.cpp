// What a killed run's rank left: the file's frame, and what stands in its chunks. The input is such a file
// without the chunks' checksums, which are made here, or no change would get past them; what can be read is
// put together as `meshscope trace recover` does.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/run/merge.h"
#include "core/trace/part_file.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

namespace {

using namespace meshscope;

template <class T>
std::string bytes_of(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

/// Every chunk with its checksum behind it; a chunk that says it is longer than the input stays as it is.
std::string summed_up(std::string_view input) {
    constexpr std::size_t kMagic = 8;
    std::string file(input.substr(0, kMagic));
    input.remove_prefix(file.size());
    while (input.size() >= sizeof(uint64_t)) {
        uint64_t length = 0;
        std::memcpy(&length, input.data(), sizeof length);
        const std::string_view rest = input.substr(sizeof length);
        if (length > rest.size()) break;
        Crc32c crc;
        crc.add(rest.data(), length);
        file += bytes_of<uint64_t>(length + sizeof(uint32_t));
        file += rest.substr(0, length);
        file += bytes_of<uint32_t>(crc.value());
        input = rest.substr(length);
    }
    return file.append(input);
}

}  // namespace

FUZZ_TARGET(part) {
    static const fuzz::Scratch scratch;
    try {
        trace::Part part = trace::read_part(scratch.hold(summed_up(input)));
        const int32_t ranks = part.head.info.world_size;
        if (part.head.rank < 0 || part.head.rank >= ranks || ranks > 64) return;  // recover() refuses it
        const auto own = static_cast<std::size_t>(part.head.rank);
        std::vector<run::RankResult> results(static_cast<std::size_t>(ranks));
        results[own].record = std::move(part.record);
        results[own].losses = std::move(part.losses);
        results[own].grad_norms = std::move(part.grad_norms);
        static_cast<void>(run::partial_trace(std::move(part.head.info), std::move(part.head.groups),
                                             std::move(results), ""));
    } catch (const InputError&) {
    } catch (const InvalidArgument&) {
    }
}
