// The products of a layer as matrices, over traces of real runs.
#include "app/gui/view/matrices.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/matrices_picture.h"
#include "app/gui/view/matrices_view.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/paint.h"
#include "backends/registry.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::find;
using view::Block;
using view::MatrixChain;
using view::MatrixStep;
using view::MatrixTile;

namespace {

const std::string kMlp = "kind = \"mlp\"\ndim = 8\nhidden = 12\nlayers = 2\nseed = 3\n";
const std::string kGpt =
    "kind = \"gpt\"\nvocab = 8\nseq = 4\ndim = 8\nheads = 2\nhidden = 8\nlayers = 1\nseed = 3\n";
const std::string kToy = "kind = \"toy\"\nseed = 1\n";

/// A run under the lessons' clock, ready for a view.
struct Run {
    Run(const std::string& model, const std::string& mesh_and_parallel, const std::string& rest = "") {
        const bool tokens = model.find("gpt") != std::string::npos;
        const auto scenario = scenario::parse_scenario(
            "format = 1\n[model]\n" + model + "[data]\nkind = \"" + (tokens ? "tokens" : "regression") +
                "\"\nsamples = 8\nseed = 1\n[train]\nsteps = 1\nglobal_batch = 8\n[optimizer]\nkind = "
                "\"sgd\"\n"
                "lr = 0.1\n[mesh]\n" +
                mesh_and_parallel + rest,
            "test.toml");
        const auto registry = backends::make_registry();
        trace = *run::run_scenario(scenario, *registry).trace;
        clock = time::modelled(trace, time::classroom());
    }
    /// Into the event of rank `rank` with this kernel (or op) and unit.
    int32_t event(int32_t rank, std::string_view name_or_op, std::string_view unit) const {
        for (const trace::Event& e : trace.ranks[static_cast<std::size_t>(rank)].events) {
            const std::string_view what =
                e.kind == trace::EventKind::compute ? trace.text(e.name) : name(e.op);
            if (what == name_or_op && trace.text(e.unit) == unit) return e.id;
        }
        FAIL("no " << name_or_op << " " << unit);
        return -1;
    }
    view::Input within(int32_t rank, int32_t id, double part = 0.5, view::Size size = {656, 668}) {
        selection.rank = rank;
        const time::Interval at = clock.events[static_cast<std::size_t>(rank)][static_cast<std::size_t>(id)];
        return {trace,
                clock,
                {at.begin_ns + std::llround(static_cast<double>(at.end_ns - at.begin_ns) * part)},
                selection,
                size,
                view::Language::en,
                measure,
                texts};
    }
    view::MatrixScene scene(int32_t rank, int32_t id, std::size_t most = 4) {
        return view::matrix_scene(within(rank, id), most);
    }

    trace::Trace trace;
    time::Clock clock;
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts texts{view::Language::en};
};

std::string told(const MatrixTile& tile) {
    return tile.name + " " + view::shape_words(tile) + view::part_words(tile);
}

/// "X [4, 8] × upᵀ [8, 12][:, 0:6] = H …".
std::string told(const MatrixChain& chain) {
    std::string words = told(chain.start);
    if (chain.before) words = told(*chain.before) + " ⇉ " + words;
    for (const MatrixStep& step : chain.steps)
        words +=
            (step.factor ? " × " + told(*step.factor) + " = " : " " + step.words + " ") + told(step.result);
    return words;
}

/// Each product's numbers are those of its matrices.
void check_products(const MatrixChain& chain) {
    const MatrixTile* now = &chain.start;
    for (const MatrixStep& step : chain.steps) {
        if (step.factor) {
            const MatrixTile &a = *now, &b = *step.factor, &c = step.result;
            REQUIRE(a.own.columns == b.own.rows);
            REQUIRE(std::cmp_equal(c.numbers.size(), a.own.rows * b.own.columns));
            for (int64_t i = 0; i < a.own.rows; ++i)
                for (int64_t k = 0; k < b.own.columns; ++k) {
                    double sum =
                        step.bias.empty() ? 0 : static_cast<double>(step.bias[static_cast<std::size_t>(k)]);
                    for (int64_t j = 0; j < a.own.columns; ++j)
                        sum +=
                            static_cast<double>(a.numbers[static_cast<std::size_t>(i * a.own.columns + j)]) *
                            static_cast<double>(b.numbers[static_cast<std::size_t>(j * b.own.columns + k)]);
                    CHECK(static_cast<double>(c.numbers[static_cast<std::size_t>(i * b.own.columns + k)]) ==
                          Approx(sum).margin(1e-4));
                }
        }
        now = &step.result;
    }
}

const std::string kTp = "shape = [2]\nnames = [\"tp\"]\n";
const std::string kNoBias = "bias = false\n";

}  // namespace

