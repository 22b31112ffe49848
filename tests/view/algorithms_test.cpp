// The collective view over every algorithm as it really runs: what the hops bring is what the engine
// recorded, whole buffers are accounted for, and what is drawn follows from the hops.
#include <algorithm>
#include <set>

#include "app/gui/view/collective_cells.h"
#include "app/gui/view/collective_layout.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/stepping.h"
#include "core/comm/choice.h"
#include "core/time/profile.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/really_run.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::even;
using test::Ran;
using test::really_run;

namespace {

/// The first element that the replayed hops leave otherwise than the engine recorded it, or "".
std::string difference(const Ran& ran) {
    const auto state = view::collective_after(ran.trace, ran.instance, 1 << 20);
    for (std::size_t m = 0; m < ran.instance.ranks.size(); ++m) {
        const auto& rank = ran.trace.ranks[m];
        for (const auto& snapshot : rank.snapshots) {
            if (snapshot.kind != trace::SnapshotKind::output) continue;
            const auto& b = state.buffers[m];
            int64_t at = 0;
            if (snapshot.elements < b.elements)
                for (const auto& piece : b.pieces)
                    if (view::is_result(state, m, piece)) at = piece.offset;
            for (int64_t i = 0; i < snapshot.elements; ++i)
                if (b.values[static_cast<std::size_t>(at + i)] !=
                    rank.values[static_cast<std::size_t>(snapshot.values + i)])
                    return "rank " + std::to_string(m) + ", element " + std::to_string(i);
        }
    }
    return "";
}

constexpr std::array kOps{CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                          CollectiveOp::broadcast, CollectiveOp::all_to_all};

}  // namespace

TEST_CASE("every algorithm of every op replays bit for bit, and at its end every piece is where it belongs") {
    for (const CollectiveOp op : kOps)
        for (const Algorithm algorithm : comm::algorithms_of(op))
            for (const int32_t p : {2, 3, 4, 6, 8, 11}) {
                std::vector<std::vector<int64_t>> sizes{even(p, 1), even(p, 6)};
                if (op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter) {
                    sizes.emplace_back();
                    for (int32_t r = 0; r < p; ++r)
                        sizes.back().push_back(r % 3 == 0 ? 3 : r % 3 == 1 ? 0 : 7);
                }
                for (const auto& counts : sizes) {
                    const Ran ran = really_run(op, algorithm, counts);
                    INFO(name(op) << " " << name(algorithm) << " p=" << p << " parts of " << counts[0] << " "
                                  << counts[1]);
                    CHECK(difference(ran) == "");
                    const auto state = view::collective_after(ran.trace, ran.instance, 1 << 20);
                    const bool sums = op == CollectiveOp::all_reduce || op == CollectiveOp::reduce_scatter;
                    bool complete = true;
                    for (std::size_t m = 0; m < state.buffers.size(); ++m) {
                        for (const auto& piece : state.buffers[m].pieces)
                            if (piece.elements > 0 && view::is_result(state, m, piece))
                                complete = complete && piece.from_count == (sums ? p : 1);
                        CHECK(state.buffers[m].sent_bytes == ran.trace.ranks[m].events[0].sent_bytes);
                        const auto& event = ran.trace.ranks[m].events[0];
                        if (const auto formula = view::byte_formula(ran.trace, event);
                            formula && counts == even(p, counts[0]))
                            CHECK(formula->bytes == event.sent_bytes);
                    }
                    CHECK(complete);
                }
            }
}

TEST_CASE("two levels stand in rows of nodes, and only ranks of one column speak across rows") {
    const std::vector<int32_t> node_of{0, 0, 0, 1, 1, 1, 2, 2};
    const Ran ran = really_run(CollectiveOp::all_reduce, Algorithm::two_level, even(8, 6), node_of);
    const auto state = view::collective_after(ran.trace, ran.instance, 0);
    CHECK(state.nodes == node_of);
    const auto place = view::lay_out_group(state, {0, 0, 1000, 500});
    REQUIRE(place.levels);
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < 8; ++b)
            CHECK((place.members[a].y == place.members[b].y) == (node_of[a] == node_of[b]));
    int32_t across = 0;
    for (const auto& hop : state.hops) {
        const auto &from = place.members[static_cast<std::size_t>(hop.sender)],
                   &to = place.members[static_cast<std::size_t>(hop.receiver)];
        if (from.y == to.y) continue;
        ++across;
        CHECK(from.x == to.x);
        CHECK(hop.hop.round >= 2);  // after the longest ring inside
        CHECK(hop.hop.round < 2 + 4);
    }
    CHECK(across == 2 * 3 * 4);  // two carriers a node, three nodes, 2(N-1) rounds
}

TEST_CASE("the picture of every algorithm keeps its texts apart, at any time") {
    const test::FakeMeasure measure(1.45F);
    const test::CatalogueTexts texts(view::Language::en);
    for (const CollectiveOp op : kOps)
        for (const Algorithm algorithm : comm::algorithms_of(op))
            for (const int32_t p : {3, 4, 8}) {
                const Ran ran = really_run(op, algorithm, even(p, 6));
                const auto clock = time::modelled(ran.trace, time::classroom());
                view::Selection selection;
                selection.rank = selection.event_rank = 0;
                selection.event = 0;
                for (const int64_t part : {1, 4, 7}) {
                    const view::Input in{ran.trace, clock,       {clock.end_ns * part / 9},
                                         selection, {1032, 560}, view::Language::en,
                                         measure,   texts};
                    const auto picture = view::collective_view(in);
                    const auto problems = test::text_problems(picture, measure);
                    INFO(name(op) << " " << name(algorithm) << " p=" << p << " part " << part);
                    CHECK((problems.empty() ? "" : problems[0]) == "");
                    const auto state = view::collective_state(ran.trace, clock, ran.instance, in.cursor.t_ns);
                    const auto flying = std::count_if(state.hops.begin(), state.hops.end(),
                                                      [](const auto& h) { return h.flying; });
                    if (flying > 0) CHECK_FALSE(test::find(picture, "flight").empty());
                }
            }
}
