#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/time/nccl_tests.h"
#include "core/time/profile.h"

namespace meshscope::time {

/// A measured collective as a ring over one kind of link: time = steps · α + bytes · β.
struct LinkPoint {
    double steps = 0, bytes = 0;  ///< messages one after the other; what a rank sends
    double us = 0;
};

/// α and 1/β of one kind of link.
struct LinkFit {
    double alpha_us = 0, bytes_per_s = 0;
};

/// Least squares: of the errors in microseconds, or (`relative`) of their shares of the measured times, so
/// that small sizes count as much as large ones. α is 0 where it came out below. Nothing where the points do
/// not tell α and β apart, or β is not above 0. Cost: O(points).
std::optional<LinkFit> fit_link(const std::vector<LinkPoint>& points, bool relative);

/// The rows of a file that a link is fitted from: their results are right, they move bytes, and have a time.
std::vector<LinkPoint> points_of(const NcclTests& file, bool in_place);

/// A size of a file, beside what the fitted link makes of it.
struct FittedRow {
    std::string file;
    int64_t bytes = 0;
    double measured_us = 0, fitted_us = 0;
    double error() const { return fitted_us / measured_us - 1; }
};

/// A row that was left out.
struct LeftOutRow {
    std::string file;
    int64_t bytes = 0;
    Message why;  ///< "nccl.left.…"
};

/// What a kind of link was fitted from, and how well.
struct FittedLink {
    bool between = false;  ///< between nodes: files whose ranks stand on several hosts
    LinkFit fit;
    std::vector<FittedRow> rows;
    std::vector<LeftOutRow> left_out;
    double mean_error() const;  ///< of the absolute shares
    double worst_error() const;
};

/// Fits the links that the files tell of: those within one host the link inside a node, others the link
/// between nodes, all files of a link together. `in_place` takes those times instead of the others. Throws
/// InputError "nccl.no_fit" where a link's rows do not tell latency and bandwidth apart.
std::vector<FittedLink> fit_links(const std::vector<NcclTests>& files, bool in_place, bool relative = true);

/// The profile with the fitted links. What adding costs is in a fitted bandwidth already, so
/// reduce_bytes_per_s is 0 (no cost of its own) where an all_reduce or a reduce_scatter was fitted; a node's
/// links together are at least as fast as the fitted one.
Profile with_links(Profile profile, const std::vector<FittedLink>& links,
                   const std::vector<NcclTests>& files);

}  // namespace meshscope::time