TEST_CASE("tensor parallelism: columns, then rows, then one sum, on each rank its own") {
    Run run(kMlp + kNoBias, kTp);
    const auto scene = run.scene(1, run.event(1, "gelu_tanh", "layers.1"));
    REQUIRE(scene.chains.size() == 2);
    CHECK(scene.unit == "layers.1");
    CHECK(told(scene.chains[0]) ==
          "X [8, 8] × upᵀ [8, 12][:, 0:6] = H [8, 12][:, 0:6] gelu_tanh G [8, 12][:, 0:6] × "
          "downᵀ [12, 8][0:6, :] = Y [8, 8] all_reduce Y [8, 8]");
    CHECK(told(scene.chain()) ==
          "X [8, 8] × upᵀ [8, 12][:, 6:12] = H [8, 12][:, 6:12] gelu_tanh G [8, 12][:, 6:12] × "
          "downᵀ [12, 8][6:12, :] = Y [8, 8] all_reduce Y [8, 8]");
    for (const MatrixChain& chain : scene.chains) check_products(chain);
    // The partial sums of both ranks add up to what both have in the end.
    const auto& a = scene.chains[0].steps[2].result.numbers;
    const auto& b = scene.chains[1].steps[2].result.numbers;
    const auto& sum = scene.chains[0].steps[3].result.numbers;
    REQUIRE(sum.size() == 64);
    for (std::size_t i = 0; i < sum.size(); ++i) CHECK(sum[i] == Approx(a[i] + b[i]).margin(1e-5));
    CHECK(scene.chains[0].steps[2].result.role == MatrixTile::Role::partial_sum);
    CHECK(scene.chains[0].steps[0].result.role == MatrixTile::Role::activation);
}

TEST_CASE("the way back: the partial sum is of the input's gradient, and a weight's gradient stands alone") {
    Run run(kMlp + kNoBias, kTp);
    const auto scene = run.scene(0, run.event(0, "linear.input_grad", "layers.1.up"));
    REQUIRE(scene.chains.size() == 2);
    CHECK(told(scene.chain()) ==
          "dY [8, 8] × down [8, 12][:, 0:6] = dG [8, 12][:, 0:6] gelu_tanh' dH [8, 12][:, 0:6] × "
          "up [12, 8][0:6, :] = dX [8, 8] all_reduce dX [8, 8]");
    for (const MatrixChain& chain : scene.chains) check_products(chain);
    const auto gradient = run.scene(0, run.event(0, "linear.weight_grad", "layers.1.up"));
    CHECK(told(gradient.chain()) == "dYᵀ [12, 8][0:6, :] × X [8, 8] = dup [12, 8][0:6, :]");
    check_products(gradient.chain());
}

TEST_CASE("sequence parallelism: the sum is cut in two, a gather before and a scatter after") {
    Run run(kGpt, kTp, "[parallel]\nsequence_parallel = true\n");
    const auto scene = run.scene(0, run.event(0, "linear", "blocks.0.mlp.up"));
    REQUIRE_FALSE(scene.empty());
    const MatrixChain& chain = scene.chain();
    REQUIRE(chain.before);
    CHECK(chain.before->own.rows == chain.start.rows / 2);
    REQUIRE(chain.steps.back().kind == MatrixStep::Kind::collective);
    CHECK(chain.steps.back().words == "reduce_scatter");
    CHECK(chain.steps.back().result.own.rows == chain.start.rows / 2);
    check_products(chain);
    // q, k and v are three products of one input, and none goes on with another.
    for (const char* which : {"wq", "wk", "wv"}) {
        const auto each = run.scene(0, run.event(0, "linear", std::string("blocks.0.attn.") + which));
        REQUIRE(std::ranges::count(each.chain().steps, MatrixStep::Kind::product, &MatrixStep::kind) == 1);
        CHECK(each.chain().steps[0].factor->name == std::string(which) + "ᵀ");
    }
}

