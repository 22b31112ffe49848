#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/kinds.h"

namespace meshscope::comm {

/// What a choice may depend on beside op and group size: the same on all members, so that all choose the
/// same.
struct CallShape {
    int64_t bytes = 0;  ///< the full buffer, as CostQuery::elements counts it
    /// all_to_all by split counts. The ranks' counts differ, so how large the buffer is says nothing to the
    /// others: no choice by size, and no algorithm that forwards. Either all ranks of a call name counts or
    /// none does.
    bool counts_named = false;
    bool shares_memory = true;  ///< Abilities::shares_memory
};

/// The algorithm that runs when a group is asked for `wanted`: `none` for a group of one; otherwise `wanted`
/// where it has the op on so many ranks, else what its card names instead (AlgorithmCard::instead), else
/// usual_algorithm(). `automatic` is what ChoiceTable::measured() says for op, p, bytes and kind of backend,
/// read in the same way; an all_to_all with counts is then direct where memory is shared, else pairwise.
/// gather, scatter, send and recv are direct always. docs/scenario.md has the table of all.
Algorithm choose_algorithm(CollectiveOp op, Algorithm wanted, int32_t group_size,
                           const CallShape& shape = {});

/// The one that an op runs by where nothing is wanted, or what is wanted has it not.
Algorithm usual_algorithm(CollectiveOp op);

/// Those that an op really has on some number of ranks, in the enum's order.
std::vector<Algorithm> algorithms_of(CollectiveOp op);

/// Which algorithm was fastest for an op, by number of ranks and size. A text of lines
/// "op  shared_memory|messages  ranks  bytes  algorithm", where ranks is "4" or "5-8" or "9-max", and bytes
/// is the largest full buffer that the line is for, "max" in the last line of each op, kind and ranks; #
/// begins a comment. The lines of an op, kind and ranks stand together, by rising bytes.
class ChoiceTable {
  public:
    struct Row {
        CollectiveOp op = CollectiveOp::all_reduce;
        bool shares_memory = true;
        int32_t ranks_from = 2, ranks_to = kMax;
        int64_t bytes_to = kMax;
        Algorithm algorithm = Algorithm::ring;
        friend bool operator==(const Row&, const Row&) = default;
    };
    static constexpr int32_t kMax = 2147483647;  ///< "max", of ranks and bytes

    /// Throws InvalidArgument ("comm.choice_line": line) where a line cannot be read, names an algorithm that
    /// its op has not, or does not go on where the one before it ended; ("comm.choice_gap": op, ranks) where
    /// the lines of an op that has more than one algorithm end too early.
    static ChoiceTable parse(std::string_view text);
    /// The one in the library: core/comm/choice/table.txt.
    static const ChoiceTable& measured();

    /// An op with one algorithm: that one. Cost: one pass over the table's lines, below a microsecond.
    Algorithm choose(CollectiveOp op, bool shares_memory, int32_t ranks, int64_t bytes) const;
    const std::vector<Row>& rows() const { return rows_; }

  private:
    void check_gaps() const;
    std::vector<Row> rows_;
};

/// A row as a line of the table.
std::string line_of(const ChoiceTable::Row& row);

/// The lines of one op, kind and range of ranks (`range`) from measured `times` ([size][algorithm], any
/// unit): each size's fastest, valid up to the geometric mean with the next size, the last without end.
/// The one with the smallest geometric mean over all sizes comes first, another takes over only where it is
/// a tenth faster than the one before, so that the lines do not follow the noise. `sizes` ascend.
std::vector<ChoiceTable::Row> lines_from(ChoiceTable::Row range, const std::vector<int64_t>& sizes,
                                         const std::vector<Algorithm>& algorithms,
                                         const std::vector<std::vector<double>>& times);

}  // namespace meshscope::comm
