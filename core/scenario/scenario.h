#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/kinds.h"
#include "core/comm/faults.h"
#include "core/mesh/device_mesh.h"
#include "core/nn/model.h"
#include "core/nn/ops.h"
#include "core/parallel/declaration.h"
#include "core/scenario/variant.h"
#include "core/time/profile.h"
#include "core/trace/event.h"

namespace meshscope::comm {
class OwnAlgorithm;
}  // namespace meshscope::comm

namespace meshscope::scenario {

/// What a rank's buffer holds before a plain call.
enum class CallFill : uint8_t {
    arange,  ///< arange(elements) + elements · rank: the ranks' elements counted through from 0
    rank,    ///< the rank's own number in every element
    ones,
    values  ///< Call::values
};

/// One [[call]] of a scenario that trains nothing: what some ranks do, in the order of the file. Checked when
/// it is read, so that no rank can find it impossible.
struct Call {
    enum class Kind : uint8_t {
        collective,  ///< every member of a group calls `op`
        message,     ///< `src` sends, `dst` receives: both of them, or one half alone
        work         ///< a rank works by itself
    };
    Kind kind = Kind::collective;
    std::string label;  ///< the unit in the record

    std::string mesh_dim;  ///< the groups of this dim; "": not by a dim
    std::vector<int32_t>
        group_ranks;             ///< the group's members, ascending; with neither: all ranks of the mesh
    std::vector<int32_t> ranks;  ///< who makes the call, ascending; empty: every member

    CollectiveOp op = CollectiveOp::barrier;  ///< of a collective
    ReduceOp reduce_op = ReduceOp::none;
    double factor = 1.0;  ///< premul_sum's
    int32_t root = 0;     ///< as group rank

    int32_t src = 0, dst = 0;  ///< of a message, as group ranks
    bool sends = true, receives = true;
    bool eager = false;  ///< the send ends when its numbers were copied, not when they were received

    DType dtype = DType::float32;
    int64_t elements = 0;  ///< of what a rank puts in (of a scatter: of what its root puts in)
    CallFill fill = CallFill::arange;
    double offset = 0.0;                      ///< added to each element of a fill
    std::vector<std::vector<double>> values;  ///< a row for each rank of the mesh

    std::string work;   ///< what it is called in the record
    int64_t bytes = 0;  ///< that it goes through
};

/// A text in both languages; either may be empty.
struct Text {
    std::string en, zh;
};

using parallel::DataStrategy;

/// What is trained, on what, how: one scenario file, read and checked, nothing run yet. docs/scenario.md tables every key.
struct Scenario {
    std::string path;    ///< as given; "" when read from memory
    std::string folder;  ///< what relative paths are relative to
    std::string source;  ///< the file's text
    Text title;

    nn::ModelSpec model;
    std::string model_config;  ///< the configuration that the model was read from, absolute; "" = none
    uint64_t model_seed = 0;
    std::string weights;               ///< a safetensors file, absolute; "" = drawn from model_seed

    std::string data_file;             ///< x0 y0 x1 y1 …, one global batch a step; "" = made
    std::string data_kind = "regression";
    int64_t data_samples = 0;
    uint64_t data_seed = 0;
    bool data_sampler = false;         ///< [data] sampler = "distributed": DistributedSampler and BatchSampler
    bool data_shuffle = false, data_drop_last = false;

    /// Targets of this value count nothing: they become tensor::kIgnoredTarget where a batch is read. None:
    /// all count.
    std::optional<int64_t> ignore_index;
    /// [data] lengths: sample i has lengths[i % n] tokens, the rest of it is padding; empty: all are full.
    std::vector<int64_t> data_lengths;
    /// [data] batches: for how many steps each data-parallel rank has a batch, the first ones; empty: for all.
    std::vector<int64_t> data_batches;

    int32_t steps = 1;
    int64_t global_batch = 1;
    int32_t accumulate = 1;
    std::optional<double> clip_norm;
    std::optional<int64_t> micro_batch;  ///< what one rank takes at once, when the file says it

    struct Optimizer {
        std::string kind = "sgd";      ///< sgd, adam, adamw
        double lr = 0.1, momentum = 0.0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.0;
    } optimizer;

    mesh::Shape mesh_shape{1};
    std::vector<std::string> mesh_names{"replicate"};
    std::optional<int64_t> world_size; ///< [mesh] world; larger than the mesh: the other ranks idle

    struct Parallel : parallel::StrategyOptions {
        DataStrategy data = DataStrategy::none;
        Algorithm algorithm = Algorithm::ring;
        std::shared_ptr<const comm::OwnAlgorithm>
            own;  ///< Algorithm::own: the file, proved for the mesh's dims
    } parallel;

    /// [memory]: whose kernels hold memory; any but the engine's own are run dry alone.
    nn::OpsForm ops;

