#include "app/gui/view/compare_figures.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/timeline_bars.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"
#include "tests/view/toy.h"

using namespace meshscope;
using test::Toy;

namespace {

constexpr int32_t kRanks = 60, kSteps = 4, kEach = 240;

/// More events than are gone through in every frame, in three kinds of memory; an evaluation at the end of
/// each step; `later`: how much longer everything takes.
trace::Trace large(int64_t later = 0) {
    trace::Trace t;
    t.strings = {"", "weight"};
    t.info.world_size = kRanks;
    t.info.steps = kSteps;
    t.info.mesh_shape = {kRanks / 4, 4};
    t.info.mesh_names = {"replicate", "shard"};
    for (int32_t r = 0; r < kRanks; ++r) t.info.mesh_ranks.push_back(r);
    t.ranks.resize(kRanks);
    for (int32_t r = 0; r < kRanks; ++r) {
        trace::RankTrace& rank = t.ranks[static_cast<std::size_t>(r)];
        int64_t now = r;
        for (int32_t e = 0; e < kSteps * kEach; ++e) {
            trace::Event event;
            event.id = e;
            event.step = e / kEach;
            event.kind = e % 3 == 0 ? trace::EventKind::collective : trace::EventKind::compute;
            event.phase = e % kEach >= kEach - 5 ? Phase::evaluation : Phase::forward;
            event.sent_bytes = e % 3 == 0 ? 8 + r : 0;
            event.t_issue_ns = event.t_begin_ns = now;
            event.t_end_ns = now += 100 + later;
            rank.events.push_back(event);
        }
        for (int32_t step = 0; step < kSteps; ++step)
            for (int32_t k = 0; k < 2; ++k) {
                const int64_t bytes = 1000 + 10 * step + (r % 3 == 2 ? 500 : 0);
                const int32_t at = step * kEach + (r % 3 == 1 ? 7 : 5) + k * 20;
                rank.memory.push_back({at, step, Phase::forward, MemoryCategory::activations, 1,
                                       static_cast<uint64_t>(step) + 1, k == 0 ? bytes : -bytes,
                                       rank.events[static_cast<std::size_t>(at)].t_end_ns});
            }
    }
    return t;
}

bool same(const view::Picture& a, const view::Picture& b) {
    if (a.shapes.size() != b.shapes.size() || a.text_lines != b.text_lines || a.height != b.height)
        return false;
    for (std::size_t i = 0; i < a.shapes.size(); ++i) {
        const view::Shape &x = a.shapes[i], &y = b.shapes[i];
        if (x.kind != y.kind || x.text != y.text || x.id != y.id || x.fill != y.fill || x.layer != y.layer ||
            x.box.x != y.box.x || x.box.y != y.box.y || x.box.w != y.box.w || x.box.h != y.box.h)
            return false;
    }
    return true;
}

}  // namespace

TEST_CASE("a record's steps are where its events stand, in a large record too, and where steps come back") {
    trace::Trace record = large();
    for (std::size_t e = 100; e < 110; ++e) record.ranks[3].events[e].step = 2;
    REQUIRE(view::is_large(record));
    trace::Trace small = record;
    small.ranks.resize(5);
    REQUIRE_FALSE(view::is_large(small));
    view::Memo memo;
    for (const trace::Trace* t : {&record, &small})
        for (int32_t r = 0; r < 5; ++r)
            for (int32_t step = -1; step <= kSteps; ++step) {
                std::vector<int32_t> expected, found;
                for (const auto& e : t->ranks[static_cast<std::size_t>(r)].events)
                    if (e.step == step) expected.push_back(e.id);
                for (const auto& run : view::step_runs(*t, r, step, &memo))
                    for (std::size_t i = run.first; i < run.last; ++i)
                        found.push_back(static_cast<int32_t>(i));
                CHECK(found == expected);
            }
    CHECK(view::step_runs(record, 3, 2, &memo).size() == 2);
}

TEST_CASE("every rank has its own memory, whichever ranks share columns") {
    const trace::Trace record = large();
    trace::Trace mixed = large();
    std::swap(mixed.ranks[4].memory[0], mixed.ranks[4].memory[7]);  // steps that do not ascend
    mixed.ranks[8].memory[3].delta_bytes -= 1;
    view::Memo memo;
    for (const trace::Trace* t : {&record, static_cast<const trace::Trace*>(&mixed)})
        for (int32_t step = -1; step <= kSteps; ++step) {
            const auto all = view::memory_step(*t, step, &memo);
            int64_t most = 0;
            for (int32_t r = 0; r < kRanks; ++r) {
                const auto columns = view::memory_columns(*t, r, step, &memo);
                CHECK(all->of(r) == columns);
                if (!columns.empty()) most = std::max(most, columns[view::highest(columns)].total);
            }
            CHECK(all->most == most);
        }
    // Three kinds: 1 holds what 0 does at other events, 2 holds more.
    const auto all = view::memory_step(record, 1, &memo);
    CHECK(all->distinct.size() == 3);
    CHECK(all->look(0) != all->look(1));
    CHECK(all->look(0) == all->look(3));
    CHECK(all->present[static_cast<std::size_t>(MemoryCategory::activations)]);
    CHECK_FALSE(all->present[static_cast<std::size_t>(MemoryCategory::gradients)]);
    CHECK(view::memory_step(mixed, 1, &memo)->distinct.size() == 5);
    for (int32_t r = 0; r < 3; ++r)
        CHECK(all->of(r)[view::highest(all->of(r))].total == memory::peak(record, r, 1).bytes);
}

