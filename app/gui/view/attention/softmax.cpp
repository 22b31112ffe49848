#include "app/gui/view/attention/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/view/operands.h"

namespace meshscope::view {
namespace {

using trace::SnapshotKind;

/// The scores of a query with the keys of a block that it sees; empty where q or k were not recorded.
std::vector<double> scores(const trace::Trace& trace, const AttentionScene& scene, const SoftmaxOf& of,
                           std::size_t keys) {
    const AttentionRank& rank = scene.ranks[of.place];
    const int32_t event = rank.blocks[keys].event;
    const Operand q = operand_of(trace, rank.rank, event, "q", SnapshotKind::input);
    const Operand k = operand_of(trace, rank.rank, event, "k", SnapshotKind::input);
    std::vector<double> found;
    if (q.numbers.empty() || k.numbers.empty() || scene.kv_heads <= 0 || scene.batch <= 0) return found;
    if (scene.heads % scene.kv_heads != 0 || q.columns != scene.heads * scene.head_dim ||
        k.columns != scene.kv_heads * scene.head_dim)
        return found;
    const auto& theirs = scene.ranks[keys].tokens;
    const int64_t queries = q.rows / scene.batch, n_keys = k.rows / scene.batch, e = scene.head_dim;
    if (std::cmp_not_equal(theirs.size(), n_keys) || std::cmp_not_equal(rank.tokens.size(), queries))
        return found;
    const int64_t q_at = (of.sample * queries + of.query) * q.columns + of.head * e;
    const int64_t kv_head = of.head / (scene.heads / scene.kv_heads);
    const double scale = 1.0 / std::sqrt(static_cast<double>(e));
    for (int64_t key = 0; key < n_keys; ++key) {
        if (theirs[static_cast<std::size_t>(key)] > rank.tokens[static_cast<std::size_t>(of.query)]) continue;
        const int64_t k_at = (of.sample * n_keys + key) * k.columns + kv_head * e;
        double sum = 0;
        for (int64_t i = 0; i < e; ++i)
            sum += static_cast<double>(q.numbers[static_cast<std::size_t>(q_at + i)]) *
                   static_cast<double>(k.numbers[static_cast<std::size_t>(k_at + i)]);
        found.push_back(scale * sum);
    }
    return found;
}

/// log-sum-exp of the query that stands in an operand (batch · heads, queries); nothing where it was not
/// kept.
std::optional<double> lse_in(const trace::Trace& trace, const AttentionScene& scene, const SoftmaxOf& of,
                             int32_t event) {
    const Operand lse = operand_of(trace, scene.ranks[of.place].rank, event, "lse", SnapshotKind::output);
    const int64_t at = (of.sample * scene.heads + of.head) * lse.columns + of.query;
    if (lse.numbers.empty() || std::cmp_greater_equal(at, lse.numbers.size())) return std::nullopt;
    return static_cast<double>(lse.numbers[static_cast<std::size_t>(at)]);
}

/// The sum so far follows from the scores so far: what was computed is what is shown.
bool agrees(double lse, double m, double l) {
    return std::abs(m + std::log(l) - lse) <= 1e-3 * std::max(1.0, std::abs(lse));
}

}  // namespace

std::vector<SoftmaxLine> softmax_lines(const trace::Trace& trace, const AttentionScene& scene,
                                       const SoftmaxOf& of) {
    std::vector<SoftmaxLine> lines;
    if (scene.backward || scene.batch == 0 || of.place >= scene.n()) return lines;
    const AttentionRank& rank = scene.ranks[of.place];
    for (std::size_t keys = 0; keys < rank.blocks.size(); ++keys)
        if (rank.blocks[keys].turn >= 0) lines.push_back({.keys = keys, .turn = rank.blocks[keys].turn});
    std::ranges::sort(lines, {}, &SoftmaxLine::turn);
    bool followed = true;  // m and ℓ of all blocks so far are known
    double m = -std::numeric_limits<double>::infinity(), l = 0;
    for (SoftmaxLine& line : lines) {
        const AttentionBlock& block = rank.blocks[line.keys];
        const auto lse = lse_in(trace, scene, of, block.merge >= 0 ? block.merge : block.event);
        if (!lse) return {};
        line.lse = *lse;
        const std::vector<double> found = scores(trace, scene, of, line.keys);
        const auto& theirs = scene.ranks[line.keys].tokens;
        if (!theirs.empty() && std::cmp_less(of.query, rank.tokens.size()))
            line.sees_none = std::ranges::none_of(
                theirs, [&](int64_t key) { return key <= rank.tokens[static_cast<std::size_t>(of.query)]; });
        if (found.empty() && !line.sees_none) followed = false;
        if (!followed) continue;
        const double before = m;
        for (const double score : found) m = std::max(m, score);
        l = l == 0 ? 0 : l * std::exp(before - m);
        for (const double score : found) l += std::exp(score - m);
        if (l > 0 && !agrees(line.lse, m, l)) followed = false;
        if (!followed || l == 0) continue;
        line.m = m;
        line.l = l;
        if (std::isfinite(before)) line.rescale = std::exp(before - m);
    }
    return lines;
}

}  // namespace meshscope::view
