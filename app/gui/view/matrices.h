#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/gui/view/input.h"
#include "app/gui/view/parameters.h"
#include "app/gui/view/stepping.h"

namespace meshscope::view {

/// A matrix as one rank has it: the whole, and the part of it that is here.
struct MatrixTile {
    enum class Role : uint8_t {
        activation,
        weight,
        partial_sum,  ///< as large as the result, but one of several to be added
        sum           ///< what a collective gave
    };
    std::string name;  ///< "X", "H", "dY"; of a weight its module and ᵀ where it stands transposed: "upᵀ"
    Role role = Role::activation;
    int64_t rows = 0, columns = 0;  ///< of the whole
    Block own;                      ///< of it, what this rank has
    /// Which rows of the whole those of `own` are, where they do not lie together (a sequence that is cut in
    /// each sample): own.rows of them. Empty: own.row and those below.
    std::vector<int64_t> row_places = {};
    /// Rows of the whole where it is not known which of them the part's are: then the tile is the part alone.
    int64_t rows_in_all = 0;
    std::vector<float> numbers;   ///< own's, row by row; empty: the record has none
    std::string parameter;        ///< of a weight: "layers.0.up.weight"
    bool transposed = false;      ///< of a weight: rows here are the parameter's columns
    int64_t first_in_buffer = 0;  ///< of a sum: where the part begins in the collective's buffer
    bool cut() const { return own.rows < rows || own.columns < columns; }
    int64_t row(int64_t i) const {
        return row_places.empty() ? own.row + i : row_places[static_cast<std::size_t>(i)];
    }
    /// Rows [first, second) of the part that lie in rows [first, last) of the whole. Cost: a binary search.
    std::pair<int64_t, int64_t> own_rows_in(int64_t first, int64_t last) const;
};

/// "up": the end of a module's name.
std::string last_part(std::string_view name);

/// One thing that is done to the matrix so far, and what comes of it.
struct MatrixStep {
    enum class Kind : uint8_t { product, map, collective };
    Kind kind = Kind::product;
    int32_t event = -1;
    std::string words;                 ///< "gelu", "all_reduce"; of a product what its kernel adds: "+ b"
    std::optional<MatrixTile> factor;  ///< of a product: what it is multiplied by, from the right
    MatrixTile result;
    std::vector<float> bias = {};  ///< what its kernel adds, a number a column
};

/// Products of one rank, each with what the one before gave, and the collective that adds what they gave:
/// X · upᵀ = H, gelu, · downᵀ = a partial sum, all_reduce. A gradient of a weight, dYᵀ · X, is one of its
/// own.
struct MatrixChain {
    int32_t rank = 0;
    std::optional<MatrixTile> before;  ///< this rank's part of what an all_gather made whole first …
    int32_t gather = -1;               ///< … and that all_gather
    MatrixTile start;
    std::vector<MatrixStep> steps;
    const MatrixStep* first_product() const;
};

/// The chains of a rank's pass (the events of one step, phase and micro-batch), in the order of their first
/// products. Found in the record: a product goes on with the one before where it reads the numbers that that
/// one wrote (where no numbers were kept: where shapes agree and something stands between them). Shapes come
/// from the recorded operands, of runs without them from FLOPs and from what the rank keeps of the weight.
/// Cost: O(events of the step and the rank's parameters), and a copy of the numbers.
std::vector<MatrixChain> matrix_chains(const trace::Trace& trace, int32_t rank, int32_t step, Phase phase,
                                       int32_t microbatch, Memo* memo = nullptr);

/// What the view speaks of: the chain of the event at the cursor, else the nearest before it in its step,
/// else the next, and the same chain on other ranks.
struct MatrixScene {
    int32_t rank = 0, step = 0;
    Phase phase = Phase::forward;
    int32_t microbatch = 0;
    std::vector<MatrixChain> chains;  ///< by rank, `rank`'s among them; empty: the step has no product
    int64_t likewise = 0;             ///< other ranks of its group that have the like and are not among them
    int32_t group = -1;        ///< of the collective that adds, or that the weight is cut over; -1: none
    std::string unit;          ///< the module that its products have in common: "layers.0"
    bool has_numbers = false;  ///< of one of these matrices at least the numbers were kept
    bool lacks_large = false;  ///< of one of more than trace::kMaxRecordedValues elements they were not
    bool lacks_small = false;  ///< of an operand of no more elements they were not
    bool empty() const { return chains.empty(); }
    const MatrixChain& chain() const;  ///< `rank`'s
};
/// `most`: ranks. Cost: as matrix_chains, a rank; in a large record what was found is remembered.
MatrixScene matrix_scene(const Moment& at, std::size_t most);

/// Events of the scene's rank that belong to its unit in this pass, in the order of issue: those of its
/// products, of modules in it, and the collectives that gather or reduce it.
std::vector<int32_t> events_of_unit(const Moment& at, const MatrixScene& scene);

/// The next (`by` 1) or the previous (-1) of those events, on the clock: behind the selected one where it is
/// one of them, else behind the one that began last before the cursor. Nothing behind the last. Cost: as
/// matrix_scene().
std::optional<EventRef> next_op(const Moment& at, int by);

}  // namespace meshscope::view
