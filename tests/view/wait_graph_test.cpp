// Who waits for whom in runs that failed, in sentences and rows, and where there are too many for lines.
#include "app/gui/view/wait_graph.h"

#include <algorithm>
#include <set>

#include "app/gui/view/end_facts.h"
#include "core/base/diagnosis.h"
#include "core/trace/ended.h"
#include "tests/test.h"
#include "tests/view/failure_stage.h"
#include "tests/view/picture_check.h"

using namespace meshscope;
using namespace test::failure;
using test::find;
using Stands = view::RankEnd::Stands;

TEST_CASE("a dead rank is waited for by its shard group and its replica, and the fourth waits through one") {
    const Stand stand(record_of(kHsdp));
    REQUIRE(stand.end);
    CHECK(stand.rank(3).stands == Stands::lost);
    CHECK(stand.rank(2).waits_for == std::vector<int32_t>{3});
    CHECK(stand.rank(1).waits_for == std::vector<int32_t>{3});
    CHECK(stand.rank(0).waits_for == std::vector<int32_t>{2});
    CHECK(stand.rank(2).through == 0);
    CHECK(stand.rank(0).through == 1);
    const auto& events = stand.trace->ranks[2].events;
    CHECK(events[static_cast<std::size_t>(stand.rank(2).call)].op == CollectiveOp::reduce_scatter);
    CHECK(view::call_in_short(*stand.trace, events[static_cast<std::size_t>(stand.rank(2).call)]) ==
          "reduce_scatter net2 #10");
    const auto& sentences = stand.end->waits.sentences;
    REQUIRE(sentences.size() == 2);
    CHECK(stand.texts.text(sentences[0]) == "Ranks 1, 2 wait for rank 3.");
    CHECK(stand.texts.text(sentences[1]) == "Rank 0 waits for rank 2.");
}

TEST_CASE("where the record holds no diagnosis the calls that did not end tell the same waits") {
    auto trace = std::make_shared<trace::Trace>(*record_of(kHsdp));
    // As a transport tells it that sees its own connection alone.
    Diagnosis d;
    d.kind = DiagnosisKind::lost;
    d.culprits = {3};
    trace->info.failure = failure_json(DiagnosedError(d, GlobalRank{1}));
    const auto check = [&] {
        const Stand stand(trace);
        CHECK(stand.rank(3).stands == Stands::lost);
        CHECK(stand.rank(2).waits_for == std::vector<int32_t>{3});
        CHECK(stand.rank(1).waits_for == std::vector<int32_t>{3});
        CHECK(stand.rank(0).waits_for == std::vector<int32_t>{2});
        CHECK_FALSE(stand.end->waits.certain);
    };
    check();
    // Rank 0, who learnt of the death, is in a call of which the dead rank is no member.
    RankReport told;
    told.rank = 0;
    told.state = RankState::waiting;
    told.waits_for = 3;
    d.ranks = {told};
    trace->info.failure = failure_json(DiagnosedError(d, GlobalRank{0}));
    check();
    CHECK(Stand(record_of(kHsdp)).end->waits.certain);
}

TEST_CASE("calls that did not end are found in the record of a run that failed, and in no other") {
    const auto failed = record_of(kHsdp);
    const auto open = trace::unended_calls(*failed);
    for (std::size_t r = 0; r < open.size(); ++r) {
        INFO("rank " << r);
        CHECK_FALSE(open[r].empty());
        for (const int32_t id : open[r]) {
            const auto& event = failed->ranks[r].events[static_cast<std::size_t>(id)];
            CHECK(event.kind == trace::EventKind::collective);
            CHECK(event.step == 1);
            CHECK(event.phase == Phase::backward);
        }
    }
    const auto whole = record_of(kHsdp.substr(0, kHsdp.find("[[faults]]")));
    for (const auto& calls : trace::unended_calls(*whole)) CHECK(calls.empty());
    CHECK_FALSE(view::run_end(*whole, 3));
}

TEST_CASE("each kind of failure says how every rank stood") {
    const auto stands = [](const Stand& stand) {
        std::vector<Stands> all;
        for (const auto& rank : stand.end->waits.ranks) all.push_back(rank.stands);
        return all;
    };
    const auto of = [](const char* kind) { return Stand(record_of(kinds().at(kind))); };
    CHECK(stands(of("mismatch")) == std::vector<Stands>(4, Stands::in_call));
    CHECK(of("mismatch").end->waits.calls.at(1).in_elements == 164);
    CHECK(stands(of("missing")) ==
          std::vector<Stands>{Stands::waiting, Stands::waiting, Stands::finished, Stands::waiting});
    CHECK(stands(of("stalled")) ==
          std::vector<Stands>{Stands::waiting, Stands::waiting, Stands::stalled, Stands::waiting});
    CHECK(stands(of("corrupt")) == std::vector<Stands>(4, Stands::in_call));
    const Stand ring = of("deadlock");
    CHECK(stands(ring) == std::vector<Stands>(4, Stands::waiting));
    CHECK(ring.end->waits.ring == std::vector<int32_t>{0, 1, 2, 3});
    for (int32_t r = 0; r < 4; ++r) CHECK(ring.rank(r).through == -1);
    CHECK(ring.texts.text(ring.end->waits.sentences.at(0)) ==
          "Ranks 0 → 1 → 2 → 3 → 0 wait for each other in a circle.");
}

