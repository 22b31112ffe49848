// Job files of other programs: the mesh and the facts that a reading by hand finds in them (expected.json
// beside them), and scenarios that are read again.
#include <chrono>
#include <filesystem>
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

namespace {

json expected() {
    std::ifstream file(kFiles + "expected.json");
    REQUIRE(file);
    return json::parse(file)["files"];
}

/// What no file says, so that a scenario can be made.
JobOptions options_for(const json& known) {
    JobOptions options;
    const std::string format = known["format"];
    if (format == "megatron yaml") {
        options.world =
            known["minimum_world"].get<int64_t>() == 4 ? 8 : known["minimum_world"].get<int64_t>();
        options.vocab = 50257;
    }
    if (known.value("dp_shard", json(1)) == -1) options.world = 64;
    if (known.value("micro_batch", json()) == "auto") {
        options.world = 16;
        options.micro_batch = 2;
    }
    if (format == "deepspeed json" || format == "accelerate yaml") {
        options.model = kLlama;
        options.seq = 128;
        if (format == "accelerate yaml") options.micro_batch = 1;
    }
    return options;
}

std::vector<std::string> missing(const Job& job) {
    std::vector<std::string> all;
    for (const Missing& each : job.missing) all.push_back(each.option);
    return all;
}

bool is_unsaid(const Job& job, const std::string& key, const std::string& why) {
    for (const Unsaid& each : job.unsaid)
        if (each.key == key && each.why.id == why) return true;
    return false;
}

}  // namespace

TEST_CASE("every job file gives the mesh, batch and precision that its own program makes of it") {
    const json all = expected();
    for (const auto& [name, known] : all.items()) {
        INFO(name);
        const Job job = read_job({kFiles + name}, options_for(known));
        const Facts& facts = job.facts;
        for (const char* degree : {"tp", "pp", "cp"})
            if (known.contains(degree)) CHECK(dim(job, degree) == known[degree]);
        for (const char* fact : {"ep", "micro_batch", "global_batch", "dp_replicate"})
            if (known.value(fact, json()).is_number_integer()) CHECK(facts.whole(fact) == known[fact]);
        for (const auto& [theirs, ours] :
             {std::pair("layers", "model.layers"), std::pair("gradient_accumulation", "accumulate"),
              std::pair("microbatches_per_step", "accumulate"), std::pair("sequence", "seq"),
              std::pair("dp", "dp"), std::pair("world", "world"), std::pair("etp", "etp")})
            if (known.value(theirs, json()).is_number_integer() && facts.has(ours))
                CHECK(facts.whole(ours) == known[theirs]);
        if (known.contains("order")) CHECK(facts.text("order") == known["order"]);
        if (known.contains("minimum_world")) CHECK(job.world_multiple == known["minimum_world"]);
        if (known.contains("sequence_parallel"))
            CHECK(facts.flag("sequence_parallel") == known["sequence_parallel"]);
        if (known.contains("virtual_stages_per_rank") && name.find("deepseek") == std::string::npos)
            CHECK(facts.whole("stages_per_rank") ==
                  (known["virtual_stages_per_rank"].is_null() ? json(1) : known["virtual_stages_per_rank"]));
        const std::map<std::string, std::string> words{
            {"bf16", "bfloat16"}, {"fp16", "float16"}, {"fp32", "float32"}};
        if (const auto word = words.find(known.value("precision", "")); word != words.end())
            CHECK(facts.text("precision") == word->second);
        if (known.contains("zero_stage")) {
            const std::string strategy = *facts.text("strategy");
            const int64_t stage = strategy == "ddp"              ? 0
                                  : strategy.starts_with("zero") ? strategy.back() - '0'
                                                                 : 3;
            CHECK(stage == known["zero_stage"]);
        }
        int64_t ranks = 1;
        for (const int64_t n : job.mesh_shape) ranks *= n;
        CHECK(ranks == facts.whole("world"));
    }
}

