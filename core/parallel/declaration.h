#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/model.h"
#include "core/nn/recompute.h"
#include "core/parallel/context/options.h"
#include "core/parallel/ddp/options.h"
#include "core/parallel/diloco/options.h"
#include "core/parallel/fsdp1/options.h"
#include "core/parallel/fsdp2/options.h"
#include "core/parallel/mixed_precision.h"
#include "core/parallel/pipeline/schedule.h"
#include "core/parallel/step_loss.h"
#include "core/parallel/strategy.h"
#include "core/parallel/strategy_key.h"
#include "core/parallel/tensor/options.h"

namespace meshscope::parallel {

/// [parallel] data: the strategies of strategies(), in their order.
enum class DataStrategy : uint8_t {
#define MESHSCOPE_DATA_STRATEGY(id, declared) id,
#include "core/parallel/strategies.def"
#undef MESHSCOPE_DATA_STRATEGY
};

/// What the keys of [parallel] give the data strategies and the mesh dims that share a model out; each takes
/// its own.
struct StrategyOptions {
    std::optional<double> bucket_cap_mb;
    DdpOptions ddp;                               ///< without bucket_cap_mb
    Fsdp2Options fsdp2;                           ///< without units, precision, pipeline
    Fsdp1Options fsdp1;                           ///< without units and precision; zero3's prefetch too
    MixedPrecision precision;                     ///< fsdp2's, fsdp1's
    DilocoOptions diloco;                         ///< local_sgd's too
    bool zero_redundancy = false;                 ///< zero1 as PyTorch's ZeroRedundancyOptimizer
    std::vector<std::vector<std::string>> units;  ///< module names a unit; empty = the model's default units
    bool wrap_by_size = false;                    ///< units are modules of wrap_min_elements or more
    int64_t wrap_min_elements = 0;
    TensorParallelOptions tensor;    ///< over the mesh dim tp; without sum_each_norm
    ContextParallelOptions context;  ///< over the mesh dim cp
    pipeline::PipelineOptions pipeline;  ///< over the mesh dim pp
    nn::Recompute recompute = nn::Recompute::none;  ///< of each layer
    LossMean loss_mean = LossMean::tokens;          ///< where some targets count nothing

    /// 0: units are not chosen by size.
    int64_t unit_min_elements() const { return wrap_by_size ? wrap_min_elements : 0; }
};

/// Which data dims a strategy's mesh has; other dims (tp, pp, cp) may stand beside them.
enum class DataDims : uint8_t {
    any,
    replicate,
    shard,
    shard_maybe_replicate,  ///< shard, or replicate and shard
};

/// What a data-parallel strategy declares of itself. Scenario files, docs/scenario.md's table of
/// keys, the sandbox's fields, `predict` and the identity of a checkpoint come from here.
struct Declaration {
    DataStrategy id;
    std::string_view word;  ///< as [parallel] data has it
    DataDims dims = DataDims::any;
    std::string_view dims_hint = {};  ///< message: which dims it needs; "" where any will do
    std::span<const StrategyKey> keys = {};
    bool compared = false;      ///< can be listed in [compare] strategies: it needs no keys
    bool in_pipelines = false;  ///< a stage of a pipeline may have it
    /// Of a parameter that two stages share, ranks of the same place hold the same part, and its gradient's.
    bool (*shares_between_stages)(const StrategyOptions&) = nullptr;  ///< null: no
    std::string_view hybrid_word = {};  ///< its name on a mesh of replicate and shard, where it has one: HSDP
    bool data_parallel = true;          ///< its ranks share out the batch; false: all compute the same
    bool one_process = false;           ///< its ranks are the devices of one process (DataParallel)
    bool stores_bfloat16 = false;       ///< [train] dtype may be bfloat16
    bool batch_norm = false;            ///< it keeps the buffers of a batch norm
    bool sync_batch_norm = false;       ///< its ranks can share the statistics of a batch norm
    /// Parameters lie in flat arrays or go to ranks by their size, so that one that every tp rank has whole
    /// may lie elsewhere on each.
    bool flat = false;
    /// ZeRO's stage: what of parameters, gradients and optimizer state is cut over the shard ranks at rest.
    int32_t (*zero_stage)(const StrategyOptions&) = nullptr;  ///< null: 0
    /// Bytes a parameter that it keeps beside the parameter, its gradient and its optimizer's state.
    double (*state_bytes)(const StrategyOptions&) = nullptr;  ///< null: 0
    /// Steps that cover every kind of step it has, for `predict`.
    int64_t (*telling_steps)(const StrategyOptions&) = nullptr;  ///< null: as any other
    /// The same with a cycle that is short enough to be played whole, each step and synchronisation costing
    /// what they cost, where these options' is not and its first synchronisation comes in so many steps; for
    /// `predict`.
    std::optional<StrategyOptions> (*short_cycle)(const StrategyOptions&,
                                                  int64_t steps) = nullptr;  ///< null: none is long
    /// After how many steps all ranks hold the same model again; 0: not guaranteed.
    int64_t (*agrees_every)(const StrategyOptions&) = nullptr;  ///< null: after each
    /// Shards, gradients and optimizer state lie on the host and are updated there.
    bool (*offloads)(const StrategyOptions&) = nullptr;  ///< null: no
    /// Ranks may run out of batches in different steps: [data] batches (Join).
    bool (*uneven_inputs)(const StrategyOptions&) = nullptr;  ///< null: no
    /// Whole parameters are updated by one rank each, so that no two ranks hold equally much.
    bool (*ranks_own_whole)(const StrategyOptions&) = nullptr;  ///< null: no
    /// Why no checkpoint can keep its state; empty: one can.
    std::vector<Refusal> (*unsaved)(const StrategyOptions&) = nullptr;  ///< null: one can
    /// What a checkpoint's state of the strategy belongs to, beside its word; see Strategy::remembered().
    std::string (*state_word)(const StrategyOptions&, int64_t data_ranks) = nullptr;  ///< null: nothing
    std::vector<Refusal> (*refusals)(const StrategyOptions&, const StrategyUse&) = nullptr;
    /// Puts it around a model. Null: one process does all (one_process).
    std::unique_ptr<Strategy> (*make)(const RankContext&, nn::Model&, const StrategyOptions&) = nullptr;

    /// Its key of that name; null: it takes no such key.
    const StrategyKey* key(std::string_view name) const;
    /// Whether one of the facts above holds under these options: `is(&Declaration::offloads, options)`.
    bool is(bool (*Declaration::*fact)(const StrategyOptions&), const StrategyOptions& options) const {
        return this->*fact != nullptr && (this->*fact)(options);
    }
};

/// The data strategies, in DataStrategy's order.
std::span<const Declaration* const> strategies();

/// The keys that they declare, each name once.
std::span<const StrategyKey> strategy_keys();

const Declaration& declaration(DataStrategy strategy);
/// The one of that word or hybrid word; null where there is none.
const Declaration* find_declaration(std::string_view word);

/// A key that several strategies take; those of units stand in unit_keys.h.
inline constexpr StrategyKey kBucketCapKey{
    "bucket_cap_mb", "(none)",
    StrategyKey::Number{0, 1e6, false, [](StrategyOptions& o, double mb) { o.bucket_cap_mb = mb; }}};
}  // namespace meshscope::parallel