TEST_CASE("under data parallelism weights are whole, and FSDP's are gathered, whole and freed below") {
    Run ddp(kMlp, "shape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n");
    const auto plain = ddp.scene(0, ddp.event(0, "linear", "layers.0.up"));
    REQUIRE(plain.chains.size() == 2);
    CHECK(told(plain.chain()).find('[' + std::string(":, ")) == std::string::npos);  // nothing is cut
    CHECK(plain.chain().start.rows == 4);                                            // its own samples
    check_products(plain.chain());
    const auto picture = view::matrices_view(ddp.within(0, ddp.event(0, "linear", "layers.0.up")));
    CHECK_FALSE(test::says(picture, "freed"));

    Run fsdp(kMlp, "shape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n");
    const int32_t up = fsdp.event(1, "linear", "layers.0.up");
    const auto scene = fsdp.scene(1, up);
    CHECK(scene.chain().steps[0].factor->own == Block{0, 0, 8, 12});
    check_products(scene.chain());
    const auto cards = view::matrices_view(fsdp.within(1, up, 0.5, {1032, 956}));
    for (const char* word :
         {"stored", "being gathered", "whole", "freed", "up 0–5, down 0–3", "up 6–11, down 4–7"})
        CHECK(test::says(cards, word));
    // While its unit is gathered the picture already shows the products that need it.
    const int32_t gather = fsdp.event(1, "all_gather", "layers.0");
    CHECK(told(fsdp.scene(1, gather).chain()) == told(scene.chain()));
}

TEST_CASE("while a weight is gathered its rows fill as the hops bring them, and what is there is named") {
    Run fsdp(kMlp, "shape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\nalgorithm = \"ring\"\n");
    const int32_t gather = fsdp.event(1, "all_gather", "layers.0");
    // Heat cells of up, the second matrix of the first chain: [8, 12] transposed, three columns of it a rank.
    const auto at = [&](double part) {
        return view::matrices_view(fsdp.within(1, gather, part, {1232, 956}));
    };
    const auto cells = [&](const view::Picture& picture) {
        return std::ranges::count_if(picture.shapes, [](const view::Shape& s) {
            return s.id == view::Id{"matrix", 1, 2} && s.kind == view::ShapeKind::rect &&
                   s.fill >= view::Token::heat0 && s.box.w > 5.6F;
        });
    };
    std::vector<int64_t> seen;
    for (int i = 0; i < 40; ++i) {
        const auto picture = at(i / 40.0);
        if (seen.empty() || seen.back() != cells(picture)) seen.push_back(cells(picture));
        CHECK(test::says(picture, "being gathered"));
    }
    CHECK(std::ranges::is_sorted(seen));
    CHECK(seen == std::vector<int64_t>{24, 48, 72});  // its own rows and those of two hops; the third ends it
    const auto after =
        view::matrices_view(fsdp.within(1, fsdp.event(1, "linear", "layers.0.up"), 0.5, {1232, 956}));
    CHECK(cells(after) == 96);
    // Before it is gathered the rank has its kept part alone.
    auto before = fsdp.within(1, gather, 0, {1232, 956});
    before.cursor.t_ns -= 1;
    CHECK(test::says(view::matrices_view(before), "kept part"));
}

