#pragma once

#include <cstdint>

namespace meshscope::parallel {

/// LocalSGD's and DiLoCo's numbers. outer_lr and outer_momentum default to the DiLoCo paper's (arXiv
/// 2311.08105), the fragments' options to plain DiLoCo.
struct DilocoOptions {
    int64_t sync_every = 1;            ///< inner steps between two synchronisations of the same parameters
    double outer_lr = 0.7;             ///< of the outer optimizer
    double outer_momentum = 0.9;       ///< Nesterov's; 0: plain SGD
    int64_t fragments = 1;             ///< into which the model is cut; one of them is synchronised at a time
    int64_t fragment_sync_delay = 0;   ///< steps that a pseudo-gradient may be in flight
    double fragment_update_alpha = 0;  ///< how much of the local parameters stays: 0 none, 1 all
};

}  // namespace meshscope::parallel
