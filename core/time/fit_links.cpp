#include "core/time/fit_links.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meshscope::time {
namespace {

/// The slope alone, through 0.
double slope_of(const std::vector<LinkPoint>& points, bool relative) {
    double bt = 0, bb = 0;
    for (const LinkPoint& p : points) {
        const double w = relative ? 1 / (p.us * p.us) : 1;
        bt += w * p.bytes * p.us;
        bb += w * p.bytes * p.bytes;
    }
    return bt / bb;
}

/// Why a row is not fitted from ("nccl.left.…"); nullptr where it is.
const char* why_left_out(const NcclRow& row, bool in_place) {
    if (row.wrong) return "nccl.left.wrong";
    if (row.bytes == 0) return "nccl.left.no_bytes";
    return row.us(in_place) > 0 ? nullptr : "nccl.left.no_time";
}

}  // namespace

std::vector<LinkPoint> points_of(const NcclTests& file, bool in_place) {
    std::vector<LinkPoint> points;
    for (const NcclRow& row : file.rows)
        if (why_left_out(row, in_place) == nullptr)
            points.push_back(
                {file.steps(), file.factor() * static_cast<double>(row.bytes), row.us(in_place)});
    return points;
}

std::optional<LinkFit> fit_link(const std::vector<LinkPoint>& points, bool relative) {
    // Both unknowns in their own units: steps and bytes differ by many powers of ten.
    double most_bytes = 0, most_steps = 0;
    for (const LinkPoint& p : points) {
        most_bytes = std::max(most_bytes, p.bytes);
        most_steps = std::max(most_steps, p.steps);
    }
    if (!(most_bytes > 0) || !(most_steps > 0)) return std::nullopt;
    double ss = 0, sb = 0, bb = 0, st = 0, bt = 0;
    for (const LinkPoint& p : points) {
        const double w = relative ? 1 / (p.us * p.us) : 1, s = p.steps / most_steps, b = p.bytes / most_bytes;
        ss += w * s * s;
        sb += w * s * b;
        bb += w * b * b;
        st += w * s * p.us;
        bt += w * b * p.us;
    }
    const double determinant = ss * bb - sb * sb;
    constexpr double kDegenerate = 1e-12;
    if (!(determinant > kDegenerate * ss * bb)) return std::nullopt;
    double alpha = (st * bb - bt * sb) / determinant / most_steps;
    double beta = (bt * ss - st * sb) / determinant / most_bytes;
    if (alpha < 0) {
        alpha = 0;
        beta = slope_of(points, relative);
    }
    if (!(beta > 0) || !std::isfinite(beta) || !std::isfinite(alpha)) return std::nullopt;
    return LinkFit{alpha, 1e6 / beta};
}

double FittedLink::mean_error() const {
    double sum = 0;
    for (const FittedRow& row : rows) sum += std::abs(row.error());
    return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

double FittedLink::worst_error() const {
    double worst = 0;
    for (const FittedRow& row : rows)
        if (std::abs(row.error()) > std::abs(worst)) worst = row.error();
    return worst;
}

std::vector<FittedLink> fit_links(const std::vector<NcclTests>& files, bool in_place, bool relative) {
    std::vector<FittedLink> links;
    for (const bool between : {false, true}) {
        FittedLink link;
        link.between = between;
        std::vector<LinkPoint> points;
        const NcclTests* first = nullptr;
        for (const NcclTests& file : files) {
            if ((file.hosts > 1) != between) continue;
            if (first == nullptr) first = &file;
            for (const NcclRow& row : file.rows)
                if (const char* const why = why_left_out(row, in_place))
                    link.left_out.push_back({file.file, row.bytes, {why, {}}});
                else
                    link.rows.push_back({file.file, row.bytes, row.us(in_place), 0});
            const std::vector<LinkPoint> more = points_of(file, in_place);
            points.insert(points.end(), more.begin(), more.end());
        }
        if (first == nullptr) continue;
        const std::optional<LinkFit> fit = fit_link(points, relative);
        if (!fit)
            throw InputError({{{"nccl.no_fit", {{"rows", static_cast<int64_t>(points.size())}}},
                               {first->file, 0, 0, -1},
                               {"nccl.hint.sizes", {}}}});
        link.fit = *fit;
        for (std::size_t i = 0; i < points.size(); ++i)
            link.rows[i].fitted_us =
                points[i].steps * fit->alpha_us + points[i].bytes / fit->bytes_per_s * 1e6;
        links.push_back(std::move(link));
    }
    return links;
}

Profile with_links(Profile profile, const std::vector<FittedLink>& links,
                   const std::vector<NcclTests>& files) {
    for (const FittedLink& link : links) {
        const auto latency = static_cast<int64_t>(std::llround(link.fit.alpha_us * 1e3));
        (link.between ? profile.latency_between_ns : profile.latency_inside_ns) = latency;
        (link.between ? profile.bandwidth_between_bytes_per_s : profile.bandwidth_inside_bytes_per_s) =
            link.fit.bytes_per_s;
        if (link.between && profile.node_bytes_per_s > 0)
            profile.node_bytes_per_s = std::max(profile.node_bytes_per_s, link.fit.bytes_per_s);
    }
    if (std::ranges::any_of(files, [](const NcclTests& file) {
            return file.op == CollectiveOp::all_reduce || file.op == CollectiveOp::reduce_scatter;
        }))
        profile.reduce_bytes_per_s = 0;
    return profile;
}

}  // namespace meshscope::time
