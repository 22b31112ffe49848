// The products of a layer as matrices, over traces of real runs.
#include "app/gui/view/matrices.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/matrices_picture.h"
#include "app/gui/view/matrices_view.h"
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

namespace {

/// A rank has one hue in the whole picture, the band's and its rows' edges': that of its place in `ranks`.
void check_hues(const view::Picture& picture, const std::vector<int32_t>& ranks) {
    for (std::size_t place = 0; place < ranks.size(); ++place) {
        INFO("rank " << ranks[place]);
        std::size_t seen = 0;
        for (const view::Shape& shape : picture.shapes) {
            if (shape.id != view::Id{"rank", ranks[place]} || shape.kind != view::ShapeKind::rect ||
                shape.box.w <= 2 || shape.stroke != view::Token::none)
                continue;
            CHECK(shape.fill == view::origin_hue(static_cast<int64_t>(place)));
            ++seen;
        }
        CHECK(seen > 0);
    }
}

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
    const auto cards = view::matrices_view(fsdp.within(1, up, 0.5, {1432, 956}));
    for (const char* word :
         {"stored: its own rows", "all_gather: the others' rows arrive", "whole: computes with it",
          "freed: its own rows stay", "up 0–5, down 0–3", "up 6–11, down 4–7", "colour: whose rows"})
        CHECK(test::says(cards, word));
    check_hues(cards, {0, 1});
    // While its unit is gathered the picture already shows the products that need it.
    const int32_t gather = fsdp.event(1, "all_gather", "layers.0");
    CHECK(told(fsdp.scene(1, gather).chain()) == told(scene.chain()));
}

TEST_CASE("a rank's hue is that of its place among those whose rows the picture shows") {
    Run stages(
        kMlp,
        "shape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\nschedule = \"GPipe\"\n"
        "microbatches = 2\n");
    const int32_t up = stages.event(3, "linear", "layers.1.up");
    check_hues(view::matrices_view(stages.within(3, up, 0.5, {1432, 956})), {2, 3});
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
