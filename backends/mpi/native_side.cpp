#include "backends/mpi/native_side.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>

#include "backends/mpi/mpi_transport.h"
#include "core/base/error.h"
#include "core/comm/copy_bytes.h"
#include "core/comm/reduce.h"

namespace meshscope::backends::mpi {
namespace {

bool even(const std::vector<comm::Part>& parts) {
    return std::ranges::all_of(parts, [&](const comm::Part& p) { return p.elements == parts[0].elements; });
}

/// Parts as MPI wants them: counts and first elements, times `scale` (bytes of an element, where bytes
/// travel). Nothing, and no memory, for even parts where `even_is_plain`: MPI has a call of its own for
/// those.
struct Counts {
    std::vector<int32_t> counts, firsts;

    Counts(const std::vector<comm::Part>& parts, int64_t scale, bool even_is_plain) {
        for (const comm::Part& part : parts)
            if ((part.first + part.elements) * scale > INT_MAX)
                throw InvalidArgument({"mpi.too_long", {{"elements", part.first + part.elements}}});
        if (even_is_plain && even(parts)) return;
        for (const comm::Part& part : parts) {
            counts.push_back(static_cast<int32_t>(part.elements * scale));
            firsts.push_back(static_cast<int32_t>(part.first * scale));
        }
    }
};

std::unique_ptr<std::byte[]> room(int64_t bytes) {
    return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
}

/// What a call's pointers lead to, but for the caller's buffers; or with these, copied.
struct Memory {
    Counts in, out;
    std::unique_ptr<std::byte[]> copied, scaled, apart;
    std::byte nothing{};  ///< MPI wants an address even for no elements

    Memory(const comm::IssuedCall& call, int64_t scale, bool even_is_plain)
        : in(call.in_parts, scale, even_is_plain), out(call.out_parts, scale, even_is_plain) {}

    /// Copies the buffers, and has the pointers lead to the copies, which overlap as the buffers do.
    void copy(const std::byte*& input, int64_t in_bytes, std::byte*& output, int64_t out_bytes) {
        if (input == nullptr) in_bytes = 0;
        if (output == nullptr) out_bytes = 0;
        const auto first = reinterpret_cast<std::uintptr_t>(input),
                   to = reinterpret_cast<std::uintptr_t>(output);
        const bool overlap = in_bytes > 0 && out_bytes > 0 &&
                             first < to + static_cast<std::uintptr_t>(out_bytes) &&
                             to < first + static_cast<std::uintptr_t>(in_bytes);
        const int64_t in_at = overlap && to < first ? static_cast<int64_t>(first - to) : 0;
        const int64_t out_at = !overlap ? in_bytes : to > first ? static_cast<int64_t>(to - first) : 0;
        copied = room(std::max(in_at + in_bytes, out_at + out_bytes));
        comm::copy_bytes(copied.get() + in_at, input, in_bytes);
        comm::copy_bytes(copied.get() + out_at, output, out_bytes);  // parts that the call leaves alone
        if (input != nullptr) input = copied.get() + in_at;
        if (output != nullptr) output = copied.get() + out_at;
    }
};

int32_t kind_of(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return MESHSCOPE_MPI_FLOAT;
        case DType::int32:
            return MESHSCOPE_MPI_INT32;
        case DType::int64:
            return MESHSCOPE_MPI_INT64;
        case DType::uint8:
            return MESHSCOPE_MPI_UINT8;
        default:
            return MESHSCOPE_MPI_BYTE;
    }
}

int32_t reduction_of(ReduceOp op) {
    switch (op) {
        case ReduceOp::product:
            return MESHSCOPE_PRODUCT;
        case ReduceOp::min:
            return MESHSCOPE_MIN;
        case ReduceOp::max:
            return MESHSCOPE_MAX;
        case ReduceOp::band:
            return MESHSCOPE_BAND;
        case ReduceOp::bor:
            return MESHSCOPE_BOR;
        case ReduceOp::bxor:
            return MESHSCOPE_BXOR;
        default:
            return MESHSCOPE_SUM;
    }
}

}  // namespace

bool NativeSide::reduces(ReduceOp, DType dtype) const {
    // Open MPI 4.1.4 adds uint8 up to 255 and no further (its AVX kernels saturate), MPICH 4.0.2 takes min
    // and max of uint8 as if they had a sign: no numbers of ours.
    return kind_of(dtype) != MESHSCOPE_MPI_BYTE && dtype != DType::uint8;
}

