// The traffic matrix: its sums are the hops', its cells the definition's, at every number of ranks.
#include "app/gui/view/traffic.h"

#include "app/gui/view/format.h"
#include "app/gui/view/svg.h"
#include "app/gui/view/traffic_view.h"
#include "core/trace/query.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"
#include "tests/view/toy.h"

using namespace meshscope;
using test::find;
using test::says;
using test::Toy;
using view::TrafficCell;
using view::TrafficFilter;
using view::TrafficSpan;

namespace {

int64_t asked(const trace::Trace& trace, const std::string& sql) {
    return std::get<int64_t>(trace::TraceDatabase(trace).value(sql));
}

/// Each of `ranks` ranks sends `bytes` to the next and, where `far` is not 0, one to the rank that many on.
trace::Trace ring_of(int32_t ranks, int32_t ranks_a_node, int64_t bytes, int32_t far = 0) {
    trace::Trace trace;
    trace.strings = {""};
    trace.info.world_size = ranks;
    trace.info.steps = 1;
    trace.groups.push_back({"world", {}});
    trace.ranks.resize(static_cast<std::size_t>(ranks));
    for (int32_t r = 0; r < ranks; ++r) {
        trace.groups[0].ranks.push_back(r);
        trace.info.node_of_rank.push_back(r / ranks_a_node);
        trace::Event event;
        event.kind = trace::EventKind::collective;
        event.op = CollectiveOp::all_gather;
        event.algorithm = Algorithm::ring;
        event.group = 0;
        event.sequence = 0;
        auto& rank = trace.ranks[static_cast<std::size_t>(r)];
        rank.events.push_back(event);
        trace::Hop hop;
        hop.src = (r + ranks - 1) % ranks;
        hop.dst = r;
        hop.bytes = bytes;
        rank.hops.push_back(hop);
        if (far == 0) continue;
        hop.src = (r + ranks - far) % ranks;
        hop.bytes = 1;
        rank.hops.push_back(hop);
    }
    return trace;
}

view::Traffic counted(const trace::Trace& trace, const TrafficFilter& filter = {}) {
    return view::traffic(trace, time::measured(trace), 0, filter);
}

}  // namespace

TEST_CASE("the matrix's sums are the recorded hops, by step, by kind, up to the cursor and by node") {
    const Toy toy;
    const auto all = view::traffic(toy.trace, toy.clock, 0, {});
    const int64_t hops = asked(toy.trace, "SELECT sum(bytes) FROM hops");
    CHECK(all.total == hops);
    CHECK(all.total == asked(toy.trace, "SELECT sum(bytes) FROM collectives"));
    CHECK(all.inside ==
          asked(toy.trace,
                "SELECT sum(h.bytes) FROM hops h JOIN ranks s ON s.rank = h.src JOIN ranks d ON "
                "d.rank = h.dst WHERE s.node = d.node"));
    CHECK(all.inside + all.between == hops);
    CHECK(all.between > 0);
    // HSDP (2, 2): shard groups {0, 1} and {2, 3} inside nodes, replicas across: four links of each.
    CHECK(all.links_inside == 4);
    CHECK(all.links_between == 4);
    int64_t by_op = 0;
    for (std::size_t op = 0; op < view::kOps; ++op) {
        TrafficFilter filter;
        filter.op = static_cast<uint8_t>(op);
        const auto one = view::traffic(toy.trace, toy.clock, 0, filter);
        CHECK(one.total == all.by_op[op]);
        by_op += one.total;
    }
    CHECK(by_op == hops);
    // All-reduces of the replicas are all that crosses nodes.
    CHECK(all.by_op[static_cast<std::size_t>(CollectiveOp::all_reduce)] == all.between);

    TrafficFilter until;
    until.span = TrafficSpan::cursor;
    int64_t before = -1;
    for (int64_t part = 0; part <= 8; ++part) {
        const int64_t t = toy.clock.end_ns * part / 8;
        int64_t expected = 0;
        for (std::size_t r = 0; r < toy.trace.ranks.size(); ++r)
            for (std::size_t i = 0; i < toy.trace.ranks[r].hops.size(); ++i)
                if (toy.clock.hops[r][i].begin_ns <= t) expected += toy.trace.ranks[r].hops[i].bytes;
        const int64_t now = view::traffic(toy.trace, toy.clock, t, until).total;
        CHECK(now == expected);
        CHECK(now >= before);
        before = now;
    }
    CHECK(before == hops);
    TrafficFilter step;
    step.span = TrafficSpan::step;
    const auto of_step = view::traffic(toy.trace, toy.clock, toy.clock.end_ns, step);
    CHECK(of_step.step == 0);
    CHECK(of_step.total == asked(toy.trace, "SELECT bytes FROM steps WHERE step = 0"));
}