TEST_CASE("of 1,024 ranks in a chain of waits the dead one is crossed out and the others are folded") {
    Diagnosis d;
    d.kind = DiagnosisKind::lost;
    d.culprits = {77};
    for (int32_t r = 0; r < 1024; ++r)  // neighbours wait for the dead one itself, others for a neighbour
        d.ranks.push_back(waits_for(r, r > 77 ? r - 1 : r + 1));
    d.ranks[77].state = RankState::lost;
    d.ranks[77].waits_for = -1;
    const Stand stand(record_of(d, {32, 32}));
    REQUIRE(stand.end);
    const auto& sentences = stand.end->waits.sentences;
    REQUIRE(sentences.size() == 2);
    CHECK(stand.texts.text(sentences[0]) == "Ranks 76, 78 wait for rank 77.");
    CHECK(stand.texts.text(sentences[1]) == "1,021 more ranks wait indirectly, behind up to 945 others.");
    const view::Size size{656, 380};
    const auto picture = stand.mesh(size);
    CHECK(who_waits(picture).empty());  // too many lines to be read
    CHECK(test::says_part(picture, "1,021 more ranks wait"));
    const auto square = [&](int64_t rank) {
        const auto marks = find(picture, "end", rank);
        return marks.empty() ? view::Token::none : marks[0]->fill;
    };
    CHECK(square(77) != view::Token::warn);
    const auto crossed = find(picture, "end", 77);
    CHECK(std::ranges::count_if(crossed, [](const view::Shape* shape) {
              return shape->kind == view::ShapeKind::line && shape->stroke == view::Token::err;
          }) == 2);
    CHECK(square(0) == view::Token::warn);
    CHECK(square(1023) == view::Token::warn);
    check_texts(picture, stand.measure);
    const auto facts = view::end_facts(stand.at({324, 600}, 0), *stand.end, view::WithoutFault::no);
    check_texts(facts, stand.measure);
    // Of the 1,023 that wait two wait for the same.
    CHECK(stand.end->waits.rows.size() == 1022);
    CHECK(stand.end->waits.rows[0] == std::vector<int32_t>{76, 78});
    std::set<int64_t> listed;
    for (const view::Shape* shape : find(facts, "wait")) listed.insert(shape->id.a);
    CHECK(listed == std::set<int64_t>{75, 76, 79, 74, 80, 73, 81, 72});
    CHECK(test::says(facts, "and 1,014 more"));
}

TEST_CASE("ranks that wait in a circle which no diagnosis names are told all the same") {
    Diagnosis d;
    d.kind = DiagnosisKind::timeout;
    d.culprits = {1};
    d.certain = false;
    for (int32_t r = 0; r < 5; ++r) d.ranks.push_back(waits_for(r, (r + 1) % 5));
    const Stand circle(record_of(d, {6}));
    REQUIRE(circle.end);
    for (int32_t r = 0; r < 5; ++r) {
        CHECK(circle.rank(r).stands == Stands::waiting);
        CHECK(circle.rank(r).through == -1);
    }
    REQUIRE(circle.end->waits.sentences.size() == 1);
    CHECK(circle.texts.text(circle.end->waits.sentences[0]) == "Ranks 0–4 wait for ranks 0–4.");
    // Named, it is a ring; what waits for one of it is told beside it.
    d.kind = DiagnosisKind::deadlock;
    d.cycle = {0, 1, 2, 3, 4};
    d.ranks.push_back(waits_for(5, 2));
    const Stand ring(record_of(d, {6}));
    REQUIRE(ring.end->waits.sentences.size() == 2);
    CHECK(ring.texts.text(ring.end->waits.sentences[0]) ==
          "Ranks 0 → 1 → 2 → 3 → 4 → 0 wait for each other in a circle.");
    CHECK(ring.texts.text(ring.end->waits.sentences[1]) == "Rank 5 waits for rank 2.");
}

TEST_CASE("a rank that waits for too many to have lines is told in a sentence beside the lines of others") {
    Diagnosis d;
    d.kind = DiagnosisKind::missing;
    d.culprits = {3, 4, 5, 6, 7};
    d.ranks = {waits_for(0, 3), waits_for(1, 3), waits_for(2, 3)};
    const Stand each(record_of(d, {8}));
    const auto lines = each.mesh({900, 400});
    CHECK(who_waits(lines) == std::vector<int64_t>{0, 1, 2});
    CHECK_FALSE(test::says_part(lines, "wait for rank"));
    d.ranks[2].waits_for = -1;
    d.ranks[2].missing = d.culprits;
    const Stand one(record_of(d, {8}));
    const auto picture = one.mesh({900, 400});
    CHECK(who_waits(picture) == std::vector<int64_t>{0, 1});
    CHECK(test::says_part(picture, "Rank 2 waits for ranks 3–7."));
    check_texts(picture, one.measure);
}
