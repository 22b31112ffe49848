#include "tests/run/golden_case.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include "core/data/safetensors.h"
#include "tests/tree.h"

namespace golden {
namespace {

using nlohmann::json;

std::string folder() {
    return meshscope::test::golden_folder() + "/train/";
}

/// PyTorch's names of operators and reductions, in ours.
std::string op_name(const std::string& pytorch) {
    static const std::map<std::string, std::string> kNames{{"allreduce_", "all_reduce"},
                                                           {"_allgather_base_", "all_gather"},
                                                           {"allgather_", "all_gather"},
                                                           {"all_gather_into_tensor", "all_gather"},
                                                           {"_reduce_scatter_base_", "reduce_scatter"},
                                                           {"reduce_scatter_tensor", "reduce_scatter"},
                                                           {"broadcast_", "broadcast"},
                                                           {"recv_", "recv"}};
    const auto found = kNames.find(pytorch);
    return found == kNames.end() ? pytorch : found->second;
}

/// The files hold PyTorch's number, or its word.
std::string reduce_name(const json& row) {
    if (!row.contains("reduce_op")) return "";
    static const std::map<std::string, std::string> kNames{
        {"0", "sum"}, {"1", "avg"}, {"2", "product"}, {"3", "min"}, {"4", "max"}};
    const auto word = row["reduce_op"].get<std::string>();
    const auto found = kNames.find(word);
    return found == kNames.end() ? word : found->second;
}

std::string dimension_names(const std::string& kind) {
    static const std::map<std::string, std::string> kNames{{"fsdp", "\"shard\""},
                                                           {"fsdp1", "\"shard\""},
                                                           {"zero1", "\"shard\""},
                                                           {"pp", "\"pp\""},
                                                           {"pp_fsdp", "\"pp\", \"shard\""},
                                                           {"hsdp", "\"replicate\", \"shard\""},
                                                           {"tp", "\"tp\""},
                                                           {"tp_sp", "\"tp\""},
                                                           {"fsdp_tp", "\"shard\", \"tp\""},
                                                           {"hsdp_tp", "\"replicate\", \"shard\", \"tp\""}};
    const auto found = kNames.find(kind);
    return found == kNames.end() ? "\"replicate\"" : found->second;
}

std::string text_of(const Collective& c) {
    std::string group;
    for (const int32_t rank : c.group) group += (group.empty() ? "" : ",") + std::to_string(rank);
    return c.op + " " + c.reduce_op + " [" + group + "] " + std::to_string(c.in) + "->" +
           std::to_string(c.out) + " " + c.dtype;
}

std::vector<std::string> texts_of(const Outcome& outcome, int32_t rank, int32_t step) {
    std::vector<std::string> texts;
    for (const Collective& c : outcome.collectives)
        if (c.rank == rank && c.step == step) texts.push_back(text_of(c));
    return texts;
}

void compare_numbers(const char* what, const std::vector<double>& ours, const std::vector<double>& theirs,
                     double tolerance, std::vector<std::string>& found) {
    if (ours.size() != theirs.size()) {
        found.push_back(std::string(what) + ": " + std::to_string(ours.size()) + " of " +
                        std::to_string(theirs.size()));
        return;
    }
    for (std::size_t i = 0; i < ours.size(); ++i)
        if (!(std::abs(ours[i] - theirs[i]) <= tolerance * std::abs(theirs[i])))
            found.push_back(std::string(what) + " " + std::to_string(i) + ": " + std::to_string(ours[i]) +
                            ", PyTorch " + std::to_string(theirs[i]));
}

}  // namespace

const std::vector<std::string>& names() {
    static const std::vector<std::string> kNames{"toy_single",
                                                 "toy_ddp2",
                                                 "toy_ddp4",
                                                 "mlp_ddp2_buckets",
                                                 "mlp_ddp2_accumulate",
                                                 "toy_fsdp2",
                                                 "toy_fsdp3_uneven",
                                                 "mlp_fsdp4",
                                                 "mlp_fsdp2_keep",
                                                 "mlp_fsdp2_accumulate",
                                                 "toy_hsdp2x2",
                                                 "mlp_hsdp2x2_clip",
                                                 "mlp_fsdp1_full2",
                                                 "mlp_fsdp1_gradop2",
                                                 "mlp_fsdp2_bf16",
                                                 "gpt_single",
                                                 "gpt_ddp2",
                                                 "gpt_fsdp2",
                                                 "gpt_tied_fsdp2",
                                                 "gpt_fsdp3_accumulate",
                                                 "llama_single",
                                                 "llama_ddp2",
                                                 "llama_fsdp2",
                                                 "llama_tied_ddp2",
                                                 "llama_tied_fsdp4",
                                                 "gpt_hsdp2x2_clip",
                                                 "llama_theta_single",
                                                 "gpt_single_20",
                                                 "llama_fsdp1_full2",
                                                 "gpt_fsdp1_full4",
                                                 "toy_fsdp1_full4",
                                                 "mlp_fsdp1_noshard2",
                                                 "gpt_fsdp2_bf16"};
    return kNames;
}

const std::vector<std::string>& unordered_names() {
    static const std::vector<std::string> kNames{"toy_tp2",       "mlp_tp4",           "mlp_hsdp2x2_tp2",
                                                 "gpt_tp2",       "gpt_tp2_linear",    "llama_tp2",
                                                 "gpt_fsdp2_tp2", "llama_hsdp2x2_tp2", "gpt_tp4"};
    return kNames;
}

json read_json(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    return json::parse(in);
}

json read_case(const std::string& name) {
    return read_json(folder() + name + ".json");
}

std::string scenario_text(const json& gold, const std::string& name) {
    const json& c = gold["case"];
    const json& strategy = c["strategy"];
    const std::string kind = strategy["kind"], base = folder() + name;
    std::string text = "format = 1\n[model]\n";
    for (const auto& [key, value] : c["model"].items()) text += key + " = " + value.dump() + "\n";
    text += "weights = \"" + base + ".init.safetensors\"\n[data]\nfile = \"" + base +
            ".data.safetensors\"\n[train]\n";
    for (const char* key : {"steps", "global_batch", "accumulate", "clip_norm"})
        if (c.contains(key)) text += std::string(key) + " = " + c[key].dump() + "\n";
    text += "[optimizer]\n";
    for (const auto& [key, value] : c["optimizer"].items()) text += key + " = " + value.dump() + "\n";
    text += "[mesh]\nshape = " + (kind == "single" ? "[1]" : strategy["mesh"].dump()) + "\nnames = [" +
            dimension_names(kind) + "]\n";
    text += std::string("[parallel]\ndata = \"") +
            (kind == "single" || kind == "tp" || kind == "tp_sp" || kind == "pp" ? "none"
             : kind == "ddp" || kind == "fsdp1" || kind == "zero1"               ? kind
                                                                                 : "fsdp2") +
            "\"\n";
    if (kind == "tp_sp") text += "sequence_parallel = true\n";
    for (const char* key :
         {"bucket_cap_mb", "reshard_after_forward", "tp_plan", "schedule", "microbatches", "stages_per_rank"})
        if (strategy.contains(key)) text += std::string(key) + " = " + strategy[key].dump() + "\n";
    if (strategy.contains("sharding")) {
        std::string word = strategy["sharding"];  // ShardingStrategy's name
        std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::tolower(letter); });
        text += "sharding_strategy = \"" + word + "\"\n";
    }
    if (strategy.contains("mixed_precision")) {
        text += "[parallel.mixed_precision]\n";
        for (const auto& [key, value] : strategy["mixed_precision"].items())
            text += key + " = " + value.dump() + "\n";
    }
    return text;
}

