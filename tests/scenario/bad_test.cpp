#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

/// "line:column id" of every mistake found, in order; "(none)" for a file without.
std::vector<std::string> mistakes(const std::string& text) {
    try {
        scenario::parse_scenario(text, "bad.toml");
        return {"(none)"};
    } catch (const InputError& error) {
        std::vector<std::string> found;
        for (const Diagnostic& d : error.diagnostics())
            found.push_back(std::to_string(d.position.line) + ":" + std::to_string(d.position.column) + " " +
                            d.message.id);
        return found;
    }
}

struct Case {
    const char* what;
    std::string text;
    std::vector<std::string> expected;
};

const std::string kModel = "format = 1\n[model]\nkind = \"toy\"\n";            // lines 1 to 3
const std::string kTrain = kModel + "[train]\nsteps = 1\nglobal_batch = 8\n";  // to 6
const std::string kMlp =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 2\n"
    "[train]\nsteps = 1\nglobal_batch = 8\n";                                                  // to 9
const std::string kFsdp = kMlp + "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n";        // to 13
const std::string kDdp = kTrain + "[parallel]\ndata = \"ddp\"\n";                              // to 8
const std::string kPipeline = kTrain + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\n";  // to 10
const std::string kTied =
    "format = 1\n[model]\nkind = \"gpt\"\ndim = 4\nhidden = 4\nlayers = 2\nvocab = 5\nseq = 2\nheads = 1\n"
    "tied = true\n[train]\nsteps = 1\nglobal_batch = 8\n";             // to 13
const std::string kStep = kTrain + "[[lesson.step]]\nid = \"one\"\n";  // to 8
const std::string kQuiz =
    kStep + "[[quiz]]\nid = \"q\"\nstep = \"one\"\nquestion = { en = \"a\", zh = \"b\" }\n";  // to 12

/// A model of tokens, to line 12 (one more where `rest` has one); `seq` stands in line 8, `heads` in 9.
std::string tokens(int64_t seq, int64_t heads, const std::string& kind = "gpt",
                   const std::string& rest = "") {
    return "format = 1\n[model]\nkind = \"" + kind +
           "\"\ndim = 16\nhidden = 8\nlayers = 2\nvocab = 16\nseq = " + std::to_string(seq) +
           "\nheads = " + std::to_string(heads) + "\n" + rest + "[train]\nsteps = 1\nglobal_batch = 8\n";
}
const std::string kContext = "[mesh]\nshape = [4]\nnames = [\"cp\"]\n[parallel]\n";  // four lines

