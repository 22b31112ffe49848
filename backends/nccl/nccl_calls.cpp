#include "backends/nccl/nccl_calls.h"

#include <algorithm>
#include <cstring>

#include "core/tensor/dtype.h"

namespace meshscope::backends::nccl {
namespace {

int32_t kind_of(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return MESHSCOPE_NCCL_FLOAT32;
        case DType::bfloat16:
            return MESHSCOPE_NCCL_BFLOAT16;
        case DType::float16:
            return MESHSCOPE_NCCL_FLOAT16;
        case DType::int32:
            return MESHSCOPE_NCCL_INT32;
        case DType::int64:
            return MESHSCOPE_NCCL_INT64;
        case DType::uint8:
            return MESHSCOPE_NCCL_UINT8;
    }
    return MESHSCOPE_NCCL_UINT8;
}

int32_t reduction_of(ReduceOp op) {
    switch (op) {
        case ReduceOp::product:
            return MESHSCOPE_NCCL_PRODUCT;
        case ReduceOp::min:
            return MESHSCOPE_NCCL_MIN;
        case ReduceOp::max:
            return MESHSCOPE_NCCL_MAX;
        case ReduceOp::avg:
            return MESHSCOPE_NCCL_AVG;
        case ReduceOp::premul_sum:
            return MESHSCOPE_NCCL_PREMUL_SUM;
        default:
            return MESHSCOPE_NCCL_SUM;
    }
}

/// NCCL takes the factor in the type of the numbers.
void put_scalar(MeshscopeNcclCall& call, DType dtype, double factor) {
    const auto value = static_cast<float>(factor);
    if (dtype == DType::bfloat16) {
        const uint16_t bits = tensor::to_bfloat16(value);
        std::memcpy(call.scalar, &bits, sizeof bits);
    } else if (dtype == DType::float16) {
        const uint16_t bits = tensor::to_float16(value).bits;
        std::memcpy(call.scalar, &bits, sizeof bits);
    } else {
        std::memcpy(call.scalar, &value, sizeof value);
    }
}

bool even(const std::vector<comm::Part>& parts) {
    return std::ranges::all_of(parts, [&](const comm::Part& p) { return p.elements == parts[0].elements; });
}

/// Writes down the calls of one collective.
class Maker {
  public:
    Maker(const comm::IssuedCall& call, int32_t me, int32_t size)
        : call_(call), me_(me), size_(size), each_(bytes_per_element(call.dtype)) {}

    void add(MeshscopeNcclOp op, const std::byte* in, std::byte* out, int64_t elements, int32_t peer = -1) {
        if (elements == 0) return;
        MeshscopeNcclCall made = make_call(op, call_.dtype, elements);
        made.in = in;
        made.out = out;
        made.peer = peer;
        made.reduction = reduction_of(call_.reduce_op);
        if (call_.reduce_op == ReduceOp::premul_sum) put_scalar(made, call_.dtype, call_.factor);
        made_.push_back(made);
    }
    void broadcast() {
        const std::byte* const in = call_.input != nullptr ? call_.input : call_.output;
        std::byte* const out = call_.output != nullptr ? call_.output : const_cast<std::byte*>(call_.input);
        add(MESHSCOPE_NCCL_BROADCAST, me_ == call_.peer ? in : out, out,
            std::max(call_.in_elements, call_.out_elements), call_.peer);
    }
    void all_gather() {
        if (even(call_.out_parts))
            return add(MESHSCOPE_NCCL_ALL_GATHER, call_.input, call_.output, call_.in_elements);
        for (int32_t r = 0; r < size_; ++r) {
            std::byte* const place = call_.output + at(call_.out_parts, r);
            add(MESHSCOPE_NCCL_BROADCAST, r == me_ ? call_.input : place, place, n(call_.out_parts, r), r);
        }
    }
    void reduce_scatter() {
        if (even(call_.in_parts))
            return add(MESHSCOPE_NCCL_REDUCE_SCATTER, call_.input, call_.output, call_.out_elements);
        for (int32_t r = 0; r < size_; ++r)
            add(MESHSCOPE_NCCL_REDUCE, call_.input + at(call_.in_parts, r), r == me_ ? call_.output : nullptr,
                n(call_.in_parts, r), r);
    }
    void gather() {
        if (me_ != call_.peer)
            return add(MESHSCOPE_NCCL_SEND, call_.input, nullptr, call_.in_elements, call_.peer);
        for (int32_t r = 0; r < size_; ++r)
            move(r, r == me_ ? call_.input : nullptr, r == me_ ? call_.in_elements : 0,
                 call_.output + at(call_.out_parts, r), n(call_.out_parts, r));
    }
    void scatter() {
        if (me_ != call_.peer)
            return add(MESHSCOPE_NCCL_RECV, nullptr, call_.output, call_.out_elements, call_.peer);
        for (int32_t r = 0; r < size_; ++r)
            move(r, call_.input + at(call_.in_parts, r), n(call_.in_parts, r),
                 r == me_ ? call_.output : nullptr, r == me_ ? call_.out_elements : 0);
    }
    void all_to_all() {
        for (int32_t r = 0; r < size_; ++r)
            move(r, call_.input + at(call_.in_parts, r), n(call_.in_parts, r),
                 call_.output + at(call_.out_parts, r), n(call_.out_parts, r));
    }
    std::vector<MeshscopeNcclCall> take() { return std::move(made_); }

