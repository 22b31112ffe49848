// What a rank really holds, against the formulas of run/summary.h: ZeRO's, and for what a transformer's
// blocks keep that of arXiv 2205.05198.
#include "core/run/dry.h"
#include "core/run/summary.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

constexpr int64_t kSeq = 16, kHeads = 4, kBatch = 8;

struct Case {
    std::string model, rest;
    int64_t tensor_ranks = 1;
    bool sequence = false;
    int64_t samples = kBatch;  ///< of a micro-batch on a rank
};

scenario::Scenario scenario_of(const Case& c, const std::string& recompute, int64_t layers) {
    return scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"" + c.model +
            "\"\ndim = 32\nhidden = 48\nlayers = " + std::to_string(layers) +
            "\nvocab = 12\nseq = 16\nheads = 4\n" + (c.model == "llama" ? "kv_heads = 2\n" : "") +
            "[train]\nsteps = 2\nglobal_batch = 8\nrecompute = \"" + recompute + "\"\n" + c.rest,
        "blocks.toml");
}

/// Activations that are alive on rank 0 when the last step's forward is over and its backward has not begun.
int64_t kept(const scenario::Scenario& scenario) {
    const auto trace = run::run_dry(scenario).trace;
    int64_t bytes = 0;
    for (const trace::MemoryChange& m : trace->ranks[0].memory) {
        if (m.step == 1 && m.phase == Phase::backward) break;
        if (m.category == MemoryCategory::activations) bytes += m.delta_bytes;
    }
    return bytes;
}

}  // namespace

TEST_CASE("a block more keeps what the formula says, and the few figures a row that the formula leaves out") {
    const std::string tp = "[mesh]\nshape = [2]\nnames = [\"tp\"]\n";
    const std::vector<Case> cases{
        {"gpt", ""},
        {"llama", ""},
        {"gpt", tp, 2},
        {"llama", tp, 2},
        {"gpt", tp + "[parallel]\nsequence_parallel = true\n", 2, true},
        {"llama", tp + "[parallel]\nsequence_parallel = true\n", 2, true},
        {"gpt", "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\nmixed_precision.param = \"bfloat16\"\n",
         1, false, kBatch / 2},
        {"gpt", "[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n[optimizer]\nkind = \"adamw\"\n", 1, false,
         kBatch / 2}};
    for (const Case& c : cases)
        for (const std::string recompute : {"none", "selective", "full"}) {
            INFO(c.model << " " << c.rest << recompute);
            const scenario::Scenario two = scenario_of(c, recompute, 2), three = scenario_of(c, recompute, 3);
            REQUIRE(run::activation_formula(two));
            CHECK(*run::activation_formula(three) == Approx(*run::activation_formula(two) * 1.5));
            // In float32: a LayerNorm's mean and rstd, an RMSNorm's rstd, two norms a block; and of each head
            // the log-sum-exp, which selective keeps with attention's output.
            const int64_t tokens = c.samples * kSeq;
            const int64_t norms = recompute != "none" ? 0 : (c.model == "gpt" ? 4 : 2) * tokens;
            const int64_t lse = recompute == "full" ? 0 : kHeads * tokens;
            const int64_t figures = 4 * (norms / (c.sequence ? c.tensor_ranks : 1) + lse / c.tensor_ranks);
            // The paper gathers the inputs of attention and mlp once more in backward; PyTorch keeps the
            // whole.
            const int64_t gathered = c.sequence && recompute == "none"
                                         ? 4 * 2 * tokens * 32 * (c.tensor_ranks - 1) / c.tensor_ranks
                                         : 0;
            CHECK(static_cast<double>(kept(three) - kept(two) - figures - gathered) ==
                  Approx(*run::activation_formula(two) / 2));
        }
}

TEST_CASE("on a pipeline the first stage keeps its blocks once a micro-batch under way") {
    // Four stages of one block, micro-batches of one sample. GPipe has all eight under way, 1F1B one a stage.
    const auto keeps = [](const std::string& schedule, int64_t layers) {
        const Case c{"gpt", "[mesh]\nshape = [4]\nnames = [\"pp\"]\n[parallel]\nschedule = \"" + schedule +
                                "\"\nmicrobatches = 8\n"};
        return run::activation_formula(scenario_of(c, "none", layers));
    };
    const double one = 4.0 * kSeq * (8 * 32 + 2 * 48);
    CHECK(*keeps("GPipe", 4) == Approx(8 * one));
    CHECK(*keeps("1F1B", 4) == Approx(4 * one));
    CHECK_FALSE(keeps("Interleaved1F1B", 8));
}

