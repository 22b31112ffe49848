#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/view/input.h"
#include "app/gui/view/stepping.h"

namespace meshscope::view {

/// A rank's queries with the keys of one rank, itself among them.
struct AttentionBlock {
    int32_t event = -1;  ///< the kernel that computes it; -1: none does
    int32_t merge = -1;  ///< what adds it to those before; -1: nothing, it is the first
    int32_t turn = -1;   ///< how manyth of the rank's blocks it is, from 0; -1: it is not computed
    int64_t flops = 0;
    /// Pairs of a query and a key that it sees, of one head of one sample, as the kernel counted them; -1:
    /// the record does not tell.
    int64_t pairs = -1;
    /// The causal mask of these tokens leaves just so many pairs: its cells are known.
    bool cells_known = false;
};

/// Attention on one rank.
struct AttentionRank {
    int32_t rank = 0;
    /// Places in the sequence of its queries, in the order in which the rank holds them; empty: not recorded.
    std::vector<int64_t> tokens;
    std::vector<AttentionBlock> blocks;  ///< by whose keys they are: a place among the scene's ranks
    std::vector<AttentionBlock> unplaced;  ///< those of which the record does not tell whose keys they are
    std::vector<int32_t> open;             ///< of its calls those that never ended, as the run broke off
    /// Its calls that bring keys and values, in order: the permutes of a ring, the one all_gather, or
    /// Ulysses' three swaps of q, k and v.
    std::vector<int32_t> exchanges;
    /// Those that bring gradients, or (Ulysses) the output, home.
    std::vector<int32_t> home;
    /// Whose keys and values come with exchange i, and whose gradients: places, by the recorded hops; -1: the
    /// record has none. Of a ring alone.
    std::vector<int32_t> comes, gradients;
    int64_t flops() const;  ///< of all blocks
};

/// How the ranks of a cp group bring queries and keys together.
enum class AttentionWay : uint8_t {
    alone,   ///< no rank needs another's keys
    ring,    ///< keys and values go round
    gather,  ///< all of them come at once
    heads    ///< Ulysses: tokens are swapped for heads
};

/// The attention of one layer in one pass, on the ranks that do it together.
struct AttentionScene {
    AttentionWay way = AttentionWay::alone;
    int32_t rank = 0, step = 0;
    Phase phase = Phase::forward;
    int32_t microbatch = 0;
    bool backward = false;             ///< its gradient
    std::string unit;                  ///< "blocks.0.attn"
    int32_t group = -1;                ///< the cp group
    std::vector<AttentionRank> ranks;  ///< in the group's order; empty: the step has no attention
    /// Of a rank's kernels, as their shapes say; 0: not recorded.
    int64_t batch = 0, heads = 0, kv_heads = 0, head_dim = 0;
    int64_t tokens = 0;  ///< of the sequence; 0: not known
    bool broke_off = false;  ///< the run ended in the midst of it

    bool empty() const { return ranks.empty(); }
    std::size_t n() const { return ranks.size(); }
    /// `rank`'s place.
    std::size_t place() const;
    const AttentionRank& own() const { return ranks[place()]; }
    /// How the work is shared out, in a word: "alone", "neighbours" or "head_tail" (a ring, by whose tokens
    /// lie together), "ring" where the tokens are not known, "gather", "heads".
    std::string_view word() const;
};

/// What the view speaks of: the attention that the event at the cursor belongs to, else the nearest before it
/// in its step, else the next. Cost: O(events of the step) a rank of the group; in a large record once.
AttentionScene attention_scene(const Moment& at);

/// The next (`by` 1) or the previous (-1) kernel or call of it on the rank in focus, as next_in_strip().
std::optional<EventRef> next_of_attention(const Moment& at, int by);

/// The same layer's in another run (its event of the same unit, step and kind of pass), for a comparison.
/// Cost: as above.
AttentionScene attention_like(const trace::Trace& trace, const AttentionScene& scene, Memo* memo = nullptr);

/// Its events on a rank, in the order of issue: kernels and calls.
std::vector<int32_t> attention_events(const AttentionRank& rank);

/// From the first event of its ranks to the end of the last. Empty where the scene is.
time::Interval attention_span(const time::Clock& clock, const AttentionScene& scene);

/// A rank at the cursor.
struct AttentionNow {
    enum class Doing : uint8_t {
        before,
        computes,
        merges,
        waits,
        done,
        ended  ///< the run broke off before it was done
    };
    Doing doing = Doing::before;
    int32_t block = -1;  ///< which it computes or merges
    float share = 0;     ///< of that kernel's time that has passed
    int32_t here = -1;   ///< whose keys and values it works with: a place; -1: not known
    int64_t flops = 0;   ///< that it has done; of a kernel under way its share of the time
};
AttentionNow attention_now(const Input& input, const AttentionScene& scene, std::size_t place);

/// Keys and values, or gradients, on their way to the next rank of the ring.
struct AttentionFlight {
    std::size_t from = 0, to = 0;  ///< places
    std::size_t origin = 0;        ///< whose they are: a place
    float share = 0;               ///< of the way; 1: arrived, but not in use yet
    bool gradient = false;
};
/// Those of a ring at the cursor.
std::vector<AttentionFlight> attention_flights(const Input& input, const AttentionScene& scene);

/// Whose keys and values lie on a rank: of a gather its own and those that have landed.
std::vector<std::size_t> attention_held(const Input& input, const AttentionScene& scene, std::size_t place);

}  // namespace meshscope::view
