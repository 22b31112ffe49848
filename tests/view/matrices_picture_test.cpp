// The matrices' picture, over traces of real runs.
#include "app/gui/view/matrices_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/matrices_picture.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/paint.h"
#include "tests/view/matrices_stage.h"
#include "tests/view/picture_check.h"

using namespace meshscope;
using test::find;
using view::Block;
using view::MatrixChain;
using view::MatrixStep;
using view::MatrixTile;
using Run = test::MatricesRun;
using namespace meshscope::test;

TEST_CASE("while a weight is gathered its rows fill as the hops bring them, and what is there is named") {
    Run fsdp(kMlp, "shape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\nalgorithm = \"ring\"\n");
    const int32_t gather = fsdp.event(1, "all_gather", "layers.0");
    // Heat cells of up, the second matrix of the first chain: [8, 12] transposed, three columns of it a rank.
    const auto at = [&](double part) {
        return view::matrices_view(fsdp.within(1, gather, part, {1232, 1356}));
    };
    const auto cells = [&](const view::Picture& picture) {
        // Above the cards, in which the weight stands too.
        const auto cards = std::ranges::find_if(
            picture.shapes, [](const view::Shape& s) { return s.text.starts_with("The weights of"); });
        REQUIRE(cards != picture.shapes.end());
        return std::ranges::count_if(picture.shapes, [&](const view::Shape& s) {
            return s.id == view::Id{"matrix", 1, 2} && s.kind == view::ShapeKind::rect &&
                   s.fill >= view::Token::heat0 && s.box.y < cards->box.y;
        });
    };
    std::vector<int64_t> seen;
    for (int i = 0; i < 40; ++i) {
        const auto picture = at(i / 40.0);
        if (seen.empty() || seen.back() != cells(picture)) seen.push_back(cells(picture));
        CHECK(test::says(picture, "gathering"));
    }
    CHECK(std::ranges::is_sorted(seen));
    CHECK(seen == std::vector<int64_t>{24, 48, 72});  // its own rows and those of two hops; the third ends it
    const auto after =
        view::matrices_view(fsdp.within(1, fsdp.event(1, "linear", "layers.0.up"), 0.5, {1232, 1356}));
    CHECK(cells(after) == 96);
    // Before it is gathered the rank has its kept part alone.
    auto before = fsdp.within(1, gather, 0, {1232, 1356});
    before.cursor.t_ns -= 1;
    CHECK(test::says(view::matrices_view(before), "kept part"));
}

TEST_CASE("a number of a product under the pointer lights up its row and its column and lists the products") {
    Run run(kMlp + kNoBias, kTp);
    const int32_t up = run.event(0, "linear", "layers.0.up");
    const view::Input input = run.within(0, up, 1, {1232, 760});
    const auto scene = run.scene(0, up);
    const auto plain = view::matrices_view(input);
    view::Rect cell{};  // the first of H, the result of the first product
    for (const view::Shape* shape : find(plain, "matrix", 0, 3))
        if (shape->kind == view::ShapeKind::rect && shape->fill >= view::Token::heat0 && cell.w == 0)
            cell = shape->box;
    REQUIRE(cell.w > 0);
    const auto pointed =
        view::matrices_view(input, {.senders_covered = "", .pointer = view::Point{cell.x + 1, cell.y + 1}});
    for (const int64_t place : {1, 2, 3}) CHECK(find(pointed, "product", 0, place).size() == 1);
    for (const view::Shape* shape : find(pointed, "note")) {
        CHECK(shape->box.x >= 0);
        CHECK(shape->box.x + shape->box.w <= 1232);
    }
    const MatrixStep& step = scene.chain().steps[0];
    const MatrixTile& x = scene.chain().start;
    CHECK(test::says_part(pointed, "[0, 0] = " + view::format_number(step.result.numbers[0], 3)));
    int products = 0;
    for (const view::Shape* shape : find(pointed, "note"))
        products += shape->text.find("×") != std::string::npos ? 1 : 0;
    CHECK(products == x.own.columns);
    // Elsewhere, before it is computed, and without numbers nothing lights up.
    CHECK(find(plain, "product").empty());
    const view::MatricesOptions there{.senders_covered = "", .pointer = view::Point{cell.x + 1, cell.y + 1}};
    CHECK(find(view::matrices_view(run.within(0, up, 0, {1232, 760}), there), "product").empty());
    Run without(kMlp + kNoBias, kTp, "[record]\nlevel = \"hops\"\n");
    const int32_t same = without.event(0, "linear", "layers.0.up");
    CHECK(find(view::matrices_view(without.within(0, same, 1, {1232, 760}), there), "product").empty());
}

