#include <memory>
#include <utility>

#include "core/estimate/plan.h"
#include "core/nn/model/spec.h"
#include "core/scenario/estimated.h"
#include "core/scenario/given_files.h"
#include "core/scenario/readers.h"

namespace meshscope::scenario {
namespace {

constexpr std::string_view kOfAPlan[] = {
    "config",    "gpu", "stack", "gpus", "gpus_per_node", "seq",  "global_batch", "lora",
    "base_bits", "tp",  "cp",    "pp",   "stages",        "zero", "micro",        "recompute"};

}  // namespace

std::shared_ptr<const Estimated> read_estimated(const Section& section, const std::string& folder) {
    const auto read = std::make_shared<Estimated>();
    Estimated& made = *read;
    section.require("figure");
    made.figure = section.word("figure", estimated_figures()).value_or("");
    made.published = section.text("published").value_or("");
    // Where published is misspelt, nothing is known of the rest.
    if (section.has("published") || !section.sure("published")) {
        for (const std::string_view key : kOfAPlan)
            if (section.has(key))
                section.report_key(key, {"scenario.estimate_published", {{"key", section.full(key)}}});
        if (!made.figure.empty() && !has_published(made.figure))
            section.report("figure", {"scenario.estimate_figure_plan", {{"figure", made.figure}}});
        return read;
    }
    if (is_published_figure(made.figure))
        section.report("figure", {"scenario.estimate_figure_published", {{"figure", made.figure}}});
    if (section.require("config")) made.config = existing_file(section, "config", folder);
    made.gpu = read_profile(section, "gpu", folder);
    if (made.gpu && made.gpu->memory_bytes <= 0)
        section.report("gpu", {"estimate.no_memory", {{"gpu", made.gpu->name}}});
    else if (made.gpu && made.figure == "mfu_percent" && made.gpu->bfloat16_peak_flops_per_s <= 0)
        section.report("gpu", {"scenario.estimate_no_peak", {{"gpu", made.gpu->name}}});
    made.stack = section.word("stack", estimate::stack_words()).value_or(made.stack);
    made.gpus = section.integer("gpus", {1, estimate::kMostGpus}).value_or(made.gpus);
    made.gpus_per_node =
        section.integer("gpus_per_node", {1, estimate::kMostGpus}).value_or(made.gpus_per_node);
    made.seq = section.integer("seq", {1, nn::kMostSize});
    made.global_batch = section.integer("global_batch", {1, estimate::kMostBatch});
    made.lora = section.integer("lora", {0, estimate::kMostLoraRank}).value_or(made.lora);
    made.base_bits = section.integer("base_bits", {4, 16}).value_or(made.base_bits);
    if (section.sure("base_bits", "lora"))
        if (auto why = estimate::why_no_base_bits(made.base_bits, made.lora))
            section.report("base_bits", std::move(*why));
    for (const estimate::SizeKey& size : estimate::size_keys())
        made.only.*size.size = section.integer(size.name, {size.least, size.most});
    if (const auto word = section.word("recompute", estimate::recompute_words()))
        made.only.recompute = estimate::parse_recompute(*word);
    return read;
}

}  // namespace meshscope::scenario
