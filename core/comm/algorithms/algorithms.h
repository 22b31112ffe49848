#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/kinds.h"
#include "core/comm/parts.h"
#include "core/comm/wire.h"

/// Every algorithm, written once over Wire. One file a card: its head comment tells the steps, the bytes a
/// rank, the order of reduction and the source. Here only what goes in and out.
///
/// All: p = wire.size() ≥ 2; buffers are contiguous, of the wire's dtype, and hold a result when the call
/// returns. PREMUL_SUM's factors were multiplied in before (they see SUM). They throw what the transport
/// throws.
namespace meshscope::comm {

/// data: n, in place.
void ring_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n);
void direct_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n);
void tree_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n);
void star_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n);
void recursive_doubling_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n);
void halving_doubling_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n);
void double_tree_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n);
/// node_of: by group rank, as NodeLevels takes it.
void two_level_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n,
                          std::span<const int32_t> node_of);

/// out: all parts; this rank's own part is already in its place.
void ring_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts);
void direct_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts);
/// p a power of two.
void recursive_doubling_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts);
void bruck_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts);

/// in: all parts; out: this rank's part, reduced. `out` may be that part of `in`.
void ring_reduce_scatter(Wire& wire, ReduceOp op, std::byte* out, const std::byte* in,
                         std::span<const Part> parts);
void direct_reduce_scatter(Wire& wire, ReduceOp op, std::byte* out, const std::byte* in,
                           std::span<const Part> parts);
void recursive_halving_reduce_scatter(Wire& wire, ReduceOp op, std::byte* out, const std::byte* in,
                                      std::span<const Part> parts);

/// data: n, read on the root, written elsewhere.
void tree_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n);
void direct_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n);
void ring_pipeline_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n);
void scatter_all_gather_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n);

/// in: n; out: n on the root (may be `in`), unused elsewhere.
void tree_reduce(Wire& wire, ReduceOp op, int32_t root, std::byte* out, const std::byte* in, int64_t n);
void direct_reduce(Wire& wire, ReduceOp op, int32_t root, std::byte* out, const std::byte* in, int64_t n);

/// in: this rank's part; out on the root: all parts, in which the root's own is already in its place.
void direct_gather(Wire& wire, int32_t root, std::byte* out, const std::byte* in,
                   std::span<const Part> parts);
/// in on the root: all parts; out elsewhere: this rank's part. The root copies its own itself.
void direct_scatter(Wire& wire, int32_t root, std::byte* out, const std::byte* in,
                    std::span<const Part> parts);
/// Part r of in goes to r; part r of out came from r. This rank's own part is copied by the caller.
void direct_all_to_all(Wire& wire, std::byte* out, std::span<const Part> out_parts, const std::byte* in,
                       std::span<const Part> in_parts);
void pairwise_all_to_all(Wire& wire, std::byte* out, std::span<const Part> out_parts, const std::byte* in,
                         std::span<const Part> in_parts);
/// The same for parts of `part` elements each.
void bruck_all_to_all(Wire& wire, std::byte* out, const std::byte* in, int64_t part);

/// Nobody returns before everybody has called.
void tree_barrier(Wire& wire);
void direct_barrier(Wire& wire);

/// Takes the next message of `from`: n elements into out. (send has no card: it is one post.)
void direct_recv(Wire& wire, int32_t from, std::byte* out, int64_t n);

/// memcpy that may be asked for 0 bytes at null, and for a copy onto itself.
void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes);
/// The same, for buffers that no cache could hold until they are read: what is written goes to memory without
/// its old lines being fetched first, and drives nothing out. Up to twice as fast for such, and up to
/// half as fast for smaller ones.
void copy_past_cache(std::byte* to, const std::byte* from, int64_t bytes);

}  // namespace meshscope::comm
