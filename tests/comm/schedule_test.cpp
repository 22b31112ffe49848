// Every algorithm is proved for every number of ranks, and schedules that were made wrong are refused.
#include "core/comm/schedule/verify.h"

#include <functional>
#include <set>

#include "core/comm/schedule/card.h"
#include "core/comm/schedule/kept_steps.h"

#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::comm;

namespace {

std::string said(const std::optional<ScheduleFlaw>& flaw) {
    if (!flaw) return "";
    std::string text = "kind " + std::to_string(static_cast<int>(flaw->kind)) + " rank " +
                       std::to_string(flaw->rank) + " peer " + std::to_string(flaw->peer) + " round " +
                       std::to_string(flaw->round) + " element " + std::to_string(flaw->element) + " found " +
                       std::to_string(flaw->found) + " ranks";
    for (const int32_t rank : flaw->ranks) text += " " + std::to_string(rank);
    return text;
}

bool is_power_of_two(int32_t p) {
    return (p & (p - 1)) == 0;
}

/// Sizes that cut evenly, unevenly, and into parts that are empty; beyond what `direct` does in one round.
std::vector<ScheduleCall> calls(CollectiveOp op, int32_t p, bool even_parts) {
    std::vector<ScheduleCall> made;
    const bool in_parts = op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter ||
                          op == CollectiveOp::gather || op == CollectiveOp::scatter ||
                          op == CollectiveOp::all_to_all;
    for (const int32_t root : {0, p / 2, p - 1}) {
        for (const int64_t elements : {int64_t{2} * p, int64_t{p} / 2 + 1, int64_t{2} * p + 1}) {
            ScheduleCall call{.op = op, .ranks = p, .root = root, .elements = elements, .element_bytes = 1024};
            if (in_parts && elements % p != 0) {
                if (even_parts) continue;
                for (int32_t r = 0; r < p; ++r) call.counts.push_back(r % 3);
                call.elements = 0;
                for (const int64_t each : call.counts) call.elements += each;
            }
            made.push_back(call);
        }
        if (op != CollectiveOp::broadcast && op != CollectiveOp::reduce && op != CollectiveOp::gather &&
            op != CollectiveOp::scatter)
            break;
    }
    return made;
}

/// All ranks' steps of a call, kept, so that they can be made wrong.
std::vector<KeptSteps> kept(const ScheduleCall& call, Algorithm algorithm) {
    std::vector<KeptSteps> all(static_cast<std::size_t>(call.ranks));
    verify(call, [&](const ScheduleQuery& query, const StepSink&) {
        KeptSteps& mine = all[static_cast<std::size_t>(query.rank)];
        return mine.rounds = say_steps(algorithm, query, mine.keeper());
    });
    return all;
}

std::optional<ScheduleFlaw> verify(const ScheduleCall& call, const std::vector<KeptSteps>& all) {
    return verify(call, [&](const ScheduleQuery& query, const StepSink& sink) {
        all[static_cast<std::size_t>(query.rank)].say(sink);
        return all[static_cast<std::size_t>(query.rank)].rounds;
    });
}

/// What stays of a schedule when `change` was made at one of its steps, for every step that `change` takes.
void each_mutant(const ScheduleCall& call, Algorithm algorithm,
                 const std::function<bool(KeptSteps&, std::size_t)>& change,
                 const std::function<void(const ScheduleFlaw&)>& check) {
    const std::vector<KeptSteps> whole = kept(call, algorithm);
    for (std::size_t rank = 0; rank < whole.size(); ++rank)
        for (std::size_t step = 0; step < whole[rank].steps.size(); ++step) {
            std::vector<KeptSteps> changed = whole;
            if (!change(changed[rank], step)) continue;
            const auto flaw = verify(call, changed);
            INFO(name(algorithm) << " " << name(call.op) << ", rank " << rank << ", step " << step << ": "
                                 << said(flaw));
            REQUIRE(flaw);
            check(*flaw);
        }
}

using Kind = ScheduleFlaw::Kind;

void each_card(const std::function<void(const ScheduleCall&, Algorithm)>& f) {
    for (const AlgorithmCard& card : algorithm_cards())
        for (const AlgorithmCard::Op& op : card.ops) {
            if (op.op == CollectiveOp::send || op.op == CollectiveOp::recv || op.op == CollectiveOp::barrier)
                continue;
            f({.op = op.op, .ranks = op.powers_of_two ? 4 : 5, .elements = op.powers_of_two ? 8 : 10,
               .element_bytes = 1024},
              card.algorithm);
        }
}

bool takes_message(const Step& step) {
    return step.kind == Step::Kind::receive || step.kind == Step::Kind::reduce;
}

}  // namespace

TEST_CASE("every algorithm is what its op's definition says, for 2 to 64 ranks") {
    const int32_t most = test::kSanitizer ? 17 : 64;
    for (const AlgorithmCard& card : algorithm_cards())
        for (const AlgorithmCard::Op& op : card.ops) {
            if (op.op == CollectiveOp::send || op.op == CollectiveOp::recv) continue;
            for (int32_t p = 2; p <= most; ++p) {
                if (op.powers_of_two && !is_power_of_two(p)) continue;
                for (const ScheduleCall& call : calls(op.op, p, op.op == CollectiveOp::all_to_all)) {
                    INFO(name(card.algorithm) << " " << name(op.op) << ", " << p << " ranks, root "
                                              << call.root << ", " << call.elements << " elements");
                    const auto flaw = verify(call, card.algorithm);
                    INFO(said(flaw));
                    REQUIRE(!flaw);
                }
            }
        }
}

