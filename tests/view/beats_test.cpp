#include "app/gui/view/beats.h"

#include <algorithm>
#include <vector>

#include "tests/test.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::Toy;
using view::Beat;

namespace {

std::vector<Beat> all_beats(const trace::Trace& trace, const time::Clock& clock, int32_t rank) {
    std::vector<Beat> beats;
    while (const auto next = view::next_beat(trace, clock, {beats.empty() ? -1 : beats.back().t_ns}, rank))
        beats.push_back(*next);
    return beats;
}

const trace::Hop& hop_of(const trace::Trace& trace, const Beat& beat) {
    return trace.ranks[static_cast<std::size_t>(beat.event.rank)].hops[*beat.hop];
}

}  // namespace

TEST_CASE("beats go on in time, and none of what ends is left out") {
    const Toy toy;
    for (int32_t rank = 0; rank < 4; ++rank) {
        const std::vector<Beat> beats = all_beats(toy.trace, toy.clock, rank);
        CHECK(std::ranges::is_sorted(beats, {}, &Beat::t_ns));
        const auto told = [&](const time::Interval& at) {
            return std::ranges::any_of(beats, [&](const Beat& beat) {
                return beat.t_ns >= at.end_ns && beat.t_ns <= at.end_ns + (at.end_ns - at.begin_ns) / 8;
            });
        };
        for (std::size_t r = 0; r < 4; ++r)
            for (const time::Interval& hop : toy.clock.hops[r]) CHECK(told(hop));
        for (const trace::Event& event : toy.trace.ranks[static_cast<std::size_t>(rank)].events)
            if (event.kind == trace::EventKind::compute)
                CHECK(told(
                    toy.clock.events[static_cast<std::size_t>(rank)][static_cast<std::size_t>(event.id)]));
        for (const Beat& beat : beats) {
            const auto there = view::beat_at(toy.trace, toy.clock, {beat.t_ns}, rank);
            REQUIRE(there);
            CHECK(there->event == beat.event);
            CHECK(there->hop == beat.hop);
            CHECK_FALSE(view::beat_at(toy.trace, toy.clock, {beat.t_ns + 1}, rank));
        }
    }
}

TEST_CASE("a beat tells what its rank received where it did, and counts the others") {
    const Toy toy;
    for (int32_t rank = 0; rank < 4; ++rank) {
        int32_t received = 0, together = 0;
        for (const Beat& beat : all_beats(toy.trace, toy.clock, rank)) {
            if (!beat.hop) {
                CHECK(beat.event.rank == rank);
                continue;
            }
            received += hop_of(toy.trace, beat).dst == rank ? 1 : 0;
            together = std::max(together, beat.others);
        }
        CHECK(received > 0);
        CHECK(together == 3);  // both shard groups gather at once
    }
}

TEST_CASE("hops that land a moment after each other, as on the measured clock, are one beat") {
    Toy toy;
    const auto before = all_beats(toy.trace, toy.clock, 0);
    int64_t late = 0;
    for (auto& hops : toy.clock.hops)
        for (time::Interval& hop : hops) hop.end_ns += ++late % 3;
    const auto after = all_beats(toy.trace, toy.clock, 0);
    const auto hops = [](const std::vector<Beat>& beats) {
        return std::ranges::count_if(beats, [](const Beat& beat) { return beat.hop.has_value(); });
    };
    CHECK(hops(after) == hops(before));
}

TEST_CASE("a beat's sentence names op, ranks and bytes of its hop, in both languages") {
    const Toy toy;
    const test::CatalogueTexts chinese(view::Language::zh);
    for (const Beat& beat : all_beats(toy.trace, toy.clock, 1)) {
        const trace::Event& event = toy.trace.event(beat.event.rank, beat.event.event);
        for (const test::CatalogueTexts* texts : {&toy.texts, &chinese}) {
            const std::string words = view::beat_words(*texts, toy.trace, beat);
            INFO(words);
            CHECK(words.find("view.beat") == std::string::npos);
            CHECK(words.find('{') == std::string::npos);
            if (!beat.hop) {
                CHECK(words.find("rank 1") != std::string::npos);
                continue;
            }
            const trace::Hop& hop = hop_of(toy.trace, beat);
            for (const std::string& part : {std::string(name(event.op)), "rank " + std::to_string(hop.dst),
                                            "rank " + std::to_string(hop.src), view::format_bytes(hop.bytes)})
                CHECK(words.find(part) != std::string::npos);
        }
    }
}

TEST_CASE("where an event begins and nothing is over, the sentence tells what begins there and where") {
    const Toy toy;
    int others = 0, own = 0;
    view::Cursor cursor{-1};
    while (const auto next = view::next_event(toy.trace, toy.clock, cursor)) {
        cursor = *next;
        const auto beat = view::beat_at(toy.trace, toy.clock, cursor, 1);
        INFO(cursor.t_ns);
        REQUIRE(beat);  // there is something to tell wherever "next event" leads
        if (!beat->begins) continue;
        CHECK_FALSE(beat->hop);
        const auto r = static_cast<std::size_t>(beat->event.rank);
        CHECK(toy.clock.events[r][static_cast<std::size_t>(beat->event.event)].begin_ns == cursor.t_ns);
        ++(beat->event.rank == 1 ? own : others);
        for (const auto language : {view::Language::en, view::Language::zh}) {
            const std::string words = view::beat_words(test::CatalogueTexts(language), toy.trace, *beat);
            CHECK(words.find("view.beat") == std::string::npos);
            CHECK(words.find("rank " + std::to_string(beat->event.rank)) != std::string::npos);
        }
    }
    CHECK(own + others > 0);
}

TEST_CASE("of an event on another rank the sentence tells, and counts those that begin the same") {
    Toy toy;
    // Rank 3 alone is late: what it begins then nobody else does.
    for (time::Interval& at : toy.clock.events[3]) {
        at.begin_ns += 7;
        at.end_ns += 7;
    }
    const int64_t late = toy.clock.events[3][0].begin_ns;
    for (time::Interval& hop : toy.clock.hops[3]) hop.end_ns += 7;
    const auto alone = view::beat_at(toy.trace, toy.clock, {late}, 0);
    REQUIRE(alone);
    CHECK(alone->event.rank == 3);
    CHECK(alone->begins);
    CHECK(alone->others == 0);
}

TEST_CASE("of the call in which a run broke off nobody says that it is over") {
    Toy toy;
    for (trace::RankTrace& each : toy.trace.ranks) each.hops.clear();
    for (auto& hops : toy.clock.hops) hops.clear();
    trace::RankTrace& rank = toy.trace.ranks[0];
    rank.events.resize(1);
    rank.events[0].sent_bytes = 0;
    rank.snapshots.clear();
    toy.clock.events[0].resize(1);
    REQUIRE(rank.events[0].kind == trace::EventKind::collective);
    const auto tells = [&] {
        const auto beats = all_beats(toy.trace, toy.clock, 0);
        return std::ranges::any_of(beats, [](const Beat& beat) { return beat.event.rank == 0; });
    };
    CHECK(tells());
    toy.trace.info.failure = R"({"kind":"lost"})";
    CHECK_FALSE(tells());
}
