#include "core/comm/schedule/cards/fold.h"

namespace meshscope::comm {

Fold::Fold(const Steps& steps) {
    for (; places_ * 2 <= steps.p(); places_ *= 2) ++doublings_;
    pairs_ = steps.p() - places_;
    if (!paired(steps))
        place_ = steps.me() - pairs_;
    else if (steps.me() % 2 == 1)
        place_ = steps.me() / 2;
}

int32_t Fold::rank_at(int32_t place) const {
    return place < pairs_ ? 2 * place + 1 : place + pairs_;
}

void Fold::gather(Steps& steps, const Stretch& data) const {
    if (!paired(steps)) return;
    if (place_ < 0)
        steps.send(0, steps.me() + 1, data);
    else
        steps.reduce(0, steps.me() - 1, 0, data);
}

void Fold::hand_back(Steps& steps, int32_t round, const Stretch& data) const {
    if (!paired(steps)) return;
    if (place_ >= 0)
        steps.send(round, steps.me() - 1, data);
    else
        steps.receive(round, steps.me() + 1, 0, data);
}

}  // namespace meshscope::comm