TEST_CASE("from op to op the strip is walked through in its order, and no further than its ends") {
    Run run(kMlp + kNoBias, kTp);
    const int32_t first = run.event(0, "linear", "layers.1.up");
    std::vector<int32_t> ids = view::events_of_unit(run.within(0, first), run.scene(0, first));
    const auto begin = [&](int32_t id) { return run.clock.events[0][static_cast<std::size_t>(id)].begin_ns; };
    std::ranges::stable_sort(ids, {}, begin);
    std::vector<int32_t> walked{ids.front()};
    const auto from = [&](int32_t id, int by) { return view::next_op(run.within(0, id), by); };
    while (const auto next = from(walked.back(), 1)) {
        REQUIRE(walked.size() <= ids.size());
        CHECK(next->rank == 0);
        walked.push_back(next->event);
    }
    CHECK(walked == ids);
    CHECK_FALSE(from(ids.front(), -1));
    CHECK(from(ids.back(), -1)->event == ids[ids.size() - 2]);
    // From what is selected, wherever the cursor is.
    run.selection.event_rank = 0;
    run.selection.event = ids.front();
    CHECK(from(ids.back(), 1)->event == ids[1]);
}

TEST_CASE("a matrix appears when its kernel has ended, the sum chunk by chunk") {
    Run run(kMlp + kNoBias, kTp);
    const int32_t sum = run.event(0, "all_reduce", "layers.0.down");
    const auto cells = [&](double part) {
        const auto picture = view::matrices_view(run.within(0, sum, part));
        // Heat cells of the sum: the last place of the chain.
        return std::ranges::count_if(picture.shapes, [](const view::Shape& s) {
            return s.id == view::Id{"matrix", 0, 9} && s.kind == view::ShapeKind::rect &&
                   s.fill >= view::Token::heat0;
        });
    };
    CHECK(cells(0) == 0);
    CHECK(cells(1) == 64);
    std::set<int64_t> seen;
    for (int i = 0; i <= 20; ++i) seen.insert(cells(i / 20.0));
    CHECK(seen == std::set<int64_t>{0, 32, 64});  // two ranks: two chunks
}

TEST_CASE("without numbers shapes and cuts are drawn all the same, and the reason is told") {
    Run with(kMlp + kNoBias, kTp), without(kMlp + kNoBias, kTp, "[record]\nlevel = \"hops\"\n");
    const auto of = [](Run& run) { return run.scene(0, run.event(0, "linear", "layers.0.down")); };
    const auto scene = of(without);
    CHECK(told(scene.chain()) == told(of(with).chain()));
    CHECK(scene.chain().start.numbers.empty());
    const auto picture = view::matrices_view(without.within(0, without.event(0, "linear", "layers.0.down")));
    CHECK(test::says_part(picture, "Recorded at level hops"));
    for (const view::Shape& shape : picture.shapes) CHECK_FALSE(shape.fill >= view::Token::heat0);
}

TEST_CASE("of a weight without numbers the rows that a rank keeps are filled, and no more") {
    Run run("kind = \"mlp\"\ndim = 48\nhidden = 80\nlayers = 1\nseed = 3\n",
            "shape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n");
    const auto picture =
        view::matrices_view(run.within(1, run.event(1, "linear", "layers.0.up"), 0.9, {1032, 956}));
    // 32 × 32 cells stand for 80 × 48 numbers: whole above and in one card, half of them in three cards.
    CHECK(std::ranges::count_if(picture.shapes, [](const view::Shape& s) {
              return s.id == view::Id{"matrix", 1, 2} && s.fill == view::Token::line2;
          }) == 32 * 32 * 2 + 32 * 16 * 3);
}

