// Job files of other programs: the mesh and the facts that a reading by hand finds in them (expected.json
// beside them), scenarios that are read again, and mistakes.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/jobs/read_job.h"
#include "core/jobs/write.h"
#include "core/scenario/scenario.h"
#include "tests/folder.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::jobs;
using meshscope::test::Folder;
using nlohmann::json;

namespace {

const std::string kFiles = test::golden_folder() + "/imports/job_config/";
const std::string kLlama = test::golden_folder() + "/model_config/Llama-3.2-1B.json";

json expected() {
    std::ifstream file(kFiles + "expected.json");
    REQUIRE(file);
    return json::parse(file)["files"];
}

int64_t dim(const Job& job, const std::string& name) {
    for (std::size_t i = 0; i < job.mesh_names.size(); ++i)
        if (job.mesh_names[i] == name) return job.mesh_shape[i];
    return 1;
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

Made made(Job& job) {
    return write_scenario(job, "", [](const Message& message) { return message.id; });
}

std::vector<std::string> ids(const std::function<void()>& read) {
    std::vector<std::string> found;
    for (const std::string& each : test::mistakes_of(read)) found.push_back(each.substr(each.find(' ') + 1));
    return found;
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

const std::string kMegatron =
    "x.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 2 "
    "--seq-length 32 --vocab-size 256 ";

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

TEST_CASE("what no file says is asked for") {
    CHECK(missing(read_job({kFiles + "deepspeed_zero2.json"}, {})) ==
          std::vector<std::string>{"--world", "--micro-batch", "--seq", "--model"});
    const Job job = read_job({kFiles + "megatron_mixtral_8x22b_tp2pp8ep8vpp1_release.yaml"}, {});
    CHECK(missing(job) == std::vector<std::string>{"--world", "--vocab"});
    CHECK(job.mesh_shape.empty());
    CHECK(job.world_multiple == 128);
}

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
    CHECK(read(kMegatron + "--pipeline-model-parallel-size 0") == Ids{"scenario.out_of_range"});
    CHECK(read(kMegatron + "--pipeline-model-parallel-size 16", {.world = 16}) == Ids{"jobs.layers"});
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
    CHECK(deepspeed("\"train_batch_size\": 64, ", {.world = 65536}) == Ids{"jobs.batch"});
    CHECK(deepspeed("", {.world = 65536}) == Ids{"jobs.too_many_samples"});
    CHECK(
        read(R"({"model_spec": {"model": {"dim": 64, "layers": [{"attention": {"n_heads": 4611686018427387904,
        "head_dim": 4}}]}}, "training": {}})",
             "titan.json") == Ids{"scenario.out_of_range", "scenario.out_of_range"});
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

TEST_CASE("a model's config.json must be that of the job") {
    const Folder folder;
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

TEST_CASE("damaged YAML of a recipe is refused at its line") {
    const std::string folder = test::golden_folder() + "/imports/damaged/";
    using Ids = std::vector<std::string>;
    CHECK(test::mistakes_of([&] { read_job({folder + "yaml_duplicate_key.yaml"}, {}); })
              .front()
              .starts_with("4:"));
    CHECK(ids([&] { read_job({folder + "yaml_alias_bomb.yaml"}, {}); }) == Ids{"yaml.too_many"});
    CHECK(ids([&] { read_job({folder + "yaml_tabs.yaml"}, {}); }) == Ids{"yaml.tab"});
}
