#include "app/gui/view/collective_view.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/utf8.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"
#include "tests/view/toy.h"

using namespace meshscope;
using test::find;
using test::says;
using test::Toy;

TEST_CASE("memory's highest column is the ledger's peak, and its flag says the exact bytes") {
    const Toy toy;
    for (int32_t r = 0; r < 4; ++r) {
        const auto columns = view::memory_columns(toy.trace, r, 0);
        REQUIRE(columns.size() == toy.trace.ranks[static_cast<std::size_t>(r)].events.size());
        const auto peak = memory::peak(toy.trace, r, 0);
        const auto& top = columns[view::highest(columns)];
        CHECK(top.total == peak.bytes);
        CHECK(top.event == peak.event);
        CHECK(top.bytes == peak.by_category);
        int64_t sum = 0;
        for (const auto& live : memory::live_at(toy.trace, r, top.changes)) sum += live.bytes;
        CHECK(sum == top.total);
        CHECK(view::join_columns(columns, 4)[view::highest(view::join_columns(columns, 4))].total ==
              peak.bytes);
    }
    const auto picture = view::memory_view(toy.at(0));
    const auto peak = memory::peak(toy.trace, 0, 0);
    CHECK(!find(picture, "peak", 0, peak.event).empty());
    CHECK(test::says_part(picture, "2,664 B"));  // 704 + 440 + 440 + 352 + 264 + 264 + 80 + 80 + 40
    for (const auto& e : toy.trace.ranks[0].events) CHECK(find(picture, "column", 0, e.id).size() >= 1);
}

TEST_CASE("memory before the first step is that of set-up, which has no number") {
    const Toy toy;
    const auto picture = view::memory_view(toy.at(0), {.step = -1});
    CHECK(test::says_part(picture, "Memory of every rank, set-up"));
    CHECK_FALSE(test::says_part(picture, "-1"));
}

TEST_CASE("what is still to come is faint: the veil gives way as the cursor goes on") {
    const Toy toy;
    float before = 1e9F;
    for (const int32_t e : {0, 3, 7, 12}) {
        const auto picture =
            view::memory_view(toy.at(toy.clock.events[0][static_cast<std::size_t>(e)].begin_ns));
        const auto veil = find(picture, "future", 0), cursor = find(picture, "cursor");
        REQUIRE(veil.size() == 1);
        CHECK(veil[0]->box.w < before);
        before = veil[0]->box.w;
        REQUIRE(!cursor.empty());
    }
    CHECK(find(view::memory_view(toy.at(toy.clock.end_ns)), "future", 0).empty());
}

TEST_CASE("stacks stand on what always stays, in look.md's colours") {
    CHECK(view::kStackOrder[0] == MemoryCategory::optimizer_state);
    CHECK(view::kStackOrder[1] == MemoryCategory::sharded_parameters);
    view::Shape s;
    view::style_category(s, MemoryCategory::communication);
    CHECK(s.fill == view::Token::pink);
    CHECK(s.fill_alpha == Approx(0.45));
    CHECK(s.pattern == view::Fill::hatch);
    // Heights add up: every stack's shapes end where the column's total is.
    const Toy toy;
    const auto picture = view::memory_view(toy.at(0));
    float top = 1e9F, bottom = 0;
    for (const auto* shape : find(picture, "stack", 0)) {
        top = std::min(top, shape->box.y);
        bottom = std::max(bottom, shape->box.y + shape->box.h);
    }
    float highest = 0;
    for (const auto* column : find(picture, "peak", 0))
        if (column->kind == view::ShapeKind::rect && column->stroke == view::Token::sel)
            highest = column->box.y;
    CHECK(highest == Approx(top).margin(0.5));
    CHECK(bottom > top);
}

TEST_CASE("a mesh is a parallel projection: equal steps of a dim are equal vectors") {
    const std::vector<int64_t> shape{2, 3, 4};
    for (const auto& kept :
         {std::vector<std::size_t>{}, std::vector<std::size_t>{0, 1}, std::vector<std::size_t>{2}}) {
        const auto at = view::mesh_layout(shape, kept, {0, 0, 900, 500}, 1);
        REQUIRE(at.positions.size() == 24);
        const int64_t strides[3] = {12, 4, 1};
        for (std::size_t d = 0; d < 3; ++d) {
            const auto step = [&](int64_t i) {
                const auto &a = at.positions[static_cast<std::size_t>(i)],
                           &b = at.positions[static_cast<std::size_t>(i + strides[d])];
                return view::Point{b.x - a.x, b.y - a.y};
            };
            const auto first = step(0);
            for (int64_t i = 0; i < 24; ++i) {
                if (view::mesh_coordinate(shape, i)[d] + 1 >= shape[d]) continue;
                CHECK(step(i).x == Approx(first.x).margin(0.01));
                CHECK(step(i).y == Approx(first.y).margin(0.01));
            }
        }
        for (const auto& p : at.positions) {
            CHECK(p.x >= 0);
            CHECK(p.x <= 900);
            CHECK(p.y >= 0);
            CHECK(p.y <= 500);
        }
        for (std::size_t i = 0; i < 24; ++i)
            for (std::size_t j = i + 1; j < 24; ++j)
                CHECK(std::hypot(at.positions[i].x - at.positions[j].x,
                                 at.positions[i].y - at.positions[j].y) > 10);
    }
}

