#include "core/comm/algorithms/ring.h"

#include <algorithm>
#include <numeric>

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

Ring::Ring(Wire& wire, std::span<const int32_t> ranks, std::span<const Part> parts)
    : wire_(wire), ranks_(ranks), parts_(parts), left_(parts.size()), has_left_(parts.size(), 0) {
    me_ = static_cast<int32_t>(std::find(ranks.begin(), ranks.end(), wire.me()) - ranks.begin());
    next_ = ranks_[static_cast<std::size_t>(around(me_ + 1))];
    previous_ = ranks_[static_cast<std::size_t>(around(me_ - 1))];
}

Piece Ring::piece(int32_t i, int32_t step, RingNames names, bool reduces) const {
    return {names.round + step, names.chunk + i * names.stride, part(i).first, part(i).elements, reduces};
}

void Ring::reduce(ReduceOp op, std::byte* data, RingNames names) {
    const auto at = [&](int32_t i) { return data + wire_.bytes(part(i).first); };
    for (int32_t s = 0; s < size() - 1; ++s) {
        const int32_t out = around(me_ - s - 1), in = around(me_ - s - 2);
        if (travels(out)) {
            left_[static_cast<std::size_t>(out)] = wire_.post(next_, at(out), part(out).elements);
            has_left_[static_cast<std::size_t>(out)] = 1;
        }
        if (!travels(in)) continue;
        wire_.receive(previous_, piece(in, s, names, true),
                      [&](const std::byte* from) { wire_.reduce_into(op, at(in), from, part(in).elements); });
    }
}

void Ring::gather(std::byte* data, RingNames names) {
    const auto at = [&](int32_t i) { return data + wire_.bytes(part(i).first); };
    for (int32_t s = 0; s < size() - 1; ++s) {
        const int32_t out = around(me_ - s), in = around(me_ - s - 1);
        if (travels(out)) wire_.post(next_, at(out), part(out).elements);
        if (!travels(in)) continue;
        // This part left in reduce(). Its sum can only be here because the next rank read it then.
        if (has_left_[static_cast<std::size_t>(in)] != 0) wire_.wait(left_[static_cast<std::size_t>(in)]);
        wire_.receive_copy(previous_, piece(in, s, names, false), at(in));
    }
}

std::vector<int32_t> all_ranks(const Wire& wire) {
    std::vector<int32_t> ranks(static_cast<std::size_t>(wire.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

}  // namespace meshscope::comm