  private:
    /// One side's part of an exchange with rank r; with itself nothing moves where both are the same place.
    void move(int32_t r, const std::byte* in, int64_t sent, std::byte* out, int64_t received) {
        if (r == me_ && in == out) return;
        add(MESHSCOPE_NCCL_SEND, in, nullptr, sent, r);
        add(MESHSCOPE_NCCL_RECV, nullptr, out, received, r);
    }
    int64_t at(const std::vector<comm::Part>& parts, int32_t r) const {
        return parts[static_cast<std::size_t>(r)].first * each_;
    }
    static int64_t n(const std::vector<comm::Part>& parts, int32_t r) {
        return parts[static_cast<std::size_t>(r)].elements;
    }

    const comm::IssuedCall& call_;
    int32_t me_, size_;
    int64_t each_;
    std::vector<MeshscopeNcclCall> made_;
};

}  // namespace

MeshscopeNcclCall make_call(MeshscopeNcclOp op, DType dtype, int64_t elements) {
    MeshscopeNcclCall call{};
    call.op = op;
    call.kind = kind_of(dtype);
    call.reduction = MESHSCOPE_NCCL_SUM;
    call.peer = -1;
    call.elements = elements;
    return call;
}

bool has_reduction(ReduceOp op) {
    return op != ReduceOp::band && op != ReduceOp::bor && op != ReduceOp::bxor;
}

std::vector<MeshscopeNcclCall> calls_for(const comm::IssuedCall& call, int32_t me, int32_t size,
                                         std::byte* scratch) {
    Maker maker(call, me, size);
    switch (call.op) {
        case CollectiveOp::all_reduce:
            maker.add(MESHSCOPE_NCCL_ALL_REDUCE, call.input, call.output, call.in_elements);
            break;
        case CollectiveOp::reduce:
            // Off the root nothing is written, though the buffer may be one for both.
            maker.add(MESHSCOPE_NCCL_REDUCE, call.input, me == call.peer ? call.output : nullptr,
                      call.in_elements, call.peer);
            break;
        case CollectiveOp::broadcast:
            maker.broadcast();
            break;
        case CollectiveOp::all_gather:
            maker.all_gather();
            break;
        case CollectiveOp::reduce_scatter:
            maker.reduce_scatter();
            break;
        case CollectiveOp::gather:
            maker.gather();
            break;
        case CollectiveOp::scatter:
            maker.scatter();
            break;
        case CollectiveOp::all_to_all:
            maker.all_to_all();
            break;
        case CollectiveOp::barrier: {
            MeshscopeNcclCall made = make_call(MESHSCOPE_NCCL_ALL_REDUCE, DType::int32, 1);
            made.in = made.out = scratch;
            return {made};
        }
        case CollectiveOp::send:
        case CollectiveOp::recv:
            break;  // the side's own
    }
    return maker.take();
}

}  // namespace meshscope::backends::nccl
