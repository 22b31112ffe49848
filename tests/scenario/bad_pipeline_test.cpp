// Mistakes in pipelines: their schedules and stages, what their ranks train, and bfloat16 beside them.
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

/// Two stages of a layer each; what [parallel] has besides stands in line 16.
const std::string kTwoStages =
    kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n";

/// The same on two data-parallel ranks; what [train] has besides stands in line 10.
std::string stages_of(const std::string& data, const std::string& dim, const std::string& train) {
    return kMlp + train + "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"" + dim +
           "\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\ndata = \"" + data + "\"\n";
}

/// DDP in bfloat16; `dtype` stands in line 7.
std::string in_bfloat16(const std::string& parallel) {
    return kTrain + "dtype = \"bfloat16\"\n[parallel]\ndata = \"ddp\"\n" + parallel;
}

std::vector<BadScenario> cases() {
    return {
        {"a pipeline without a pp dim",
         kTrain + "[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n",
         {"8:12 scenario.schedule_needs_pp"}},
        {"a pipeline without a pp dim, whose micro-batches are not given either",
         kTrain + "[parallel]\nschedule = \"gpipe\"\n",
         {"8:12 scenario.schedule_needs_pp"}},
        {"a pp dim without a schedule",
         kTrain + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nstages_per_rank = 2\n",
         {"9:9 scenario.pp_needs_schedule"}},
        {"an unknown schedule",
         kPipeline + "schedule = \"2f2b\"\nmicrobatches = 2\n",
         {"11:12 scenario.unknown_word"}},
        {"a schedule without micro-batches",
         kPipeline + "schedule = \"gpipe\"\n",
         {"10:1 scenario.missing_key"}},
        {"too few micro-batches for 1F1B",
         kPipeline + "schedule = \"1f1b\"\nmicrobatches = 1\n",
         {"12:16 pipeline.microbatches_least"}},
        {"two stages a rank for GPipe",
         kPipeline + "schedule = \"GPipe\"\nmicrobatches = 2\nstages_per_rank = 2\n",
         {"13:19 pipeline.stages_per_rank"}},
        {"more stages than layers",
         kPipeline + "schedule = \"LoopedBFS\"\nmicrobatches = 2\n",
         {"11:12 pipeline.too_few_layers"}},
        {"a batch that the micro-batches do not divide",
         kPipeline + "schedule = \"gpipe\"\nmicrobatches = 3\n",
         {"6:16 scenario.batch_does_not_divide"}},
        {"a pipeline with FSDP1",
         kPipeline + "data = \"fsdp1\"\nschedule = \"gpipe\"\nmicrobatches = 2\n",
         {"9:9 scenario.mesh_dims", "11:8 scenario.pipeline_strategy"}},
        {"a pipeline with ZeRO-2",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"zero2\"\n"
                  "schedule = \"gpipe\"\nmicrobatches = 2\n",
         {"11:8 scenario.pipeline_strategy"}},
        {"a pipeline with ZeRO-3",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"zero3\"\n"
                  "schedule = \"gpipe\"\nmicrobatches = 2\n",
         {"11:8 scenario.pipeline_strategy"}},
        {"a tied model cut into stages whose shards lie on the host",
         kTied + "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"
                 "cpu_offload = true\nschedule = \"gpipe\"\nmicrobatches = 2\n",
         {"10:8 scenario.pipeline_tied"}},
        {"a tied model cut into stages of which each rank updates whole parameters",
         kTied + "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"zero1\"\n"
                 "zero_variant = \"pytorch\"\nschedule = \"gpipe\"\nmicrobatches = 2\n",
         {"10:8 scenario.pipeline_tied"}},
        {"layers of stages that are not the model's",
         kTwoStages + "stage_layers = [2, 1]\n",
         {"16:16 scenario.stage_layers"}},
        {"a stage without a layer",
         kTwoStages + "stage_layers = [2, 0]\n",
         {"16:20 scenario.stage_layers_range"}},
        {"layers of stages whose sum would overflow to the model's",
         kTwoStages + "stage_layers = [9223372036854775807, 9223372036854775807]\n",
         {"16:17 scenario.stage_layers_range", "16:38 scenario.stage_layers_range"}},
        {"layers of no stage", kTwoStages + "stage_layers = []\n", {"16:16 scenario.stage_layers_none"}},
        {"an order with an action that is none, and one that follows from others",
         kTwoStages + "schedule_order = [\"0F0, 0F1, 0X0\", \"1F0, 1SEND_F0\"]\n",
         {"16:19 pipeline.bad_action", "16:36 pipeline.order_compute"}},
        {"an order of one word without end",
         kMlp +
             "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
             "schedule_order = [\"" +
             std::string(50000, '(') + "\", \"1F0\"]\n",
         {"16:19 pipeline.bad_action"}},
        {"an order without a rank's row",
         kTwoStages + "schedule_order = [\"0F0, 0F1, 0B0, 0B1\"]\n",
         {"16:18 pipeline.order_rows"}},
        {"an order that is no array of texts",
         kTwoStages + "schedule_order = [\"0F0, 0F1, 0B0, 0B1\", 1]\n",
         {"16:41 scenario.wrong_type"}},
        {"an order that is no array",
         kTwoStages + "schedule_order = \"0F0, 0B0\"\n",
         {"16:18 scenario.wrong_type"}},
        {"an order of no rank", kTwoStages + "schedule_order = []\n", {"16:18 scenario.order_none"}},
        {"layers of stages that are words",
         kTwoStages + "stage_layers = [1, \"1\"]\n",
         {"16:20 scenario.wrong_type"}},
        {"a stage that DDP has nothing to reduce of",
         stages_of("ddp", "replicate", "frozen = [\"layers.0\"]\n"),
         {"10:10 scenario.stage_untrained"}},
        {"the same of ZeroRedundancyOptimizer, which is around DDP",
         stages_of("zero1\"\nzero_variant = \"pytorch", "shard", "frozen = [\"layers.0\"]\n"),
         {"10:10 scenario.stage_untrained"}},
        {"a stage that is frozen, of strategies that reduce nothing there",
         stages_of("zero1", "shard", "frozen = [\"layers.0\"]\n"),
         {"(none)"}},
        {"stages that each train something",
         stages_of("ddp", "replicate", "frozen = [\"layers.0.up\", \"layers.1.down\"]\n"),
         {"(none)"}},
        {"a stage without a layer that LoRA adapts",
         "format = 1\n[model]\nkind = \"toy\"\nlora_rank = 1\nlora_targets = [\"net2\"]\n[train]\nsteps = "
         "1\nglobal_batch = 8\n[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"replicate\"]\n[parallel]\ndata = "
         "\"ddp\"\nschedule = \"gpipe\"\nmicrobatches = 2\n",
         {"5:16 scenario.stage_untrained"}},
        {"a hook with a type of its own, of gradients in bfloat16",
         in_bfloat16("ddp_hook = \"fp16_compress\"\n"),
         {"7:1 scenario.dtype_hook"}},
        {"PowerSGD of gradients in bfloat16",
         in_bfloat16("ddp_hook = \"powersgd\"\n[parallel.powersgd]\nmatrix_approximation_rank = 2\n"),
         {"7:1 scenario.dtype_hook"}},
        {"hooks that send bfloat16 as it is", in_bfloat16("ddp_hook = \"bf16_compress\"\n"), {"(none)"}},
        {"the plain hook", in_bfloat16("ddp_hook = \"allreduce\"\n"), {"(none)"}},
        {"bfloat16 beside batch norm",
         normed("batch") + "dtype = \"bfloat16\"\n",
         {"11:1 scenario.precision_batch_norm"}},
        {"layers of stages without a pipeline",
         kMlp + "[parallel]\nstage_layers = [1, 1]\n",
         {"11:1 scenario.key_needs_schedule"}},
    };
}

}  // namespace

TEST_CASE("every kind of mistake in pipelines and bfloat16 is found at its line and column") {
    check_mistakes(cases());
}

TEST_CASE("beside bfloat16 the hooks that send it are offered, without PowerSGD's numbers") {
    const auto offered = [](const std::string& parallel) {
        try {
            scenario::parse_scenario(in_bfloat16(parallel), "hook.toml");
        } catch (const InputError& error) {
            return changes_in(error.diagnostics().front().hint);
        }
        return std::string("nothing refused");
    };
    const std::string both = "parallel.ddp_hook = \"allreduce\"; parallel.ddp_hook = \"bf16_compress\"";
    CHECK(offered("ddp_hook = \"fp16_compress\"\n") == both);
    CHECK(offered("ddp_hook = \"powersgd\"\n[parallel.powersgd]\nseed = 2\n") == both);
}
