#pragma once

#include <string_view>

#include "core/comm/process_group.h"
#include "core/nn/tape.h"

namespace meshscope::parallel {

// Autograd nodes between activations cut along one dim and whole ones, in a tp group of t ranks. A collective
// joins the ranks' parts along the first dim; where the cut dim is another one, pieces are copied to or from
// their places ("sp.pack", "sp.unpack": each element read and written once), as DTensor does. Megatron keeps
// the sequence first and needs no copy. Where n does not divide by t the parts are torch.chunk's, ⌈n/t⌉ and
// the last ones fewer or none, and travel padded with zeros to ⌈n/t⌉ ("sp.pad"), as DTensor's do. All run on
// the compute stream and wait at once.

/// Why a node's collectives are there: the rules of its forward and of its backward collective.
struct ExchangeRules {
    std::string_view forward, backward;
};

/// x (…, n/t, …) → (…, n, …), n = `size`: all_gather along `tensor_dim`. Backward: reduce_scatter, because
/// every rank used the whole and each rank's gradient is only its share. n/t elements a rank in, (t-1)/t of
/// the whole sent. Megatron's g (arXiv 2205.05198, figure 5); DTensor's Shard → Replicate with a Partial
/// gradient.
nn::Variable gather_parts(nn::Tape& tape, nn::Variable x, int tensor_dim, int64_t size,
                          comm::ProcessGroup& group, ExchangeRules rules);

/// x (…, n, …), one rank's share of a sum → (…, n/t, …), this rank's part of the sum: reduce_scatter along
/// `tensor_dim`. Backward: all_gather. Megatron's ḡ;
/// DTensor's Partial → Shard.
nn::Variable scatter_sum(nn::Tape& tape, nn::Variable x, int tensor_dim, comm::ProcessGroup& group,
                         ExchangeRules rules);

/// As gather_parts, but every rank does the same with the whole, so that backward takes this rank's part of
/// the gradient without a collective. DTensor's Shard → Replicate with a Replicate gradient.
nn::Variable gather_for_all(nn::Tape& tape, nn::Variable x, int tensor_dim, int64_t size,
                            comm::ProcessGroup& group, std::string_view rule);

}  // namespace meshscope::parallel
