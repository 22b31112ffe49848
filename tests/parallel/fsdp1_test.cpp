// PyTorch's FSDP1: flat arrays cut evenly, whatever the parameters' borders.
#include "core/base/error.h"
#include "core/parallel/fsdp1/flat_layout.h"
#include "core/parallel/fsdp1/flat_unit.h"
#include "core/parallel/units.h"
#include "tests/parallel/drawn.h"
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using Rows = std::vector<std::string>;
using Units = std::vector<std::vector<std::string>>;

namespace {

const std::string kSgd = "kind = \"sgd\"\nlr = 0.1";

std::string fsdp1(const std::string& mesh, const std::string& keys = "") {
    return "[mesh]\n" + mesh + "\n[parallel]\ndata = \"fsdp1\"\n" + keys + "\n";
}

std::string shards(int64_t ranks, const std::string& keys = "") {
    return fsdp1("shape = [" + std::to_string(ranks) + "]\nnames = [\"shard\"]", keys);
}

std::string deep(const std::string& rest) {  // six layers of 2·3 + 3 and 3·2 + 2 elements
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 2\nhidden = 3\nlayers = 6\n[train]\nsteps = 2\n"
           "global_batch = 4\n[optimizer]\nkind = \"sgd\"\n" +
           rest;
}

/// "AG layers.0", "RS root": op and unit of one rank's collectives in a step.
Rows by_unit(const trace::Trace& trace, int32_t rank, int32_t step) {
    Rows rows;
    for (const trace::Event& event : trace.ranks[static_cast<std::size_t>(rank)].events)
        if (event.kind == trace::EventKind::collective && event.step == step)
            rows.push_back((event.op == CollectiveOp::all_gather       ? "AG "
                            : event.op == CollectiveOp::reduce_scatter ? "RS "
                                                                       : "AR ") +
                           std::string(trace.text(event.unit)) + (event.prefetch ? " early" : ""));
    return rows;
}

}  // namespace

TEST_CASE("ToyModel as one unit is 172 elements, 43 a rank, cut where no parameter ends") {
    const std::vector<int64_t> sizes{100, 10, 50, 5};
    const auto layout = parallel::FlatLayout::of(sizes, 4, 4);
    CHECK(layout.elements == 172);
    CHECK(layout.first == std::vector<int64_t>{0, 100, 112, 164});
    CHECK(layout.padding() == 7);
    const auto first = layout.pieces(0), last = layout.pieces(3);
    REQUIRE(first.size() == 1);
    CHECK(first[0].elements == 43);
    REQUIRE(last.size() == 2);  // 129 … 171: 33 of net2.weight, net2.bias
    CHECK(last[0].parameter == 2);
    CHECK(last[0].first_in_parameter == 17);
    CHECK(last[0].elements == 33);
    CHECK(last[1].parameter == 3);
    CHECK(last[1].elements == 5);
    CHECK(layout.padding_of(3) == 5);
}

TEST_CASE("without gaps Linear(10,10) is 110 in 112, Linear(10,5) 55 in 56: FSDP1 pads 3") {
    CHECK(parallel::FlatLayout::of(std::vector<int64_t>{100, 10}, 1, 4).elements == 112);
    CHECK(parallel::FlatLayout::of(std::vector<int64_t>{50, 5}, 1, 4).elements == 56);
}

TEST_CASE("the pieces of all ranks are each element once") {
    const std::vector<int64_t> sizes{7, 1, 12, 3, 5};
    for (int64_t ranks = 1; ranks <= 9; ++ranks)
        for (const int64_t alignment : {1, 4}) {
            const auto layout = parallel::FlatLayout::of(sizes, alignment, ranks);
            std::vector<int64_t> next(sizes.size(), 0);
            int64_t padding = 0;
            for (int64_t r = 0; r < ranks; ++r) {
                padding += layout.padding_of(r);
                for (const auto& piece : layout.pieces(r)) {
                    CHECK(piece.first_in_parameter == next[piece.parameter]);
                    next[piece.parameter] += piece.elements;
                }
            }
            CHECK(next == sizes);
            CHECK(padding == layout.padding());
        }
}

TEST_CASE("gradients are divided before and after the sum, near the root of the ranks") {
    const auto factors = [](int64_t ranks) {
        parallel::FlatComm comm;
        comm.divide_by(ranks);
        return std::pair(comm.predivide, comm.postdivide);
    };
    CHECK(factors(2) == std::pair(2.0F, 1.0F));
    CHECK(factors(6) == std::pair(4.0F, 1.5F));
    CHECK(factors(8) == std::pair(4.0F, 2.0F));
    CHECK(factors(16) == std::pair(4.0F, 4.0F));
}