TEST_CASE("the formula is for transformers: mlp has none") {
    const auto mlp = scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 8\nhidden = 8\nlayers = 2\n[train]\nsteps = 1\n"
        "global_batch = 8\n",
        "mlp.toml");
    CHECK_FALSE(run::activation_formula(mlp));
}

TEST_CASE("what each strategy holds of parameters, gradients and optimizer state is ZeRO's formula") {
    struct Strategy {
        std::string parallel;
        int32_t stage;
        MemoryCategory parameters;
        double copy = 4;      ///< bytes of what the model computes with where that is whole
        double gradient = 4;  ///< bytes of a gradient as it waits for the optimizer's step
    };
    const std::string mixed = "mixed_precision.param = \"bfloat16\"\n";
    const std::string reduced = "mixed_precision.reduce = \"bfloat16\"\n";
    // mlp 8 → 16 → 8 twice, without biases: 512 parameters, which four ranks share evenly.
    const double parameters = 2 * 2 * 8 * 16, n = 4;
    const auto mesh = [](const std::string& name) {
        return "[mesh]\nshape = [4]\nnames = [\"" + name + "\"]\n[parallel]\ndata = ";
    };
    const std::vector<Strategy> strategies{
        {mesh("replicate") + "\"ddp\"\n", 0, MemoryCategory::parameters},
        {mesh("shard") + "\"zero1\"\n", 1, MemoryCategory::parameters},
        {mesh("shard") + "\"zero2\"\n", 2, MemoryCategory::parameters},
        {mesh("shard") + "\"zero3\"\n", 3, MemoryCategory::sharded_parameters},
        {mesh("shard") + "\"fsdp2\"\n", 3, MemoryCategory::sharded_parameters},
        {mesh("shard") + "\"fsdp1\"\n", 3, MemoryCategory::sharded_parameters},
        {mesh("replicate") + "\"ddp\"\n" + mixed, 0, MemoryCategory::parameters, 2},
        {mesh("shard") + "\"zero1\"\n" + mixed, 1, MemoryCategory::parameters, 2},
        {mesh("shard") + "\"zero2\"\n" + mixed, 2, MemoryCategory::parameters, 2},
        {mesh("shard") + "\"zero3\"\n" + mixed, 3, MemoryCategory::sharded_parameters},
        // ddp hands the optimizer float32; of zero1 the whole gradients stay as they were summed.
        {mesh("replicate") + "\"ddp\"\n" + mixed + reduced, 0, MemoryCategory::parameters, 2, 4},
        {mesh("shard") + "\"zero1\"\n" + mixed + reduced, 1, MemoryCategory::parameters, 2, 2}};
    for (const auto& [optimizer, state_bytes] :
         {std::pair{"kind = \"adamw\"", 8.0}, {"momentum = 0.9", 4.0}, {"lr = 0.1", 0.0}})
        for (const Strategy& strategy : strategies) {
            INFO(strategy.parallel << optimizer);
            const auto scenario = scenario::parse_scenario(
                std::string(
                    "format = 1\n[model]\nkind = \"mlp\"\ndim = 8\nhidden = 16\nlayers = 2\nbias = false\n"
                    "[train]\nsteps = 2\nglobal_batch = 8\n[optimizer]\n") +
                    optimizer + "\n" + strategy.parallel,
                "zero.toml");
            const memory::ModelState formula = run::zero_formula(scenario);
            CHECK(formula.parameters == Approx(parameters * strategy.copy / (strategy.stage >= 3 ? n : 1)));
            CHECK(formula.gradients ==
                  Approx(parameters * strategy.gradient / (strategy.stage >= 2 ? n : 1)));
            const double master = strategy.copy == 4 ? 0 : 4;
            CHECK(formula.optimizer ==
                  Approx(parameters * (state_bytes + master) / (strategy.stage >= 1 ? n : 1)));
            int64_t holds[kMemoryCategories] = {};  // at rest: when the last step's forward begins
            const auto trace = run::run_dry(scenario).trace;
            for (const trace::MemoryChange& m : trace->ranks[0].memory) {
                if (m.step == 1 && m.phase == Phase::forward) break;
                holds[static_cast<std::size_t>(m.category)] += m.delta_bytes;
            }
            CHECK(static_cast<double>(holds[static_cast<std::size_t>(strategy.parameters)]) ==
                  Approx(formula.parameters));
            CHECK(static_cast<double>(holds[static_cast<std::size_t>(MemoryCategory::optimizer_state)]) ==
                  Approx(formula.optimizer));
        }
}