TEST_CASE("a prefetched gather leaves the picture with what is computed meanwhile") {
    Run fsdp(kMlp, "shape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n");
    const auto& events = fsdp.trace.ranks[0].events;
    int met = 0;
    for (const trace::Event& gather : events) {
        if (gather.prefetch == 0) continue;
        const time::Interval at = fsdp.clock.events[0][static_cast<std::size_t>(gather.id)];
        for (const trace::Event& product : events) {
            const time::Interval during = fsdp.clock.events[0][static_cast<std::size_t>(product.id)];
            if (product.kind != trace::EventKind::compute ||
                !fsdp.trace.text(product.name).starts_with("linear"))
                continue;
            const int64_t t = std::max(at.begin_ns, during.begin_ns);
            if (t >= at.end_ns || t >= during.end_ns) continue;
            auto input = fsdp.within(0, product.id);
            input.cursor.t_ns = t;
            const auto scene = view::matrix_scene(input, 1);
            CHECK(std::ranges::any_of(scene.chain().steps,
                                      [&](const MatrixStep& step) { return step.event == product.id; }));
            ++met;
        }
    }
    CHECK(met > 0);
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

TEST_CASE("rows of a result stand where numbers prove it, each rank's in their own place, else alone") {
    const auto rows = [](Run& run) {
        std::vector<std::vector<int64_t>> rows;
        for (const MatrixChain& chain : run.scene(0, run.event(0, "linear", "blocks.0.mlp.down")).chains) {
            const MatrixTile& sum = chain.steps.back().result;
            REQUIRE(chain.steps.back().words == "reduce_scatter");
            rows.emplace_back();
            for (int64_t i = 0; i < sum.own.rows && sum.rows_in_all == 0; ++i)
                rows.back().push_back(sum.row(i));
        }
        return rows;
    };
    Run with(kGpt, kTp, "[parallel]\nsequence_parallel = true\n");
    const auto proved = rows(with);
    REQUIRE(proved.size() == 2);
    CHECK_FALSE(proved[0].empty());
    std::set<int64_t> all(proved[0].begin(), proved[0].end());
    all.insert(proved[1].begin(), proved[1].end());
    CHECK(all.size() == proved[0].size() + proved[1].size());
    // Where two rows are alike, no number tells them apart.
    for (trace::RankTrace& rank : with.trace.ranks)
        for (float& value : rank.values) value = 1;
    for (const auto& unproved : rows(with)) CHECK(unproved.empty());
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

TEST_CASE(
    "where numbers of some matrices are missing at level values the reason is told, and no scale where all "
    "are") {
    const std::string large = "kind = \"mlp\"\ndim = 48\nhidden = 80\nlayers = 1\nseed = 3\n" + kNoBias;
    const std::string ddp = "shape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n";
    const auto told_of = [](Run& run, const std::string& part) {
        const view::Input input = run.within(0, run.event(0, "linear", "layers.0.up"), 1, {1600, 956});
        return test::says_part(view::matrices_view(input), part);
    };
    const auto facts_of = [](Run& run, const std::string& part) {
        const view::Input input = run.within(0, run.event(0, "linear", "layers.0.up"), 1, {1600, 956});
        return test::says_part(view::matrices_facts(input), part);
    };
    // The weights have 3,840 numbers, X 4 × 48, H 4 × 80.
    Run some(large, ddp);
    CHECK(told_of(some, "only for matrices of up to 1,024 elements"));
    CHECK(facts_of(some, "only for matrices of up to 1,024 elements"));
    CHECK(told_of(some, "up to 1 × 3 numbers a cell"));
    CHECK_FALSE(told_of(some, "holds no numbers"));
    CHECK(told_of(some, "not here"));
    Run all(kMlp + kNoBias, ddp);
    for (const char* note : {"1,024", "holds no numbers", "averaged"}) CHECK_FALSE(told_of(all, note));
    // As a file of version 3 has it: level values, but no operands.
    for (Run* run : {&some, &all}) {
        for (trace::RankTrace& rank : run->trace.ranks)
            std::erase_if(rank.snapshots, [](const trace::Snapshot& s) { return s.operand != 0; });
        CHECK_FALSE(run->scene(0, run->event(0, "linear", "layers.0.up")).has_numbers);
        CHECK(told_of(*run, "holds no numbers"));
        CHECK(facts_of(*run, "holds no numbers"));
        for (const char* note : {"1,024", "averaged", "not here"}) CHECK_FALSE(told_of(*run, note));
    }
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

TEST_CASE(
    "bytes are compared with a ring's only where they are a ring's, samples only with those of other ranks") {
    const auto says = [](Run& run, const char* kernel, const char* unit, const char* part) {
        return test::says_part(
            view::matrices_facts(run.within(0, run.event(0, kernel, unit), 0.5, {4000, 900})), part);
    };
    const std::string sp = "[parallel]\nsequence_parallel = true\n";
    Run ring(kGpt, kTp, sp);
    CHECK(says(ring, "linear", "blocks.0.mlp.up", "half of what a ring"));
    CHECK(says(ring, "linear", "blocks.0.mlp.up", "as much as one ring"));
    // No reduce_scatter follows the product of what was gathered for q.
    CHECK(says(ring, "linear", "blocks.0.attn.wq", "the product needs all of them"));
    CHECK_FALSE(says(ring, "linear", "blocks.0.attn.wq", "as much as one ring"));
    // What was sent is not the formula's: here nobody tells.
    for (trace::RankTrace& rank : ring.trace.ranks)
        for (trace::Event& event : rank.events) event.sent_bytes = 0;
    CHECK(says(ring, "linear", "blocks.0.mlp.up", "its part of the result."));
    CHECK_FALSE(says(ring, "linear", "blocks.0.mlp.up", "as much as one ring"));

    Run tp(kMlp, kTp),
        both(kMlp, "shape = [2, 2]\nnames = [\"replicate\", \"tp\"]\n[parallel]\ndata = \"ddp\"\n");
    CHECK(says(tp, "linear.weight_grad", "layers.0.up", "no other rank of the tp group"));
    CHECK_FALSE(says(tp, "linear.weight_grad", "layers.0.up", "of the other samples"));
    CHECK(says(both, "linear.weight_grad", "layers.0.up", "of the other samples"));
}

TEST_CASE("a run of calls has no product, and says so") {
    const auto scenario = scenario::parse_scenario(
        "format = 1\n[mesh]\nshape = [2]\nnames = [\"x\"]\n[[call]]\nop = \"all_reduce\"\nelements = 4\n",
        "test.toml");
    const auto registry = backends::make_registry();
    const trace::Trace trace = *run::run_scenario(scenario, *registry).trace;
    const auto clock = time::modelled(trace, time::classroom());
    const view::Selection selection;
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts{view::Language::en};
    const view::Input input{trace, clock, {0}, selection, {656, 668}, view::Language::en, measure, texts};
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
