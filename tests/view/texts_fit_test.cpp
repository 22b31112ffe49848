// No text of any view is clipped, covered or outside, in both languages and at three sizes (look.md section
// 8's rule).
#include "app/gui/view/collective_view.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/timeline_view.h"
#include "app/gui/view/traffic_view.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"
#include "tests/view/toy.h"

using namespace meshscope;
using view::Language;
using view::Picture;

namespace {

constexpr view::Size kSizes[] = {{656, 344}, {1032, 560}, {2000, 1100}};

std::string report(const std::vector<std::string>& problems) {
    std::string out;
    for (std::size_t i = 0; i < problems.size() && i < 12; ++i) out += problems[i] + "\n";
    return out;
}

// Draws `draw(input)` at every size in both languages and collects what is wrong.
template <class Draw>
std::string everywhere(const trace::Trace& trace, const time::Clock& clock, view::Cursor cursor,
                       const view::Selection& selection, Draw draw) {
    std::string out;
    for (const Language language : {Language::en, Language::zh}) {
        const test::FakeMeasure measure(language == Language::zh ? 1.6F : 1.45F);
        static const test::CatalogueTexts english(Language::en), chinese(Language::zh);
        const auto& texts = language == Language::zh ? chinese : english;
        for (const auto size : kSizes) {
            const view::Input input{trace, clock, cursor, selection, size, language, measure, texts};
            const Picture picture = draw(input);
            const auto problems = test::text_problems(picture, measure);
            if (!problems.empty())
                out += (language == Language::zh ? "zh " : "en ") +
                       std::to_string(static_cast<int>(size.width)) + "\n" + report(problems);
        }
    }
    return out;
}

}  // namespace

TEST_CASE("the check of texts finds what it is for") {
    const test::FakeMeasure measure;
    view::Picture picture;
    picture.width = picture.height = 100;
    const auto put = [&](float x, float y, float w, std::string words) {
        view::Shape s;
        s.kind = view::ShapeKind::text;
        s.box = {x, y, w, 20};
        s.text = std::move(words);
        s.fill = view::Token::text;
        picture.shapes.push_back(s);
    };
    put(0, 0, 40, "rank");
    CHECK(test::text_problems(picture, measure).empty());
    put(20, 10, 40, "rank");  // on the first
    CHECK(test::text_problems(picture, measure).size() == 1);
    put(80, 50, 40, "rank");  // outside
    put(0, 60, 10, "rank");   // wider than its box
    put(0, 80, 90, "{x}");    // a placeholder
    CHECK(test::text_problems(picture, measure).size() == 4);
}

TEST_CASE("texts of the timeline and of memory fit at every size in both languages") {
    const auto trace = test::toy_hsdp();
    const auto clock = time::modelled(trace, time::classroom());
    view::Selection selection;
    const int64_t part = GENERATE(0, 1, 2, 3, 4, 5, 6);
    const view::Cursor cursor{clock.end_ns * part / 6};
    CHECK(everywhere(trace, clock, cursor, selection,
                     [](const auto& in) { return view::timeline_view(in); }) == "");
    CHECK(everywhere(trace, clock, cursor, selection, [](const auto& in) { return view::memory_view(in); }) ==
          "");
    CHECK(everywhere(trace, clock, cursor, selection,
                     [](const auto& in) { return view::memory_facts(in); }) == "");
    selection.event_rank = 2;
    selection.event = 5;
    selection.rank = 2;
    CHECK(everywhere(trace, clock, cursor, selection,
                     [](const auto& in) { return view::timeline_view(in); }) == "");
    CHECK(everywhere(trace, clock, cursor, selection, [](const auto& in) { return view::memory_view(in); }) ==
          "");
    CHECK(everywhere(trace, clock, cursor, selection, [&](const auto& in) {
              view::TimelineOptions zoomed;
              zoomed.begin_ns = clock.end_ns / 3;
              zoomed.end_ns = clock.end_ns / 2;
              return view::timeline_view(in, zoomed);
          }) == "");
}

TEST_CASE("texts of the collective view fit at every moment of the toy's step") {
    const auto trace = test::toy_hsdp();
    const auto clock = time::modelled(trace, time::classroom());
    view::Selection selection;
    selection.rank = 1;
    const int64_t part = GENERATE(0, 3, 7, 11, 16, 20, 24, 29, 33, 40);
    CHECK(everywhere(trace, clock, {clock.end_ns * part / 40}, selection,
                     [](const auto& in) { return view::collective_view(in); }) == "");
}