    struct Checkpoint {
        std::string folder;            ///< absolute; "" = none is saved
        int32_t every = 0;             ///< steps between two; 0 = after the last step only
        bool sharded = true;           ///< a file a rank; false: rank 0 writes all
        int32_t keep = 0;              ///< how many of the newest stay; 0 = all
        std::string resume;            ///< absolute; "" = begin anew
        SourcePosition resume_at = {};  ///< where it stands
        bool temporary = false;        ///< saved in a folder of the run's own, gone at its end; `folder` is ""
        /// After so many steps every rank drops what it has and goes on from what was just saved; 0 = never.
        int32_t restart_after = 0;
        bool saves() const { return temporary || !folder.empty(); }
    } checkpoint;

    struct Evaluation {
        int32_t every = 0;             ///< steps between two; 0 = none
        int64_t samples = 0;           ///< of the evaluation set
        int64_t batch = 1;             ///< samples a rank runs forward at once
    } evaluation;

    std::vector<Call> calls;             ///< [[call]]; where there are any, nothing is trained

    trace::Level level = trace::Level::values;
    time::Profile hardware = time::classroom();  ///< [hardware] profile
    std::vector<int32_t> node_of_rank;   ///< [hardware] ranks_per_node; empty: the rows of the mesh's first dim

    std::optional<bool> checked;         ///< [run] checked: calls are compared across ranks
    bool expects_divergence = false;     ///< [run] expect = "divergence": the run is to come to NaN or Inf
    std::string backend;                 ///< [run] backend, where nobody says another; "" = threads
    std::string schedule;                ///< [run] schedule: which rank runs when; "" = all at once
    std::vector<comm::Fault> faults;     ///< [[faults]]
    std::vector<SourcePosition> fault_positions;  ///< where each stands

    /// [compare]: what is run beside this one. Either another file (absolute), or this scenario under another data
    /// strategy: see with_strategy().
    struct Compared {
        std::string path, strategy;
        friend bool operator==(const Compared&, const Compared&) = default;
    };
    std::vector<Compared> compare;

    struct LessonStep {
        std::string id, view;            ///< one of views()
        std::string form;                ///< one of forms_of(view); "": its first
        std::vector<std::string> beside;  ///< variants whose runs the form lays beside
        std::string run;  ///< the variant whose run the step shows, and `at` asks; "": the lesson's own
        std::string at;                  ///< SQL giving an event, as "rank, id" or "id" of rank 0; may be empty
        std::string slice;               ///< what the mesh view's slice box holds: "replicate,shard"; may be empty
        std::optional<int32_t> rank;     ///< "be rank r"
        /// The mesh view shows this mesh instead of the run's: mesh = { shape = [2, 2, 2], names = ["pp", …] }, over
        /// ranks 0 … product-1. Empty: the run's own. Names empty: unnamed.
        mesh::Shape mesh_shape;
        mesh::Names mesh_names;
        SourcePosition at_position;
    };
    struct Choice { Text text; Text hint; bool right = false; };
    struct Quiz {
        std::string id, step, kind;      ///< kind: number, choice, ranks, order
        Text question;
        std::string answer;              ///< SQL; for a choice: gives the 0-based index of the right one
        double tolerance = 0.0;
        std::vector<Choice> choices;     ///< kind choice
        struct Hint { std::string when; Text text; };
        std::vector<Hint> hints;         ///< for likely wrong answers: `when` is the answer as text
        SourcePosition answer_at;
        Text reveal;                     ///< shown after the guess, numbers as {{id}}
    };
    struct Check { std::string id, sql; SourcePosition at = {}; Text title = {}; };
    int32_t chapter = 0;                 ///< [lesson] chapter, 1 to 9; 0 = none is said
    Text only_threads;                   ///< [lesson] only_threads: why its run cannot be checked on processes; empty: it can
    std::vector<LessonStep> steps_of_lesson;
    std::vector<LessonNumber> numbers;
    std::vector<Variant> variants;
    std::vector<Quiz> quizzes;
    std::vector<Check> checks;
};

/// Reads a scenario file. Throws InputError with every mistake of the file (syntax, unknown keys, wrong types, impossible
/// values, names twice), each with line and column and what would be right; IoError when it cannot be read.
Scenario read_scenario(const std::string& path);
/// The same from text; `path` is used in messages and to resolve relative paths.
Scenario parse_scenario(std::string_view text, const std::string& path);

/// The plain keys (no tables, no arrays) of one table of the scenario's source, with their values as TOML text, in the
/// order of their names. Empty when the scenario was not read from text.
std::vector<std::pair<std::string, std::string>> entries(const Scenario& scenario, std::string_view table);

/// Ranks that share out the global batch: the data dims of the mesh; 1 without a data strategy.
int64_t data_parallel_size(const Scenario& scenario);

/// Ranks the scenario needs: the mesh's size, or [mesh] world when larger.
int32_t world_size(const Scenario& scenario);

}  // namespace meshscope::scenario
