#include <memory>

#include "core/estimate/plan.h"
#include "core/nn/model/spec.h"
#include "core/scenario/estimated.h"
#include "core/scenario/readers.h"

namespace meshscope::scenario {
namespace {

constexpr int64_t kMostEstimatedGpus = 65536, kMostEstimatedBatch = int64_t{1} << 30, kMostLoraRank = 4096;

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
    made.stack = section.word("stack", estimate::stack_words()).value_or(made.stack);
    made.gpus = section.integer("gpus", {1, kMostEstimatedGpus}).value_or(made.gpus);
    made.gpus_per_node =
        section.integer("gpus_per_node", {1, kMostEstimatedGpus}).value_or(made.gpus_per_node);
    made.seq = section.integer("seq", {1, nn::kMostSize});
    made.global_batch = section.integer("global_batch", {1, kMostEstimatedBatch});
    made.lora = section.integer("lora", {0, kMostLoraRank}).value_or(made.lora);
    made.base_bits = section.integer("base_bits", {4, 16}).value_or(made.base_bits);
    made.only.tp = section.integer("tp", {1, kMostEstimatedGpus});
    made.only.cp = section.integer("cp", {1, kMostEstimatedGpus});
    made.only.pp = section.integer("pp", {1, kMostEstimatedGpus});
    made.only.stages = section.integer("stages", {1, kMostEstimatedGpus});
    made.only.zero = section.integer("zero", {0, 3});
    made.only.micro = section.integer("micro", {1, kMostEstimatedBatch});
    if (const auto word = section.word("recompute", estimate::recompute_words()))
        made.only.recompute = estimate::parse_recompute(*word);
    return read;
}

}  // namespace meshscope::scenario