std::vector<Case> cases() {
    return {
        // syntax, as toml++ finds it: line and column in code points
        {"an empty file",
         "",
         {"1:1 scenario.missing_format", "1:1 scenario.missing_key", "1:1 scenario.missing_key"}},
        {"an open string", "format = 1\ntitle.en = \"abc\n", {"2:16 scenario.syntax"}},
        {"a bracket left open", "format = 1\n[model\n", {"2:7 scenario.syntax"}},
        {"a key twice", kTrain + "steps = 2\n", {"7:9 scenario.syntax"}},
        {"a table twice", kTrain + "[model]\n", {"7:1 scenario.syntax"}},
        {"a byte that is not UTF-8", "format = 1\n# \xff\n", {"2:2 scenario.syntax"}},
        {"Chinese before the mistake counts characters",
         "format = 1\ntitle = { zh = \"中文\", en }\n",
         {"2:25 scenario.syntax"}},
        // the file as a whole
        {"no format",
         "[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n",
         {"1:1 scenario.missing_format"}},
        {"a format of the future",
         "format = 2\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n",
         {"1:10 scenario.unknown_format"}},
        {"a format in words",
         "format = \"1\"\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n",
         {"1:10 scenario.wrong_type"}},
        {"an unknown table", kTrain + "[optimiser]\nlr = 1\n", {"7:2 scenario.unknown_key"}},
        {"an unknown key", kTrain + "stepz = 1\n", {"7:1 scenario.unknown_key"}},
        {"a table where a value stands",
         kTrain + "[optimizer]\nlr = { a = 1 }\n",
         {"8:6 scenario.wrong_type"}},
        {"a value where a table stands",
         "format = 1\nmesh = 4\n" + kTrain.substr(11),
         {"2:8 scenario.wrong_type"}},
        // recomputation and evaluation
        {"an unknown recomputation", kTrain + "recompute = \"some\"\n", {"7:13 scenario.unknown_word"}},
        {"a unit inside of a layer that runs again as a whole",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 2\n"
         "[train]\nsteps = 1\nglobal_batch = 8\nrecompute = \"full\"\n[mesh]\nshape = [2]\n[parallel]\n"
         "data = \"fsdp2\"\nunits = [\"layers.0\", \"layers.1.up\"]\n",
         {"15:22 scenario.recompute_units"}},
        {"units by size that end inside of a layer",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 2\n"
         "[train]\nsteps = 1\nglobal_batch = 8\nrecompute = \"selective\"\n[mesh]\nshape = [2]\n[parallel]\n"
         "data = \"fsdp1\"\nwrap = \"size\"\nwrap_min_elements = 10\n",
         {"16:21 scenario.recompute_units"}},
        {"recomputation with a backward in two pieces",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 4\n"
         "[train]\nsteps = 1\nglobal_batch = 8\nrecompute = \"full\"\n[mesh]\nshape = [2]\nnames = [\"pp\"]\n"
         "[parallel]\nschedule = \"ZBVZeroBubble\"\nmicrobatches = 4\n",
         {"15:12 scenario.recompute_split"}},
        {"an evaluation without its keys",
         kTrain + "[eval]\n",
         {"7:1 scenario.missing_key", "7:1 scenario.missing_key"}},
        {"an evaluation after the end",
         kTrain + "[eval]\nevery = 2\nsamples = 0\n",
         {"8:9 scenario.out_of_range", "9:11 scenario.out_of_range"}},
        {"an evaluation on a pipeline",
         kPipeline + "schedule = \"GPipe\"\nmicrobatches = 2\n[eval]\nevery = 1\nsamples = 4\n",
         {"14:1 scenario.eval_pipeline"}},
        // model
        {"no model", "format = 1\n[train]\nsteps = 1\nglobal_batch = 8\n", {"1:1 scenario.missing_key"}},
        {"no kind",
         "format = 1\n[model]\nseed = 1\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"2:1 scenario.missing_key"}},
        {"an unknown kind",
         "format = 1\n[model]\nkind = \"tony\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"3:8 scenario.unknown_word"}},
        {"a gpt without sizes",
         "format = 1\n[model]\nkind = \"gpt\"\nvocab = 32\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"2:1 scenario.missing_key", "2:1 scenario.missing_key", "2:1 scenario.missing_key",
          "2:1 scenario.missing_key", "2:1 scenario.missing_key"}},
        {"heads that do not divide dim",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 10\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads = "
         "4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"9:9 scenario.heads"}},
        {"heads of an odd number of elements",
         "format = 1\n[model]\nkind = \"llama\"\ndim = 12\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads "
         "= 4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"9:9 scenario.odd_head_dim"}},
        {"key/value heads that do not divide heads",
         "format = 1\n[model]\nkind = \"llama\"\ndim = 16\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads "
         "= 4\nkv_heads = 3\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"10:12 scenario.kv_heads"}},
        {"llama's keys for gpt",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads = "
         "4\nkv_heads = 2\nrope_theta = 1e4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"10:1 scenario.key_not_for_kind", "11:1 scenario.key_not_for_kind"}},
        {"tokens of an mlp",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 1\nvocab = 9\n"
         "[train]\nsteps = 1\nglobal_batch = 8\n",
         {"7:1 scenario.key_not_for_kind"}},
        {"regression for gpt",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 8\nlayers = 1\nvocab = 9\nseq = 4\nheads = "
         "4\n[train]\nsteps = 1\nglobal_batch = 8\n[data]\nkind = \"regression\"\n",
         {"14:8 scenario.data_kind"}},
        {"sizes for toy",
         kModel + "dim = 4\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:1 scenario.key_not_for_kind"}},
        {"an mlp without sizes",
         "format = 1\n[model]\nkind = \"mlp\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"2:1 scenario.missing_key", "2:1 scenario.missing_key", "2:1 scenario.missing_key"}},
        {"a dim of zero",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 0\nhidden = 4\nlayers = 2\n[train]\nsteps = "
         "1\nglobal_batch = 8\n",
         {"4:7 scenario.out_of_range"}},
        {"a dim beyond 64 bits",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 99999999999999999999\n",
         {"4:27 scenario.syntax"}},
        {"a model of 10^16 parameters",
         "format = 1\n[model]\nkind = \"mlp\"\ndim = 1000000\nhidden = 1000000\nlayers = 10000\n"
         "[train]\nsteps = 1\nglobal_batch = 8\n",
         {"6:10 scenario.model_too_large"}},
        {"a negative seed",
         kModel + "seed = -1\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:8 scenario.out_of_range"}},
        {"weights that are not there",
         kModel + "weights = \"no.safetensors\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 scenario.no_such_file"}},
        {"weights that are a folder",
         kModel + "weights = \"/\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 scenario.no_such_file"}},
        // data
        {"a data file that is not there", kTrain + "[data]\nfile = \"no\"\n", {"8:8 scenario.no_such_file"}},
        {"a file without a name is one mistake",
         kTrain + "[data]\nfile = \"\"\nkind = \"regression\"\nseed = 1\n",
         {"8:8 scenario.empty_path"}},
        {"weights without a name",
         kModel + "weights = \"\"\n[train]\nsteps = 1\nglobal_batch = 8\n",
         {"4:11 scenario.empty_path"}},
        {"a file and a kind",
         kTrain + "[data]\nfile = \"no\"\nkind = \"regression\"\n",
         {"8:8 scenario.no_such_file", "9:1 scenario.keys_exclude"}},
        {"an unknown kind of data", kTrain + "[data]\nkind = \"images\"\n", {"8:8 scenario.unknown_word"}},
        // train
        {"no training", kModel, {"1:1 scenario.missing_key"}},
        {"zero steps", kModel + "[train]\nsteps = 0\nglobal_batch = 8\n", {"5:9 scenario.out_of_range"}},
        {"steps in words",
         kModel + "[train]\nsteps = \"three\"\nglobal_batch = 8\n",
         {"5:9 scenario.wrong_type"}},
        {"steps with a fraction",
         kModel + "[train]\nsteps = 3.0\nglobal_batch = 8\n",
         {"5:9 scenario.wrong_type"}},
        {"steps beyond 32 bits",
         kModel + "[train]\nsteps = 3000000000\nglobal_batch = 8\n",
         {"5:9 scenario.out_of_range"}},
        {"no batch", kModel + "[train]\nsteps = 1\n", {"4:1 scenario.missing_key"}},
        {"a clip of zero", kTrain + "clip_norm = 0\n", {"7:13 scenario.out_of_range"}},
        {"a clip that is no number", kTrain + "clip_norm = nan\n", {"7:13 scenario.not_finite"}},
        {"a batch that accumulation does not divide",
         kTrain + "accumulate = 3\n",
         {"6:16 scenario.batch_does_not_divide"}},
        {"a batch that the ranks do not divide",
         kTrain + "[mesh]\nshape = [3]\n[parallel]\ndata = \"ddp\"\n",
         {"6:16 scenario.batch_does_not_divide"}},
        // optimizer
        {"a negative learning rate", kTrain + "[optimizer]\nlr = -0.1\n", {"8:6 scenario.out_of_range"}},
        {"an infinite learning rate", kTrain + "[optimizer]\nlr = inf\n", {"8:6 scenario.not_finite"}},
        {"an unknown optimizer", kTrain + "[optimizer]\nkind = \"adamx\"\n", {"8:8 scenario.unknown_word"}},
        {"betas for sgd",
         kTrain + "[optimizer]\nbetas = [0.9, 0.99]\nkind = \"sgd\"\n",
         {"8:1 scenario.key_not_for_kind"}},
        {"momentum for adam",
         kTrain + "[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n",
         {"9:1 scenario.key_not_for_kind"}},
        {"three betas",
         kTrain + "[optimizer]\nkind = \"adam\"\nbetas = [0.9, 0.99, 0.9]\n",
         {"9:9 scenario.bad_betas"}},
        {"a beta of one",
         kTrain + "[optimizer]\nkind = \"adam\"\nbetas = [0.9, 1.0]\n",
         {"9:9 scenario.bad_betas"}},
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
        {"too few names", kTrain + "[mesh]\nshape = [2, 2]\nnames = [\"a\"]\n", {"9:9 scenario.names_count"}},
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
         tokens(8, 4, "llama", "kv_heads = 2\n") + kContext + "cp = \"ulysses\"\n",
         {"10:12 scenario.cp_heads"}},
        {"load balance for Ulysses",
         tokens(8, 4) + kContext + "cp = \"ulysses\"\ncp_load_balance = true\n",
         {"18:1 scenario.cp_balance_ulysses"}},
        {"gpt's positions cut by sequence twice",
         tokens(8, 4) + "[mesh]\nshape = [2, 2]\nnames = [\"cp\", \"tp\"]\n[parallel]\nsequence_parallel = "
                        "true\n",
         {"17:1 scenario.cp_sequence_gpt"}},
        {"a sequence that tp cannot cut again",
         tokens(12, 4, "llama") + "[mesh]\nshape = [2, 4]\nnames = [\"cp\", \"tp\"]\n[parallel]\n"
                                  "sequence_parallel = true\nloss_parallel = true\n",
         {"8:7 scenario.cp_seq_tp"}},
        {"keys of tensor parallelism without its dim",
         kTrain + "[parallel]\ntp_plan = \"block\"\nsequence_parallel = true\n",
         {"8:1 scenario.key_needs_dim", "9:1 scenario.key_needs_dim"}},
        {"a sequence where there is none",
         kTrain + "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\nloss_parallel = true\n",
         {"11:1 scenario.key_needs_tokens"}},
        {"an inner width that cuts flat arrays unevenly beside sequence parallelism",
         "format = 1\n[model]\nkind = \"gpt\"\ndim = 4\nhidden = 5\nlayers = 2\nvocab = 7\nseq = 2\nheads = "
         "2\n"
         "[train]\nsteps = 1\nglobal_batch = 8\n[mesh]\nshape = [2, 2]\nnames = [\"shard\", "
         "\"tp\"]\n[parallel]\n"
         "data = \"zero2\"\nsequence_parallel = true\nloss_parallel = true\n",
         {"5:10 scenario.tp_does_not_divide", "7:9 scenario.tp_does_not_divide"}},
        {"an unknown plan",
         kTrain + "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\ntp_plan = \"colwise\"\n",
         {"11:11 scenario.unknown_word"}},
        {"FSDP on three dims",
         kTrain + "[mesh]\nshape = [2, 2, 2]\n[parallel]\ndata = \"fsdp2\"\n",
         {"8:9 scenario.mesh_dims"}},
        // parallel
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
        {"a pp dim without a schedule",
         kTrain + "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nstages_per_rank = 2\n",
         {"10:1 scenario.missing_key", "11:1 scenario.key_needs_schedule"}},
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
        {"a tied model cut into stages",
         kTied +
             "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n",
         {"10:8 scenario.pipeline_tied"}},
        {"a tied model in the two stages of one rank",
         kTied +
             "[mesh]\nshape = [1]\nnames = [\"pp\"]\n[parallel]\nschedule = \"LoopedBFS\"\nmicrobatches = "
             "2\n",
         {"10:8 scenario.pipeline_tied"}},
        {"mixed precision for DDP",
         kTrain + "[parallel]\ndata = \"ddp\"\n[parallel.mixed_precision]\nparam = \"bfloat16\"\n",
         {"9:11 scenario.key_needs_strategy"}},
        {"buckets for FSDP", kFsdp + "bucket_cap_mb = 1\n", {"14:1 scenario.key_needs_strategy"}},
        {"hybrid sharding on one dim",
         kTrain + "[mesh]\nshape = [4]\n[parallel]\ndata = \"fsdp1\"\nsharding_strategy = \"hybrid_shard\"\n",
         {"11:21 scenario.hybrid_needs_two_dims"}},
        {"hybrid sharding with one rank a shard group",
         kTrain + "[mesh]\nshape = [4, 1]\n[parallel]\ndata = \"fsdp1\"\nsharding_strategy = "
                  "\"hybrid_shard_zero2\"\n",
         {"11:21 scenario.hybrid_shard_of_one"}},
        {"flat sharding on two dims",
         kTrain + "[mesh]\nshape = [2, 2]\n[parallel]\ndata = \"fsdp1\"\n",
         {"10:8 scenario.flat_needs_one_dim"}},
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
          "13:20 scenario.wrong_type", "14:21 scenario.unknown_word", "15:17 scenario.out_of_range",
          "16:10 scenario.unknown_module", "17:8 scenario.unknown_word"}},
        {"DDP's keys for FSDP2",
         kFsdp + "static_graph = true\nfind_unused_parameters = true\njoin = true\nddp_hook = \"allreduce\"\n",
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
        // record, hardware
        {"an unknown level", kTrain + "[record]\nlevel = \"all\"\n", {"8:9 scenario.unknown_word"}},
        {"no ranks on a node", kTrain + "[hardware]\nranks_per_node = 0\n", {"8:18 scenario.out_of_range"}},
        // lesson
        {"an id that is none", kTrain + "[[lesson.step]]\nid = \"Two words\"\n", {"8:6 scenario.bad_id"}},
        {"a step twice", kStep + "[[lesson.step]]\nid = \"one\"\n", {"10:6 scenario.id_twice"}},
        {"a view that is none", kStep + "view = \"3d\"\n", {"9:8 scenario.unknown_word"}},
        {"a rank outside the world", kStep + "rank = 1\n", {"9:8 scenario.out_of_range"}},
        {"a rank on a mesh that was written wrongly gets no advice from a guess",
         kStep + "rank = 100\n[mesh]\nshape = [2, \"x\"]\n",
         {"11:13 scenario.wrong_type"}},
        {"a rank on a picture's mesh that was written wrongly",
         kStep + "rank = 100\nmesh = { shape = [0] }\n",
         {"10:19 scenario.out_of_range"}},
        {"a check's title in one language",
         kTrain + "[[check]]\nid = \"a\"\nsql = \"SELECT 1\"\ntitle = { en = \"a\" }\n",
         {"10:9 scenario.missing_key"}},
        {"a number without SQL", kTrain + "[[lesson.number]]\nid = \"n\"\n", {"7:1 scenario.missing_key"}},
        {"one step that is no table of an array",
         kTrain + "[lesson]\nstep = 1\n",
         {"8:8 scenario.wrong_type"}},
        {"a quiz of an unknown step",
         kQuiz + "kind = \"number\"\nanswer = \"SELECT 1\"\n[[quiz]]\nid = \"r\"\nstep = \"two\"\n"
                 "kind = \"number\"\nanswer = \"\"\nquestion = { en = \"a\", zh = \"b\" }\n",
         {"17:8 scenario.unknown_step"}},
        {"a quiz without an answer", kQuiz + "kind = \"ranks\"\n", {"9:1 scenario.missing_key"}},
        {"a quiz in one language",
         kStep + "[[quiz]]\nid = \"q\"\nstep = \"one\"\nkind = \"number\"\nanswer = \"SELECT 1\"\n"
                 "question = { en = \"a\" }\n",
         {"14:12 scenario.missing_key"}},
        {"one choice",
         kQuiz + "kind = \"choice\"\n[[quiz.choice]]\nen = \"a\"\nzh = \"b\"\nright = true\n",
         {"10:6 scenario.too_few_choices"}},
        {"two choices, none right",
         kQuiz + "kind = \"choice\"\n[[quiz.choice]]\nen = \"a\"\nzh = \"b\"\n[[quiz.choice]]\n"
                 "en = \"c\"\nzh = \"d\"\n",
         {"10:6 scenario.one_right_choice"}},
        {"a number nobody defines",
         kQuiz + "kind = \"number\"\nanswer = \"SELECT 1\"\n[quiz.reveal]\nen = \"{{n}}\"\nzh = \"n\"\n",
         {"16:6 scenario.unknown_number"}},
        {"a check twice",
         kTrain +
             "[[check]]\nid = \"a b\"\nsql = \"SELECT 1\"\n[[check]]\nid = \"a b\"\nsql = \"SELECT 1\"\n",
         {"11:6 scenario.id_twice"}},
        // all at once
        {"every mistake is told, in file order",
         "format = 1\ncolour = 1\n[model]\nkind = \"toy\"\nwidth = 3\n[train]\nsteps = -1\nglobal_batch = "
         "7\n[mesh]\nshape = [2]\n"
         "[parallel]\ndata = \"ddp\"\nalgorithm = 3\n",
         {"2:1 scenario.unknown_key", "5:1 scenario.unknown_key", "7:9 scenario.out_of_range",
          "8:16 scenario.batch_does_not_divide", "13:13 scenario.wrong_type"}},
    };
}