void read_parameters(const std::string& path, Outcome& outcome) {
    for (const auto& tensor : meshscope::data::read_safetensors(path).tensors)
        outcome.parameters[tensor.name] = {tensor.shape, tensor.floats()};
}

Outcome expected(const json& gold, const std::string& name) {
    Outcome outcome;
    outcome.bfloat16 = gold["case"]["strategy"].contains("mixed_precision");
    if (outcome.bfloat16) outcome.loss_tolerance = gold["case"]["model"]["kind"] == "mlp" ? 5e-4 : 1e-2;
    outcome.losses = gold["losses"].get<std::vector<double>>();
    if (gold.contains("grad_norms")) outcome.grad_norms = gold["grad_norms"].get<std::vector<double>>();
    read_parameters(folder() + name + ".final.safetensors", outcome);
    for (const json& rank : gold["collectives"]) {
        const auto add = [&](const json& rows, int32_t step) {
            for (const json& row : rows) {
                Collective c{rank["rank"], step,       op_name(row["op"]), row["group"],
                             row["in"],    row["out"], row["dtype"],       reduce_name(row)};
                std::sort(c.group.begin(), c.group.end());
                outcome.collectives.push_back(std::move(c));
            }
        };
        if (rank.contains("setup") && rank["setup"].is_array()) add(rank["setup"], -1);
        int32_t step = 0;
        for (const json& rows : rank["steps"]) add(rows, step++);
    }
    return outcome;
}

