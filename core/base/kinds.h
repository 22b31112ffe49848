#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace meshscope {

/// The small vocabularies that all modules share. Each has one spelling, PyTorch's; `name()` gives it and
/// `parse_*` reads it back (nothing when the word is unknown).

enum class DType : uint8_t { float32, bfloat16, int32, int64, uint8, float16 };

enum class CollectiveOp : uint8_t {
    broadcast,
    reduce,
    all_reduce,
    gather,
    all_gather,
    scatter,
    reduce_scatter,
    all_to_all,
    send,
    recv,
    barrier
};

/// Between two ranks, `peer` being the other.
constexpr bool is_point_to_point(CollectiveOp op) {
    return op == CollectiveOp::send || op == CollectiveOp::recv;
}

/// `none` for calls that reduce nothing. premul_sum multiplies each input by a factor, then sums.
enum class ReduceOp : uint8_t { none, sum, product, min, max, avg, band, bor, bxor, premul_sum };

/// A rank's queues of ordered work, as PyTorch's CUDA streams.
enum class Stream : uint8_t { compute, all_gather, reduce_scatter, all_reduce, copy, p2p };

/// `evaluation`: a forward whose loss is only looked at, between two steps; it has the step it follows.
enum class Phase : uint8_t { setup, forward, backward, optimizer, evaluation };

/// How a collective moved its bytes. `none`: a group of one, nothing moved. `automatic` ("auto") is a wish
/// only: whoever chooses puts one of the others in its place, so no record holds it. `native`: by the
/// backend's own library, which does not tell how. `own`: by an algorithm that was read from a file
/// (comm::OwnAlgorithm).
enum class Algorithm : uint8_t {
    none,
#define MESHSCOPE_ALGORITHM(word) word,
#include "core/base/algorithms.def"
#undef MESHSCOPE_ALGORITHM
    automatic,
    native,
    own
};
inline constexpr int kAlgorithms = static_cast<int>(Algorithm::own) + 1;

/// What a piece of memory is for.
enum class MemoryCategory : uint8_t {
    parameters,            ///< whole parameters that are always there (single, DDP)
    sharded_parameters,    ///< this rank's rows
    unsharded_parameters,  ///< the whole parameter of an FSDP unit, for a while
    gradients,
    optimizer_state,
    activations,    ///< kept for backward, and the gradients that flow between layers
    communication,  ///< buckets, gather and scatter buffers
    inputs,         ///< the batch
    temporaries,
    offloaded  ///< in the host's memory (CPU offload): not counted in what the device holds
};
inline constexpr int kMemoryCategories = 10;

std::string_view name(DType value);
std::string_view name(CollectiveOp value);
std::string_view name(ReduceOp value);
std::string_view name(Stream value);
std::string_view name(Phase value);
std::string_view name(Algorithm value);
std::string_view name(MemoryCategory value);

std::optional<DType> parse_dtype(std::string_view word);
std::optional<CollectiveOp> parse_collective_op(std::string_view word);
std::optional<ReduceOp> parse_reduce_op(std::string_view word);
std::optional<Stream> parse_stream(std::string_view word);
std::optional<Phase> parse_phase(std::string_view word);
std::optional<Algorithm> parse_algorithm(std::string_view word);
std::optional<MemoryCategory> parse_memory_category(std::string_view word);

/// Bytes of one element: 4, 2, 4, 8, 1, 2.
constexpr int64_t bytes_per_element(DType dtype) {
    constexpr std::array<int64_t, 6> kBytes{4, 2, 4, 8, 1, 2};
    return kBytes[static_cast<std::size_t>(dtype)];
}

}  // namespace meshscope