TEST_CASE("the slice's table tells every rank its own row, as PyTorch does") {
    Toy toy;
    toy.selection.slice = "mesh[\"replicate\", \"shard\"]";
    toy.selection.asking_rank = 1;
    view::MeshOptions options;
    options.shape = {2, 2, 2};
    options.names = {"replicate", "shard", "tp"};
    const auto table = view::mesh_table(toy.at(0), options);
    CHECK(says(table, "[[1, 3], [5, 7]]"));
    CHECK(says(table, "[[0, 2], [4, 6]]"));
    for (int64_t r = 0; r < 8; ++r) CHECK(find(table, "rank", r).size() == 1);
    const auto facts = view::mesh_facts(toy.at(0, {460, 700}), options);
    CHECK(says(facts, "[[1, 3],"));
    CHECK(says(facts, " [5, 7]]"));
    CHECK(says(facts, "(4, 2, 1)"));
    CHECK(says(facts, "(4, 2)"));
    CHECK(find(facts, "cost").size() == 15);  // 12 new_group calls and 3 split_group calls
    options.covered = true;                   // a question is open
    const auto covered = view::mesh_table(toy.at(0), options);
    CHECK_FALSE(says(covered, "[[1, 3], [5, 7]]"));
    CHECK_FALSE(says(covered, "[1, 3]"));
    options.covered = false;
    options.asked = 12;  // how many new_group calls
    CHECK(find(view::mesh_facts(toy.at(0, {460, 700}), options), "cost").empty());
    options.asked = 5;
    CHECK(find(view::mesh_facts(toy.at(0, {460, 700}), options), "cost").size() == 15);
    options.asked.reset();
    toy.selection.slice = "shard,replicate";
    const auto refused = view::mesh_facts(toy.at(0, {460, 700}), options);
    CHECK(says(refused, "KeyError"));
    bool exact = false;
    for (const auto& line : refused.text_lines)
        exact = exact || line.find("Mesh dim indices should be in ascending order.") != std::string::npos;
    CHECK(exact);
}

TEST_CASE("the mesh's box takes any question, several one after the other, and says what it cannot read") {
    Toy toy;
    toy.selection.asking_rank = 1;
    view::MeshOptions options;
    options.shape = {2, 2, 2};
    options.names = {"replicate", "shard", "tp"};
    const auto tables = [&](const char* asked) {
        toy.selection.slice = asked;
        return view::mesh_table(toy.at(0), options);
    };
    CHECK(says(tables("mesh[\"replicate\", \"shard\"]._flatten(\"dp\")"), "[1, 3, 5, 7]"));
    CHECK(says(tables("mesh[\"replicate\", \"shard\"]._flatten(\"dp\"); mesh[\"dp\", \"tp\"]"),
               "[[0, 1], [2, 3], [4, 5], [6, 7]]"));
    // The order counts: nothing has been flattened yet.
    tables("mesh[\"dp\", \"tp\"]; mesh[\"replicate\", \"shard\"]._flatten(\"dp\")");
    CHECK(says(view::mesh_facts(toy.at(0, {460, 700}), options), "KeyError"));
    tables("mesh[\"replicate\"] please");
    const auto facts = view::mesh_facts(toy.at(0, {460, 700}), options);
    CHECK(says(facts, "This cannot be read"));
    CHECK_FALSE(says(facts, "PyTorch refuses this"));
}

TEST_CASE("dims keep their hue and line: replicate double pink, shard solid sky, tp dotted green") {
    CHECK(view::dim_hue("replicate", 3) == view::Token::pink);
    CHECK(view::dim_stroke("replicate", 3) == view::Stroke::double_line);
    CHECK(view::dim_hue("shard", 0) == view::Token::sky);
    CHECK(view::dim_stroke("tp", 0) == view::Stroke::dotted);
    CHECK(view::dim_hue("pp", 0) == view::Token::yellow);
    CHECK(view::dim_stroke("cp", 0) == view::Stroke::dash_dot);
    CHECK(view::dim_hue("shard_cp", 2) == view::Token::sky);
    CHECK(view::dim_hue("cp_shard", 2) == view::Token::sky);
    const Toy toy;
    const auto picture = view::mesh_view(toy.at(0));
    for (int64_t r = 0; r < 4; ++r) CHECK(!find(picture, "rank", r).empty());
    CHECK(!find(picture, "node", 1).empty());
    CHECK(!find(picture, "group", 0, 0).empty());
    CHECK(!find(picture, "group", 1, 2).empty());
}