TEST_CASE("a schedule without one of its sends waits for ever, and says for whom") {
    each_card([](const ScheduleCall& call, Algorithm algorithm) {
        each_mutant(
            call, algorithm,
            [](KeptSteps& rank, std::size_t at) {
                if (rank.steps[at].step.kind != Step::Kind::send) return false;
                rank.steps.erase(rank.steps.begin() + static_cast<std::ptrdiff_t>(at));
                return true;
            },
            // Of several messages between two ranks the next one comes in its place, and may not fit.
            [](const ScheduleFlaw& flaw) {
                CHECK((flaw.kind == Kind::never_sent || flaw.kind == Kind::circle ||
                       flaw.kind == Kind::message_size));
            });
    });
}

TEST_CASE("a schedule that leaves one message untaken is refused") {
    each_card([](const ScheduleCall& call, Algorithm algorithm) {
        each_mutant(
            call, algorithm,
            [](KeptSteps& rank, std::size_t at) {
                if (!takes_message(rank.steps[at].step)) return false;
                rank.steps.erase(rank.steps.begin() + static_cast<std::ptrdiff_t>(at));
                return true;
            },
            [](const ScheduleFlaw& flaw) {
                CHECK((flaw.kind == Kind::never_received || flaw.kind == Kind::circle ||
                       flaw.kind == Kind::message_size || flaw.kind == Kind::never_sent));
            });
    });
}

TEST_CASE("a schedule that puts a message in the place of a sum misses who was there") {
    each_card([](const ScheduleCall& call, Algorithm algorithm) {
        each_mutant(
            call, algorithm,
            [](KeptSteps& rank, std::size_t at) {
                Step& step = rank.steps[at].step;
                if (step.kind != Step::Kind::reduce || step.elements == 0) return false;
                step.kind = Step::Kind::receive;
                return true;
            },
            [](const ScheduleFlaw& flaw) {
                CHECK(flaw.kind == Kind::missing);
                CHECK(!flaw.ranks.empty());
            });
    });
}

TEST_CASE("a schedule that adds where it should replace counts somebody twice, or adds what never was") {
    each_card([](const ScheduleCall& call, Algorithm algorithm) {
        if (call.op != CollectiveOp::all_reduce) return;
        each_mutant(
            call, algorithm,
            [](KeptSteps& rank, std::size_t at) {
                Step& step = rank.steps[at].step;
                if (step.kind != Step::Kind::receive || step.elements == 0) return false;
                step.kind = Step::Kind::reduce;
                step.own = rank.steps[at].to.front();
                rank.steps[at].from = rank.steps[at].to;  // of several, one after the other
                return true;
            },
            [](const ScheduleFlaw& flaw) { CHECK(flaw.kind == Kind::twice); });
    });
}

TEST_CASE("an average that is not divided, or once more, is refused") {
    each_card([](const ScheduleCall& call, Algorithm algorithm) {
        for (const bool once_more : {false, true})
            each_mutant(
                call, algorithm,
                [&](KeptSteps& rank, std::size_t at) {
                    if (rank.steps[at].step.kind != Step::Kind::finish ||
                        rank.steps[at].step.elements == 0)
                        return false;
                    const auto here = rank.steps.begin() + static_cast<std::ptrdiff_t>(at);
                    if (once_more)
                        rank.steps.insert(here, KeptStep(*here));
                    else
                        rank.steps.erase(here);
                    return true;
                },
                [](const ScheduleFlaw& flaw) { CHECK(flaw.kind == Kind::not_divided); });
    });
}

TEST_CASE("what lands one element beside its place is found where it lands, or where it is missed") {
    each_card([](const ScheduleCall& call, Algorithm algorithm) {
        each_mutant(
            call, algorithm,
            [](KeptSteps& rank, std::size_t at) {
                KeptStep& kept = rank.steps[at];
                if (!takes_message(kept.step) || kept.step.elements == 0) return false;
                for (Stretch& each : kept.to) ++each.first;
                if (kept.step.kind == Step::Kind::reduce) ++kept.step.own.first;
                return true;
            },
            [](const ScheduleFlaw&) {});
    });
}

TEST_CASE("a schedule that says another number of rounds than it has is refused") {
    each_card([](const ScheduleCall& call, Algorithm algorithm) {
        std::vector<KeptSteps> all = kept(call, algorithm);
        for (KeptSteps& each : all) ++each.rounds;
        const auto flaw = verify(call, all);
        REQUIRE(flaw);
        CHECK(flaw->kind == Kind::rounds);
        CHECK(flaw->found == all.front().rounds - 1);
    });
}

TEST_CASE("ranks that wait in a circle are named in their order") {
    // Everyone waits for its left neighbour before it sends to its right one.
    const ScheduleCall call{.op = CollectiveOp::all_gather, .ranks = 3, .elements = 3};
    const auto flaw = verify(call, [](const ScheduleQuery& query, const StepSink& sink) {
        Steps steps(query, sink);
        steps.receive(0, steps.of(steps.me() - 1), 0, steps.output().part(0, 1));
        steps.send(0, steps.of(steps.me() + 1), steps.output().part(0, 1));
        return 1;
    });
    REQUIRE(flaw);
    CHECK(flaw->kind == Kind::circle);
    CHECK(flaw->ranks == std::vector<int32_t>{0, 2, 1});
}
