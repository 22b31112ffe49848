// What pictures do where room is scarce: half a window, or a whole one at 200 % text.
#include <algorithm>
#include <cmath>

#include "app/gui/view/collective_view.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/stepping.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"
#include "tests/view/toy.h"

using namespace meshscope;
using test::find;
using test::says;
using test::Toy;
using view::Point;
using view::Rect;
using view::ShapeKind;

namespace {

constexpr view::Size kSmall{640, 236};  // the scene of 1280×720 at 200 %

bool meet(const Rect& a, const Rect& b) {
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

bool within(const Rect& in, const Rect& out) {
    return in.x >= out.x && in.y >= out.y && in.x + in.w <= out.x + out.w && in.y + in.h <= out.y + out.h;
}

/// Points along the outline or the path of a shape, at most a pixel apart.
std::vector<Point> walk(const view::Shape& s) {
    std::vector<Point> out;
    if (s.kind == ShapeKind::bezier) {
        for (int i = 0; i <= 1000; ++i)
            out.push_back(view::bezier_at(s.points[0], s.points[1], s.points[2], s.points[3],
                                          static_cast<float>(i) / 1000));
        return out;
    }
    const std::size_t n = s.points.size(), sides = s.kind == ShapeKind::polygon ? n : n - 1;
    for (std::size_t i = 0; i < sides; ++i) {
        const Point a = s.points[i], b = s.points[(i + 1) % n];
        const int steps = 1 + static_cast<int>(std::hypot(b.x - a.x, b.y - a.y));
        for (int k = 0; k <= steps; ++k) {
            const float t = static_cast<float>(k) / static_cast<float>(steps);
            out.push_back({a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t});
        }
    }
    return out;
}

bool is_coordinate(const std::string& text) {
    return text.size() >= 3 && text.front() == '(' && text.back() == ')' &&
           text.find(' ') == std::string::npos;
}

}  // namespace

TEST_CASE("memory at the cursor: the list is of the event that the cursor stands in, and its head says so") {
    Toy toy;
    const auto columns = view::memory_columns(toy.trace, 0, 0);
    const auto peak = view::highest(columns);
    for (const auto& column : columns) {
        const auto& when = toy.clock.events[0][static_cast<std::size_t>(column.event)];
        const auto now = view::event_at(toy.trace, toy.clock, {when.begin_ns}, 0);
        REQUIRE(now);
        const auto at = std::find_if(columns.begin(), columns.end(),
                                     [&](const auto& c) { return c.event == now->event; });
        REQUIRE(at != columns.end());
        const auto facts = view::memory_facts(toy.at(when.begin_ns, {400, 700}));
        const bool is_peak = at->event == columns[peak].event;
        CHECK(says(facts, is_peak ? "What makes the peak" : "Memory at the cursor"));
        CHECK(says(facts, is_peak ? "alive at the peak" : "alive at this moment"));
        bool sum = false;
        for (const auto* s : find(facts, "sum")) sum = sum || s->text == view::format_count(at->total);
        CHECK(sum);
    }
    // What was chosen stays, wherever the cursor goes.
    const auto chosen = peak == 2 ? 3 : 2;
    toy.selection.event_rank = 0;
    toy.selection.event = columns[chosen].event;
    const auto facts = view::memory_facts(toy.at(toy.clock.end_ns, {400, 700}));
    CHECK(says(facts, "Memory at the selected event"));
    CHECK(says(facts, view::format_count(columns[chosen].total)));
}

TEST_CASE("a selected event of another step outlines no column of this one") {
    Toy toy;
    toy.trace.ranks[0].events.back().step = 1;
    toy.selection.event_rank = 0;
    toy.selection.event = toy.trace.ranks[0].events.back().id;
    view::MemoryOptions options;
    options.step = 0;
    const auto picture = view::memory_view(toy.at(0), options);
    for (const auto* s : find(picture, "column", 0)) CHECK(s->stroke != view::Token::sel);
}

TEST_CASE("a low memory picture keeps its axis and its words, and every rank is below") {
    const Toy toy;
    for (const float height : {236.F, 300.F, 344.F, 560.F}) {
        INFO(height);
        const auto picture = view::memory_view(toy.at(toy.clock.end_ns * 9 / 10, {640, height}));
        Rect chart;  // the chosen rank's columns
        for (const auto* s : find(picture, "column", 0))
            if (s->kind == ShapeKind::rect && s->box.h > chart.h) chart = s->box;
        CHECK(chart.h >= 100);
        CHECK(chart.y + chart.h <= height);
        CHECK(!find(picture, "axis").empty());
        for (int64_t r = 1; r < 4; ++r) {
            bool row = !find(picture, "rank", r).empty() && !find(picture, "column", r).empty();
            // Ranks of equal memory share the first one's row.
            for (int64_t other = 1; other < r; ++other)
                row = row || view::memory_columns(toy.trace, static_cast<int32_t>(other), 0)[0].bytes ==
                                 view::memory_columns(toy.trace, static_cast<int32_t>(r), 0)[0].bytes;
            CHECK(row);
        }
        for (const auto& s : picture.shapes) CHECK(s.box.y + s.box.h <= picture.height + 0.5F);
        bool gathers = false;
        std::string last;
        for (const auto* s : find(picture, "column", 0)) {
            if (s->kind != ShapeKind::text) continue;
            gathers = gathers || s->text.find("AG") == 0;
            CHECK(s->text != "F");  // a phase alone does not tell kernels apart
            CHECK(s->text != "B");
        }
        CHECK(gathers);
    }
}

TEST_CASE("no two categories of memory look the same") {
    for (int a = 0; a < kMemoryCategories; ++a)
        for (int b = a + 1; b < kMemoryCategories; ++b) {
            view::Shape x, y;
            view::style_category(x, static_cast<MemoryCategory>(a));
            view::style_category(y, static_cast<MemoryCategory>(b));
            INFO(a << " and " << b);
            CHECK((x.fill != y.fill || x.pattern != y.pattern));
        }
}

TEST_CASE("no path of a ring runs through a cell, at any size and in any form") {
    const auto n = GENERATE(2, 3, 4, 5, 6, 8);
    const auto op = GENERATE(CollectiveOp::all_gather, CollectiveOp::all_reduce);
    const auto trace = test::one_collective(op, Algorithm::ring, n, 55);
    const auto clock = time::modelled(trace, time::classroom());
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    const view::Selection nothing;
    for (const view::Size size : {kSmall, view::Size{300, 240}, view::Size{656, 200}, view::Size{656, 344},
                                  view::Size{400, 400}, view::Size{1032, 560}}) {
        INFO(n << " ranks, " << size.width << "x" << size.height);
        const view::Input input{trace, clock, {0}, nothing, size, view::Language::en, measure, texts};
        view::CollectiveOptions options;
        options.overview = false;
        const auto picture = view::collective_view(input, options);
        const auto cells = find(picture, "chunk");
        int64_t through = 0, paths = 0;
        for (const auto& s : picture.shapes) {
            if (s.kind != ShapeKind::bezier) continue;
            ++paths;
            for (const Point p : walk(s))
                through += std::count_if(cells.begin(), cells.end(), [&](const auto* cell) {
                    return cell->kind == ShapeKind::rect && cell->box.contains(p);
                });
        }
        CHECK(paths >= n);
        CHECK(through == 0);
        for (int32_t r = 0; r < n; ++r) {
            const auto shapes = find(picture, "rank", r);
            CHECK(std::any_of(shapes.begin(), shapes.end(), [&](const auto* s) {
                return s->kind == ShapeKind::text && s->text.find(std::to_string(r)) != std::string::npos;
            }));
        }
        // The hues are explained wherever they stand for few enough ranks.
        CHECK(says(picture, "rank 0"));
        int64_t marks = 0;
        for (const auto& s : picture.shapes)
            marks += s.kind == ShapeKind::circle || s.kind == ShapeKind::polygon;
        CHECK(marks > 0);
        CHECK(test::text_problems(picture, measure).empty());
    }
}

TEST_CASE(
    "two facing groups too low for cards keep their chunks inside their hulls, with figures, and show "
    "nodes") {
    const Toy toy;
    const auto& events = toy.trace.ranks[0].events;
    const auto found = std::find_if(events.begin(), events.end(),
                                    [](const auto& e) { return e.op == CollectiveOp::all_reduce; });
    REQUIRE(found != events.end());
    Toy chosen;
    chosen.selection.event_rank = 0;
    chosen.selection.event = found->id;
    const auto picture = view::collective_view(chosen.at(0, {660, 244}));
    std::vector<Rect> hulls;
    for (const auto* s : find(picture, "group"))
        if (s->kind == ShapeKind::rect) hulls.push_back(s->box);
    REQUIRE(hulls.size() == 2);
    int64_t cells = 0, figures = 0;
    for (const auto* s : find(picture, "chunk")) {
        figures += s->kind == ShapeKind::text;
        if (s->kind != ShapeKind::rect) continue;
        ++cells;
        CHECK(std::any_of(hulls.begin(), hulls.end(), [&](const Rect& h) { return within(s->box, h); }));
    }
    CHECK(cells == 8);
    CHECK(figures == 8);
    // The traffic crosses nodes: each stands behind the ranks that it holds, and is named.
    std::vector<Rect> nodes;
    for (const auto* s : find(picture, "node"))
        if (s->kind == ShapeKind::rect) nodes.push_back(s->box);
    REQUIRE(nodes.size() == 2);
    CHECK_FALSE(meet(nodes[0], nodes[1]));
    for (int32_t r = 0; r < 4; ++r)
        for (const auto* s : find(picture, "rank", r))
            CHECK(within(
                s->box,
                nodes[static_cast<std::size_t>(toy.trace.info.node_of_rank[static_cast<std::size_t>(r)])]));
    CHECK(says(picture, "node 0"));
    CHECK(says(picture, "node 1"));
    CHECK(test::text_problems(picture, chosen.measure).empty());
}

TEST_CASE("coordinates stand at all ranks or at none, and cross no line") {
    Toy toy;
    struct Case {
        mesh::Shape shape;
        std::string slice;
        int32_t rank;
    };
    const auto c = GENERATE(Case{{2, 4}, "", 5}, Case{{2, 2, 2}, "", 6}, Case{{2, 2, 2}, "", 1},
                            Case{{2, 2, 2}, "dim 0,dim 1", 1}, Case{{4, 2}, "", 0});
    toy.selection.rank = c.rank;
    toy.selection.asking_rank = c.rank;
    toy.selection.slice = c.slice;
    view::MeshOptions options;
    options.shape = c.shape;
    const int64_t ranks = c.shape.size() == 3 ? 8 : c.shape[0] * c.shape[1];
    for (const view::Size size : {view::Size{640, 178}, view::Size{656, 286}, view::Size{1032, 500}}) {
        INFO(c.shape.size() << " dims, slice " << c.slice << ", " << size.width << "x" << size.height);
        const auto picture = view::mesh_view(toy.at(0, size), options);
        std::vector<const view::Shape*> words;
        bool cards = false;
        for (const auto& s : picture.shapes) {
            if (s.kind == ShapeKind::text && is_coordinate(s.text)) words.push_back(&s);
            cards = cards || (s.kind == ShapeKind::rect && s.id.kind == "rank" && s.radius == 12);
        }
        if (cards) continue;  // they stand inside
        CHECK((words.empty() || static_cast<int64_t>(words.size()) == ranks));
        int64_t crossings = 0;
        for (const auto& s : picture.shapes) {
            const bool line =
                s.id.kind == "group" || s.id.kind == "node" || s.id.kind == "sheet" || s.id.kind == "axis";
            if (!line || s.points.size() < 2) continue;
            for (const Point p : walk(s))
                crossings += std::count_if(words.begin(), words.end(), [&](const auto* w) {
                    // The letters themselves: a line of text is higher than they are.
                    return Rect{w->box.x, w->box.y + 4, w->box.w, w->box.h - 8}.contains(p);
                });
        }
        CHECK(crossings == 0);
    }
}

TEST_CASE("no line runs through a node's name, and the words of an axis have its hue") {
    Toy toy;
    const int32_t rank = GENERATE(0, 1, 2, 3);
    toy.selection.rank = toy.selection.asking_rank = rank;
    for (const view::Size size :
         {view::Size{640, 178}, view::Size{656, 286}, view::Size{860, 430}, view::Size{1032, 500}}) {
        const auto picture = view::mesh_view(toy.at(0, size));
        INFO("rank " << rank << ", " << size.width << "x" << size.height);
        int64_t names = 0;
        for (const auto* name : find(picture, "node")) {
            if (name->kind != ShapeKind::text) continue;
            ++names;
            // A patch of the background takes the line away behind the name.
            const bool patch = std::any_of(picture.shapes.begin(), picture.shapes.end(), [&](const auto& s) {
                return s.kind == ShapeKind::rect && s.id == name->id && s.fill == view::Token::bg &&
                       within({name->box.x, name->box.y + 4, name->box.w, name->box.h - 8}, s.box);
            });
            int64_t crossings = 0;
            for (const auto& s : picture.shapes)
                if ((s.id.kind == "group" || s.id.kind == "node") && s.points.size() >= 2)
                    for (const Point p : walk(s))
                        crossings +=
                            Rect{name->box.x, name->box.y + 4, name->box.w, name->box.h - 8}.contains(p);
            CHECK((crossings == 0 || patch));
        }
        CHECK(names == 2);
    }
    view::MeshOptions options;
    options.shape = {2, 2, 2};
    options.names = {"pp", "cp", "tp"};
    int64_t words = 0;
    const auto sheets = view::mesh_view(toy.at(0), options);
    for (const auto* s : find(sheets, "axis"))
        if (s->kind == ShapeKind::text) {
            ++words;
            const auto d = static_cast<std::size_t>(s->id.a);
            CHECK(s->fill == view::dim_hue(options.names[d], d));
        }
    CHECK(words >= 3);
}

TEST_CASE(
    "a group over two sheets is joined by a band: hulls stay inside their sheet: nodes keep their names") {
    Toy toy;
    toy.selection.rank = 6;
    toy.selection.asking_rank = 6;
    view::MeshOptions options;
    options.shape = {2, 2, 2};
    options.names = {"replicate", "shard", "tp"};
    const auto whole = view::mesh_view(toy.at(0, {656, 286}), options);
    const auto bands = find(whole, "band");
    REQUIRE(bands.size() == 1);
    CHECK(bands[0]->id.a == 2);
    CHECK(bands[0]->id.b == 6);

    // (2, 2) over two nodes, sliced to its rows.
    Toy run;
    run.selection.rank = 3;
    run.selection.asking_rank = 3;
    run.selection.slice = "shard";
    for (const view::Size size : {view::Size{656, 286}, view::Size{640, 178}, view::Size{1032, 500}}) {
        const auto picture = view::mesh_view(run.at(0, size));
        CHECK(says(picture, "node 0"));
        CHECK(says(picture, "node 1"));
        const auto sheets = find(picture, "sheet", 2);
        REQUIRE(sheets.size() == 1);
        int64_t hulls = 0;
        for (const auto* s : find(picture, "group", 1, 2)) {
            if (s->kind != ShapeKind::polygon) continue;
            ++hulls;
            for (const Point p : s->points) CHECK(view::inside(sheets[0]->points, p));
        }
        CHECK(hulls == 1);
    }
}

TEST_CASE("a layout of one dim is written as Python writes a tuple of one") {
    Toy toy;
    toy.selection.slice = "shard";
    view::MeshOptions options;
    options.shape = {2, 4};
    options.names = {"replicate", "shard"};
    const auto facts = view::mesh_facts(toy.at(0, {420, 700}), options);
    CHECK(says(facts, "(4,)"));
    CHECK(says(facts, "(1,)"));
    CHECK_FALSE(says(facts, "(4)"));
    CHECK_FALSE(says(facts, "(1)"));
}