const Diagnostic& only(const InputError& error) {
    return error.diagnostics().at(0);
}

}  // namespace

TEST_CASE("every kind of mistake is found at its line and column") {
    for (const Case& c : cases()) {
        INFO(c.what << "\n" << c.text);
        CHECK(mistakes(c.text) == c.expected);
    }
}

TEST_CASE("hints say what would be right") {
    const auto hint = [](const std::string& text) {
        try {
            scenario::parse_scenario(text, "bad.toml");
        } catch (const InputError& error) {
            return describe(only(error).hint);
        }
        return std::string("(none)");
    };
    CHECK(hint(kTrain + "acumulate = 1\n") == "scenario.hint.did_you_mean(guess=accumulate)");
    CHECK(hint(kTrain + "[mesh]\nshape = [3]\n[parallel]\ndata = \"ddp\"\n") ==
          "scenario.hint.batch(below=6, above=9)");
    CHECK(hint(kTrain + "[mesh]\nshape = [9]\n[parallel]\ndata = \"ddp\"\n") ==
          "scenario.hint.batch_above(above=9)");
    CHECK(hint(kTrain + "[mesh]\nshape = [2, 4]\nnames = [\"a\", \"b\"]\nworld = 6\n") ==
          "scenario.hint.world_at_least(least=8)");
    CHECK(hint(tokens(7, 4) + kContext) == "scenario.hint.cp_divides(below=4, above=8, sizes=1, 7)");
    CHECK(hint(tokens(12, 4) + kContext + "cp_load_balance = true\n") ==
          "scenario.hint.cp_unbalanced(below=8, above=16, sizes=1, 2, 3, 6)");
    CHECK(hint(tokens(8, 2) + kContext + "cp = \"ulysses\"\n") ==
          "scenario.hint.cp_heads_above(below=0, above=4, sizes=1, 2)");
    CHECK(hint(kTrain + "[parallel]\ncp = \"ulysses\"\n") == "scenario.hint.cp_dim_example()");
    CHECK(hint(kTrain + "[parallel]\ndata = \"dpd\"\n") == "scenario.hint.did_you_mean(guess=ddp)");
    CHECK(hint(kTrain + "[parallel]\ndata = \"everything\"\n") ==
          "scenario.hint.known(known=none, ddp, fsdp2, fsdp1, zero1, zero2, zero3, dp)");
}

