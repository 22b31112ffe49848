// Job files that contradict each other or themselves, and what no program takes.
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/jobs/read_job.h"
#include "core/jobs/write.h"
#include "core/scenario/scenario.h"
#include "tests/folder.h"
#include "tests/jobs/job_stage.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::jobs;
using namespace meshscope::test;
using nlohmann::json;

TEST_CASE("files and options that contradict each other are refused, each with its key") {
    const Folder folder;
    const auto read = [&](const std::string& text, JobOptions options = {.world = 8},
                          const char* name = "run.sh") {
        return ids([&] { read_job({folder.write(name, text)}, options); });
    };
    using Ids = std::vector<std::string>;
    CHECK(read(kMegatron) == Ids{"(none)"});
    CHECK(read(kMegatron + "--tensor-model-parallel-size 3") == Ids{"jobs.world", "jobs.does_not_divide"});
    CHECK(read(kMegatron + "--tensor-model-parallel-size 2 --tensor-model-parallel-size 4") ==
          Ids{"jobs.twice"});
    CHECK(read(kMegatron + "--log-interval 2 --log-interval 4") == Ids{"(none)"});
    CHECK(read(kMegatron + "--tensor-model-parallel-size $TP") == Ids{"jobs.variable"});
    CHECK(read(kMegatron + "--tensor-model-parallel-size $(cat tp.txt | tr -d ' ()')") ==
          Ids{"jobs.command"});
    CHECK(read(kMegatron + "--pipeline-model-parallel-size 0") == Ids{"scenario.out_of_range"});
    CHECK(read(kMegatron + "--pipeline-model-parallel-size 16", {.world = 16}) == Ids{"jobs.layers"});
    CHECK(read(kMegatron + "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3") ==
          Ids{"jobs.ends"});
    CHECK(read(kMegatron + "--global-batch-size 24") == Ids{"jobs.batch"});
    CHECK(read(kMegatron + "--nproc_per_node 8 --nnodes 2") == Ids{"jobs.contradiction_option"});
    CHECK(read(kMegatron + "--num-experts 6 --expert-model-parallel-size 4") == Ids{"jobs.does_not_divide"});
    CHECK(read(kMegatron + "--num-experts 16 --expert-model-parallel-size 16") == Ids{"jobs.world_experts"});
    CHECK(read(kMegatron + "--tensor-model-parallel-size 16", {.world = 16}) == Ids{"jobs.does_not_divide"});
    CHECK(read(kMegatron + "--num-layers-per-virtual-pipeline-stage 3 --pipeline-model-parallel-size 2") ==
          Ids{"jobs.layers"});
    CHECK(read(kMegatron +
               "--num-layers-per-virtual-pipeline-stage 2 --num-virtual-stages-per-pipeline-rank 2 "
               "--pipeline-model-parallel-size 2") == Ids{"jobs.one_of"});
    CHECK(
        read(
            R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8})",
            {.world = 16}, "ds.json") == Ids{"jobs.contradiction"});
    CHECK(read(R"({"zero_optimization": {"stage": 4}})", {}, "ds.json") == Ids{"scenario.out_of_range"});
    CHECK(read(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1}})",
               {}, "ds.json") == Ids{"jobs.two_precisions"});
    CHECK(
        read("distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_version: 2}\nparallelism_config:\n"
             "  parallelism_config_dp_shard_size: 2\n  parallelism_config_tp_size: 2\n",
             {}, "acc.yaml") == Ids{"jobs.degrees"});
    CHECK(read("distributed_type: FSPD\n", {}, "acc.yaml") == Ids{"jobs.unknown_word"});
    CHECK(read("distributed_type: DEEPSPEED\ndeepspeed_config: {deepspeed_config_file: none.json}\n", {},
               "acc.yaml") == Ids{"jobs.no_deepspeed_file"});
    CHECK(read("[parallelism]\ntensor_parallel_degree = 3\n[training]\nseq_len = 8\n", {.world = 8},
               "titan.toml") == Ids{"jobs.world"});
    CHECK(read("nothing: here\n", {}, "x.yaml") == Ids{"jobs.unknown"});
    CHECK(read("MODEL_ARGS: {}\n", {}, "x.yaml") == Ids{"jobs.empty"});
    CHECK(ids([&] { read_job({kLlama}, {}); }) == Ids{"jobs.only_model"});
    CHECK(ids([&] {
              read_job({kFiles + "accelerate_fsdp1.yaml", kFiles + "deepspeed_zero2.json",
                        kFiles + "torchtitan_llama3_8b.json"},
                       {});
          }) == Ids{"jobs.two"});
}