TEST_CASE("a step of ToyModel on four ranks, unit by unit and as one") {
    const auto apart =
        run_text(toy_scenario(shards(4, "use_orig_params = false\nunits = [[\"net1\"], [\"net2\"]]"), kSgd));
    const auto together = run_text(toy_scenario(shards(4), kSgd));
    for (int32_t rank = 0; rank < 4; ++rank) {
        CHECK(collectives_of(*apart.trace, rank, 1) ==
              Rows{"AG 28->112", "AG 14->56", "AG 14->56", "AG 28->112", "RS 56->14", "RS 112->28"});
        CHECK(collectives_of(*together.trace, rank, 1) == Rows{"AG 43->172", "RS 172->43"});
    }
    int64_t sent = 0;  // 3/4 · 3 · 168 elements, four bytes each, on every rank
    for (const trace::Event& event : apart.trace->ranks[2].events)
        if (event.step == 1) sent += event.sent_bytes;
    CHECK(sent == 1512);
}

TEST_CASE("each way to prefetch, as FSDP1's hooks issue it") {
    const auto step = [&](const std::string& keys) {
        const std::string units =
            "units = [[\"layers.0\", \"layers.1\", \"layers.2\"], [\"layers.3\", \"layers.4\", "
            "\"layers.5\"]]\n";
        return by_unit(*run_text(deep(shards(2, units + keys))).trace, 1, 1);
    };
    const std::string a = "layers.0+layers.1+layers.2", b = "layers.3+layers.4+layers.5";
    CHECK(step("backward_prefetch = \"pre\"") ==
          Rows{"AG " + a, "AG " + b, "AG " + b, "AG " + a + " early", "RS " + b, "RS " + a});
    CHECK(step("backward_prefetch = \"post\"") ==
          Rows{"AG " + a, "AG " + b, "AG " + b, "AG " + a + " early", "RS " + b, "RS " + a});
    CHECK(step("backward_prefetch = \"none\"") ==
          Rows{"AG " + a, "AG " + b, "AG " + b, "RS " + b, "AG " + a, "RS " + a});
    CHECK(step("forward_prefetch = true") ==
          Rows{"AG " + a, "AG " + b + " early", "AG " + b, "AG " + a + " early", "RS " + b, "RS " + a});
}

TEST_CASE("six layers in the units 0 with 3, 1 with 2, 4 with 5 of the FSDP paper") {
    const auto result = run_text(
        deep(shards(2,
                    "units = [[\"layers.0\", \"layers.3\"], [\"layers.1\", \"layers.2\"], [\"layers.4\", "
                    "\"layers.5\"]]")));
    const std::string outer = "layers.0+layers.3", inner = "layers.1+layers.2", last = "layers.4+layers.5";
    CHECK(by_unit(*result.trace, 0, 1) == Rows{"AG " + outer, "AG " + inner, "AG " + last, "AG " + last,
                                               "AG " + outer + " early", "RS " + last,
                                               "AG " + inner + " early", "RS " + inner, "RS " + outer});
}

TEST_CASE("hybrid sharding gathers inside and sums the pieces across: no_shard only sums") {
    const std::string mesh = "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]";
    const auto hybrid = run_text(toy_scenario(fsdp1(mesh, "sharding_strategy = \"hybrid_shard\""), kSgd));
    CHECK(collectives_of(*hybrid.trace, 3, 1) == Rows{"AG 85->170", "RS 170->85", "AR 85"});
    const auto none = run_text(toy_scenario(shards(3, "sharding_strategy = \"no_shard\""), kSgd));
    CHECK(collectives_of(*none.trace, 1, 1) == Rows{"AR 169"});
}

TEST_CASE("while gradients do not travel, shard_grad_op keeps its parameters and full_shard gathers again") {
    const std::string train = "accumulate = 3";
    const auto full = run_text(mlp_scenario(shards(2), kSgd, train));
    const auto kept = run_text(mlp_scenario(shards(2, "sharding_strategy = \"shard_grad_op\""), kSgd, train));
    CHECK(count_of(collectives_of(*full.trace, 0, 1), "AG") == 3 * 6);
    CHECK(count_of(collectives_of(*full.trace, 0, 1), "RS") == 3);
    CHECK(count_of(collectives_of(*kept.trace, 0, 1), "AG") == 3);
    CHECK(count_of(collectives_of(*kept.trace, 0, 1), "RS") == 3);
}