TEST_CASE("a chunk's place is a pure function of the cursor, and each chunk and flight has its id") {
    const Toy toy;
    const auto& hop = toy.clock.hops[0][0];
    const auto middle = view::collective_view(toy.at((hop.begin_ns + hop.end_ns) / 2));
    for (int64_t r = 0; r < 4; ++r) {
        CHECK(!find(middle, "rank", r).empty());
        for (int64_t c = 0; c < 2; ++c) CHECK(!find(middle, "chunk", r, c).empty());
        CHECK(find(middle, "flight", r).size() >= 1);
    }
    const auto x = [&](int64_t t) { return find(view::collective_view(toy.at(t)), "flight", 1)[0]->box.x; };
    const int64_t length = hop.end_ns - hop.begin_ns;
    CHECK(x(hop.begin_ns + length / 4) < x(hop.begin_ns + length / 2));
    CHECK(x(hop.begin_ns + length / 2) < x(hop.begin_ns + length * 3 / 4));
    CHECK(x(hop.begin_ns + length / 2) == x(hop.begin_ns + length / 2));
    // Half the time: half of 55 elements are there, and their bytes are sent.
    CHECK(says(middle, "27 / 55"));
    CHECK(test::says_part(middle, "sent 108 of 220 B"));
    const auto landed = view::collective_view(toy.at(hop.end_ns));
    CHECK_FALSE(find(landed, "bytes").empty());
    view::CollectiveOptions asked;
    asked.covered = true;  // a question asks for the bytes
    CHECK(find(view::collective_view(toy.at(hop.end_ns), asked), "bytes").empty());
    CHECK(landed.text_lines[0].find("net") != std::string::npos);
}

TEST_CASE("lines break at spaces and between Chinese characters, never before a closing mark") {
    const Toy toy;
    const auto input = toy.at(0);
    const view::Painter painter(input);
    const std::string words = "每个 rank 都要调用全部 12 次 new_group，也包括自己不在其中的组。";
    const auto lines = painter.wrap(words, view::Face::body, 120);
    std::string joined;
    for (const auto& line : lines) {
        CHECK(toy.measure.width(line, view::Face::body) <= 120);
        CHECK(line.find("，") != 0);
        CHECK(line.find("。") != 0);
        CHECK(line[0] != ' ');
        joined += line;
    }
    std::string without;
    for (const char c : words)
        if (c != ' ') without += c;
    std::string squeezed;
    for (const char c : joined)
        if (c != ' ') squeezed += c;
    CHECK(squeezed == without);
    for (float width = 60; width < 260; width += 3)
        for (const auto& line : painter.wrap(words, view::Face::body, width)) {
            CHECK_FALSE(line.ends_with("12"));
            CHECK_FALSE(line.starts_with("次"));
        }
}

TEST_CASE(
    "every machine is drawn round its ranks and no others, whatever the mesh's shape and its ranks a "
    "machine") {
    const std::vector<std::vector<int64_t>> shapes{{6},       {2, 3},    {3, 2},      {4, 5},
                                                   {2, 2, 2}, {2, 3, 4}, {2, 2, 2, 3}};
    for (const auto& shape : shapes) {
        int32_t ranks = 1;
        for (const int64_t size : shape) ranks *= static_cast<int32_t>(size);
        for (int32_t each = 1; each < ranks; ++each)
            for (const bool in_turn : {false, true}) {  // rank by rank on the machines, too
                Toy toy;
                auto& info = toy.trace.info;
                info.world_size = ranks;
                info.mesh_shape = shape;
                info.mesh_names.assign(shape.size(), "");
                for (std::size_t d = 0; d < shape.size(); ++d) info.mesh_names[d] = "d" + std::to_string(d);
                info.mesh_ranks.clear();
                info.node_of_rank.clear();
                const int32_t machines = (ranks + each - 1) / each;
                for (int32_t r = 0; r < ranks; ++r) {
                    info.mesh_ranks.push_back(r);
                    info.node_of_rank.push_back(in_turn ? r % machines : r / each);
                }
                toy.trace.ranks.resize(static_cast<std::size_t>(ranks));
                toy.clock = time::modelled(toy.trace, time::classroom());
                const auto picture = view::mesh_view(toy.at(0));
                INFO("dims " << shape.size() << ", ranks " << ranks << ", each " << each << ", in turn "
                             << in_turn);
                for (int32_t r = 0; r < ranks; ++r) {
                    const auto bodies = find(picture, "rank", r);
                    REQUIRE(!bodies.empty());
                    const view::Rect box = bodies[0]->box;
                    const view::Point middle{box.x + box.w / 2, box.y + box.h / 2};
                    for (int32_t node = 0; node < machines; ++node) {
                        bool inside = false;
                        for (const auto* part : find(picture, "node", node))
                            inside = inside || (part->kind == view::ShapeKind::polygon &&
                                                view::inside(part->points, middle));
                        CHECK(inside ==
                              (machines > 1 && info.node_of_rank[static_cast<std::size_t>(r)] == node));
                    }
                }
            }
    }
}
