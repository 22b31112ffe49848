#pragma once

#include <string>
#include <vector>

#include "app/gui/view/input.h"

namespace meshscope::view {

/// Another way in which the same scenario can be run: chips below the rows.
struct AttentionOffer {
    std::string word;  ///< AttentionScene::word() of such a run
    bool running = false;
};

struct AttentionOptions {
    bool sums = true;  ///< false: who has which tokens and computes how much is left out, as a question asks
    /// Where a question asks who sends to whom: why the ways of keys and values are left out. "": they are
    /// drawn.
    std::string senders_covered;
    std::vector<RunBeside> beside;
    std::vector<AttentionOffer> offers;
};

/// The attention of the layer at the cursor, a row a rank of its cp group: the queries that it keeps, the
/// keys and values that it works with, its blocks of the causal mask as they are computed, the running
/// softmax of its last token, its work. Keys and values on their way (and in backward their gradients) move
/// between the rows; Ulysses swaps tokens for heads. Below, this run and those beside it in short. From 9
/// ranks on blocks have no cells, from 17 on ranks × ranks are one matrix with the rows that matter beside
/// it. Height may exceed the size: the panel scrolls.
///
/// Ids: "form" a = Form; "kernel" a = rank, b = event id (the cursor goes there); "rank" a = rank; "empty";
/// "cursor"; "flight" a = rank it goes to; "attention_offer" a = place in the offers. Cost: O(events of the
/// step, blocks and cells drawn).
Picture attention_view(const Input& input, const AttentionOptions& options = {});

/// The facts column: who holds which tokens, what is computed and what is not, what travels. Ids: "kernel".
Picture attention_facts(const Input& input, const AttentionOptions& options = {});

}  // namespace meshscope::view
