#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>

#include "core/jobs/megatron_layout.h"
#include "core/jobs/megatron_model.h"
#include "core/jobs/programs.h"
#include "core/jobs/table.h"

namespace meshscope::jobs {
namespace {

/// Degrees and the order of ranks. Source: megatron/training/arguments.py, core/parallel_state.py
/// (initialize_model_parallel, RankGenerator): the first dim of the order is the fastest.
void megatron_mesh(const Table& args, Job& job) {
    args.take_whole("--tensor-model-parallel-size", "tp");
    args.take_whole("--pipeline-model-parallel-size", "pp");
    args.take_whole("--context-parallel-size", "cp");
    args.take_whole("--expert-model-parallel-size", "ep");
    args.take_whole("--expert-tensor-parallel-size", "etp");
    fall_back(job, "tp", int64_t{1}, "--tensor-model-parallel-size");
    fall_back(job, "pp", int64_t{1}, "--pipeline-model-parallel-size");
    fall_back(job, "cp", int64_t{1}, "--context-parallel-size");
    fall_back(job, "ep", int64_t{1}, "--expert-model-parallel-size");
    fall_back(job, "etp", *job.facts.whole("tp"), "--expert-tensor-parallel-size");
    if (args.is_set("--use-tp-pp-dp-mapping"))
        args.put("--use-tp-pp-dp-mapping", "order", std::string("tp-cp-ep-pp-dp"));
    else
        fall_back(job, "order", std::string("tp-cp-ep-dp-pp"), "no --use-tp-pp-dp-mapping");
}

/// What a launcher is told. Source: torch/distributed/run.py: one machine where nothing is said, a range of
/// them, and a word for as many ranks as a machine has devices.
void megatron_launcher(const Table& args, Job& job) {
    bool launched = false;
    for (const char* key : {"--nproc-per-node", "--nproc-per-gpu", "--num-gpus"}) {
        launched = launched || args.has(key);
        const std::string word = args.shown(key);
        if (word == "gpu" || word == "cpu" || word == "xpu" || word == "auto")
            args.put(key, "ranks_per_node_word", word);
        else
            args.take_whole(key, "ranks_per_node");
    }
    for (const char* key : {"--nnodes", "--num-nodes"}) {
        launched = launched && !args.has(key);
        if (args.shown(key).find(':') == std::string::npos)
            args.take_whole(key, "nodes");
        else
            args.unsaid(key, {"jobs.why.elastic", {}});
    }
    if (launched)
        job.facts.put("nodes", int64_t{1}, {Origin::Kind::fallback, "torchrun", "--nnodes"}, job.found);
    args.take_whole("--world-size", "world");
}

/// The data-parallel strategy.
void megatron_strategy(const Table& args, Job& job) {
    const auto choose = [&](const char* key, const char* word) {
        args.put(key, "strategy", std::string(word));
    };
    const bool own_fsdp = args.is_set("--use-megatron-fsdp") || args.is_set("--use-custom-fsdp");
    const char* const by_word = "--data-parallel-sharding-strategy";
    const auto sharding = args.word(
        by_word,
        {{"no_shard", "ddp"}, {"optim", "zero1"}, {"optim_grads", "zero2"}, {"optim_grads_params", "fsdp2"}});
    if (args.is_set("--use-torch-fsdp2")) {
        choose("--use-torch-fsdp2", "fsdp2");
        if (args.is_set("--torch-fsdp2-no-reshard-after-forward"))
            args.put("--torch-fsdp2-no-reshard-after-forward", "reshard_after_forward", std::string("false"));
    } else if (own_fsdp && sharding) {
        choose(by_word, sharding->c_str());
    } else if (own_fsdp) {
        fall_back(job, "strategy", std::string("fsdp2"), by_word);
    } else if (args.is_set("--use-distributed-optimizer")) {
        choose("--use-distributed-optimizer", "zero1");
    } else {
        fall_back(job, "strategy", std::string("ddp"), "no --use-distributed-optimizer");
    }
    if (args.whole("--num-distributed-optimizer-instances").value_or(1) > 1)
        args.unsaid("--num-distributed-optimizer-instances", {"jobs.why.optimizer_instances", {}});
    args.take_whole("--ddp-bucket-size", "bucket_elements");
    if (!args.is_set("--overlap-grad-reduce")) fall_back(job, "one_bucket", true, "no --overlap-grad-reduce");
    for (const char* key :
         {"--outer-dp-sharding-strategy", "--gtp-weight-remat-size", "--generalized-tensor-parallel-size"})
        args.unsaid_if_set(key);
}

/// Layers of the first and of the last stage apart, the others' even: get_num_layers_to_build() of
/// megatron/core/transformer/transformer_block.py. False where the arguments say nothing of them, or of
/// virtual stages too.
bool megatron_ends(const Table& args, Job& job, int64_t pp, bool virtual_stages) {
    const char* const of_first = "--decoder-first-pipeline-num-layers";
    const char* const of_last = "--decoder-last-pipeline-num-layers";
    const auto first = args.whole(of_first), last = args.whole(of_last);
    const auto layers = job.facts.whole("model.layers");
    if ((!first && !last) || !layers || virtual_stages || pp < 2) return false;
    const int64_t others = pp - (first ? 1 : 0) - (last ? 1 : 0);
    const int64_t rest = *layers - first.value_or(0) - last.value_or(0);
    const char* const key = first ? of_first : of_last;
    if (others == 0 ? rest != 0 : rest < others || rest % others != 0) {
        args.report({"jobs.ends",
                     {{"rest", rest}, {"layers", *layers}, {"stages", others}, {"key", std::string(key)}}},
                    {"jobs.hint.ends", {}});
        return true;
    }
    std::string stages;
    for (int64_t stage = 0; stage < pp; ++stage) {
        const bool is_first = stage == 0 && first, is_last = stage + 1 == pp && last;
        stages += (stage == 0 ? "" : ", ") + std::to_string(is_first  ? *first
                                                            : is_last ? *last
                                                                      : rest / others);
    }
    args.put(key, "stage_layers", "[" + stages + "]");
    return true;
}

/// Virtual stages, and stages that hold different numbers of layers.
void megatron_pipeline(const Table& args, Job& job) {
    const int64_t pp = job.facts.whole("pp").value_or(1);
    const char* const by_layers = "--num-layers-per-virtual-pipeline-stage";
    const char* const by_stages = "--num-virtual-stages-per-pipeline-rank";
    const char* const by_layout = "--pipeline-model-parallel-layout";
    const int ways =
        (args.has(by_layers) ? 1 : 0) + (args.has(by_stages) ? 1 : 0) + (args.has(by_layout) ? 1 : 0);
    if (ways > 1)
        args.report({"jobs.one_of", {{"keys", std::string(by_layers) + ", " + by_stages + ", " + by_layout}}},
                    {"jobs.hint.one_of", {}});
    if (const auto layers = args.whole(by_layers)) {
        int64_t all = job.facts.whole("model.layers").value_or(0);
        for (const char* key :
             {"--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"})
            all += args.is_set(key) ? 1 : 0;
        if (all > 0 && all % (pp * *layers) != 0)
            args.report({"jobs.layers",
                         {{"layers", all}, {"pp", pp}, {"each", *layers}, {"key", std::string(by_layers)}}},
                        {"jobs.hint.layers", {{"parts", pp * *layers}}});
        else if (all > 0)
            args.put(by_layers, "stages_per_rank", all / (pp * *layers));
    }
    args.take_whole(by_stages, "stages_per_rank");
    if (const auto layout = args.text(by_layout)) {
        const std::optional<int64_t> stages = stages_of_layout(*layout);
        if (!stages || *stages % pp != 0)
            args.report({"jobs.layout", {{"key", std::string(by_layout)}, {"value", *layout}, {"pp", pp}}},
                        {"jobs.hint.layout", {}});
        else
            args.put(by_layout, "stages_per_rank", *stages / pp);
        args.unsaid(by_layout, {"jobs.why.uneven", {}});
    }
    if (!megatron_ends(args, job, pp, ways > 0))
        for (const char* key : {"--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"})
            args.unsaid_if_set(key, {"jobs.why.uneven", {}});
    for (const char* key :
         {"--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"})
        args.unsaid_if_set(key, {"jobs.why.uneven", {}});
    fall_back(job, "stages_per_rank", int64_t{1}, by_stages);
    if (job.facts.whole("stages_per_rank").value_or(1) == 1 && pp > 1 && ways == 0) {
        const int64_t layers = job.facts.whole("model.layers").value_or(pp);
        const bool uneven = args.has("--decoder-first-pipeline-num-layers") ||
                            args.has("--decoder-last-pipeline-num-layers") ||
                            args.has("--account-for-embedding-in-pipeline-split") ||
                            args.has("--account-for-loss-in-pipeline-split");
        if (layers % pp != 0 && !uneven)
            args.report({"jobs.layers",
                         {{"layers", layers},
                          {"pp", pp},
                          {"each", int64_t{1}},
                          {"key", std::string("--pipeline-model-parallel-size")}}},
                        {"jobs.hint.layers", {{"parts", pp}}});
    }
}

void megatron_batch(const Table& args, Job& job) {
    args.take_whole("--micro-batch-size", "micro_batch");
    args.take_whole("--global-batch-size", "global_batch");
    fall_back(job, "accumulate", int64_t{1}, "--global-batch-size");
    for (const char* key : {"--seq-length", "--encoder-seq-length"}) args.take_whole(key, "seq");
    args.take_whole("--train-iters", "steps");
    args.take_whole("--train-samples", "samples");
    for (const char* key : {"--rampup-batch-size", "--step-batch-size-schedule"})
        args.unsaid_if_set(key, {"jobs.why.rampup", {}});
    if (const auto clip = args.number("--clip-grad"); clip && *clip > 0)
        args.put("--clip-grad", "clip_norm", *clip);
    else if (!clip)
        fall_back(job, "clip_norm", 1.0, "--clip-grad");
}

void megatron_precision(const Table& args, Job& job) {
    if (args.is_set("--bf16")) args.put("--bf16", "precision", std::string("bfloat16"));
    if (args.is_set("--fp16")) args.put("--fp16", "precision", std::string("float16"));
    fall_back(job, "precision", std::string("float32"), "no --bf16");
    if (args.is_set("--grad-reduce-in-bf16"))
        args.put("--grad-reduce-in-bf16", "reduce", std::string("bfloat16"));
    else
        fall_back(job, "reduce", std::string("float32"), "no --grad-reduce-in-bf16");
    for (const char* key : {"--fp8-format", "--fp4-format"})
        args.unsaid_if_set(key, {"jobs.why.eight_bits", {}});
    for (const char* key :
         {"--main-params-dtype", "--main-grads-dtype", "--exp-avg-dtype", "--exp-avg-sq-dtype",
          "--optimizer-cpu-offload", "--cpu-offloading", "--fine-grained-activation-offloading"})
        args.unsaid_if_set(key);
}

/// What is computed again. Megatron's "selective" is attention's matrix of scores, which is never kept here.
void megatron_recomputation(const Table& args, Job& job) {
    std::string granularity =
        args.word("--recompute-granularity", {{"full", "full"}, {"selective", "selective"}}).value_or("");
    const auto method = args.word("--recompute-method", {{"uniform", "uniform"}, {"block", "block"}});
    if (args.is_set("--recompute-activations")) granularity = "selective";
    if (granularity == "full") {
        args.put("--recompute-granularity", "recompute", std::string("full"));
        if (method == "block")
            args.unsaid("--recompute-method", {"jobs.why.recompute_all", {}});
        else if (args.whole("--recompute-num-layers").value_or(1) > 1)
            args.unsaid("--recompute-num-layers", {"jobs.why.recompute_all", {}});
    } else if (granularity == "selective") {
        const char* const key =
            args.has("--recompute-granularity") ? "--recompute-granularity" : "--recompute-activations";
        args.put(key, "recompute", std::string("none"));
        args.unsaid(key, {args.has("--recompute-modules") ? "jobs.why.recompute_modules"
                                                          : "jobs.why.recompute_attention",
                          {}});
        args.pass_over({"--recompute-num-layers"});
    }
    fall_back(job, "recompute", std::string("none"), "--recompute-granularity");
}

void megatron_optimizer(const Table& args, Job& job) {
    const std::string kind = args.text("--optimizer").value_or("adam");
    if (kind == "sgd") {
        args.put("--optimizer", "optimizer", std::string("sgd"));
        args.take_number("--sgd-momentum", "momentum");
        fall_back(job, "momentum", 0.9, "--sgd-momentum");
    } else {
        if (kind != "adam") args.unsaid("--optimizer", {"jobs.why.adamw", {}});
        const Origin from = args.has("--optimizer")
                                ? args.origin("--optimizer")
                                : Origin{Origin::Kind::fallback, job.program, "--optimizer"};
        job.facts.put("optimizer", std::string("adamw"), from, job.found);
        args.take_number("--adam-beta1", "beta1");
        args.take_number("--adam-beta2", "beta2");
        args.take_number("--adam-eps", "eps");
        fall_back(job, "beta1", 0.9, "--adam-beta1");
        fall_back(job, "beta2", 0.999, "--adam-beta2");
        fall_back(job, "eps", 1e-8, "--adam-eps");
    }
    args.take_number("--lr", "lr");
    args.take_number("--weight-decay", "weight_decay");
    fall_back(job, "weight_decay", 0.01, "--weight-decay");
}

/// How tensor and context parallelism work.
void megatron_model_parallel(const Table& args, Job& job) {
    const bool cut = job.facts.whole("tp").value_or(1) > 1;
    if (args.is_set("--sequence-parallel") && cut)
        args.put("--sequence-parallel", "sequence_parallel", true);
    else if (cut)
        fall_back(job, "sequence_parallel", false, "no --sequence-parallel");
    // Its cross-entropy is computed on logits cut by vocabulary (tensor_parallel/cross_entropy.py).
    if (cut) fall_back(job, "loss_parallel", true, "vocab_parallel_cross_entropy");
    const auto kind = args.word("--cp-comm-type", {{"p2p", "alltoall"},
                                                   {"a2a", "ulysses"},
                                                   {"all_gather", "allgather"},
                                                   {"allgather", "allgather"},
                                                   {"a2a+p2p", ""}});
    if (job.facts.whole("cp").value_or(1) > 1) {
        if (kind && kind->empty())
            args.unsaid("--cp-comm-type", {"jobs.why.ring", {}});
        else if (kind)
            args.put("--cp-comm-type", "cp_kind", *kind);
        fall_back(job, "cp_kind", std::string("alltoall"), "--cp-comm-type");
    }
    if (const int64_t ep = job.facts.whole("ep").value_or(1); ep > 1)
        args.unsaid("--expert-model-parallel-size", {"jobs.why.expert_ranks", {{"n", ep}}});
    if (args.has("--expert-tensor-parallel-size"))
        args.unsaid("--expert-tensor-parallel-size",
                    {args.has("--num-experts") ? "jobs.why.expert_tensor" : "jobs.why.no_experts", {}});
}

}  // namespace

std::optional<int64_t> stages_of_layout(std::string_view layout) {
    // (tt|)*5 and t*3 are repetitions; what counts are the bars of the whole.
    std::vector<int64_t> bars{0};  // of what is open, the innermost last
    int64_t last = 0;              // of what a repetition would repeat
    constexpr int64_t kMostStages = 1 << 16;
    for (std::size_t i = 0; i < layout.size(); ++i) {
        const char c = layout[i];
        if (c == '(') {
            bars.push_back(0);
        } else if (c == ')') {
            if (bars.size() < 2) return std::nullopt;
            last = bars.back();
            bars.pop_back();
            bars.back() += last;
        } else if (c == '*') {
            if (i == 0) return std::nullopt;
            int64_t times = 0;
            while (i + 1 < layout.size() && std::isdigit(static_cast<unsigned char>(layout[i + 1])) != 0 &&
                   times < kMostStages)
                times = 10 * times + (layout[++i] - '0');
            if (times == 0) return std::nullopt;
            bars.back() += last * (times - 1);
            last = 0;
        } else if (c == '|') {
            ++bars.back();
            last = 1;
        } else if (c == ',' || c == ' ') {
            continue;
        } else if (std::string_view("EtmL").find(c) != std::string_view::npos) {
            last = 0;
        } else {
            return std::nullopt;
        }
        if (bars.back() > kMostStages || bars.size() > 64) return std::nullopt;
    }
    if (bars.size() != 1) return std::nullopt;
    return bars[0] + 1;
}

void read_megatron(const Document& document, Job& job) {
    job.program = "Megatron-LM";
    job.min_bucket_elements = 40'000'000;  // --ddp-bucket-size
    job.bucket_elements_per_dp_rank = 1'000'000;
    const Table args(document, job);
    megatron_mesh(args, job);
    megatron_launcher(args, job);
    read_megatron_model(args, job);
    megatron_strategy(args, job);
    megatron_pipeline(args, job);
    megatron_batch(args, job);
    megatron_precision(args, job);
    megatron_recomputation(args, job);
    megatron_optimizer(args, job);
    megatron_model_parallel(args, job);
    args.note_unread();
}

}  // namespace meshscope::jobs
