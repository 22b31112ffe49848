#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/kinds.h"

namespace meshscope::time {

/// One size of a run of nccl-tests. A time that was not measured is 0.
struct NcclRow {
    int64_t bytes = 0;  ///< the column "size"
    double out_of_place_us = 0, in_place_us = 0;
    bool wrong = false;  ///< results were found to be wrong

    double us(bool in_place) const { return in_place ? in_place_us : out_of_place_us; }
};

/// What a run of nccl-tests measured: one collective at several sizes.
struct NcclTests {
    std::string file;
    CollectiveOp op = CollectiveOp::all_reduce;
    int64_t ranks = 0, hosts = 1;
    std::vector<NcclRow> rows;

    /// Messages that follow each other in a ring: 2(n-1) of an all_reduce, n-1 of the others.
    double steps() const;
    /// Bytes that a rank sends a byte of `size` (nccl-tests' factor of the bus bandwidth): 2(n-1)/n, (n-1)/n.
    double factor() const;
};

/// Reads what nccl-tests wrote, JSON (-J, version 3) or its table: all_reduce, all_gather, reduce_scatter and
/// alltoall. A table that does not name its collective is told by busbw ÷ algbw: all_reduce, or one of the
/// other three, which have the same steps and factor, where the table's two decimals tell these from a
/// broadcast. The environment that the JSON holds is passed over.
/// Throws InputError: "nccl.not_json", "nccl.no_table", "nccl.unknown_op" {op}, "nccl.two_runs",
/// "nccl.ranks", "nccl.no_rows", "nccl.too_large" {most}, wrong types; IoError.
NcclTests read_nccl_tests(const std::string& path);
/// The same of a text that was read from `path`.
NcclTests parse_nccl_tests(const std::string& text, const std::string& path);

}  // namespace meshscope::time
