// Mistakes in [mesh] and [parallel], and what does not go together.
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

/// Two stages of a layer each, on two data-parallel ranks; what [train] has besides stands in line 10.
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
        // mesh
        {"a mesh larger than the world",
         kTrain + "[mesh]\nshape = [2, 4]\nnames = [\"a\", \"b\"]\nworld = 6\n",
         {"10:9 scenario.mesh_larger_than_world"}},
        {"a dim of no ranks",
         kTrain + "[mesh]\nshape = [2, 0]\nnames = [\"a\", \"b\"]\n",
         {"8:13 scenario.out_of_range"}},
        {"a shape of words", kTrain + "[mesh]\nshape = [2, \"x\"]\n", {"8:13 scenario.wrong_type"}},
        {"a mesh without dims", kTrain + "[mesh]\nshape = []\n", {"8:9 scenario.mesh_ndim"}},
        {"a mesh whose size overflows",
         kTrain + "[mesh]\nshape = [4096, 4096, 4096, 4096, 4096, 4096]\n",
         {"8:9 scenario.mesh_too_large"}},
        {"a name that is a number",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", 3]\n",
         {"9:23 scenario.wrong_type"}},
        {"a name twice",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"a\", \"a\"]\n",
         {"9:15 scenario.name_twice"}},
        {"a name with a comma",
         kTrain + "[mesh]\nshape = [2]\nnames = [\"a,b\"]\n",
         {"9:10 scenario.bad_name"}},
        {"a norm that is none", normed("layer"), {"4:8 scenario.unknown_word"}},
        {"a norm of a model that has none",
         kModel + "norm = \"batch\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:1 scenario.key_not_for_kind"}},
        {"a norm whose running statistics nobody keeps",
         normed("batch") + "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n",
         {"4:8 scenario.norm_data"}},
        {"statistics shared by ranks that share nothing",
         normed("sync_batch"),
         {"4:8 scenario.norm_sync_data"}},
        {"one row a rank",
         normed("batch") + "[mesh]\nshape = [8]\n[parallel]\ndata = \"ddp\"\n",
         {"4:8 scenario.norm_one_row"}},
        {"one row a rank, shared",
         normed("sync_batch") + "[mesh]\nshape = [8]\n[parallel]\ndata = \"ddp\"\n",
         {"(none)"}},
        {"what a norm does not go together with",
         normed("batch") +
             "recompute = \"full\"\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\njoin = true\n"
             "[checkpoint]\nfolder = \"x\"\n",
         {"11:13 scenario.norm_recompute", "16:8 scenario.join_checkpoint", "16:8 scenario.norm_join",
          "18:1 scenario.norm_checkpoint"}},
        {"a norm and evaluation",
         normed("sync_batch") + "[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n"
                                "[eval]\nevery = 1\nsamples = 8\n",
         {"16:1 scenario.norm_eval"}},
        {"a norm cut by tensor parallelism",
         normed("batch") + "[mesh]\nshape = [2]\nnames = [\"tp\"]\n",
         {"13:9 scenario.norm_mesh"}},
        {"too few names", kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"a\"]\n", {"9:9 scenario.names_count"}},
        {"too few names, and a strategy that these would not suit",
         kDdp + "[mesh]\nshape = [2, 2]\nnames = [\"dp\"]\n",
         {"11:9 scenario.names_count"}},
        {"a name twice, and a strategy that these would not suit",
         kDdp + "[mesh]\nshape = [2, 2]\nnames = [\"dp\", \"dp\"]\n",
         {"11:16 scenario.name_twice"}},
        {"names missing on a 2-D mesh", kTrain + "[mesh]\nshape = [2, 2]\n", {"7:1 scenario.missing_key"}},
        {"DDP on two dims",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"ddp\"\n",
         {"9:9 scenario.mesh_dims"}},
        {"HSDP with its dims the wrong way round",
         kTrain +
             "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"replicate\"]\n[parallel]\ndata = \"fsdp2\"\n",
         {"9:9 scenario.mesh_dims"}},
        {"keys of context parallelism without its dim",
         kTrain + "[parallel]\ncp = \"alltoall\"\ncp_load_balance = false\n",
         {"8:1 scenario.key_needs_dim", "9:1 scenario.key_needs_dim"}},
        {"context parallelism of samples that are no sequences",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"cp\", \"replicate\"]\n",
         {"9:10 scenario.cp_needs_tokens"}},
        {"DDP on a shard dim beside a model dim",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"cp\"]\n[parallel]\ndata = \"ddp\"\n",
         {"9:9 scenario.mesh_dims", "9:19 scenario.cp_needs_tokens"}},
        {"a rotate method that is none",
         tokens(8, 4) + kContext + "cp = \"all_gather\"\n",
         {"17:6 scenario.unknown_word"}},
        {"an odd sequence", tokens(7, 4) + kContext, {"8:7 scenario.cp_seq"}},
        {"a sequence that cannot be balanced",
         tokens(12, 4) + kContext + "cp_load_balance = true\n",
         {"8:7 scenario.cp_seq_balanced"}},
        {"a sequence that can be cut, but not with load balance, is cut without it",
         tokens(12, 4) + kContext,
         {"(none)"}},
        {"heads that Ulysses cannot deal out",
         tokens(8, 2) + kContext + "cp = \"ulysses\"\n",
         {"9:9 scenario.cp_heads"}},
        {"key/value heads that Ulysses cannot deal out",
         tokens(8, 12, "llama", "kv_heads = 3\nhead_dim = 2\n") + kContext + "cp = \"ulysses\"\n",
         {"10:12 scenario.cp_heads"}},
        {"key/value heads that Ulysses repeats for more ranks",
         tokens(8, 4, "llama", "kv_heads = 2\n") + kContext + "cp = \"ulysses\"\n",
         {"(none)"}},
        {"key/value heads that tp's ranks share",
         tokens(8, 4, "llama", "kv_heads = 2\n") + "[mesh]\nshape = [4]\nnames = [\"tp\"]\n",
         {"(none)"}},
        {"key/value heads that neither divide tp's ranks nor are divided by them",
         tokens(8, 12, "llama", "kv_heads = 3\nhead_dim = 2\n") + "[mesh]\nshape = [4]\nnames = [\"tp\"]\n",
         {"10:12 scenario.tp_does_not_divide"}},
        {"a norm over all heads, which tp cuts",
         tokens(8, 4, "llama", "qk_norm = \"width\"\n") + "[mesh]\nshape = [2]\nnames = [\"tp\"]\n",
         {"16:10 scenario.tp_qk_norm_width"}},
        {"load balance for Ulysses",
         tokens(8, 4) + kContext + "cp = \"ulysses\"\ncp_load_balance = true\n",
         {"18:1 scenario.cp_balance_ulysses"}},
        {"gpt's positions cut by sequence twice",
         tokens(8, 4) + "[mesh]\nshape = [2, 2]\nnames = [\"cp\", \"tp\"]\n[parallel]\nsequence_parallel = "
                        "true\n",
         {"17:1 scenario.cp_sequence_gpt"}},
        {"a sequence that tp cannot cut evenly again is cut unevenly",
         tokens(12, 4, "llama") + "[mesh]\nshape = [2, 4]\nnames = [\"cp\", \"tp\"]\n[parallel]\n"
                                  "sequence_parallel = true\nloss_parallel = true\n",
         {"(none)"}},
        {"keys of tensor parallelism without its dim",
         kTrain + "[parallel]\ntp_plan = \"block\"\nsequence_parallel = true\n",
         {"8:1 scenario.key_needs_dim", "9:1 scenario.key_needs_dim"}},
        {"a sequence where there is none",
         kTrain + "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\nloss_parallel = true\n",
         {"11:1 scenario.key_needs_tokens"}},
        {"an inner width and a vocabulary that cut flat arrays unevenly beside sequence parallelism are cut "
         "so",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 4\nhidden = 5\nlayers = 2\nvocab = 7\nseq = 2\nheads = "
         "2\n"
         "[train]\nsteps = 1\nglobal_batch = 8\n[mesh]\nshape = [2, 2]\nnames = [\"shard\", "
         "\"tp\"]\n[parallel]\n"
         "data = \"zero2\"\nsequence_parallel = true\nloss_parallel = true\n",
         {"(none)"}},
        {"an unknown plan",
         kTrain + "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\ntp_plan = \"colwise\"\n",
         {"11:11 scenario.unknown_word"}},
        {"FSDP on three dims",
         kTrain + "[mesh]\nshape = [2, 2, 2]\n[parallel]\ndata = \"fsdp2\"\n",
         {"8:9 scenario.mesh_dims"}},
        {"HSDP without names",
         kTrain + "[mesh]\nshape = [2, 2]\n[parallel]\ndata = \"fsdp2\"\n",
         {"8:9 scenario.mesh_unnamed"}},
        {"hybrid sharding of FSDP1 without names",
         kTrain +
             "[mesh]\nshape = [2, 2]\n[parallel]\ndata = \"fsdp1\"\nsharding_strategy = \"hybrid_shard\"\n",
         {"8:9 scenario.mesh_unnamed"}},
        {"HSDP with a name too few, which is told once",
         kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
         {"9:9 scenario.names_count"}},
        {"HSDP with names",
         kTrain +
             "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
         {"(none)"}},
        {"FSDP on one dim, which needs no name",
         kTrain + "[mesh]\nshape = [4]\n[parallel]\ndata = \"fsdp2\"\n",
         {"(none)"}},
        // parallel
        {"a module and one inside it in one unit",
         tokens(8, 4) + "[parallel]\ndata = \"fsdp2\"\nunits = [[\"blocks.0\", \"blocks.0.attn\"]]\n",
         {"15:10 scenario.nested_unit"}},
        {"the same the other way round, beside one that is right",
         tokens(8, 4) +
             "[parallel]\ndata = \"zero3\"\nunits = [\"tok\", [\"blocks.1.mlp\", \"head\", \"blocks.1\"]]\n",
         {"15:17 scenario.nested_unit"}},
        {"units inside others, each its own",
         tokens(8, 4) + "[parallel]\ndata = \"fsdp1\"\nunits = [\"blocks.0.attn\", \"blocks.0\", "
                        "[\"blocks.1.attn\", \"blocks.1.mlp\"], \"blocks.1\"]\n",
         {"(none)"}},
        {"an unknown strategy", kTrain + "[parallel]\ndata = \"fsdp\"\n", {"8:8 scenario.unknown_word"}},
        {"ZeRO on two dims",
         kTrain + "[mesh]\nshape = [2, 2]\n[parallel]\ndata = \"zero2\"\n",
         {"8:9 scenario.mesh_dims"}},
        {"ZeroRedundancyOptimizer for stage 3",
         kTrain + "[parallel]\ndata = \"zero3\"\nzero_variant = \"pytorch\"\n",
         {"9:1 scenario.key_needs_strategy"}},
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
        {"a precision that does not exist",
         kFsdp + "[parallel.mixed_precision]\nparam = \"float8\"\n",
         {"15:9 scenario.unknown_word"}},
        {"mixed precision where nothing is gathered",
         kTrain + "[mesh]\nshape = [1]\n[parallel]\ndata = \"fsdp1\"\n[parallel.mixed_precision]\nparam = "
                  "\"bfloat16\"\n",
         {"11:11 scenario.precision_needs_shards"}},
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
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "stage_layers = [2, 1]\n",
         {"16:16 scenario.stage_layers"}},
        {"a stage without a layer",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "stage_layers = [2, 0]\n",
         {"16:20 scenario.stage_layers_range"}},
        {"layers of stages whose sum would overflow to the model's",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "stage_layers = [9223372036854775807, 9223372036854775807]\n",
         {"16:17 scenario.stage_layers_range", "16:38 scenario.stage_layers_range"}},
        {"layers of no stage",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "stage_layers = []\n",
         {"16:16 scenario.stage_layers_none"}},
        {"an order with an action that is none, and one that follows from others",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "schedule_order = [\"0F0, 0F1, 0X0\", \"1F0, 1SEND_F0\"]\n",
         {"16:19 pipeline.bad_action", "16:36 pipeline.order_compute"}},
        {"an order of one word without end",
         kMlp +
             "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
             "schedule_order = [\"" +
             std::string(50000, '(') + "\", \"1F0\"]\n",
         {"16:19 pipeline.bad_action"}},
        {"an order without a rank's row",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "schedule_order = [\"0F0, 0F1, 0B0, 0B1\"]\n",
         {"16:18 pipeline.order_rows"}},
        {"an order that is no array of texts",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "schedule_order = [\"0F0, 0F1, 0B0, 0B1\", 1]\n",
         {"16:41 scenario.wrong_type"}},
        {"an order that is no array",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "schedule_order = \"0F0, 0B0\"\n",
         {"16:18 scenario.wrong_type"}},
        {"an order of no rank",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "schedule_order = []\n",
         {"16:18 scenario.order_none"}},
        {"layers of stages that are words",
         kMlp + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "stage_layers = [1, \"1\"]\n",
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
        {"targets that count nothing of a model without tokens",
         kMlp + "[data]\nignore_index = 0\nlengths = [1]\n",
         {"11:1 scenario.key_needs_tokens", "12:1 scenario.key_needs_tokens"}},
        {"a sample longer than a sample",
         tokens(8, 2) + "[data]\nlengths = [8, 9]\n",
         {"14:15 scenario.out_of_range"}},
        {"lengths of none", tokens(8, 2) + "[data]\nlengths = []\n", {"14:11 scenario.lengths_empty"}},
        {"a mean over tokens where all count",
         tokens(8, 2) + "loss_mean = \"tokens\"\n",
         {"13:1 scenario.loss_mean_alone"}},
        {"evaluation where some targets count nothing",
         tokens(8, 2) + "[data]\nlengths = [3]\n[eval]\nevery = 1\nsamples = 4\n",
         {"16:1 scenario.eval_ignored"}},
        {"ranks without a batch that would have to count their tokens",
         tokens(8, 2) +
             "[data]\nlengths = [3]\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\njoin = true\n",
         {"19:8 scenario.ignored_join"}},
        {"mixed precision for DataParallel",
         kTrain + "[parallel]\ndata = \"dp\"\n[parallel.mixed_precision]\nparam = \"bfloat16\"\n",
         {"9:11 scenario.key_needs_strategy"}},
        {"mixed precision for DDP's hooks and Join",
         kTrain + "[parallel]\ndata = \"ddp\"\nddp_hook = \"allreduce\"\njoin = true\n"
                  "[parallel.mixed_precision]\nparam = \"bfloat16\"\n",
         {"9:1 scenario.precision_with", "10:1 scenario.precision_with"}},
        {"mixed precision for ZeroRedundancyOptimizer",
         kTrain + "[mesh]\nshape = [2]\n[parallel]\ndata = \"zero1\"\nzero_variant = \"pytorch\"\n"
                  "[parallel.mixed_precision]\nparam = \"bfloat16\"\n",
         {"11:1 scenario.precision_with"}},
        {"mixed precision for ZeRO-3 on one rank",
         kTrain + "[mesh]\nshape = [1]\n[parallel]\ndata = \"zero3\"\n[parallel.mixed_precision]\nparam = "
                  "\"bfloat16\"\n",
         {"11:11 scenario.precision_needs_ranks"}},
        {"buckets for FSDP", kFsdp + "bucket_cap_mb = 1\n", {"14:1 scenario.key_needs_strategy"}},
        {"hybrid sharding on one dim",
         kTrain + "[mesh]\nshape = [4]\n[parallel]\ndata = \"fsdp1\"\nsharding_strategy = \"hybrid_shard\"\n",
         {"11:21 scenario.hybrid_needs_two_dims"}},
        {"hybrid sharding with one rank a shard group",
         kTrain + "[mesh]\nshape = [4, 1]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = "
                  "\"fsdp1\"\nsharding_strategy = "
                  "\"hybrid_shard_zero2\"\n",
         {"12:21 scenario.hybrid_shard_of_one"}},
        {"flat sharding on two dims",
         kTrain +
             "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp1\"\n",
         {"11:8 scenario.flat_needs_one_dim"}},
        {"a sharding strategy that does not exist",
         kTrain + "[parallel]\ndata = \"fsdp1\"\nsharding_strategy = \"full\"\n",
         {"9:21 scenario.unknown_word"}},
        {"FSDP1's words for FSDP2",
         kFsdp + "backward_prefetch = \"post\"\n",
         {"14:21 scenario.prefetch_word"}},
        {"FSDP1's keys for FSDP2",
         kFsdp + "limit_all_gathers = true\nwrap = \"layers\"\n",
         {"14:1 scenario.key_needs_strategy", "15:1 scenario.key_needs_strategy"}},
        {"wrapping by a size not said",
         kTrain + "[parallel]\ndata = \"fsdp1\"\nwrap = \"size\"\n",
         {"7:1 scenario.missing_key"}},
        {"a tied embedding that would be a unit by its size",
         kTied +
             "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp1\"\nwrap = \"size\"\nwrap_min_elements = 20\n",
         {"19:21 parallel.shared_parameter"}},
        {"hybrid sharding beside tensor parallelism, one rank a shard group",
         kTrain + "[mesh]\nshape = [2, 2, 1]\nnames = [\"tp\", \"replicate\", \"shard\"]\n[parallel]\ndata = "
                  "\"fsdp1\"\nsharding_strategy = \"hybrid_shard\"\n",
         {"12:21 scenario.hybrid_shard_of_one"}},
        {"flat sharding on two dims with another between them",
         kTrain + "[mesh]\nshape = [2, 2, 2]\nnames = [\"replicate\", \"tp\", \"shard\"]\n[parallel]\ndata = "
                  "\"fsdp1\"\n",
         {"11:8 scenario.flat_needs_one_dim"}},
        {"a size without wrapping by it",
         kTrain + "[parallel]\ndata = \"fsdp1\"\nwrap_min_elements = 10\n",
         {"9:1 scenario.wrap_min_without_size"}},
        {"an unknown strategy hides no other mistake",
         kTrain + "[mesh]\nshape = [2, 2]\n[parallel]\ndata = \"dpd\"\nalgorithm = \"rings\"\n"
                  "reshard_after_forward = 3.5\nforward_prefetch = 1\nsharding_strategy = \"full\"\n"
                  "bucket_cap_mb = -1\nunits = [\"net9\"]\nwrap = \"no\"\n",
         {"10:8 scenario.unknown_word", "11:13 scenario.unknown_word", "12:25 scenario.wrong_type",
          "14:21 scenario.unknown_word", "15:17 scenario.out_of_range", "16:10 scenario.unknown_module",
          "17:8 scenario.unknown_word"}},
        {"DDP's keys for FSDP2",
         kFsdp +
             "static_graph = true\nfind_unused_parameters = true\njoin = true\nddp_hook = \"allreduce\"\n",
         {"14:1 scenario.key_needs_strategy", "15:1 scenario.key_needs_strategy",
          "16:1 scenario.key_needs_strategy", "17:1 scenario.key_needs_strategy"}},
        {"a hook that is none", kDdp + "ddp_hook = \"fp8_compress\"\n", {"9:12 scenario.unknown_word"}},
        {"PowerSGD too early",
         kDdp + "ddp_hook = \"powersgd\"\n[parallel.powersgd]\nstart_iteration = 1\n",
         {"11:19 scenario.powersgd_start"}},
        {"PowerSGD's numbers for another hook",
         kDdp + "[parallel.powersgd]\nseed = 1\n",
         {"9:11 scenario.powersgd_without_hook"}},
        {"PowerSGD in a checkpoint",
         kDdp + "ddp_hook = \"powersgd\"\n[checkpoint]\nfolder = \"c\"\n",
         {"9:12 scenario.powersgd_checkpoint"}},
        {"two ways to find unused parameters",
         kDdp + "static_graph = true\nfind_unused_parameters = true\n",
         {"10:26 scenario.static_finds_unused"}},
        {"what Join does not go with",
         kDdp + "join = true\nstatic_graph = true\nddp_hook = \"allreduce\"\n"
                "divide_by_initial_world_size = false\n[checkpoint]\nfolder = \"c\"\n",
         {"9:8 scenario.join_static_graph", "9:8 scenario.join_checkpoint",
          "12:32 scenario.join_hook_divides"}},
        {"a divisor without Join",
         kDdp + "divide_by_initial_world_size = true\n",
         {"9:1 scenario.divide_without_join"}},
        {"uneven batches that others would wait for",
         kDdp + "[data]\nbatches = [1]\n",
         {"10:1 scenario.batches_without_join"}},
        {"uneven batches for another number of ranks",
         kDdp + "join = true\n[mesh]\nshape = [2]\n[data]\nbatches = [1]\n",
         {"13:11 scenario.batches_count"}},
        {"steps that nobody has a batch for",
         kDdp + "join = true\n[data]\nbatches = [0]\n",
         {"11:11 scenario.batches_steps"}},
        {"uneven batches of a sampler that evens them",
         kDdp + "join = true\n[data]\nsamples = 8\nsampler = \"distributed\"\nbatches = [1]\n",
         {"13:1 scenario.batches_sampler"}},
        {"a reshard that does not divide the shards",
         kFsdp + "reshard_after_forward = 3\n",
         {"14:25 scenario.reshard_factor"}},
        {"reshards of units that are not named",
         kFsdp + "reshard_after_forward = [2, 0, \"no\"]\n",
         {"14:25 scenario.reshard_list_needs_units", "14:29 scenario.reshard_factor",
          "14:32 scenario.bad_reshard"}},
        {"more reshards than units",
         kFsdp + "units = [\"layers.0\"]\nreshard_after_forward = [2, true, false]\n",
         {"15:25 scenario.reshard_list_count"}},
        {"replicas' sums to delay where there are none",
         kFsdp + "gradient_sync = \"all_reduce_last\"\n",
         {"14:17 scenario.sync_needs_replicas"}},
        {"gradients that travel twice in a pipeline",
         kPipeline + "data = \"fsdp2\"\nschedule = \"gpipe\"\nmicrobatches = 2\ngradient_sync = "
                     "\"every\"\n",
         {"9:9 scenario.mesh_dims", "14:1 scenario.pipeline_reduces"}},
        {"a factor of nothing", kFsdp + "gradient_divide_factor = 0\n", {"14:26 scenario.out_of_range"}},
        {"a number of units for FSDP1",
         kTrain + "[parallel]\ndata = \"fsdp1\"\nbackward_prefetch = 2\nforward_prefetch = 2\n",
         {"9:21 scenario.wrong_type", "10:20 scenario.wrong_type"}},
        {"DataParallel over more than data",
         kMlp + "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"tp\"]\n[parallel]\ndata = \"dp\"\n",
         {"14:8 scenario.dp_one_process"}},
        {"DataParallel with a sampler for processes",
         kTrain + "[parallel]\ndata = \"dp\"\n[data]\nsamples = 16\nsampler = \"distributed\"\n",
         {"11:11 scenario.dp_sampler"}},
        {"a bucket of nothing",
         kTrain + "[parallel]\ndata = \"ddp\"\nbucket_cap_mb = 0.0\n",
         {"9:17 scenario.out_of_range"}},
        {"resharding without FSDP",
         kTrain + "[parallel]\nreshard_after_forward = false\n",
         {"8:1 scenario.key_needs_strategy"}},
        {"reshard in a wrong word",
         kFsdp + "reshard_after_forward = \"yes\"\n",
         {"14:25 scenario.wrong_type"}},
        {"an algorithm that is none",
         kTrain + "[parallel]\nalgorithm = \"rings\"\n",
         {"8:13 scenario.unknown_word"}},
        {"a unit that is no module",
         kFsdp + "units = [\"layers.0\", \"layers.2\"]\n",
         {"14:22 scenario.unknown_module"}},
        {"a module in two units",
         kFsdp + "units = [[\"layers.0\"], [\"layers.1\", \"layers.0\"]]\n",
         {"14:24 scenario.module_twice"}},
        {"a unit that is a number", kFsdp + "units = [1]\n", {"14:10 scenario.bad_unit"}},
    };
}

}  // namespace

TEST_CASE("every kind of mistake in mesh and parallel is found at its line and column") {
    for (const BadScenario& c : cases()) {
        INFO(c.what << "\n" << c.text);
        CHECK(mistakes(c.text) == c.expected);
    }
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