TEST_CASE(
    "a ring fills the cells beside the diagonal with n - 1 parts, a direct exchange all but the diagonal") {
    const auto ring = test::one_collective(CollectiveOp::all_gather, Algorithm::ring, 4, 2);
    const auto grid = view::traffic_grid(ring, counted(ring), {}, 100);
    CHECK(grid.fold == 1);
    for (int32_t r = 0; r < 4; ++r)
        for (int32_t c = 0; c < 4; ++c) CHECK(grid.at(r, c) == (c == (r + 1) % 4 ? 3 * 2 * 4 : 0));
    const auto direct = test::one_collective(CollectiveOp::all_gather, Algorithm::direct, 5, 3);
    const auto full = view::traffic_grid(direct, counted(direct), {}, 100);
    for (int32_t r = 0; r < 5; ++r)
        for (int32_t c = 0; c < 5; ++c) CHECK(full.at(r, c) == (c == r ? 0 : 3 * 4));
}

TEST_CASE("cells tell their bytes, a selected rank, cell and collective are outlined") {
    Toy toy;
    const auto all = counted(toy.trace);
    auto picture = view::traffic_view(toy.at(0));
    for (const auto& link : all.links) {
        const auto shapes = find(picture, "link", link.src, link.dst);
        REQUIRE(shapes.size() >= 2);  // the cell and its figure, perhaps the link's curve
        bool told = false;
        for (const auto* s : shapes) told = told || s->text == view::format_count(link.bytes);
        CHECK(told);
    }
    CHECK(find(picture, "link", 0, 3).empty());  // they never met
    CHECK(test::says_part(picture, view::format_exact_bytes(all.total)));
    CHECK(says(picture, view::format_exact_bytes(all.between)));
    toy.selection.cell = TrafficCell{{0, 1}, {1, 1}};
    picture = view::traffic_view(toy.at(0));
    const auto chosen = find(picture, "link", 0, 1);
    CHECK(std::any_of(chosen.begin(), chosen.end(),
                      [](const auto* s) { return s->stroke == view::Token::sel; }));
    // An all_reduce of the replicas {0, 2}: two cells.
    toy.selection = {};
    for (const auto& e : toy.trace.ranks[0].events)
        if (e.op == CollectiveOp::all_reduce && e.kind == trace::EventKind::collective) {
            toy.selection.event_rank = 0;
            toy.selection.event = e.id;
        }
    REQUIRE(toy.selection.event);
    picture = view::traffic_view(toy.at(0));
    int dotted = 0;
    for (const auto& s : picture.shapes)
        dotted += s.stroke_style == view::Stroke::dotted && s.stroke == view::Token::sel ? 1 : 0;
    CHECK(dotted == 2);
}

