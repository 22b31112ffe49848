#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/comm/faults.h"
#include "core/nn/module.h"
#include "core/run/finite.h"
#include "core/run/plan.h"
#include "core/run/processes.h"
#include "core/run/run.h"
#include "core/trace/recorder.h"

namespace meshscope::run {

/// Elements of a parameter that one rank answers for.
struct ParameterPart {
    int32_t whole_index = 0;    ///< the parameter's, in the whole model
    nn::Shape shape;            ///< of what the rank has of it
    nn::Box box;                ///< where that lies in the whole
    int64_t first_element = 0;  ///< of `shape`, row-major
    std::vector<float> numbers;
};

/// What one rank of a run made. Whoever merges takes it from a thread as it is, and from a process as bytes.
/// Of a rank that failed: what it had up to then.
struct RankResult {
    trace::RankRecord record;
    std::vector<double> losses;      ///< [step]: the mean over this rank's rows; empty outside the mesh
    std::vector<double> grad_norms;  ///< [step]; empty without clipping
    std::vector<Evaluated> evaluations;
    int64_t wall_ns = 0;                              ///< the steps alone
    std::optional<NotFinite> not_finite;              ///< of a search (RunPlan::searches)
    std::vector<comm::Faults::NeverCame> never_came;  ///< faults of the scenario that did not happen
    std::optional<Message> part_failure;              ///< why its part file (RunOptions::parts) is not whole
    std::vector<ParameterPart> parts;                 ///< of all ranks together each element once
};

/// A result as bytes for another process of the same program. Cost: one copy.
std::vector<std::byte> pack(const RankResult& result);

/// The result again, bit for bit. Throws InvalidArgument ("pack.damaged") where the bytes are not those of a
/// rank of this plan: a part that does not fit its parameter, a fault that the scenario does not have.
RankResult unpack_rank_result(std::span<const std::byte> bytes, const RunPlan& plan);

/// Every process calls it after training: `results` [rank] of rank 0 has every rank's after it. Elsewhere
/// nothing changes. Throws CommError ("run.hand_over_damaged") where bytes came that no rank sent.
void gather_to_rank0(Processes& processes, const RunPlan& plan, GlobalRank rank,
                     std::vector<RankResult>& results);

}  // namespace meshscope::run