TEST_CASE("wrapping by size works from the leaves up, as size_based_auto_wrap_policy does") {
    nn::ModelSpec spec;
    spec.kind = "mlp";
    spec.dim = 4;
    spec.hidden = 8;
    spec.layers = 2;  // up 40, down 36, a layer 76, the model 152
    const auto model = nn::make_model(spec);
    CHECK(parallel::units_by_size(*model, 77).empty());
    CHECK(parallel::units_by_size(*model, 76) == Units{{"layers.0"}, {"layers.1"}});
    // up is a unit; what is left of the layer, 36, is too small to be one
    CHECK(parallel::units_by_size(*model, 37) == Units{{"layers.0.up"}, {"layers.1.up"}});
    CHECK(parallel::units_by_size(*model, 36) ==
          Units{{"layers.0.up"}, {"layers.0.down"}, {"layers.1.up"}, {"layers.1.down"}});
    CHECK_THROWS_AS(parallel::plan_units(*model, {{"layers.7"}}), InvalidArgument);
}

TEST_CASE("a size that no module reaches leaves the root alone, as in PyTorch") {
    const auto one = run_text(mlp_scenario(shards(2, "wrap = \"size\"\nwrap_min_elements = 100000"), kSgd));
    const auto calls = collectives_of(*one.trace, 0, 1);
    // One FlatParameter, gathered before forward and kept up to backward (the root is never resharded after
    // its forward), then scattered: _runtime_utils.py, _get_reshard_fwd.
    CHECK(count_of(calls, "AG") == 1);
    CHECK(count_of(calls, "RS") == 1);
    check_equal(one, run_text(mlp_scenario(one_rank(), kSgd)));
}

TEST_CASE("FSDP1 trains like one rank, whatever the strategy, the units and the optimizer") {
    static test::Sample sample(3);
    const std::string optimizer =
        GENERATE("kind = \"sgd\"\nlr = 0.05\nmomentum = 0.9", "kind = \"adamw\"\nlr = 0.003");
    const std::string train = GENERATE("", "clip_norm = 0.5", "accumulate = 2\nclip_norm = 1.0");
    const auto alone = run_text(mlp_scenario(one_rank(), optimizer, train));
    const std::string two = "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]";
    for (const std::string& other :
         {shards(2), shards(3), shards(4, "backward_prefetch = \"post\""), shards(1),
          shards(2, "sharding_strategy = \"shard_grad_op\"\nlimit_all_gathers = false"),
          shards(3, "sharding_strategy = \"no_shard\""), shards(4, "use_orig_params = false"),
          shards(2, "wrap = \"size\"\nwrap_min_elements = 70\nforward_prefetch = true"),
          shards(3, "units = [[\"layers.0\", \"layers.2\"]]\nbackward_prefetch = \"none\""),
          fsdp1(two, "sharding_strategy = \"hybrid_shard\""),
          fsdp1("shape = [1, 3]\nnames = [\"replicate\", \"shard\"]",
                "sharding_strategy = \"hybrid_shard_zero2\"")}) {
        if (!sample.takes()) continue;
        INFO(other << train);
        check_equal(run_text(mlp_scenario(other, optimizer, train)), alone);
    }
}

TEST_CASE("a flat unit that backward reached in part cannot be reduced, and says which parameter it was") {
    const auto device = tensor::make_cpu_device();
    tensor::Allocator memory(*device, nullptr);
    parallel::RankContext context;
    context.allocator = &memory;
    nn::Parameter reached, missed;
    reached.name = "reached";
    reached.shape = {3};
    missed.name = "missed";
    missed.shape = {2};
    parallel::FlatComm alone;
    parallel::FlatUnit unit("root", {&reached, &missed}, context, alone, 4);
    unit.load(Drawn(3));
    reached.grad = memory.of(std::vector<float>{1, 2, 3}, {3}, MemoryCategory::gradients, "gradient");
    try {
        unit.reduce_gradients();
        FAIL("it was reduced");
    } catch (const InvalidArgument& error) {
        CHECK(error.message().id == "parallel.no_gradient");
        CHECK(std::get<std::string>(*error.message().find("parameter")) == "missed");
    }
    parallel::FlatUnit nothing("empty", {}, context, alone, 4);
    CHECK_NOTHROW(nothing.reduce_gradients());
}

TEST_CASE("FSDP1 trains ToyModel like one rank") {
    const auto alone = run_text(toy_scenario(one_rank(), kSgd, "clip_norm = 0.1"));
    for (const int64_t ranks : {2, 3, 4, 8})
        check_equal(run_text(toy_scenario(shards(ranks), kSgd, "clip_norm = 0.1")), alone);
}
