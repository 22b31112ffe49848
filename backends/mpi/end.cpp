#include "backends/mpi/end.h"

#include "core/base/pack.h"

namespace meshscope::backends::mpi {

std::vector<std::byte> pack(const End& end) {
    Packer packer;
    packer.add(end.at_ns);
    packer.add(static_cast<uint8_t>(end.failed));
    packer.add(static_cast<uint8_t>(end.secondary));
    packer.add(static_cast<uint8_t>(end.over));
    meshscope::pack(packer, end.message);
    packer.add(end.rounds_ended);
    packer.add(end.first.value);
    return packer.take();
}

End unpack_end(std::span<const std::byte> bytes, int32_t rank) {
    Unpacker unpacker(bytes);
    End end;
    end.rank = rank;
    end.at_ns = unpacker.get<int64_t>();
    end.failed = unpacker.get<uint8_t>() != 0;
    end.secondary = unpacker.get<uint8_t>() != 0;
    end.over = unpacker.get<uint8_t>() != 0;
    end.message = unpack_message(unpacker);
    end.rounds_ended = unpacker.get<int64_t>();
    end.first = {unpacker.get<int32_t>()};
    unpacker.finish();
    return end;
}

}  // namespace meshscope::backends::mpi
