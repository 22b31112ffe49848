#include "core/estimate/layout_figures.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace meshscope::estimate {
namespace {

/// "tp=8,recompute=none".
std::string sizes_text(const Sizes& sizes) {
    std::string text;
    for (const SizeKey& each : size_keys())
        if (const auto size = sizes.*each.size)
            text += (text.empty() ? "" : ",") + std::string(each.name) + "=" + std::to_string(*size);
    if (sizes.recompute)
        text += (text.empty() ? "" : ",") + std::string("recompute=") + std::string(word(*sizes.recompute));
    return text;
}

}  // namespace

std::string data_word(const Layout& layout) {
    const std::string ranks = std::to_string(layout.data_ranks());
    if (layout.data_ranks() == 1) return "1";
    if (layout.zero == 3 && layout.replicas > 1)
        return "HSDP " + std::to_string(layout.replicas) + "×" + std::to_string(layout.shards);
    if (layout.zero == 3) return "FSDP " + ranks;
    return (layout.zero == 2 ? "ZeRO-2 " : layout.zero == 1 ? "ZeRO-1 " : "DDP ") + ranks;
}

std::string layout_word(const Job& job) {
    const Layout& layout = job.layout;
    std::string words;
    const auto add = [&](const std::string& part) { words += (words.empty() ? "" : " · ") + part; };
    if (layout.tp > 1) add("TP " + std::to_string(layout.tp));
    if (layout.cp > 1) add("CP " + std::to_string(layout.cp));
    if (layout.pp > 1)
        add("PP " + std::to_string(layout.pp) +
            (layout.virtual_stages > 1 ? " × " + std::to_string(layout.virtual_stages) : ""));
    if (layout.data_ranks() > 1) add(data_word(layout));
    if (words.empty()) words = "1 GPU";
    if (job.recompute != Recompute::none) add("recompute=" + std::string(word(job.recompute)));
    return words;
}

std::string options_text(const Question& question) {
    std::string text;
    const auto add = [&](const std::string& option) { text += (text.empty() ? "" : " ") + option; };
    if (question.in_node() != std::min(question.gpus, Question{}.gpus_per_node))
        add("--gpus-per-node " + std::to_string(question.in_node()));
    if (question.lora_rank > 0) add("--lora " + std::to_string(question.lora_rank));
    if (question.base_bits != 16) add("--base-bits " + std::to_string(question.base_bits));
    if (!question.compiled) add("--eager");
    if (question.only.any()) add("--only " + sizes_text(question.only));
    return text;
}

StageMemory::Part largest_part(const StageMemory& memory) {
    return *std::ranges::max_element(memory.parts, std::less<>(), &StageMemory::Part::bytes);
}

double tokens_per_s_per_gpu(const Layouted& layout) {
    return layout.job.tokens_per_step() / layout.time.total_s() /
           static_cast<double>(layout.job.layout.ranks());
}

std::optional<double> utilisation(const Question& question, const Layouted& layout) {
    const double peak = question.profile.bfloat16_peak_flops_per_s;
    if (peak <= 0) return std::nullopt;
    return model_flops_utilisation(layout.job, layout.time, peak);
}

bool twins(const Layouted& a, const Layouted& b) {
    const Layout &x = a.job.layout, &y = b.job.layout;
    return std::tuple(x.tp, x.pp, x.virtual_stages, x.zero, x.cp * x.data_ranks(), x.replicas > 1,
                      a.job.recompute) == std::tuple(y.tp, y.pp, y.virtual_stages, y.zero,
                                                     y.cp * y.data_ranks(), y.replicas > 1, b.job.recompute);
}

std::vector<const Layouted*> first_layouts(const std::vector<Layouted>& all, int64_t n) {
    std::vector<const Layouted*> found;
    for (const Layouted& each : all) {
        if (static_cast<int64_t>(found.size()) == n) break;
        if (std::ranges::none_of(found, [&](const Layouted* other) { return twins(*other, each); }))
            found.push_back(&each);
    }
    return found;
}

}  // namespace meshscope::estimate
