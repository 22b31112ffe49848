#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/event.h"
#include "core/trace/recorder.h"

namespace meshscope::trace {

/// A process group of the run: its members in group-rank order (sorted, as PyTorch's new_group sorts them).
struct Group {
    std::string mesh_dim;  ///< "shard"; "world" for the default group
    std::vector<int32_t> ranks;
};

/// A parameter after the last step, whole, under PyTorch's name.
struct FinalParameter {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> numbers;  ///< row-major
    friend bool operator==(const FinalParameter&, const FinalParameter&) = default;
};

/// The final parameters stand in the record of models with at most so many numbers: enough for everything
/// that is taught, and small beside the events.
inline constexpr int64_t kMostFinalNumbers = int64_t{1} << 16;

/// What a run was, beside its events.
struct RunInfo {
    std::string title_en, title_zh;
    std::string scenario;       ///< the scenario file's text
    std::string scenario_path;  ///< as given by the user; may be empty
    /// The file that Algorithm::own means, without its folder, and its text; "" where no event has it.
    std::string algorithm_file, algorithm_text;
    std::string backend = "threads";
    std::string engine_version;
    Level level = Level::values;
    int32_t world_size = 1;
    std::vector<int64_t> mesh_shape;
    std::vector<std::string> mesh_names;
    std::vector<int32_t> mesh_ranks;    ///< row-major, the ranks in the mesh
    std::vector<int32_t> node_of_rank;  ///< which machine a rank is said to stand on
    int32_t steps = 0;
    std::vector<double> losses;      ///< one a step, mean over the global batch
    std::vector<double> grad_norms;  ///< one a step when clipping, else empty
    /// The weights that came out, so that two runs can be compared. Empty where the model has more than
    /// kMostFinalNumbers, where one of them is not finite, where a run ended early, and in files written
    /// before they were kept.
    std::vector<FinalParameter> parameters;
    /// Why the run ended before its end, as failure_json (core/base/diagnosis.h) writes it; "" for a whole
    /// run. Then the trace holds what was recorded up to there: calls that others never joined, or that did
    /// not end (they stand until the last thing their rank recorded).
    std::string failure;
};

/// One rank's part of a merged trace; string ids point into Trace::strings. Events ascend by id.
struct RankTrace {
    std::vector<Event> events;
    std::vector<Dependency> dependencies;
    std::vector<Hop> hops;
    std::vector<HopPiece> pieces;  ///< of the hops that have several, in the hops' order
    std::vector<Snapshot> snapshots;
    std::vector<float> values;
    std::vector<MemoryChange> memory;
    std::vector<ParameterRun> parameters;  ///< what this rank keeps; empty where no run recorded it
};

/// The record of a whole run, merged and immutable. Shared by everything that shows it.
struct Trace {
    RunInfo info;
    std::vector<std::string> strings;
    std::vector<Group> groups;
    std::vector<RankTrace> ranks;

    std::string_view text(StringId id) const { return strings[id]; }
    /// The event that `rank` issued as number `id`. Throws InvalidArgument ("trace.no_event").
    const Event& event(int32_t rank, int32_t id) const;
};

/// Joins the ranks' records: one string table, hops and dependencies checked. records[r] is global rank r's.
/// Groups must be the table that Event::group indexes on every rank.
Trace merge(RunInfo info, std::vector<Group> groups, std::vector<RankRecord> records);

/// One collective as all its members saw it: the same (group, sequence) on each.
struct CollectiveInstance {
    int32_t group = 0;
    int32_t sequence = 0;
    std::vector<int32_t> ranks;   ///< members that took part, in group order
    std::vector<int32_t> events;  ///< events[i]: ranks[i]'s event id
};

/// Every collective of the trace, by the time of its first issue on the lowest rank. Cost: one pass and a
/// sort.
std::vector<CollectiveInstance> collectives(const Trace& trace);

/// What identical() leaves out.
enum class Ignore : uint8_t {
    nothing,
    times  ///< every t_…_ns: two runs of one scenario are identical then
};

/// Do both hold the same, bit for bit (numbers that travelled too; one NaN equals another)? Cost: one pass.
bool identical(const Trace& a, const Trace& b, Ignore ignore = Ignore::nothing);

}  // namespace meshscope::trace