TEST_CASE("a word that a program does not have is refused, and those that it has are taken in any case") {
    const Folder folder;
    const auto read = [&](const std::string& text, const char* name = "run.sh") {
        return ids([&] { read_job({folder.write(name, text)}, {.world = 8}); });
    };
    const std::vector<std::string> unknown{"jobs.unknown_word"};
    for (const char* word : {"--cp-comm-type banana", "--recompute-granularity ful",
                             "--recompute-method each", "--data-parallel-sharding-strategy optim_grad_params",
                             "--normalization BatchNorm", "--position-embedding-type alibi"}) {
        INFO(word);
        CHECK(read(kMegatron + word) == unknown);
    }
    for (const char* line : {"[training]\nmixed_precision_param = \"bf17\"", "[training]\ndtype = \"half\"",
                             "[parallelism]\nfsdp_reshard_after_forward = \"sometimes\"",
                             "[parallelism]\ncontext_parallel_rotate_method = \"ring\"",
                             "[activation_checkpoint]\nmode = \"ful\""}) {
        INFO(line);
        CHECK(read(std::string("[model]\nname = \"llama3\"\n") +
                       (std::string(line).starts_with("[training]") ? "" : "[training]\n") + line,
                   "titan.toml") == unknown);
    }
    for (const char* pair : {"fsdp_backward_prefetch: BANANA", "fsdp_sharding_strategy: FULL",
                             "fsdp_auto_wrap_policy: ALL", "fsdp_reshard_after_forward: true"}) {
        INFO(pair);
        CHECK(read(std::string("distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {") + pair + "}\n",
                   "acc.yaml") == unknown);
    }
    CHECK(read("distributed_type: multi_gpu\nmixed_precision: BF16\n", "acc.yaml") ==
          std::vector<std::string>{"(none)"});
    const Job job =
        read_job({folder.write("run.sh", kMegatron + "--use-megatron-fsdp --context-parallel-size 2 "
                                                     "--cp-comm-type allgather")},
                 {.world = 8});
    CHECK(job.facts.text("strategy") == "fsdp2");  // what its own FSDP cuts where no word says
    CHECK(job.facts.text("cp_kind") == "allgather");
}

TEST_CASE("a key with two values is refused however it is spelt, in its own table alone") {
    const Folder folder;
    const auto read = [&](const std::string& text, const char* name) {
        return ids([&] { read_job({folder.write(name, text)}, {.world = 8}); });
    };
    using Ids = std::vector<std::string>;
    const auto recipe = [&](const std::string& lines) {
        return read("MODEL_ARGS:\n  --num-layers: 8\n" + lines, "recipe.yaml");
    };
    CHECK(recipe("  --tensor_model_parallel_size: 2\n  --tensor_model_parallel_size: 4\n") ==
          Ids{"jobs.twice"});
    CHECK(recipe("  --seq_length: 1024\n  --seq-length: 4096\n") == Ids{"jobs.twice"});
    CHECK(recipe("  --bf16: false\n  --bf16: true\n") == Ids{"jobs.twice"});
    CHECK(recipe("  --seq_length: 1024\n  --seq-length: 1024\n") == Ids{"(none)"});
    const std::string zero = R"({"zero_optimization": {"stage": 1)";
    CHECK(read(zero + R"(, "stage": 2}})", "ds.json") == Ids{"jobs.twice"});
    CHECK(read(zero + R"(}, "zero_optimization": {"stage": 1}})", "ds.json") == Ids{"jobs.twice"});
    CHECK(read(zero + R"(}, "other": {"stage": 1, "stage": 2, "list": [{"stage": 1}, {"stage": 2}]}})",
               "ds.json") == Ids{"(none)"});
    CHECK(read("distributed_type: FSDP\nnum_processes: 8\nother: {fsdp_version: 1, fsdp_version: 2}\n"
               "fsdp_config: {fsdp_version: 2}\n",
               "acc.yaml") == Ids{"(none)"});
    CHECK(
        read(
            R"({"model_spec": {"model": {"dim": 64, "layers": [{"attention": {"n_heads": 4, "n_heads": 8}}]}},
        "training": {}})",
            "titan.json") == Ids{"jobs.twice"});
}

