#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/mesh/device_mesh.h"
#include "core/trace/recorder.h"

namespace meshscope::run {

/// The ranks that stand for all: every rank of the mesh when the world has at most `all_up_to`, else those
/// whose coordinate is the first or the last in each mesh dim, and any in the pp and cp dims, where each
/// stage and each part of the sequence is other work. So the tails of uneven shards are among them; what lies
/// between is taken to do as they do.
std::vector<int32_t> distinct_ranks(const mesh::DeviceMesh& mesh, int32_t world_size, int32_t all_up_to);

/// Whether two ranks did the same: equal events in the same order (what, on which stream, how many operations
/// and bytes) and equal changes of memory. Times, which ranks they met, and how they share out the bytes of a
/// collective of up to 256 numbers, may differ.
bool same_work(const trace::RankRecord& a, const trace::RankRecord& b);

/// Of many distinct ranks those that are left when a dim whose first and last ranks do the same work is
/// represented by its first: no guess, they are run and their records compared, in the first and the last
/// stage of a pipeline. A dim in which they differ (uneven shards, a tree's root) keeps its first and its
/// last, and cp all of its own unless `balanced`: with head-tail balance rank r of p computes r blocks of one
/// shape and p - 1 - r of another, equally many operations, so the two ends hold what lies between.
///
/// `record_of` runs a rank, once each, and gives its record; null: it was cancelled, and nothing is left
/// out. Cost: that of two ranks a dim and stage looked at.
std::vector<int32_t> fewest_ranks(const mesh::DeviceMesh& mesh, bool balanced,
                                  const std::function<const trace::RankRecord*(int32_t rank)>& record_of);

}  // namespace meshscope::run
