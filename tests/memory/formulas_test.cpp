// The papers' own examples.
#include "core/memory/formulas.h"
#include "tests/test.h"

using namespace meshscope::memory;

TEST_CASE("ZeRO's figure 1: 7.5 billion parameters, mixed precision Adam, in GB") {
    const StateBytes mixed{2, 2, 12};
    const auto gb = [&](int32_t stage, double ranks) {
        return zero_state(stage, 7.5e9, ranks, mixed).total() / 1e9;
    };
    CHECK(gb(0, 64) == Approx(120));
    CHECK(gb(1, 64) == Approx(31.4).margin(0.05));
    CHECK(gb(2, 64) == Approx(16.6).margin(0.05));
    CHECK(gb(3, 64) == Approx(1.88).margin(0.005));
    CHECK(gb(1, 4) == Approx(52.5));
    CHECK(gb(2, 4) == Approx(41.25));
    CHECK(gb(3, 4) == Approx(30));
}

TEST_CASE("activations of a layer of 175 billion parameters, t = 8, in GiB (arXiv 2205.05198)") {
    const LayerShape layer{.sequence = 2048, .batch = 1, .width = 12288, .heads = 96, .tensor_ranks = 8};
    const auto gib = [&](Kept kept) { return activation_bytes(kept, layer) / (1 << 30); };
    CHECK(gib(Kept::tensor_parallel) == Approx(0.539).epsilon(0.002));
    CHECK(gib(Kept::sequence_parallel) == Approx(0.334).epsilon(0.002));
    CHECK(gib(Kept::selective) == Approx(0.305).epsilon(0.002));
    CHECK(gib(Kept::sequence_selective) == Approx(0.100).epsilon(0.005));
    CHECK(gib(Kept::nothing) == Approx(0.047).epsilon(0.005));
    CHECK(activation_bytes(Kept::all, layer) == Approx(2048.0 * 12288 * (34 + 5 * 96.0 * 2048 / 12288)));
}

TEST_CASE("a block of our own counting is the paper's without dropout: two masks, a byte a number each") {
    const LayerShape layer{.sequence = 2048, .batch = 1, .width = 12288, .heads = 96, .tensor_ranks = 8};
    const double sbh = 2048.0 * 12288, t = 8;
    BlockShape block{.tokens = 2048,
                     .width = 12288,
                     .kv_width = 12288,
                     .hidden = 4 * 12288,
                     .element_bytes = 2,
                     .tensor_ranks = t};
    CHECK(activation_bytes(BlockKept::all, block) ==
          Approx(activation_bytes(Kept::selective, layer) - 2 * sbh));
    CHECK(activation_bytes(BlockKept::input, block) == Approx(activation_bytes(Kept::nothing, layer)));
    // Its input, wo's and down's output whole; q, k, v, attention's output and the four widths of up's cut.
    CHECK(activation_bytes(BlockKept::products, block) == Approx(sbh * 2 * (3 + 8 / t)));
    block.sequence_parallel = true;
    CHECK(activation_bytes(BlockKept::all, block) ==
          Approx(activation_bytes(Kept::sequence_selective, layer) - 2 * sbh / t));
    CHECK(activation_bytes(BlockKept::input, block) == Approx(activation_bytes(Kept::nothing, layer) / t));
}