std::vector<std::string> differences(const Outcome& ours, const Outcome& pytorch, bool in_order) {
    std::vector<std::string> found;
    const double floor = pytorch.bfloat16 ? 3e-4 : 2e-5;
    compare_numbers("loss of step", ours.losses, pytorch.losses, pytorch.loss_tolerance, found);
    compare_numbers("gradient norm of step", ours.grad_norms, pytorch.grad_norms, 1e-3, found);
    for (const auto& [name, wanted] : pytorch.parameters) {
        const auto mine = ours.parameters.find(name);
        if (mine == ours.parameters.end() || mine->second.first != wanted.first ||
            mine->second.second.size() != wanted.second.size()) {
            found.push_back(name + " is missing or has another shape");
            continue;
        }
        for (std::size_t i = 0; i < wanted.second.size(); ++i) {
            const double want = static_cast<double>(wanted.second[i]),
                         have = static_cast<double>(mine->second.second[i]);
            if (std::abs(have - want) <= floor + 2e-4 * std::abs(want)) continue;  // never true for a NaN
            found.push_back(name + " element " + std::to_string(i) + ": " + std::to_string(have) +
                            ", PyTorch " + std::to_string(want));
            break;
        }
    }
    if (ours.parameters.size() != pytorch.parameters.size())
        found.push_back("other parameters than PyTorch's");
    const bool setup_known = std::any_of(pytorch.collectives.begin(), pytorch.collectives.end(),
                                         [](const Collective& c) { return c.step < 0; });
    const auto steps = static_cast<int32_t>(pytorch.losses.size());
    std::map<int32_t, bool> ranks;
    for (const Outcome* outcome : {&ours, &pytorch})
        for (const Collective& c : outcome->collectives) ranks[c.rank] = true;
    for (const auto& [rank, seen] : ranks)
        for (int32_t step = setup_known ? -1 : 0; step < steps; ++step) {
            auto mine = texts_of(ours, rank, step), theirs = texts_of(pytorch, rank, step);
            if (!in_order) {
                std::ranges::sort(mine);
                std::ranges::sort(theirs);
            }
            for (std::size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
                const std::string a = i < mine.size() ? mine[i] : "(nothing)",
                                  b = i < theirs.size() ? theirs[i] : "(nothing)";
                if (a == b) continue;
                found.push_back("rank " + std::to_string(rank) + " step " + std::to_string(step) +
                                " collective " + std::to_string(i) + ": " + a + ", PyTorch " + b);
                break;
            }
        }
    return found;
}

}  // namespace golden