MeshscopeMpiCall NativeSide::in_mpis_words(const comm::IssuedCall& call, const std::byte* input,
                                           std::byte* output) const {
    MeshscopeMpiCall mpi{};
    mpi.kind = kind_of(call.dtype);
    mpi.reduction = reduction_of(call.reduce_op);
    mpi.root = call.peer;
    mpi.in = input;
    mpi.out = output;
    mpi.elements = call.in_elements;
    switch (call.op) {
        case CollectiveOp::all_reduce:
            mpi.op = MESHSCOPE_ALL_REDUCE;
            mpi.in_place = input == output;
            break;
        case CollectiveOp::reduce:
            mpi.op = MESHSCOPE_REDUCE;
            mpi.in_place = call.peer == me_ && input == output;
            break;
        case CollectiveOp::broadcast:
            mpi.op = MESHSCOPE_BROADCAST;
            mpi.elements = std::max(call.in_elements, call.out_elements);
            if (output == nullptr) mpi.out = const_cast<std::byte*>(input);  // the root's: only read
            break;
        case CollectiveOp::all_gather:
            mpi.op = MESHSCOPE_ALL_GATHER;
            mpi.in_place = is_own_part(output, call.out_parts, input, call.dtype);
            break;
        case CollectiveOp::reduce_scatter:
            mpi.op = MESHSCOPE_REDUCE_SCATTER;
            mpi.elements = call.out_elements;
            break;
        case CollectiveOp::gather:
            mpi.op = MESHSCOPE_GATHER;
            mpi.in_place = call.peer == me_ && is_own_part(output, call.out_parts, input, call.dtype);
            break;
        case CollectiveOp::scatter:
            mpi.op = MESHSCOPE_SCATTER;
            mpi.elements = call.out_elements;
            mpi.in_place = call.peer == me_ && is_own_part(input, call.in_parts, output, call.dtype);
            break;
        case CollectiveOp::all_to_all:
            mpi.op = MESHSCOPE_ALL_TO_ALL;
            break;
        default:
            mpi.op = MESHSCOPE_BARRIER;
    }
    if (mpi.kind == MESHSCOPE_MPI_BYTE) mpi.elements *= bytes_per_element(call.dtype);
    return mpi;
}

bool NativeSide::is_own_part(const std::byte* whole, const std::vector<comm::Part>& parts,
                             const std::byte* part, DType dtype) const {
    return part != nullptr &&
           part == whole + parts[static_cast<std::size_t>(me_)].first * bytes_per_element(dtype);
}

bool NativeSide::puts_result_apart(const comm::IssuedCall& call, const std::byte* input,
                                   const std::byte* output) const {
    // MPI would put the result at the front.
    if (call.op == CollectiveOp::reduce_scatter) return is_own_part(input, call.in_parts, output, call.dtype);
    // MPICH 4.0.2 takes MPI_IN_PLACE for an address on roots other than 0.
    return call.op == CollectiveOp::reduce && call.peer == me_ && me_ != 0 && input == output;
}

void NativeSide::run(const comm::IssuedCall& call) {
    const int64_t each = bytes_per_element(call.dtype);
    const int64_t scale = kind_of(call.dtype) == MESHSCOPE_MPI_BYTE ? each : 1;
    const bool even_is_plain = call.op == CollectiveOp::all_gather || call.op == CollectiveOp::reduce_scatter;
    const auto memory = std::make_shared<Memory>(call, scale, even_is_plain);
    const std::byte* input = call.input;
    std::byte* output = call.output;
    if (watches_peers_) memory->copy(input, call.in_elements * each, output, call.out_elements * each);
    if (call.reduce_op == ReduceOp::premul_sum) {
        memory->scaled = room(call.in_elements * each);
        comm::premultiply(call.dtype, call.factor, memory->scaled.get(), input, call.in_elements);
        input = memory->scaled.get();
    }
    MeshscopeMpiCall mpi = in_mpis_words(call, input, output);
    if (mpi.elements > INT_MAX) throw InvalidArgument({"mpi.too_long", {{"elements", mpi.elements / scale}}});
    if (mpi.in == nullptr) mpi.in = &memory->nothing;
    if (mpi.out == nullptr) mpi.out = &memory->nothing;
    const Counts &in = memory->in, &out = memory->out;
    const bool even_out = call.op == CollectiveOp::all_gather && out.counts.empty();
    const bool even_in = call.op == CollectiveOp::reduce_scatter && in.counts.empty();
    mpi.in_counts = even_in ? nullptr : in.counts.data(), mpi.in_firsts = in.firsts.data();
    mpi.out_counts = even_out ? nullptr : out.counts.data(), mpi.out_firsts = out.firsts.data();
    if (call.op == CollectiveOp::broadcast && call.peer == me_ && output != nullptr)
        comm::copy_bytes(output, input, mpi.elements / scale * each);
    if (puts_result_apart(call, input, output)) {
        memory->apart = room(call.out_elements * each);
        mpi.out = memory->apart.get();
        mpi.in_place = 0;
    }
    transport_.collective(group_, mpi, memory, watches_peers_);
    if (memory->apart)
        comm::copy_bytes(call.output, memory->apart.get(), call.out_elements * each);
    else if (output != call.output)
        comm::copy_bytes(call.output, output, call.out_elements * each);
    comm::finish_reduce(call.reduce_op, call.dtype, call.output, call.out_elements, size_);
}

}  // namespace meshscope::backends::mpi
