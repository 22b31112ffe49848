#include "core/trace/record_bytes.h"

namespace meshscope::trace {
namespace {

/// What a struct takes in this build; another build's record is refused by it.
constexpr uint64_t kLayout =
    sizeof(Event) + 1000 * (sizeof(Hop) + sizeof(HopPiece)) + 1000000 * sizeof(MemoryChange) +
    1000000000 * (sizeof(Snapshot) + sizeof(Dependency)) + 1000000000000 * sizeof(ParameterRun);

}  // namespace

void pack(Packer& packer, const RankRecord& record) {
    packer.add(kLayout);
    packer.add(record.strings);
    packer.add(record.events);
    packer.add(record.dependencies);
    packer.add(record.hops);
    packer.add(record.pieces);
    packer.add(record.snapshots);
    packer.add(record.values);
    packer.add(record.memory);
    packer.add(record.parameters);
}

RankRecord unpack_record(Unpacker& unpacker) {
    unpacker.require(unpacker.get<uint64_t>() == kLayout);
    RankRecord record;
    record.strings = unpacker.texts();
    record.events = unpacker.list<Event>();
    record.dependencies = unpacker.list<Dependency>();
    record.hops = unpacker.list<Hop>();
    record.pieces = unpacker.list<HopPiece>();
    record.snapshots = unpacker.list<Snapshot>();
    record.values = unpacker.list<float>();
    record.memory = unpacker.list<MemoryChange>();
    record.parameters = unpacker.list<ParameterRun>();
    return record;
}

}  // namespace meshscope::trace