TEST_CASE("a large record's matrices are the same with a memo") {
    Run run(kMlp + kNoBias, kTp);
    run.trace.ranks.emplace_back().hops.resize(60'000);
    run.clock.events.emplace_back();
    run.clock.hops.emplace_back(60'000);
    REQUIRE(view::is_large(run.trace));
    view::Memo memo;
    std::set<std::string> seen;
    for (int pass = 0; pass < 2; ++pass)
        for (int i = 0; i <= 40; ++i) {
            run.selection.rank = i % 2;
            view::Input input{run.trace,     run.clock,   {run.clock.end_ns * i / 40},
                              run.selection, {1032, 956}, view::Language::en,
                              run.measure,   run.texts};
            const auto scene = view::matrix_scene(input, 4);
            input.memo = &memo;
            const auto remembered = view::matrix_scene(input, 4);
            REQUIRE(remembered.chains.size() == scene.chains.size());
            CHECK(remembered.rank == scene.rank);
            for (std::size_t c = 0; c < scene.chains.size(); ++c) {
                CHECK(told(remembered.chains[c]) == told(scene.chains[c]));
                CHECK(remembered.chains[c].start.numbers == scene.chains[c].start.numbers);
                seen.insert(told(scene.chains[c]));
            }
        }
    CHECK(seen.size() > 4);  // layers forward and backward
}

TEST_CASE("who sends a chunk is left out where an open question asks for it") {
    Run run(kMlp + kNoBias, kTp);
    const int32_t sum = run.event(0, "all_reduce", "layers.0.down");
    const auto hues = [](const view::Picture& picture) {
        return std::ranges::count_if(picture.shapes, [](const view::Shape& s) {
            return s.arrow && s.stroke == view::origin_hue(1) && s.kind == view::ShapeKind::polyline;
        });
    };
    const view::Input input = run.within(0, sum, 0.25, {1032, 956});
    const auto open = view::matrices_view(input), covered = view::matrices_view(input, {"Left out here."});
    CHECK(test::says_part(open, "from rank 1"));
    CHECK(hues(open) > 0);
    CHECK_FALSE(test::says_part(open, "Left out here."));
    CHECK_FALSE(test::says_part(covered, "from rank"));
    CHECK(hues(covered) == 0);
    CHECK(test::says_part(covered, "Left out here."));
    CHECK(test::text_problems(covered, run.measure).empty());
}

TEST_CASE("a run of calls has no product, and says so") {
    test::LayerRun run(
        "format = 1\n[mesh]\nshape = [2]\nnames = [\"x\"]\n[[call]]\nop = \"all_reduce\"\nelements = 4\n");
    const view::Input input = run.at(0, 0, {656, 668});
    CHECK(view::matrix_scene(input, 2).empty());
    const auto picture = view::matrices_view(input);
    CHECK(find(picture, "empty").size() >= 1);
    CHECK(find(view::matrices_facts(input), "empty").size() >= 1);
}

TEST_CASE("of more than four ranks two are drawn, and the others of the group are counted") {
    Run run(kMlp, "shape = [6]\nnames = [\"tp\"]\n");
    const auto picture = view::matrices_view(run.within(5, run.event(5, "linear", "layers.0.up")));
    CHECK(find(picture, "matrix", 5).size() > 0);
    CHECK(find(picture, "matrix", 0).size() > 0);  // the next coordinate, round the group
    CHECK(find(picture, "matrix", 2).empty());
    CHECK(test::says_part(picture, "4 more ranks"));
}

TEST_CASE("every pass of every kind of run has texts in their places, in both languages and small windows") {
    std::vector<Run> runs;
    runs.reserve(8);
    runs.emplace_back(kMlp, kTp);
    runs.emplace_back(kGpt, kTp, "[parallel]\nsequence_parallel = true\n");
    runs.emplace_back(kMlp, "shape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n");
    runs.emplace_back(kMlp, "shape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp1\"\n");
    runs.emplace_back(kMlp,
                      "shape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"1F1B\"\nmicrobatches = 4\n");
    runs.emplace_back("kind = \"mlp\"\ndim = 48\nhidden = 80\nlayers = 1\nseed = 3\n",
                      "shape = [4]\nnames = [\"tp\"]\n");
    runs.emplace_back(kToy,
                      "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"
                      "units = [[\"net1\"], [\"net2\"]]\n");
    for (Run& run : runs)
        for (const auto language : {view::Language::en, view::Language::zh}) {
            const test::CatalogueTexts texts{language};
            for (const view::Size size : {view::Size{656, 668}, view::Size{1032, 956}, view::Size{420, 300}})
                for (int i = 0; i <= 12; ++i) {
                    const auto rank =
                        static_cast<int32_t>(static_cast<std::size_t>(i) % run.trace.ranks.size());
                    run.selection.rank = rank;
                    const view::Input input{run.trace,     run.clock, {run.clock.end_ns * i / 12},
                                            run.selection, size,      language,
                                            run.measure,   texts};
                    for (const auto& picture : {view::matrices_view(input), view::matrices_facts(input)}) {
                        INFO(run.trace.info.scenario << " " << size.width << " " << i);
                        for (const std::string& problem : test::text_problems(picture, run.measure)) {
                            INFO(problem);
                            CHECK(false);
                        }
                    }
                }
        }
}

TEST_CASE("a run that broke off in the middle of a layer shows what there is") {
    Run run(kMlp + kNoBias, kTp);
    // As a record that was recovered has it: rank 1 got as far as its first kernel.
    auto& last = run.trace.ranks[1];
    last.events.resize(1);
    std::erase_if(last.snapshots, [](const trace::Snapshot& s) { return s.event > 0; });
    last.hops.clear();
    last.pieces.clear();
    std::erase_if(last.dependencies, [](const trace::Dependency& d) { return d.event > 0; });
    std::erase_if(last.memory, [](const trace::MemoryChange& m) { return m.after_event > 0; });
    run.clock = time::measured(run.trace);
    const auto alone = view::matrix_scene(run.within(0, 0), 4);
    REQUIRE(alone.chains.size() == 1);
    CHECK(alone.chain().steps.size() == 4);
    const auto cut = view::matrix_scene(run.within(1, 0), 4);
    REQUIRE_FALSE(cut.empty());
    CHECK(cut.chain().steps.size() == 1);
    for (const int32_t rank : {0, 1})
        for (const double part : {0.0, 0.5, 1.0})
            CHECK(test::text_problems(view::matrices_view(run.within(rank, 0, part)), run.measure).empty());
}