TEST_CASE("an element of the wrong type is named by its index, an infinite number by what it is") {
    const auto first = [](const std::string& text) {
        try {
            scenario::parse_scenario(text, "bad.toml");
        } catch (const InputError& error) {
            return describe(only(error).message);
        }
        return std::string("(none)");
    };
    CHECK(first(kTrain + "[mesh]\nshape = [2]\nnames = [3]\n") ==
          "scenario.wrong_type(key=mesh.names[0], wanted=string, found=integer)");
    CHECK(first(kTrain + "[mesh]\nshape = [2, \"x\"]\n") ==
          "scenario.wrong_type(key=mesh.shape[1], wanted=integer, found=string)");
    CHECK(first(kTrain + "[optimizer]\nkind = \"adam\"\nbetas = [0.9, true]\n") ==
          "scenario.wrong_type(key=optimizer.betas[1], wanted=number, found=boolean)");
    CHECK(first(kTrain + "[optimizer]\nweight_decay = -inf\n") ==
          "scenario.not_finite(key=optimizer.weight_decay, value=-inf)");
}

TEST_CASE("a file that is too large is refused before it is parsed") {
    CHECK(mistakes(std::string((1 << 20) + 1, '#')) == std::vector<std::string>{"0:0 scenario.too_large"});
}

TEST_CASE("deep nesting is refused, not followed") {
    const auto found = mistakes("a = " + std::string(100000, '['));
    REQUIRE(found.size() == 1);
    CHECK(found[0].find("scenario.syntax") != std::string::npos);
}

TEST_CASE("a scenario cut at any byte is read or refused, never a crash") {
    const std::string whole =
        kQuiz +
        "kind = \"number\"\nanswer = \"SELECT 1\"\n[mesh]\nshape = [2]\nnames = [\"shard\"]\n"
        "[parallel]\ndata = \"fsdp2\"\nunits = [[\"net1\"], \"net2\"]\n";
    int read = 0;
    for (std::size_t n = 0; n <= whole.size(); ++n) {
        const auto found = mistakes(whole.substr(0, n));
        CHECK_FALSE(found.empty());
        read += found == std::vector<std::string>{"(none)"};
    }
    CHECK(read >= 2);  // whole, and without its last line end
}
