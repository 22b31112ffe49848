#include "core/run/rank_result.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/pack.h"
#include "core/parallel/tensor/placement.h"
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

ParameterPart unpack_part(Unpacker& unpacker) {
    ParameterPart part;
    part.whole_index = unpacker.get<int32_t>();
    part.shape = unpack_shape(unpacker);
    part.box.whole = unpack_shape(unpacker);
    part.box.tensor_dim = unpacker.get<int32_t>();
    part.box.first = unpacker.get<int64_t>();
    part.first_element = unpacker.get<int64_t>();
    part.numbers = unpacker.list<float>();
    return part;
}

void pack_finding(Packer& packer, const NotFinite& found) {
    packer.add(found.step);
    packer.add(found.rank);
    packer.add(found.microbatch);
    packer.add(found.phase);
    packer.add(found.op);
    packer.add(found.value);
    packer.add(found.order);
}

NotFinite unpack_finding(Unpacker& unpacker) {
    NotFinite found;
    found.found = true;
    found.step = unpacker.get<int32_t>();
    found.rank = unpacker.get<int32_t>();
    found.microbatch = unpacker.get<int32_t>();
    found.phase = unpacker.get<Phase>();
    found.op = unpacker.text();
    found.value = unpacker.text();
    found.order = unpacker.get<int64_t>();
    unpacker.require(name(found.phase) != "unknown");
    return found;
}

/// n elements from `first` on lie in a row-major array of that shape.
bool inside(const nn::Shape& shape, int64_t first, int64_t n) {
    const int64_t all = tensor::count(shape);
    return first >= 0 && first <= all && n <= all - first;
}

/// Throws unless the part is one of a parameter of the plan's model, and lies within it.
void require_fits(const Unpacker& unpacker, const ParameterPart& part, const RunPlan& plan) {
    unpacker.require(plan.wants_parameters() && plan.inputs->model != nullptr);
    const auto& parameters = plan.inputs->model->all_parameters();
    unpacker.require(part.whole_index >= 0 && static_cast<std::size_t>(part.whole_index) < parameters.size());
    const nn::Shape& whole = parameters[static_cast<std::size_t>(part.whole_index)]->shape;
    const bool cut = part.box.cut();
    unpacker.require((cut ? part.box.whole : part.shape) == whole && part.shape.size() == whole.size());
    for (std::size_t d = 0; d < part.shape.size(); ++d) {
        const bool along = cut && d == static_cast<std::size_t>(part.box.tensor_dim);
        unpacker.require(along ? part.shape[d] >= 0 && part.box.first >= 0 &&
                                     part.box.first <= whole[d] - part.shape[d]
                               : part.shape[d] == whole[d]);
    }
    unpacker.require(part.box.tensor_dim < static_cast<int32_t>(part.shape.size()));
    unpacker.require(inside(part.shape, part.first_element, static_cast<int64_t>(part.numbers.size())));
}

}  // namespace

std::vector<std::byte> pack(const RankResult& result) {
    Packer packer;
    trace::pack(packer, result.record);
    packer.add(result.losses);
    packer.add(result.grad_norms);
    packer.add(result.evaluations);
    packer.add(result.wall_ns);
    packer.add(int32_t{result.not_finite ? 1 : 0});
    if (result.not_finite) pack_finding(packer, *result.not_finite);
    packer.add(result.never_came);
    packer.add(int32_t{result.part_failure ? 1 : 0});
    if (result.part_failure) meshscope::pack(packer, *result.part_failure);
    packer.add(static_cast<uint64_t>(result.parts.size()));
    for (const ParameterPart& part : result.parts) pack_part(packer, part);
    return packer.take();
}

RankResult unpack_rank_result(std::span<const std::byte> bytes, const RunPlan& plan) {
    Unpacker unpacker(bytes);
    RankResult result;
    result.record = trace::unpack_record(unpacker);
    result.losses = unpacker.list<double>();
    result.grad_norms = unpacker.list<double>();
    result.evaluations = unpacker.list<Evaluated>();
    result.wall_ns = unpacker.get<int64_t>();
    if (unpacker.get<int32_t>() == 1) {
        unpacker.require(plan.searches);
        result.not_finite = unpack_finding(unpacker);
    }
    result.never_came = unpacker.list<comm::Faults::NeverCame>();
    for (const comm::Faults::NeverCame& each : result.never_came)
        unpacker.require(each.place < plan.scenario.faults.size());
    if (unpacker.get<int32_t>() == 1) result.part_failure = unpack_message(unpacker);
    const auto parts = unpacker.get<uint64_t>();
    for (uint64_t i = 0; i < parts; ++i) {
        result.parts.push_back(unpack_part(unpacker));
        require_fits(unpacker, result.parts.back(), plan);
    }
    unpacker.finish();
    return result;
}

void gather_to_rank0(Processes& processes, const RunPlan& plan, GlobalRank rank,
                     std::vector<RankResult>& results) {
    if (!processes.is_first())
        return processes.send_to_first(pack(results[static_cast<std::size_t>(rank.value)]));
    for (std::size_t r = 1; r < results.size(); ++r) {
        const GlobalRank from{static_cast<int32_t>(r)};
        const std::vector<std::byte> bytes = processes.receive_from(from);
        try {
            results[r] = unpack_rank_result(bytes, plan);
        } catch (const InvalidArgument&) {
            throw CommError({"run.hand_over_damaged", {{"rank", int64_t{from.value}}}}, rank);
        }
    }
}

}  // namespace meshscope::run