TEST_CASE("texts of the collective view fit for rings, trees and direct exchanges of many sizes") {
    const auto algorithm = GENERATE(Algorithm::ring, Algorithm::direct, Algorithm::tree);
    const auto n = GENERATE(1, 2, 3, 4, 5, 8, 20);
    const auto op =
        algorithm == Algorithm::tree
            ? CollectiveOp::all_reduce
            : GENERATE(CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter);
    const auto trace = test::one_collective(op, algorithm, n, 2 * n);
    const auto clock = time::modelled(trace, time::classroom());
    for (const int64_t part : {0, 3, 7}) {
        INFO(n << " ranks, " << part << "/10");
        CHECK(everywhere(trace, clock, {clock.end_ns * part / 10}, {},
                         [](const auto& in) { return view::collective_view(in); }) == "");
    }
}

TEST_CASE("texts of the mesh pictures fit for meshes of one to four dims") {
    struct Case {
        mesh::Shape shape;
        mesh::Names names;
        std::string slice;
        int32_t asking;
    };
    const auto c = GENERATE(
        Case{{8}, {"shard"}, "", 3}, Case{{64}, {"shard"}, "", 3}, Case{{1024}, {"shard"}, "", 700},
        Case{{2, 2}, {"replicate", "shard"}, "", 0}, Case{{2, 2}, {"replicate", "shard"}, "shard", 3},
        Case{{4, 8}, {"replicate", "shard"}, "replicate", 9}, Case{{32, 32}, {"replicate", "shard"}, "", 40},
        Case{{2, 2, 2}, {"replicate", "shard", "tp"}, "replicate,shard", 1},
        Case{{2, 2, 2}, {"replicate", "shard", "tp"}, "tp", 6},
        Case{{2, 2, 2}, {"replicate", "shard", "tp"}, "shard,replicate", 1}, Case{{2, 2, 2}, {}, "", 1},
        Case{{4, 2, 4}, {"pp", "shard", "tp"}, "", 1},
        Case{{2, 2, 2, 2}, {"pp", "replicate", "shard", "tp"}, "shard,tp", 5},
        Case{{2, 4, 2, 4}, {"pp", "replicate", "shard", "tp"}, "", 5});
    const auto trace = test::toy_hsdp();
    const auto clock = time::modelled(trace, time::classroom());
    view::Selection selection;
    selection.slice = c.slice;
    selection.asking_rank = c.asking;
    if (c.asking % 2 == 1) selection.rank = c.asking;
    view::MeshOptions options;
    options.shape = c.shape;
    options.names = c.names;
    INFO(c.shape.size() << " dims, first " << c.shape[0] << ", slice " << c.slice);
    for (const float progress : {0.F, 0.3F, 1.F}) {
        options.slice_progress = progress;
        CHECK(everywhere(trace, clock, {}, selection,
                         [&](const auto& in) { return view::mesh_view(in, options); }) == "");
    }
    if (c.shape[0] > 64 || c.shape.size() == 2) return;  // the table's check is quadratic in its texts
    CHECK(everywhere(trace, clock, {}, selection,
                     [&](const auto& in) { return view::mesh_table(in, options); }) == "");
    CHECK(everywhere(trace, clock, {}, selection, [&](auto in) {
              in.size.width = std::min(in.size.width, 460.F);  // the facts column
              return view::mesh_facts(in, options);
          }) == "");
}

TEST_CASE("texts of the traffic view fit for few and many ranks, whatever is counted and chosen") {
    struct Case {
        trace::Trace trace;
        const char* what;
    };
    std::vector<Case> cases;
    cases.push_back({test::toy_hsdp(), "the toy"});
    cases.push_back({test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 2, 4), "2 ranks"});
    cases.push_back(
        {test::one_collective(CollectiveOp::all_gather, Algorithm::direct, 20, 3'000), "20 ranks"});
    cases.push_back({test::one_collective(CollectiveOp::all_gather, Algorithm::ring, 70, 7), "70 ranks"});
    for (auto& [trace, what] : cases) {
        if (trace.ranks.size() > 8)
            for (std::size_t r = 0; r < trace.ranks.size(); ++r)
                trace.info.node_of_rank[r] = static_cast<int32_t>(r / 5);
        const auto clock = time::modelled(trace, time::classroom());
        for (int chosen = 0; chosen < 3; ++chosen) {
            view::Selection selection;
            view::TrafficOptions options;
            options.filter.span = static_cast<view::TrafficSpan>(chosen);
            if (chosen > 0) selection.rank = 1;
            if (chosen > 1) selection.cell = view::TrafficCell{{0, 1}, {1, 1}};
            if (chosen == 1) options.filter.op = static_cast<uint8_t>(CollectiveOp::all_gather);
            INFO(what << ", choice " << chosen);
            CHECK(everywhere(trace, clock, {clock.end_ns / 2}, selection,
                             [&](const auto& in) { return view::traffic_view(in, options); }) == "");
            CHECK(everywhere(trace, clock, {clock.end_ns / 2}, selection, [&](auto in) {
                      in.size.width = std::min(in.size.width, 460.F);
                      return view::traffic_facts(in, options);
                  }) == "");
        }
    }
}
