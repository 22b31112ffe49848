#pragma once

#include <toml++/toml.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/model_declaration.h"
#include "core/scenario/scenario.h"
#include "core/scenario/section.h"
#include "core/scenario/variant.h"

namespace meshscope::scenario {

/// The most ranks a scenario may ask for. A real run starts fewer (run::kMostRunRanks).
inline constexpr int64_t kMostRanks = 65536;

/// Reads [model] [data] [train] [optimizer] [mesh] [parallel] [record] [hardware] [run] [[faults]], or what
/// stands in their place where there are [[call]]s, into `scenario`, whose folder is set, and reports what is
/// wrong with each alone and with all together (a batch that does not divide, a mesh larger than the world
/// …). What could not be read keeps its default. False when the mesh could not be read: then the number of
/// ranks is not known.
bool read_training(const Section& root, Scenario& scenario);

/// The hardware profile that `key` names: one of the program's by name, or a file ending in .toml, relative
/// to `folder`, whose own mistakes are reported with it. Nothing where the key is absent or wrong.
std::optional<time::Profile> read_profile(const Section& section, std::string_view key,
                                          const std::string& folder);

/// The most ranks that a scenario of plain calls may have: every one is run, in a prediction too.
inline constexpr int64_t kMostCallRanks = 4096;

/// Reads the [[call]]s of a scenario that trains nothing, with [mesh] and [parallel] algorithm, and refuses
/// what belongs to training. A call that a rank could not make is reported here: a root, a sender or a
/// receiver outside of the group, elements that do not divide, a reduction without meaning for the dtype,
/// values of the wrong number or range. Whether the ranks' calls fit together is not asked: that they do not
/// may be the lesson. False when the mesh could not be read.
bool read_calls(const Section& root, Scenario& scenario);

/// Reads [model] into `scenario`, whose folder is set. The sizes are taken over all together, or, where one
/// of them is wrong (which is reported, with the nearest possible values), none of them.
void read_model(const Section& root, const Section& model, Scenario& scenario);

/// The keys of [model] beside its sizes: biases, norms, activation, positions, windows. Over what `spec` has,
/// whose kind ("" where it is not known) and layers are read before.
void read_model_form(const Section& model, nn::ModelSpec& spec);

/// Whether [model] could be read, so that make_model() can build it.
bool model_is_known(const Scenario& scenario);

/// Reads [data]; the model is read already.
void read_data(const Section& root, Scenario& scenario);

/// Reads [mesh] and [parallel]; `scenario` holds the model and [train] already, so that the batch can be
/// checked against the ranks that share it (reported in `train`), and the units and what tensor parallelism
/// cuts against the model (reported in `model`). False when the mesh could not be read, so that nobody can
/// say how many ranks there are.
bool read_mesh_and_parallel(const Section& root, const Section& model, const Section& train,
                            Scenario& scenario);

/// The same where nothing is trained: [mesh] with any names, and of [parallel] `algorithm` alone; the other
/// keys are refused.
bool read_mesh_and_algorithm(const Section& root, Scenario& scenario);

/// A mesh's shape and names, for the run or for a lesson's picture: the shape has 1 to 8 dims and at most
/// kMostRanks ranks, the names are one a dim, each once. Wrong parts are reported and come back empty.
struct MeshKeys {
    mesh::Shape shape;
    mesh::Names names;
};
MeshKeys read_mesh_keys(const Section& mesh);

/// Reads [mesh] shape, names and world; the strategy is read before. False when the mesh cannot be held
/// against anything.
bool read_mesh(const Section& mesh, bool strategy_known, Scenario& scenario);

/// The tables that declared keys, and what is held against them, stand in.
struct Tables {
    const Section &parallel, &mesh, &model, &train;
    /// The one of that name.
    const Section& of(std::string_view name) const;
};

/// Reads the keys of [parallel] that strategies declare (parallel::StrategyKey), each as the scenario's own
/// strategy declares it. A value of the wrong type is reported whatever the strategy is. After the mesh and
/// the model.
void read_strategy_keys(const Tables& tables, bool mesh_known, Scenario& scenario);

/// Reads what those of parallel::model_declarations() declare for which `now` says so: their keys, and what
/// each refuses, told at the key that would have to change. After the mesh, the model, [train] and the data
/// strategy.
void read_model_declarations(const Tables& tables, bool mesh_known, Scenario& scenario,
                             const std::function<bool(const parallel::ModelDeclaration&)>& now);

/// Reports keys of [parallel] that stand beside a strategy they mean nothing to, keys that the strategy
/// needs, what it refuses of itself and, beside [checkpoint], what no checkpoint keeps.
void refuse_strategy(const Section& root, const Tables& tables, bool mesh_known, const Scenario& scenario);

/// Refuses what [model] norm does not go together with, once all of [model], [data], [train], [mesh] and
/// [parallel] are read, and a batch norm of one row. `mesh_known`: the mesh has no mistake.
void check_norm(const Section& root, bool mesh_known, const Scenario& s);

/// Refuses what targets that count nothing do not go together with, and [train] loss_mean where all count,
/// once the same are read.
void check_ignored(const Section& root, const Scenario& s);

/// [eval], after the mesh, the strategy and [train] were read.
void read_evaluation(const Section& root, Scenario& scenario);

/// [run] and [[faults]], after the mesh and [train] were read. `mesh_known` is false when the number of ranks
/// is not.
void read_faults(const Section& root, bool mesh_known, Scenario& scenario);

/// The most runs that stand beside the scenario's own.
inline constexpr int64_t kMostCompared = 3;

/// Reads [compare]: what the window runs beside this scenario. `strategies`: the same scenario under other
/// data strategies (see with_strategy). `scenarios`: files, which must be there, each once, and be others
/// than this one; what they hold is read when they are run, so that two files may name each other.
void read_compare(const Section& root, Scenario& scenario);

/// Reads title, [[lesson.step]], [[lesson.number]], [[quiz]] and [[check]]. Ids must be there once each;
/// quizzes name a step, and texts only numbers, that exist. SQL is not looked at here: it is run against a
/// trace, read-only. `mesh_known`: how many ranks the run has may be told.
void read_lesson_content(const Section& root, bool mesh_known, Scenario& scenario);

/// [[lesson.variant]]: which keys each changes and how it must end. `root` is the whole file, whose keys they
/// are. Reports unknown keys with the nearest one, keys that cannot be taken away because they are not there,
/// ids twice, and variants that change nothing. Profiles' files are relative to `folder`.
std::vector<Variant> read_variants(const Section& root, const Section& lesson, const std::string& folder);

/// Changes the table of a scenario file as its variant `id` says, and takes the lesson out of it.
void apply_variant(toml::table& root, const std::string& id);

/// The `id` of an entry of a list, "" when it cannot be used (reported). `seen` holds those of its list; with
/// `free_text` any words will do.
std::string read_id(const Section& entry, std::set<std::string>& seen, bool free_text = false);

/// [[lesson.number]] tables of `section`: ids, and the SQL or the figure of the modelled clock that each is.
/// Reports keys that mean nothing to a number of its kind. Profiles' files are relative to `folder`.
std::vector<LessonNumber> read_number_tables(const Section& section, const std::string& folder);
/// [lesson.number.estimate].
std::shared_ptr<const Estimated> read_estimated(const Section& section, const std::string& folder);

/// The table of a scenario's text. `model = "hf:…"`, short for a table with that `kind` alone, is that table
/// in it. Throws InputError where it is no TOML.
toml::table parse_table(std::string_view text, const std::string& path);

/// The one reader of scenarios: from the table of a file, whatever made it. `path` and `source` go into the
/// scenario. Throws InputError with every mistake.
Scenario read_table(const toml::table& table, const std::string& path, std::string source);

/// A value as TOML, in one line; fractions have the fewest digits that read back the same.
std::string toml_text(const toml::node& node);

}  // namespace meshscope::scenario