TEST_CASE("numbers whose products no job has are refused, not computed") {
    const Folder folder;
    const auto read = [&](const std::string& text, const char* name = "run.sh",
                          JobOptions options = {.world = 8}) {
        return ids([&] { read_job({folder.write(name, text)}, options); });
    };
    using Ids = std::vector<std::string>;
    const std::string large = " 1099511627776 ", ranks = " 65536 ", size = " 2147483648 ";
    CHECK(read(kMegatron + "--pipeline-model-parallel-size" + large +
               "--num-layers-per-virtual-pipeline-stage" + large) ==
          Ids{"scenario.out_of_range", "scenario.out_of_range"});
    CHECK(read(kMegatron + "--pipeline-model-parallel-size" + ranks +
               "--num-layers-per-virtual-pipeline-stage" + size) == Ids{"jobs.layers"});
    CHECK(read(kMegatron + "--tensor-model-parallel-size" + ranks + "--make-vocab-size-divisible-by" + size +
               "--context-parallel-size" + ranks + "--expert-model-parallel-size" + ranks) ==
          Ids{"jobs.too_many_ranks", "jobs.does_not_divide"});
    CHECK(read("x.py --num-layers 65536 --pipeline-model-parallel-size 65536 --num-experts 7 "
               "--expert-model-parallel-size 65535 --expert-tensor-parallel-size 65521") ==
          Ids{"jobs.too_many_ranks", "jobs.does_not_divide"});
    CHECK(read("x.py --nproc_per_node 65536 --nnodes 65536", "run.sh", {}) == Ids{"jobs.too_many_ranks"});
    const auto deepspeed = [&](const std::string& batch, JobOptions options) {
        return read(
            R"({"train_micro_batch_size_per_gpu": 2147483648, "gradient_accumulation_steps": 2147483648, )" +
                batch + R"("zero_optimization": {"stage": 1}})",
            "ds.json", options);
    };
    CHECK(deepspeed("\"train_batch_size\": 64, ", {}) == Ids{"jobs.batch"});
    CHECK(deepspeed("\"train_batch_size\": 64, ", {.world = 65536}) == Ids{"jobs.batch_is_not"});
    CHECK(deepspeed("", {.world = 65536}) == Ids{"jobs.too_many_samples"});
    CHECK(
        read(R"({"model_spec": {"model": {"dim": 64, "layers": [{"attention": {"n_heads": 4611686018427387904,
        "head_dim": 4}}]}}, "training": {}})",
             "titan.json") == Ids{"scenario.out_of_range", "scenario.out_of_range"});
}

TEST_CASE("a model's config.json must be that of the job") {
    const Folder folder;
    // Of Llama 3.2 1B all but what follows.
    const auto read = [&](const std::string& more) {
        return ids([&] {
            read_job({folder.write("run.sh",
                                   "x.py --num-layers 16 --hidden-size 2048 --num-attention-heads 32 "
                                   "--micro-batch-size 1 --seq-length 64 " +
                                       more),
                      kLlama},
                     {.world = 8});
        });
    };
    using Ids = std::vector<std::string>;
    CHECK(read("--swiglu --normalization RMSNorm --use-rotary-position-embeddings --rotary-base 500000 "
               "--disable-bias-linear --group-query-attention --num-query-groups 8 --ffn-hidden-size 8192 "
               "--norm-epsilon 1e-5") == Ids{"(none)"});
    CHECK(read("--swiglu --num-experts 8") == Ids{"jobs.dense_model"});
    CHECK(read("--swiglu --multi-latent-attention") == Ids{"jobs.no_latent_attention"});
    for (const char* other :
         {"--quick-geglu --kv-channels 128", "--swiglu --normalization LayerNorm", "--swiglu --qk-layernorm",
          "--swiglu --rotary-base 10000", "--swiglu --add-qkv-bias", "--swiglu --norm-epsilon 1e-6",
          "--swiglu --position-embedding-type learned_absolute",
          "--swiglu --group-query-attention --num-query-groups 4"}) {
        INFO(other);
        CHECK(read(other) == Ids{"jobs.contradiction"});
    }
    const std::string file = folder.write("run.sh",
                                          "x.py --num-layers 24 --hidden-size 2048 --num-attention-heads 32 "
                                          "--micro-batch-size 1 --seq-length 64 --swiglu");
    CHECK(ids([&] {
              read_job({file, kLlama}, {.world = 8});
          }) == std::vector<std::string>{"jobs.contradiction"});  // 16 layers
}

