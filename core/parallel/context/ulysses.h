#pragma once

#include "core/comm/process_group.h"
#include "core/nn/layers/attention.h"
#include "core/nn/tape.h"

namespace meshscope::parallel {

/// Attention of tokens that are cut over the N ranks of a cp group, by exchanging what is cut: an all_to_all
/// each for q, k and v gives every rank all tokens of 1/N of the heads, it computes their attention alone,
/// and a fourth brings the output's tokens home. Backward: the same four the other way round. DeepSpeed-
/// Ulysses (arXiv 2309.14509); PyTorch has none.
///
/// q (batch, tokens, heads · head_dim), k and v (batch, tokens, kv_heads · head_dim) of this rank's tokens,
/// rank r holding the r-th part of the sequence → as q. heads and kv_heads divide by N (InvalidArgument
/// "sp.uneven"); fewer kv_heads than ranks, of which they are a factor, are repeated first, so that each rank
/// gets one ("cp.repeat_heads", and its backward, which sums the copies). A rank sends (N - 1)/N of its q, k,
/// v and output, in each direction. Releases none of q, k, v. Events as nn::attention's, and "cp.pack",
/// "cp.unpack" where parts do not lie one behind the other.
nn::Variable ulysses_attention(nn::Tape& tape, nn::Variable q, nn::Variable k, nn::Variable v,
                               const nn::AttentionForm& form, comm::ProcessGroup& group);

}  // namespace meshscope::parallel
