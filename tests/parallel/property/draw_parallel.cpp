// The strategies' options of a drawn case.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/kinds.h"
#include "core/scenario/words.h"
#include "tests/parallel/property/layout.h"

namespace meshscope::test {
namespace {

/// Modules of one unit each: none that tied weights reach from outside.
std::string draw_units(Dice& dice, const Keys& model) {
    if (model.get("kind") == "\"toy\"")
        return dice.one_of<std::string>({"[\"net1\"]", "[\"net1\", \"net2\"]"});
    const std::string name = model.get("kind") == "\"mlp\"" ? "layers." : "blocks.";
    const int64_t layers = model.number("layers");
    std::string units;
    for (int64_t i = 0; i < layers; ++i) {
        if (dice.chance(30)) continue;  // the root's
        const std::string block = "\"" + name + std::to_string(i) + "\"";
        const std::string next = "\"" + name + std::to_string(i + 1) + "\"";
        const bool joined = i + 1 < layers && dice.chance(30);
        units += (units.empty() ? "" : ", ") + (joined ? "[" + block + ", " + next + "]" : block);
        if (joined) ++i;
    }
    return "[" + units + "]";
}

void draw_ddp_options(Dice& dice, const Layout& layout, Keys& parallel) {
    if (dice.chance(30)) parallel.set("gradient_as_bucket_view", "true");
    if (layout.pp > 0) return;
    if (dice.chance(30)) parallel.set(dice.chance(50) ? "static_graph" : "find_unused_parameters", "true");
    if (dice.chance(20)) parallel.set_word("ddp_hook", "allreduce");
}

/// Into how many parts a group of so many ranks can be cut.
int64_t draw_factor(Dice& dice, int64_t ranks) {
    std::vector<int64_t> factors;
    for (int64_t k = 1; k <= ranks; ++k)
        if (ranks % k == 0) factors.push_back(k);
    return dice.one_of(factors);
}

void draw_fsdp2_options(Dice& dice, const Layout& layout, Keys& parallel) {
    const int64_t shards = layout.data_sizes.back() * std::max<int64_t>(layout.cp, 1);
    if (dice.chance(60))
        parallel.set("reshard_after_forward",
                     dice.one_of<std::string>(
                         {"true", "false", "\"default\"", std::to_string(draw_factor(dice, shards))}));
    if (dice.chance(40))
        parallel.set("backward_prefetch", dice.one_of<std::string>({"true", "false", "1", "2"}));
    if (dice.chance(20)) parallel.set("forward_prefetch", dice.between(1, 2));
    if (dice.chance(20)) parallel.set("cpu_offload", "true");
    if (dice.chance(20)) parallel.set("force_sum_reduction", "true");
    if (layout.pp > 0) return;
    if (dice.chance(30)) parallel.set("is_last_backward", dice.chance(50) ? "true" : "false");
    if (dice.chance(30)) parallel.set("reshard_after_backward", dice.chance(50) ? "true" : "false");
    std::vector<std::string> syncs{"last", "every"};
    if (layout.data_names.size() == 2) syncs.push_back("all_reduce_last");
    if (dice.chance(40)) parallel.set_word("gradient_sync", dice.one_of(syncs));
}

void draw_data_options(Dice& dice, const Layout& layout, const Keys& model, Keys& parallel) {
    const std::string& data = layout.data;
    const auto flag = [&](const char* key, int percent) {
        if (dice.chance(percent)) parallel.set(key, dice.chance(50) ? "true" : "false");
    };
    if (data != "none") parallel.set_word("data", data);
    if (data == "ddp" || data == "zero1" || data == "zero2")
        if (dice.chance(60))
            parallel.set("bucket_cap_mb", dice.one_of<std::string>({"0.0001", "0.0005", "0.002"}));
    if (data == "zero1" && dice.chance(40)) parallel.set_word("zero_variant", "pytorch");
    if (data == "ddp") draw_ddp_options(dice, layout, parallel);
    if (data == "fsdp2") draw_fsdp2_options(dice, layout, parallel);
    const bool flat = data == "fsdp1" || data == "zero3";
    if (flat) {
        if (dice.chance(50))
            parallel.set_word("backward_prefetch", dice.one_of<std::string>({"none", "pre", "post"}));
        flag("forward_prefetch", 40);
    }
    if (data == "fsdp1") {
        const bool two = layout.data_names.size() == 2;
        if (two || dice.chance(70))
            parallel.set_word("sharding_strategy",
                              two ? dice.one_of<std::string>({"hybrid_shard", "hybrid_shard_zero2"})
                                  : dice.one_of<std::string>({"full_shard", "shard_grad_op", "no_shard"}));
        flag("limit_all_gathers", 30);
        flag("use_orig_params", 30);
    }
    if ((flat || data == "fsdp2") && dice.chance(40)) {
        parallel.set("units", draw_units(dice, model));
    } else if (flat && model.get("tied").empty() && dice.chance(30)) {
        parallel.set_word("wrap", "size");
        parallel.set("wrap_min_elements", dice.between(1, 200));
    }
}

/// All words but that of a library's own collectives, which threads have none of.
std::vector<std::string> algorithms_of_threads() {
    std::vector<std::string> words(scenario::algorithms().begin(), scenario::algorithms().end());
    std::erase(words, name(Algorithm::native));
    return words;
}

}  // namespace

void draw_parallel(Dice& dice, const Layout& layout, Case& drawn) {
    Keys& parallel = drawn.parallel;
    draw_data_options(dice, layout, drawn.model, parallel);
    if (dice.chance(30)) parallel.set_word("algorithm", dice.one_of(algorithms_of_threads()));
    if (layout.tp > 0) {
        if (layout.sequence) parallel.set("sequence_parallel", "true");
        if (layout.tokens && dice.chance(40)) parallel.set("loss_parallel", "true");
        if (!layout.sequence && dice.chance(50))
            parallel.set_word("tp_plan", dice.one_of<std::string>({"block", "linear"}));
    }
    if (!layout.cp_method.empty()) parallel.set_word("cp", layout.cp_method);
    if (layout.cp > 0 && layout.cp_method != "ulysses" && !layout.cp_balance)
        parallel.set("cp_load_balance", "false");
    if (layout.pp > 0) {
        parallel.set_word("schedule", std::string(name(layout.schedule.kind)));
        parallel.set("microbatches", layout.schedule.microbatches);
        if (layout.schedule.stages_per_rank != default_stages_per_rank(layout.schedule.kind) ||
            dice.chance(20))
            parallel.set("stages_per_rank", layout.schedule.stages_per_rank);
    }
}

}  // namespace meshscope::test
