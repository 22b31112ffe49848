#pragma once

#include "core/comm/schedule/steps.h"

namespace meshscope::comm {

/// Algorithms that pair ranks by the bits of their number need a power of two of them. Of p ranks the first
/// 2(p - q), q the largest power of two ≤ p, go in pairs: the even one hands its numbers to the odd one
/// before and takes the result after. The q that remain are numbered by place.
///
/// Rounds: one before and one after, of n elements each; none when p is a power of two. Source: Thakur,
/// Rabenseifner, Gropp 2005, section 4.5.
class Fold {
  public:
    explicit Fold(const Steps& steps);

    /// q, a power of two.
    int32_t places() const { return places_; }
    /// lg q: the exchanges at distances 1, 2, … q/2.
    int32_t doublings() const { return doublings_; }
    /// This rank's place, or -1: it handed its numbers on.
    int32_t place() const { return place_; }
    /// The group rank at a place.
    int32_t rank_at(int32_t place) const;
    /// Rounds before the first exchange: 0 or 1.
    int32_t rounds() const { return pairs_ > 0 ? 1 : 0; }

    /// The round before: odd ranks of pairs add what they are handed.
    void gather(Steps& steps, const Stretch& data) const;
    /// The round after, round `round`.
    void hand_back(Steps& steps, int32_t round, const Stretch& data) const;

  private:
    bool paired(const Steps& steps) const { return steps.me() < 2 * pairs_; }
    int32_t places_ = 1;
    int32_t doublings_ = 0;
    int32_t pairs_ = 0;
    int32_t place_ = -1;
};

}  // namespace meshscope::comm