TEST_CASE("a cell's causes add up to it and lead to an event that made it") {
    Toy toy;
    const auto all = counted(toy.trace);
    for (const auto& link : all.links) {
        const TrafficCell cell{{link.src, 1}, {link.dst, 1}};
        const auto causes = view::traffic_causes(toy.trace, toy.clock, 0, {}, cell);
        int64_t bytes = 0;
        for (const auto& cause : causes) {
            bytes += cause.bytes;
            CHECK(cause.rank == link.dst);
            CHECK(toy.trace.event(cause.rank, cause.event).op == cause.op);
        }
        CHECK(bytes == link.bytes);
        for (std::size_t i = 1; i < causes.size(); ++i) CHECK(causes[i - 1].bytes >= causes[i].bytes);
        toy.selection.cell = cell;
        const auto facts = view::traffic_facts(toy.at(0, {400, 900}));
        CHECK(find(facts, "cause", link.dst).size() >= causes.size());
        CHECK(says(facts, view::format_count(link.bytes)));
    }
    // Rank 1 hears from rank 0: net1 and net2 gathered twice, scattered once.
    const auto causes = view::traffic_causes(toy.trace, toy.clock, 0, {}, {{0, 1}, {1, 1}});
    CHECK(causes.size() == 6);  // all_gather forward and backward, reduce_scatter; of two units
    for (const auto& cause : causes) CHECK(cause.calls == 1);
}

TEST_CASE("many ranks are folded into blocks that mean something, and nothing is lost") {
    for (const int32_t ranks : {2, 64, 100, 1000, 16384}) {
        INFO(ranks << " ranks");
        const auto trace = ring_of(ranks, ranks == 16384 ? 8 : ranks, 100, ranks > 2 ? ranks / 2 : 0);
        const auto traffic = counted(trace);
        const auto grid = view::traffic_grid(trace, traffic, {}, 140);
        CHECK(grid.rows <= 140);
        CHECK(grid.rows * grid.fold >= ranks);
        CHECK((grid.rows - 1) * grid.fold < ranks);
        int64_t sum = 0;
        for (const int64_t cell : grid.bytes) sum += cell;
        CHECK(sum == traffic.total);
        CHECK(traffic.total == (ranks > 2 ? 101 : 100) * int64_t{ranks});
        CHECK(static_cast<int64_t>(traffic.links.size()) == (ranks > 2 ? 2 : 1) * int64_t{ranks});
    }
    // A block of 128 is the power of two that fits; at 1,000 cells a side a node of 32 ranks does.
    const auto trace = ring_of(16384, 32, 100);
    CHECK(view::traffic_grid(trace, counted(trace), {}, 140).fold == 128);
    CHECK(view::traffic_grid(trace, counted(trace), {}, 1000).fold == 32);
    // A part of it, rank by rank.
    TrafficFilter part;
    part.window = TrafficCell{{64, 64}, {64, 64}};
    const auto near = view::traffic_grid(trace, counted(trace), part, 140);
    CHECK(near.fold == 1);
    CHECK(near.at(0, 1) == 100);
    CHECK(near.senders(63) == view::RankRange{127, 1});
}

TEST_CASE("the picture of 16,384 ranks stays small, its cells seen, its blocks named") {
    const auto trace = ring_of(16384, 32, 100, 8192);
    const auto clock = time::measured(trace);
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    view::Selection selection;
    selection.rank = 5000;
    const view::Input input{trace, clock, {}, selection, {1032, 540}, view::Language::en, measure, texts};
    const auto picture = view::traffic_view(input);
    CHECK(picture.shapes.size() < 4000);
    CHECK(test::text_problems(picture, measure).empty());
    int cells = 0;
    for (const auto& s : picture.shapes)
        if (s.id.kind == "link" && s.kind == view::ShapeKind::rect && s.box.w < 12) {
            CHECK(s.box.w >= 3);
            ++cells;
        }
    CHECK(cells > 100);
    const TrafficCell first{{0, 256}, {0, 256}};
    CHECK_FALSE(find(picture, "link", view::pack(first.from), view::pack(first.to)).empty());
    CHECK(view::unpack(view::pack(first.to)) == first.to);
    CHECK(view::unpack(view::pack({7, 1})) == view::RankRange{7, 1});
    CHECK(view::pack({7, 1}) == 7);
}

