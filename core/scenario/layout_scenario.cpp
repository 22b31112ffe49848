#include "core/scenario/layout_scenario.h"

#include <algorithm>
#include <vector>

#include "core/base/joined.h"
#include "core/base/toml_text.h"
#include "core/scenario/named_model.h"
#include "core/time/read_profile.h"

namespace meshscope::scenario {
namespace {

using estimate::Job;
using estimate::Layout;

struct Dim {
    const char* name;
    int64_t size;
};

/// How the data-parallel ranks of a layout share out the model, as [parallel] data says it.
std::string data_of(const Layout& l) {
    if (l.data_ranks() == 1) return "none";
    return l.zero == 0 ? "ddp" : l.zero == 1 ? "zero1" : "fsdp2";
}

/// The dims of the mesh, the outermost first; those of one rank are left out.
std::vector<Dim> dims_of(const Layout& l) {
    std::vector<Dim> dims;
    const auto add = [&](const char* name, int64_t size) {
        if (size > 1) dims.push_back({name, size});
    };
    add("pp", l.pp);
    if (data_of(l) == "zero1") {
        add("shard", l.data_ranks());
    } else {
        add("replicate", l.replicas);
        add("shard", l.shards);
    }
    add("cp", l.cp);
    add("tp", l.tp);
    if (dims.empty()) dims.push_back({"replicate", 1});
    return dims;
}

std::string mesh_text(const Layout& layout) {
    const std::vector<Dim> dims = dims_of(layout);
    const std::string shape = joined(dims, [](const Dim&dim) { return std::to_string(dim.size); }),
                      names = joined(dims, [](const Dim&dim) { return toml_string(dim.name); });
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n";
}

std::string parallel_text(const Job& job, int64_t gpus_per_node) {
    const Layout& l = job.layout;
    std::string text = "[parallel]\ndata = " + toml_string(data_of(l)) + "\n";
    if (l.pp > 1) {
        text += std::string("schedule = ") + (l.virtual_stages > 1 ? "\"Interleaved1F1B\"" : "\"1F1B\"") +
                "\nmicrobatches = " + std::to_string(job.micro_batches) + "\n";
        if (l.virtual_stages > 1) text += "stages_per_rank = " + std::to_string(l.virtual_stages) + "\n";
        // The estimate's rule: a stage's weights are gathered once a step.
        if (data_of(l) == "fsdp2") text += "reshard_after_forward = false\n";
    }
    // Nor does the estimate leave gradients whole from one micro-batch to the next.
    if (l.pp == 1 && job.micro_batches > 1 && data_of(l) == "fsdp2") text += "gradient_sync = \"every\"\n";
    if (l.tp > 1) {
        if (l.sequence_parallel) text += "sequence_parallel = true\n";
        text += "loss_parallel = true\n";
    }
    // Nor has it attention wait for all keys and values: they go round while blocks are computed.
    if (l.cp > 1) text += "cp = \"alltoall\"\n";
    // NCCL's rings leave a node over all of its adapters, our one ring over one of them.
    if (l.ranks() > gpus_per_node) text += "algorithm = \"two_level\"\n";
    if (job.lora_rank > 0) return text;  // train_text() says it
    return text + "mixed_precision = { param = \"bfloat16\" }\n";
}

std::string train_text(const Job& job, int32_t steps) {
    const int64_t batch = job.micro_batch * job.micro_batches * job.layout.data_ranks();
    std::string text = "[train]\nsteps = " + std::to_string(steps) +
                       "\nglobal_batch = " + std::to_string(batch) +
                       "\nmicro_batch = " + std::to_string(job.micro_batch) + "\n";
    if (job.layout.pp == 1 && job.micro_batches > 1)
        text += "accumulate = " + std::to_string(job.micro_batches) + "\n";
    if (job.lora_rank > 0) text += "dtype = \"bfloat16\"\n";
    if (job.recompute != estimate::Recompute::none)
        text += "recompute = " + toml_string(estimate::word(job.recompute)) + "\n";
    return text;
}

/// Whether the software that the layout was planned for has eager PyTorch's kernels.
bool has_eager_kernels(const Job& job) {
    return !estimate::traits(job.stack).fused_kernels && !job.compiled;
}

/// Where the estimate's norms, gates and loss are eager PyTorch's. Its norms are torch.nn.RMSNorm, of one
/// kernel.
std::string memory_text(const Job& job) {
    if (!has_eager_kernels(job)) return "";
    return "[memory]\nops = \"pytorch\"\nnorm = \"kernel\"\n\n";
}

}  // namespace

std::optional<Message> why_no_scenario(const Job& job) {
    if (job.base_bits != 16) return Message{"plan.no_scenario_4bit", {}};
    if (job.lora_rank > 0 && data_of(job.layout) == "zero1") return Message{"plan.no_scenario_lora", {}};
    const Layout& l = job.layout;
    if (const int64_t stages = l.pp * l.virtual_stages; stages > job.shape.layers)
        return Message{"plan.no_scenario_stages", {{"stages", stages}, {"layers", job.shape.layers}}};
    if (l.pp > 1 && l.virtual_stages == 1 && job.micro_batches < l.pp)
        return Message{"plan.no_scenario_micro_batches", {{"batches", job.micro_batches}, {"pp", l.pp}}};
    return std::nullopt;
}

std::string layout_scenario(const estimate::Question& question, const nn::ModelSpec& model, const Job& job,
                            int32_t steps, const std::string& profile_file) {
    nn::ModelSpec spec = model;
    spec.seq = job.shape.seq;
    spec.lora_rank = job.lora_rank;
    spec.lora_alpha = nn::ModelSpec{}.lora_alpha;
    spec.lora_targets.clear();  // all linear layers of the blocks
    if (estimate::traits(job.stack).pads_vocab) spec.vocab_multiple = 128 * job.layout.tp;
    std::string text = "format = 1\n\n" + model_text(spec) + "\n" + train_text(job, steps) +
                       "\n[optimizer]\nkind = \"adamw\"\nlr = 0.0003\n\n" + mesh_text(job.layout) + "\n" +
                       parallel_text(job, question.in_node()) + "\n" + memory_text(job) +
                       "[hardware]\nranks_per_node = " + std::to_string(question.in_node()) + "\n";
    const auto known = time::profile_names();
    const bool by_name = std::ranges::find(known, question.profile.name) != known.end();
    std::string profile = profile_file;
    if (profile.empty() && by_name) profile = question.profile.name;
    if (!profile.empty()) text += "profile = " + toml_string(profile) + "\n";
    return text;
}

}  // namespace meshscope::scenario