TEST_CASE("equal bytes of other events are one look") {
    trace::Trace record = large();
    for (auto& change : record.ranks[0].memory) change.label = 0;  // what it is called makes no difference
    record.ranks[3].memory.insert(record.ranks[3].memory.begin(),
                                  {-1, -1, Phase::setup, MemoryCategory::activations, 1, 99, 0, 0});
    const auto all = view::memory_step(record, 0);
    CHECK(all->kind[0] == all->kind[6]);
    CHECK(all->kind[0] != all->kind[3]);  // one change more came before
    CHECK(all->look(0) == all->look(3));
}

TEST_CASE("what is remembered of a large record is that record's, on that clock, in that step") {
    const trace::Trace one = large(), two = large(50);
    const auto clock_one = time::measured(one), clock_two = time::measured(two);
    view::Memo memo;
    for (int round = 0; round < 2; ++round)
        for (int32_t step = -1; step <= kSteps; ++step) {
            const auto span = [&](const trace::Trace& t, const time::Clock& clock) {
                const auto found = view::step_span(t, clock, step, &memo),
                           whole = time::span_of_step(t, clock, step);
                CHECK(found.begin_ns == whole.begin_ns);
                CHECK(found.end_ns == whole.end_ns);
                for (const int32_t rank : {0, 7}) {
                    const view::ComparedRun run{"", t, clock, rank, false};
                    const auto f = view::run_figures(run, step, &memo);
                    const auto fresh = view::run_figures(run, step);
                    CHECK(f.step_ns == whole.end_ns - whole.begin_ns);
                    CHECK(f.sent_bytes == fresh.sent_bytes);
                    CHECK(f.calls == fresh.calls);
                    CHECK(f.exposed_ns == fresh.exposed_ns);
                    CHECK(f.peak_bytes == memory::peak(t, rank, step).bytes);
                }
            };
            span(one, clock_one);
            span(two, clock_two);
        }
    // Evaluation is no part of a step's time.
    CHECK(view::step_span(one, clock_one, 0, &memo).end_ns == clock_one.events[kRanks - 1][kEach - 6].end_ns);
}

TEST_CASE(
    "memory of many ranks: the picture is the same however often it is asked for, and moves with the "
    "cursor") {
    const trace::Trace record = large();
    const auto clock = time::measured(record);
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts{view::Language::en};
    view::Selection selection;
    view::Memo memo;
    for (const int64_t t : {int64_t{0}, clock.end_ns / 2, int64_t{0}, clock.end_ns}) {
        view::Input in{record, clock, {t}, selection, {900, 560}, view::Language::en, measure, texts};
        const auto fresh = view::memory_view(in);
        in.memo = &memo;
        const auto picture = view::memory_view(in);
        CHECK(same(picture, fresh));
        CHECK(picture.text_lines.size() >= kRanks);
        const int32_t step = view::step_at(record, clock, t, &memo);
        CHECK(test::says_part(picture, "step " + std::to_string(step)));
        for (int32_t r = 0; r < 3; ++r)
            CHECK(test::find(picture, "peak", r, memory::peak(record, r, step).event).size() > 0);
    }
}

TEST_CASE("the mesh's table follows the slice, the mesh, the language and what is covered") {
    Toy toy;
    const test::CatalogueTexts chinese{view::Language::zh};
    view::MeshOptions open, covered, other;
    covered.covered = true;
    other.shape = {2, 3};
    other.names = {"replicate", "shard"};
    view::Memo memo;
    for (int round = 0; round < 2; ++round)
        for (const char* slice : {"", "shard", "replicate"})
            for (const auto* options : {&open, &covered, &other})
                for (const bool zh : {false, true}) {
                    toy.selection.slice = slice;
                    view::Input in{toy.trace,   toy.clock,
                                   {0},         toy.selection,
                                   {1032, 560}, zh ? view::Language::zh : view::Language::en,
                                   toy.measure, zh ? static_cast<const view::Texts&>(chinese) : toy.texts};
                    const auto fresh = view::mesh_table(in, *options);
                    in.memo = &memo;
                    const auto table = view::mesh_table(in, *options);
                    CHECK(same(table, fresh));
                    CHECK(test::find(table, "rank").size() == (options == &other ? 6 : 4));
                }
}

TEST_CASE("shapes are sorted by layer, and within one stand as they were made") {
    const Toy toy;
    view::Painter p(toy.at(0));
    for (int i = 0; i < 40; ++i) {
        p.layer = (i * 7) % 5 - 1;
        p.rect({static_cast<float>(i), 0, 1, 1}, view::Token::text);
    }
    const auto picture = p.take();
    REQUIRE(picture.shapes.size() == 40);
    for (std::size_t i = 1; i < picture.shapes.size(); ++i) {
        const auto &a = picture.shapes[i - 1], &b = picture.shapes[i];
        CHECK((a.layer < b.layer || (a.layer == b.layer && a.box.x < b.box.x)));
    }
}
