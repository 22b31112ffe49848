#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

/// What PyTorch did in a training run (tests/golden/train), and how a run of ours is held against it.
namespace golden {

struct Collective {
    int32_t rank = 0, step = 0;
    std::string op;
    std::vector<int32_t> group;  ///< global ranks, ascending
    int64_t in = 0, out = 0;
    std::string dtype;
    std::string reduce_op;  ///< "sum", "avg" …; "" where nothing is reduced
};

/// A run, ours or PyTorch's, as far as it is compared.
struct Outcome {
    bool bfloat16 = false;         ///< computed in bfloat16: compared less closely
    double loss_tolerance = 2e-5;  ///< relative; bfloat16: 5e-4, and 1e-2 where the loss itself is bfloat16
    std::vector<double> losses, grad_norms;
    std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>> parameters;
    std::vector<Collective> collectives;  ///< of each rank in the order it issued them
};

/// The cases whose collectives must be PyTorch's in its order.
const std::vector<std::string>& names();
/// Those with tensor parallelism, whose collectives must be PyTorch's in any order.
const std::vector<std::string>& unordered_names();

nlohmann::json read_json(const std::string& path);
/// tests/golden/train/NAME.json
nlohmann::json read_case(const std::string& name);
/// The scenario file of a case, as the outside comparison writes it.
std::string scenario_text(const nlohmann::json& gold, const std::string& name);
/// PyTorch's outcome; set-up has step -1 and is left out where it was not recorded.
Outcome expected(const nlohmann::json& gold, const std::string& name);
/// The float32 arrays of a safetensors file.
void read_parameters(const std::string& path, Outcome& outcome);

/// What differs: losses beyond 2e-5, gradient norms beyond 1e-3 (both relative), parameters beyond 2e-5 +
/// 2e-4 of the value, and each rank's collectives of each step in PyTorch's order, or in any: op, group,
/// counts, dtype, reduce op.
std::vector<std::string> differences(const Outcome& ours, const Outcome& pytorch, bool in_order = true);

}  // namespace golden
