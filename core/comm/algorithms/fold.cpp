#include "core/comm/algorithms/fold.h"

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

Fold::Fold(const Wire& wire) {
    for (; places_ * 2 <= wire.size(); places_ *= 2) ++doublings_;
    pairs_ = wire.size() - places_;
    if (!paired(wire))
        place_ = wire.me() - pairs_;
    else if (wire.me() % 2 == 1)
        place_ = wire.me() / 2;
}

int32_t Fold::rank_at(int32_t place) const {
    return place < pairs_ ? 2 * place + 1 : place + pairs_;
}

void Fold::gather(Wire& wire, ReduceOp op, std::byte* data, int64_t n) const {
    if (!paired(wire)) return;
    if (place_ < 0) {
        wire.post(wire.me() + 1, data, n);
        wire.wait_all();
        return;
    }
    wire.receive(wire.me() - 1, {0, 0, 0, n, true},
                 [&](const std::byte* from) { wire.reduce_into(op, data, from, n); });
}

void Fold::hand_back(Wire& wire, int32_t round, std::byte* data, int64_t n) const {
    if (!paired(wire)) return;
    if (place_ >= 0) {
        wire.post(wire.me() - 1, data, n);
        wire.wait_all();
        return;
    }
    wire.receive_copy(wire.me() + 1, {round, 0, 0, n, false}, data);
}

}  // namespace meshscope::comm