TEST_CASE("accelerate finds the DeepSpeed configuration that it names, and both must agree") {
    const Folder folder;
    folder.write("ds/zero.json", R"({"zero_optimization": {"stage": 3}, "bf16": {"enabled": true},
        "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})");
    const auto accelerate = [&](const std::string& precision) {
        return folder.write(
            "acc.yaml", "distributed_type: DEEPSPEED\nnum_processes: 16\nnum_machines: 2\nmixed_precision: " +
                            precision + "\ndeepspeed_config:\n  deepspeed_config_file: ds/zero.json\n");
    };
    JobOptions options;
    options.seq = 128;
    Job job = read_job({accelerate("bf16"), kLlama}, options);
    CHECK(job.files.size() == 3);
    CHECK(job.facts.text("strategy") == "zero3");
    CHECK(job.facts.whole("global_batch") == 128);
    CHECK(job.facts.whole("ranks_per_node") == 8);
    CHECK(made(job).refused.empty());
    CHECK(ids([&] {
              read_job({accelerate("fp16"), kLlama}, options);
          }) == std::vector<std::string>{"jobs.contradiction"});
}

TEST_CASE(
    "a DeepSpeed file given beside accelerate's is the one that it names, or that one is told as not read") {
    const Folder folder;
    const std::string zero =
        R"({"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})";
    const std::string named = folder.write("ds/zero.json", zero), other = folder.write("other.json", zero);
    const auto accelerate = [&](const std::string& file) {
        return folder.write("acc.yaml",
                            "distributed_type: DEEPSPEED\nnum_processes: 16\nnum_machines: 2\n"
                            "deepspeed_config:\n  deepspeed_config_file: " +
                                file + "\n");
    };
    JobOptions options;
    options.seq = 128;
    const auto untold = [&](const std::string& file, const std::string& given) {
        const Job job = read_job({accelerate(file), given, kLlama}, options);
        return std::ranges::any_of(job.unsaid, [&](const Unsaid& each) {
            return each.value == file && each.why.id == "jobs.why.deepspeed_file";
        });
    };
    CHECK_FALSE(untold("ds/zero.json", named));
    CHECK(untold("elsewhere/zero.json", other));
    CHECK(ids([&] {
              read_job({accelerate("ds/zero.json"), other, kLlama}, options);
          }) == std::vector<std::string>{"jobs.other_deepspeed_file"});
}

TEST_CASE("what is wrong with a flavor's figure is told of that figure") {
    const Folder folder;
    const std::string file =
        folder.write("t.toml",
                     "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
                     "seq_len = 64\n[parallelism]\ntensor_parallel_degree = 3\n");
    std::vector<std::string> keys;
    try {
        read_job({file}, {.world = 6});
    } catch (const InputError& error) {
        for (const Diagnostic& each : error.diagnostics())
            if (const MessageValue* const key = each.message.find("key")) keys.push_back(to_text(*key));
    }
    CHECK(keys ==
          std::vector<std::string>{"model.flavor \"8B\": n_heads", "model.flavor \"8B\": n_kv_heads"});
}

TEST_CASE("damaged YAML of a recipe is refused at its line") {
    const std::string folder = test::golden_folder() + "/imports/damaged/";
    using Ids = std::vector<std::string>;
    CHECK(test::mistakes_of([&] { read_job({folder + "yaml_duplicate_key.yaml"}, {}); })
              .front()
              .starts_with("4:"));
    CHECK(ids([&] { read_job({folder + "yaml_alias_bomb.yaml"}, {}); }) == Ids{"yaml.too_many"});
    CHECK(ids([&] { read_job({folder + "yaml_tabs.yaml"}, {}); }) == Ids{"yaml.tab"});
}
