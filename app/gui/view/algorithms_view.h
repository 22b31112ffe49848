#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/algorithms_choice.h"
#include "app/gui/view/call_landings.h"
#include "app/gui/view/input.h"
#include "core/time/profile.h"

namespace meshscope::view {

/// Another algorithm that the same scenario can be run with.
struct AlgorithmOffer {
    Algorithm algorithm = Algorithm::none;
    bool running = false;  ///< it is on its way
};

struct AlgorithmsOptions {
    bool sums = true;  ///< false: what sums up a call is left out, as a question asks for it
    std::string name;  ///< of the run in front
    std::vector<RunBeside> beside;
    std::vector<AlgorithmOffer> offers;
    AlgorithmsChoice choice;
    const time::Profile* profile = nullptr;  ///< that predictions are made with; null: none is made
    bool can_run_size = false;               ///< the call can be run with the predicted size
    /// While it plays: how fast the cursor went, and for how long it has rested since. What landed less than
    /// 160 ms ago is lit.
    double ns_per_s = 0, rested_s = 0;
};

/// One run's row.
struct AlgorithmRow {
    std::string
        name;  ///< the algorithm's, the file's where it is one's own; the run's too where several share it
    std::vector<std::string> runs;  ///< that made the call in just this way and time, the shown one first
    std::size_t place = 0;          ///< of the shown one: 0 the run in front, else among those beside, from 1
    const trace::Trace* trace = nullptr;
    EventRef call;
    std::shared_ptr<const CallLandings> landings;
    int64_t sent_bytes = -1;  ///< by the rank in focus; -1: nobody tells
    bool comparable = false;  ///< as many members and elements as the run in front
    bool done = false;        ///< all parts of the result came to be, and every member came to the end
    bool first = false;       ///< of those that are done and comparable it takes least, and others take more
    bool tied = false;        ///< another is first too
};
/// The rows, the run in front first; empty where it has no call to show. A run that made the call as another
/// did, as it does when its algorithm is not made for the op or the number of ranks, has no row of its own.
/// `without`: names of the runs beside that make no such call. Found once where there is a memo.
std::vector<AlgorithmRow> algorithm_rows(const Input& input, const AlgorithmsOptions& options,
                                         std::vector<std::string>* without = nullptr);

/// The shown call of several runs, each by its own algorithm, below each other on one clock that begins with
/// the call: a row an algorithm, its hops as bars, and above them the matrix of ranks by parts of the buffer
/// at the moment a hop has landed. A cell fills as ranks are added; up to eight ranks it has its number,
/// where a part is one number and the record kept it, or how many ranks are in. From nine ranks on it is a
/// colour by count, from 65 the row is one curve: how many parts are complete. The first to end is marked.
/// Where not all matrices have room, those round the cursor are drawn. Height may exceed the size: the panel
/// scrolls.
///
/// Below each name stands what the call would take for another size: dashed, as it is predicted and not run.
///
/// Ids: "part" a = rank, b = column; "pip" as pip_id(); "landing" a = row, b = landing; "form" a = Form;
/// "run_algorithm" a = Algorithm; "run_size" a = Algorithm, b = bytes; "order" a = AlgorithmOrder; "predict"
/// a = bytes; "predicted" a = row; "cursor". Cost: O(cells drawn), with call_landings().
Picture algorithms_view(const Input& input, const AlgorithmsOptions& options = {});

/// The facts column: of each row its algorithm in a sentence, rounds, bytes beside the formula, time. Height
/// may exceed the size.
Picture algorithms_facts(const Input& input, const AlgorithmsOptions& options = {});

/// What is said of a row that is first: a message, and with ".short" its short form.
std::string first_words(const AlgorithmRow& row);

/// A rank's pip in a part: whose part it is, which column, whose pip, and whether that rank is in.
struct Pip {
    int32_t rank = 0, column = 0, of = 0;
    bool in = false;
};
Id pip_id(const Pip& pip);
Pip pip_of(const Id& id);

/// When a landing is over, on the clock of the run in front; nothing where there is no such row or landing.
std::optional<Cursor> landing_end(const Input& input, const AlgorithmsOptions& options, int64_t row,
                                  int64_t landing);

}  // namespace meshscope::view
