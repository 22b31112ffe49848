#include "core/tensor/kernels_bfloat16_parts.h"

#include "core/tensor/widened.h"

namespace meshscope::tensor {

template <class Base>
void WithBfloat16Parts<Base>::embedding_part_forward(const Tensor& y, const Tensor& table,
                                                     const Tensor& indices, int64_t first) const {
    if (!is_bfloat16({y, table})) return Base::embedding_part_forward(y, table, indices, first);
    Wide wide(*this, *device_);
    Base::embedding_part_forward(wide.out(y), wide.in(table), indices, first);
    wide.round();
}

template <class Base>
void WithBfloat16Parts<Base>::embedding_part_backward(const Tensor& dtable, const Tensor& dy,
                                                      const Tensor& indices, int64_t first,
                                                      bool accumulate) const {
    if (!is_bfloat16({dtable, dy}))
        return Base::embedding_part_backward(dtable, dy, indices, first, accumulate);
    Wide wide(*this, *device_);
    Base::embedding_part_backward(wide.grad(dtable, accumulate), wide.in(dy), indices, first, false);
    wide.round();
}

template <class Base>
void WithBfloat16Parts<Base>::row_max(const Tensor& largest, const Tensor& logits) const {
    if (!is_bfloat16({logits})) return Base::row_max(largest, logits);
    Wide wide(*this, *device_);
    Base::row_max(largest, wide.in(logits));
}

template <class Base>
void WithBfloat16Parts<Base>::row_sum_exp(const Tensor& sums, const Tensor& logits,
                                          const Tensor& largest) const {
    if (!is_bfloat16({logits})) return Base::row_sum_exp(sums, logits, largest);
    Wide wide(*this, *device_);
    Base::row_sum_exp(sums, wide.in(logits), largest);
}

template <class Base>
void WithBfloat16Parts<Base>::pick_targets(const Tensor& picked, const Tensor& logits, const Tensor& targets,
                                           int64_t first) const {
    if (!is_bfloat16({logits})) return Base::pick_targets(picked, logits, targets, first);
    Wide wide(*this, *device_);
    Base::pick_targets(picked, wide.in(logits), targets, first);
}

template <class Base>
void WithBfloat16Parts<Base>::cross_entropy_of_parts(const Tensor& loss, const Tensor& lse,
                                                     const Tensor& largest, const Tensor& sums,
                                                     const Tensor& picked) const {
    if (!is_bfloat16({loss})) return Base::cross_entropy_of_parts(loss, lse, largest, sums, picked);
    Wide wide(*this, *device_);
    Base::cross_entropy_of_parts(wide.out(loss), lse, largest, sums, picked);
    wide.round();
}

template <class Base>
void WithBfloat16Parts<Base>::cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss,
                                                          const Tensor& logits, const Tensor& lse,
                                                          const Tensor& targets, int64_t first) const {
    if (!is_bfloat16({dlogits, dloss, logits}))
        return Base::cross_entropy_part_backward(dlogits, dloss, logits, lse, targets, first);
    Wide wide(*this, *device_);
    Base::cross_entropy_part_backward(wide.out(dlogits), wide.in(dloss), wide.in(logits), lse, targets,
                                      first);
    wide.round();
}

template class WithBfloat16Parts<CpuKernels>;
template class WithBfloat16Parts<ReferenceKernels>;

}  // namespace meshscope::tensor