TEST_CASE("the keyboard goes from link to link and stays at the edge") {
    const auto trace = test::one_collective(CollectiveOp::all_gather, Algorithm::direct, 3, 1);
    const auto clock = time::measured(trace);
    const auto go = [&](std::optional<TrafficCell> from, int32_t rows, int32_t columns) {
        return view::next_cell(trace, clock, {0}, {}, from, rows, columns);
    };
    const auto cell = [](int32_t src, int32_t dst) { return TrafficCell{{src, 1}, {dst, 1}}; };
    CHECK(go({}, 0, 1) == cell(0, 1));
    CHECK(go(cell(0, 1), 0, 1) == cell(0, 2));
    CHECK(go(cell(0, 2), 0, 1) == cell(0, 2));
    CHECK(go(cell(0, 2), 1, 0) == cell(1, 2));
    CHECK(go(cell(2, 1), -1, 0) == cell(0, 1));  // over the diagonal, where nothing is
    CHECK(go(cell(0, 1), -1, 0) == cell(0, 1));
}

TEST_CASE("a record without hops says so instead of showing an empty matrix") {
    Toy toy;
    for (auto& rank : toy.trace.ranks) rank.hops.clear();
    toy.clock = time::modelled(toy.trace, time::classroom());
    // Recorded, and there were none: as in a run of one rank.
    CHECK(test::says_part(view::traffic_view(toy.at(0)), "No rank sent anything"));
    toy.trace.info.level = trace::Level::collectives;
    const auto picture = view::traffic_view(toy.at(0));
    CHECK_FALSE(find(picture, "empty").empty());
    CHECK(test::says_part(picture, "hops were not"));
    CHECK(find(picture, "link").empty());
    CHECK_FALSE(find(view::traffic_facts(toy.at(0, {400, 600})), "empty").empty());
    // What a library moved is named beside what was recorded.
    Toy native;
    for (auto& rank : native.trace.ranks)
        for (auto& event : rank.events)
            if (event.op == CollectiveOp::all_reduce) event.algorithm = Algorithm::native;
    CHECK(view::traffic(native.trace, native.clock, 0, {}).untold_bytes > 0);
}

TEST_CASE("as SVG the amounts keep their colours and read on them") {
    const Toy toy;
    const auto picture = view::traffic_view(toy.at(0));
    const auto file = view::svg(picture, [](view::Token token) -> std::string {
        return token == view::Token::heat_last ? "#FEE838"
               : token == view::Token::ink     ? "#0B0F15"
                                               : "#00224E";
    });
    CHECK(file.find("fill=\"#FEE838\"") != std::string::npos);  // the largest cell
    CHECK(file.find("fill=\"#FFFFFF\"") != std::string::npos);  // white on a dark one
    CHECK(file.find("fill=\"#0B0F15\"") != std::string::npos);  // ink on the brightest
}

TEST_CASE("words in SVG are as large and as wide as in the window") {
    const test::FakeMeasure measure;
    view::Picture picture;
    picture.width = picture.height = 100;
    view::Shape words;
    words.kind = view::ShapeKind::text;
    words.text = "seven words";
    words.face = view::Face::body;
    picture.shapes.push_back(words);
    const auto black = [](view::Token) { return std::string("#000000"); };
    const auto number = [](const std::string& file, const std::string& name) {
        const std::size_t at = file.find(" " + name + "=\"");
        REQUIRE(at != std::string::npos);
        return std::stof(file.substr(at + name.size() + 3));
    };
    const std::string file = view::svg(picture, black, &measure);
    CHECK(number(file, "textLength") == Approx(measure.width(words.text, words.face)).margin(0.01));
    // A line of the face is 1 / 0.853 em high.
    CHECK(number(file, "font-size") == Approx(0.853F * view::face_size(words.face)).margin(0.01));
    CHECK(view::svg(picture, black).find("textLength") == std::string::npos);
}

TEST_CASE("what a rank without a record received is unknown, and not zero") {
    Toy toy;
    toy.trace.info.failure = R"({"id":"run.recovered","args":{"steps":1},"unrecorded":[2]})";
    toy.trace.ranks[2] = {};
    const auto picture = view::traffic_view(toy.at(0));
    CHECK(test::says_part(picture, "Nothing was recorded of rank 2"));
    CHECK(says(picture, "–"));
}