TEST_CASE(
    "ranks follow each other as Megatron's order says: pipeline stages outside, or data-parallel ranks") {
    const auto names = [](const std::string& more) {
        const Folder folder;
        JobOptions options;
        options.world = 16;
        return read_job({folder.write("run.sh", kMegatron +
                                                    "--tensor-model-parallel-size 2 --context-parallel-size "
                                                    "2 --pipeline-model-parallel-size 2 " +
                                                    more)},
                        options)
            .mesh_names;
    };
    CHECK(names("") == mesh::Names{"pp", "replicate", "cp", "tp"});
    CHECK(names("--use-distributed-optimizer") == mesh::Names{"pp", "shard", "cp", "tp"});
    CHECK(names("--use-tp-pp-dp-mapping") == mesh::Names{"replicate", "pp", "cp", "tp"});
}

TEST_CASE("NeMo's recipe is read by its paths: mesh, batch, model, and NeMo's own defaults") {
    const Folder folder;
    JobOptions options;
    options.vocab = 256;
    const Job job = read_job({folder.write("recipe.yaml", R"(MODEL_ARGS:
  trainer.strategy.tensor_model_parallel_size: 2
  trainer.strategy.pipeline_model_parallel_size: 2
  trainer.strategy.sequence_parallel: true
  trainer.devices: 8
  trainer.num_nodes: 2
  trainer.max_steps: 3
  data.micro_batch_size: 1
  data.global_batch_size: 8
  data.seq_length: 32
  model.config.num_layers: 4
  model.config.hidden_size: 64
  model.config.ffn_hidden_size: 128
  model.config.num_attention_heads: 8
)")},
                             options);
    CHECK(job.program == "NeMo");
    CHECK(dim(job, "tp") == 2);
    CHECK(dim(job, "pp") == 2);
    CHECK(job.facts.whole("world") == 16);
    CHECK(job.facts.whole("accumulate") == 2);  // 8 samples, by 1, on 4 data-parallel ranks
    CHECK(job.facts.text("strategy") == "zero1");
    CHECK(job.facts.whole("model.layers") == 4);
    CHECK(missing(job) == std::vector<std::string>{"--model"});  // a recipe does not say what kind it is
}

TEST_CASE("layers of Megatron's first and last stage are those of the scenario's stages") {
    const auto stages = [](const std::string& more) {
        const Folder folder;
        JobOptions options;
        options.world = 8;
        Job job = read_job(
            {folder.write("run.sh",
                          kMegatron + "--global-batch-size 16 --pipeline-model-parallel-size 4 " + more)},
            options);
        const Made scenario = made(job);
        CHECK(scenario.refused.empty());
        return scenario::parse_scenario(scenario.text, "s.toml").parallel.pipeline.stage_layers;
    };
    using Layers = std::vector<int64_t>;
    CHECK(stages("") == Layers{});
    CHECK(stages("--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 3") ==
          Layers{1, 2, 2, 3});
    CHECK(stages("--decoder-last-pipeline-num-layers 5") == Layers{1, 1, 1, 5});
}

TEST_CASE("the scenario of a job is read again, and refused for what is not in this version alone") {
    const json all = expected();
    for (const auto& [name, known] : all.items()) {
        INFO(name);
        JobOptions options = options_for(known);
        Job job = read_job({kFiles + name}, options);
        if (job.missing.size() == 1 &&
            job.missing[0].option == "--model") {  // torchtitan's flavor of experts
            CHECK(is_unsaid(job, "model.name", "jobs.why.architecture"));
            options.model = kLlama;
            job = read_job({kFiles + name}, options);
        }
        REQUIRE(job.missing.empty());
        const Made scenario = made(job);
        INFO(scenario.text);
        for (const Diagnostic& each : scenario.refused) CHECK(each.message.id == "scenario.not_supported");
        CHECK(scenario.refused.empty() != job.facts.has("model.experts"));
        if (!scenario.refused.empty()) continue;
        const scenario::Scenario read = scenario::parse_scenario(scenario.text, "s.toml");
        CHECK(read.mesh_shape == job.mesh_shape);
        CHECK(read.mesh_names == job.mesh_names);
        CHECK(read.global_batch == job.facts.whole("global_batch"));
    }
}

TEST_CASE("what a scenario cannot hold is named with its key") {
    JobOptions options;
    options.world = 8;
    options.vocab = 50257;
    Job job = read_job({kFiles + "megatron_gpt3_mcore_te_tp2_pp2_cp2_etp4_dp_last.yaml"}, options);
    static_cast<void>(made(job));
    CHECK(is_unsaid(job, "--expert-tensor-parallel-size", "jobs.why.no_experts"));
    CHECK(job.facts.text("model.kind") == "gpt");
    CHECK(job.facts.whole("model.vocab") == 50432);  // to a multiple of 128 · tp 2

    options.world = 64;
    job = read_job({kFiles + "megatron_deepseekv3_proxy_flex_tp1pp4emp16etp1cp1_release.yaml"}, options);
    CHECK(job.facts.whole("stages_per_rank") == 2);  // eight stages of its layout
    CHECK(is_unsaid(job, "--expert-model-parallel-size", "jobs.why.expert_ranks"));
    CHECK(is_unsaid(job, "--pipeline-model-parallel-layout", "jobs.why.uneven"));
    CHECK(is_unsaid(job, "--multi-latent-attention", "jobs.why.latent"));

    job = read_job({kFiles + "deepspeed_zeropp_own.json", kLlama}, {});
    CHECK(missing(job) == std::vector<std::string>{"--seq"});
    CHECK(is_unsaid(job, "zero_optimization.zero_hpz_partition_size", "jobs.why.hpz"));
    CHECK(is_unsaid(job, "zero_optimization.zero_quantized_gradients", "jobs.why.none"));
    CHECK(job.facts.find("world")->origin.kind == Origin::Kind::derived);
}

TEST_CASE(
    "torchtitan's units are the embedding, each block, and the last norm with the head, which is kept") {
    JobOptions options;
    options.world = 8;
    Job job = read_job({kFiles + "torchtitan_llama3_8b.json"}, options);
    const scenario::Scenario read = scenario::parse_scenario(made(job).text, "s.toml");
    REQUIRE(read.parallel.units.size() == 34);
    CHECK(read.parallel.units.front() == std::vector<std::string>{"tok"});
    CHECK(read.parallel.units[1] == std::vector<std::string>{"blocks.0"});
    CHECK(read.parallel.units.back() == std::vector<std::string>{"ln_f", "head"});
}

TEST_CASE("Megatron's widths and vocabularies are those that it computes itself") {
    const Folder folder;
    const auto read = [&](const std::string& more, JobOptions options = {.world = 8}) {
        return read_job({folder.write("run.sh",
                                      "x.py --num-layers 8 --hidden-size 192 --num-attention-heads 8 "
                                      "--micro-batch-size 2 --seq-length 32 " +
                                          more)},
                        options);
    };
    CHECK(read("--swiglu --vocab-size 99").facts.whole("model.hidden") == 512);
    CHECK(read("--quick-geglu --vocab-size 99").facts.whole("model.hidden") == 768);
    CHECK(read("--padded-vocab-size 512", {.world = 8, .vocab = 300}).facts.whole("model.vocab") == 512);
    CHECK(ids([&] { read("--padded-vocab-size 512", {.world = 8, .vocab = 600}); }) ==
          std::vector<std::string>{"jobs.padded_vocabulary"});
    CHECK(ids([&] { read("--padded-vocab-size 512 --vocab-size 513"); }) ==
          std::vector<std::string>{"jobs.padded_vocabulary"});
}

TEST_CASE("bfloat16 is said under every strategy, with the type in which each program reduces") {
    const Folder folder;
    const auto types = [&](const std::vector<std::string>& files, JobOptions options) {
        options.seq = 32;
        if (options.model.empty() && !files[0].ends_with(".sh")) options.model = kLlama;
        Job job = read_job(files, options);
        const Made scenario = made(job);
        INFO(scenario.text);
        CHECK(scenario.refused.empty());
        const scenario::Scenario read = scenario::parse_scenario(scenario.text, "s.toml");
        return std::pair(read.parallel.precision.param, read.parallel.precision.reduce);
    };
    using enum DType;
    const auto megatron = [&](const std::string& more) {
        return types({folder.write("run.sh", kMegatron + "--bf16 " + more)}, {.world = 4});
    };
    CHECK(megatron("") == std::pair(bfloat16, float32));
    CHECK(megatron("--use-distributed-optimizer") == std::pair(bfloat16, float32));
    CHECK(megatron("--use-distributed-optimizer --grad-reduce-in-bf16") == std::pair(bfloat16, bfloat16));
    const auto deepspeed = [&](int64_t world, const std::string& more) {
        return types(
            {folder.write("ds.json",
                          R"({"bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1, )" + more)},
            {.world = world});
    };
    for (const char* stage : {"0", "1", "2", "3"})
        CHECK(deepspeed(2, R"("zero_optimization": {"stage": )" + std::string(stage) + "}}") ==
              std::pair(bfloat16, bfloat16));
    CHECK(deepspeed(2, R"("communication_data_type": "fp32", "zero_optimization": {"stage": 1}})") ==
          std::pair(bfloat16, float32));
    CHECK(deepspeed(1, R"("zero_optimization": {"stage": 3}})") == std::pair(float32, float32));
    const auto accelerate = [&](const std::string& type) {
        return types({folder.write("acc.yaml", "distributed_type: " + type + "\nmixed_precision: bf16\n")},
                     {.world = type == "NO" ? 1 : 2, .micro_batch = 1});
    };
    CHECK(accelerate("NO") == std::pair(bfloat16, float32));
    CHECK(accelerate("MULTI_GPU") == std::pair(bfloat16, float32));
    CHECK(accelerate("FSDP") == std::pair(bfloat16, bfloat16));
}

TEST_CASE("what no file says is asked for") {
    CHECK(missing(read_job({kFiles + "deepspeed_zero2.json"}, {})) ==
          std::vector<std::string>{"--world", "--micro-batch", "--seq", "--model"});
    const Job job = read_job({kFiles + "megatron_mixtral_8x22b_tp2pp8ep8vpp1_release.yaml"}, {});
    CHECK(missing(job) == std::vector<std::string>{"--world", "--vocab"});
    CHECK(job.mesh_shape.empty());
    CHECK(job.world_multiple == 128);
}

TEST_CASE("replicas without shards are DDP in torchtitan's versions before 2026, FSDP since") {
    const Folder folder;
    const auto toml = [&](const std::string& degrees, int64_t world) {
        return read_job({folder.write("titan.toml",
                                      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n"
                                      "local_batch_size = 1\nseq_len = 64\n[parallelism]\n" +
                                          degrees)},
                        {.world = world});
    };
    const std::string replicas = "data_parallel_shard_degree = 1\ndata_parallel_replicate_degree = ";
    Job job = toml(replicas + "4\n", 4);
    CHECK(job.facts.text("strategy") == "ddp");
    CHECK(job.mesh_names == mesh::Names{"replicate"});
    CHECK(job.facts.text("recompute") == "selective");  // its default, also without the table
    const scenario::Scenario read = scenario::parse_scenario(made(job).text, "s.toml");
    CHECK(read.parallel.bucket_cap_mb == 100);
    job = toml(replicas + "1\ntensor_parallel_degree = 2\n", 2);
    CHECK(job.facts.text("strategy") == "none");
    CHECK(job.facts.text("precision") == "float32");
    CHECK(toml("data_parallel_shard_degree = -1\n", 4).facts.text("strategy") == "fsdp2");
    CHECK(ids([&] { toml(replicas + "2\ntensor_parallel_degree = 2\n", 4); }) ==
          std::vector<std::string>{"jobs.ddp_alone"});
    json saved = json::parse(std::ifstream(kFiles + "torchtitan_llama3_8b.json"));
    saved["parallelism"]["data_parallel_shard_degree"] = 1;
    saved["parallelism"]["data_parallel_replicate_degree"] = 4;
    saved["activation_checkpoint"] = nullptr;
    job = read_job({folder.write("titan.json", saved.dump())}, {.world = 4});
    CHECK(job.facts.text("strategy") == "fsdp2");
    CHECK(job.mesh_shape == mesh::Shape{4, 1});
    CHECK(job.facts.text("recompute") == "none");
}

TEST_CASE("what torchtitan keeps in bfloat16 alone is kept so, and what that changes is said") {
    const Folder folder;
    const auto toml = [&](const std::string& training, const std::string& degrees) {
        return read_job({folder.write("titan.toml",
                                      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n"
                                      "local_batch_size = 1\nseq_len = 64\n" +
                                          training + "[parallelism]\n" + degrees)},
                        {.world = 4});
    };
    const std::string shards = "data_parallel_shard_degree = -1\n",
                      replicas = "data_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 4\n",
                      halved = "dtype = \"bfloat16\"\n";
    const auto reasons = [](const Job& job) {
        std::vector<std::string> found;
        for (const Unsaid& each : job.unsaid)
            if (each.why.id.find("bfloat16") != std::string::npos || each.why.id == "jobs.why.float32_state")
                found.push_back(each.why.id);
        return found;
    };
    using Reasons = std::vector<std::string>;
    const auto type = [](Job& job) {
        return scenario::parse_scenario(made(job).text, "s.toml").parallel.precision.stored;
    };
    Job job = toml(halved + "mixed_precision_reduce = \"bfloat16\"\n", shards);
    CHECK(type(job) == DType::bfloat16);
    CHECK(reasons(job).empty());
    job = toml(halved, shards);  // reduced in float32 unless said otherwise
    CHECK(type(job) == DType::bfloat16);
    CHECK(reasons(job) == Reasons{"jobs.why.reduced_bfloat16"});
    job = toml(halved + "mixed_precision_param = \"float32\"\n", shards);
    CHECK(type(job) == DType::bfloat16);
    CHECK(reasons(job) == Reasons{"jobs.why.all_bfloat16", "jobs.why.reduced_bfloat16"});
    job = toml(halved, replicas);  // as DDP has them, gradients are bfloat16, too
    CHECK(type(job) == DType::bfloat16);
    CHECK(reasons(job).empty());
    job = toml("dtype = \"float16\"\n", shards);
    CHECK(type(job) == DType::float32);
    CHECK(reasons(job) == Reasons{"jobs.why.float32_state"});
}

TEST_CASE("torchtitan's first pipelines cut a batch into as many micro-batches as they say, or as stages") {
    const Folder folder;
    const auto micro = [&](const std::string& more) {
        const Job job = read_job({folder.write("titan.toml",
                                               "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n"
                                               "batch_size = 8\nseq_len = 64\n[experimental]\n"
                                               "pipeline_parallel_degree = 2\n" +
                                                   more)},
                                 {.world = 8});
        return std::pair(*job.facts.whole("micro_batch"), *job.facts.whole("accumulate"));
    };
    CHECK(micro("pipeline_parallel_microbatches = 8\n") == std::pair<int64_t, int64_t>{1, 8});
    CHECK(micro("") == std::pair<int64_t, int64_t>{4, 2});
    CHECK(micro("pipeline_parallel_schedule = \"Interleaved1F1B\"\n") == std::pair<int64_t, int64_t>{2, 4});
    CHECK(ids([&] { micro("pipeline_parallel_microbatches = 3\n"); }) ==
          std::vector<std::string>{"jobs.microbatches"});
}

TEST_CASE("DeepSpeed's batch is whole with its total alone, and what is auto is asked for") {
    const Folder folder;
    const auto read = [&](const std::string& more) {
        return read_job({folder.write("ds.json", R"({"zero_optimization": {"stage": 2, )" + more), kLlama},
                        {.world = 8, .seq = 16});
    };
    const Job total = read(R"("reduce_bucket_size": 1000}, "train_batch_size": 64})");
    CHECK(total.missing.empty());
    CHECK(total.facts.whole("micro_batch") == 8);
    CHECK(total.facts.whole("bucket_elements") == 1000);
    const Job open = read(
        R"("reduce_bucket_size": "auto"}, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": "auto"})");
    CHECK(missing(open) == std::vector<std::string>{"--accumulate"});
    CHECK(!open.facts.has("bucket_elements"));
    CHECK(is_unsaid(open, "zero_optimization.reduce_bucket_size", "jobs.why.auto"));
}

TEST_CASE("a launcher has one machine unless it says more, and yields to the ranks that a person says") {
    const Folder folder;
    const auto read = [&](const std::string& launcher, JobOptions options = {}) {
        return read_job({folder.write("run.sh", launcher + " " + kMegatron)}, options);
    };
    const std::string torchrun = "torchrun --nproc_per_node ";
    CHECK(read(torchrun + "8").facts.whole("world") == 8);
    CHECK(read(torchrun + "8", {.world = 16}).facts.whole("nodes") == 2);
    CHECK(missing(read(torchrun + "gpu")) == std::vector<std::string>{"--ranks-per-node"});
    CHECK(read(torchrun + "gpu", {.ranks_per_node = 4}).facts.whole("world") == 4);
    CHECK(read(torchrun + "gpu --nnodes 2", {.world = 8}).facts.whole("ranks_per_node") == 4);
    CHECK(missing(read(torchrun + "8 --nnodes 1:4")) == std::vector<std::string>{"--world"});
    CHECK(ids([&] {
              read_job({folder.write("acc.yaml",
                                     "distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 3\n")},
                       {});
          }) == std::vector<std::string>{"jobs.does_not_divide"});
}

TEST_CASE("a file without a name's ending is told from a long line at once") {
    const Folder folder;
    const std::string file = folder.write("job", "--a " + std::string(400'000, ':'));
    const auto begin = std::chrono::steady_clock::now();
    CHECK(ids([&] { read_job({file}, {}); }).size() == 1);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("a model's config.json is named from the scenario's folder, or from here") {
    const Folder folder;
    const std::string file = folder.write("acc.yaml", "distributed_type: NO\n");
    JobOptions options{.micro_batch = 1, .seq = 8};
    options.model = std::filesystem::proximate(kLlama).string();
    const auto kind = [&](const std::string& path) {
        Job job = read_job({file}, options);
        const std::string text =
            write_scenario(job, path, [](const Message& message) { return message.id; }).text;
        return text.substr(text.find("hf:"), text.find('"', text.find("hf:")) - text.find("hf:"));
    };
    CHECK(kind("") == "hf:" + options.model);
    CHECK(kind("s.toml") == "hf:" + options.model);
    CHECK(kind("sub/s.toml") == "hf:../" + options.model);
}

TEST_CASE(
    "accelerate's launcher passes over the other key of FSDP1, which is said, and unread keys are listed") {
    const Folder folder;
    const Job job = read_job(
        {folder.write(
            "acc.yaml",
            "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 1\n"
            "  fsdp_reshard_after_forward: SHARD_GRAD_OP\n  fsdp_colour: blue\ndeepspeed_config: {}\n")},
        {});
    CHECK(job.facts.text("sharding_strategy") == "full_shard");
    CHECK(is_unsaid(job, "fsdp_config.fsdp_reshard_after_forward", "jobs.why.launcher_sharding"));
    REQUIRE(job.unread.size() == 1);
    CHECK(job.unread[0].second == "fsdp_config.fsdp_colour");
}
