#include "core/run/gather_to_rank0.h"

#include "core/base/error.h"
#include "core/base/pack.h"
#include "core/parallel/tensor/placement.h"
#include "core/run/rank.h"
#include "core/trace/record_bytes.h"

namespace meshscope::run {
namespace {

void pack_shape(Packer& packer, const nn::Shape& shape) {
    packer.add(std::vector<int64_t>(shape));
}

nn::Shape unpack_shape(Unpacker& unpacker) {
    const std::vector<int64_t> dims = unpacker.list<int64_t>();
    unpacker.require(dims.size() <= nn::Shape::kMostDims);
    return dims;
}

void pack_part(Packer& packer, const ParameterPart& part) {
    packer.add(part.whole_index);
    pack_shape(packer, part.shape);
    pack_shape(packer, part.box.whole);
    packer.add(part.box.tensor_dim);
    packer.add(part.box.first);
    packer.add(part.first_element);
    packer.add(part.numbers);
}

std::vector<std::byte> pack_all(const SharedRun& shared, std::size_t rank,
                                const std::vector<ParameterPart>& parts) {
    Packer packer;
    trace::pack(packer, shared.records[rank]);
    packer.add(shared.losses[rank]);
    packer.add(shared.grad_norms[rank]);
    packer.add(shared.wall_ns[rank]);
    const bool evaluates = shared.evaluations != nullptr;
    packer.add(evaluates ? (*shared.evaluations)[rank] : std::vector<Evaluated>{});
    packer.add(shared.never_came ? (*shared.never_came)[rank] : std::vector<comm::Faults::NeverCame>{});
    const NotFinite* found = nullptr;
    if (shared.not_finite && (*shared.not_finite)[rank]) found = &*(*shared.not_finite)[rank];
    packer.add(int32_t{found ? 1 : 0});
    if (found) {
        packer.add(found->step);
        packer.add(found->rank);
        packer.add(found->microbatch);
        packer.add(found->phase);
        packer.add(found->op);
        packer.add(found->value);
        packer.add(found->order);
    }
    packer.add(static_cast<uint64_t>(parts.size()));
    for (const ParameterPart& part : parts) pack_part(packer, part);
    return packer.take();
}

/// n elements from `first` on lie in a row-major array of that shape.
bool inside(const nn::Shape& shape, int64_t first, int64_t n) {
    const int64_t all = tensor::count(shape);
    return first >= 0 && first <= all && n <= all - first;
}

/// Puts a part where it belongs, after seeing that it fits there.
void unpack_part(Unpacker& unpacker, std::vector<NamedArray>& parameters) {
    const auto index = unpacker.get<int32_t>();
    nn::Parameter part;
    part.shape = unpack_shape(unpacker);
    part.box.whole = unpack_shape(unpacker);
    part.box.tensor_dim = unpacker.get<int32_t>();
    part.box.first = unpacker.get<int64_t>();
    const auto first = unpacker.get<int64_t>();
    const auto numbers = unpacker.list<float>();
    unpacker.require(index >= 0 && static_cast<std::size_t>(index) < parameters.size());
    NamedArray& whole = parameters[static_cast<std::size_t>(index)];
    unpacker.require(parallel::whole_shape(part) == whole.shape && part.shape.size() == whole.shape.size());
    for (std::size_t d = 0; d < part.shape.size(); ++d) {
        const bool along = part.box.cut() && d == static_cast<std::size_t>(part.box.tensor_dim);
        unpacker.require(along ? part.shape[d] >= 0 && part.box.first >= 0 &&
                                     part.box.first <= whole.shape[d] - part.shape[d]
                               : part.shape[d] == whole.shape[d]);
    }
    unpacker.require(part.box.tensor_dim < static_cast<int32_t>(part.shape.size()));
    unpacker.require(inside(part.shape, first, static_cast<int64_t>(numbers.size())));
    parallel::write_part(whole.numbers, part, first, numbers);
}

void unpack_all(std::span<const std::byte> bytes, SharedRun& shared, std::size_t rank) {
    Unpacker unpacker(bytes);
    shared.records[rank] = trace::unpack_record(unpacker);
    shared.losses[rank] = unpacker.list<double>();
    shared.grad_norms[rank] = unpacker.list<double>();
    shared.wall_ns[rank] = unpacker.get<int64_t>();
    std::vector<Evaluated> evaluations = unpacker.list<Evaluated>();
    if (shared.evaluations) (*shared.evaluations)[rank] = std::move(evaluations);
    auto never_came = unpacker.list<comm::Faults::NeverCame>();
    for (const comm::Faults::NeverCame& each : never_came)
        unpacker.require(each.place < shared.scenario.faults.size());
    if (shared.never_came) (*shared.never_came)[rank] = std::move(never_came);
    if (unpacker.get<int32_t>() == 1) {
        NotFinite found;
        found.found = true;
        found.step = unpacker.get<int32_t>();
        found.rank = unpacker.get<int32_t>();
        found.microbatch = unpacker.get<int32_t>();
        found.phase = unpacker.get<Phase>();
        found.op = unpacker.text();
        found.value = unpacker.text();
        found.order = unpacker.get<int64_t>();
        unpacker.require(shared.not_finite != nullptr && name(found.phase) != "unknown");
        (*shared.not_finite)[rank] = std::move(found);
    }
    const auto parts = unpacker.get<uint64_t>();
    for (uint64_t i = 0; i < parts; ++i) unpack_part(unpacker, shared.parameters);
    unpacker.finish();
}

}  // namespace

void gather_to_rank0(Processes& processes, SharedRun& shared, int32_t rank,
                     const std::vector<ParameterPart>& parts) {
    if (!processes.is_first())
        return processes.send_to_first(pack_all(shared, static_cast<std::size_t>(rank), parts));
    for (std::size_t r = 1; r < shared.records.size(); ++r) {
        const GlobalRank from{static_cast<int32_t>(r)};
        const std::vector<std::byte> bytes = processes.receive_from(from);
        try {
            unpack_all(bytes, shared, r);
        } catch (const InvalidArgument&) {
            throw CommError({"run.hand_over_damaged", {{"rank", int64_t{from.value}}}}, GlobalRank{rank});
        }
    }
}

}  // namespace meshscope::run
