#pragma once

#include <cstdint>
#include <span>

#include "core/nn/module.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// Cuts a parameter that has no values yet along `tensor_dim` over `ranks` ranks and keeps part `rank`, by
/// torch.chunk's rule as DTensor's Shard(tensor_dim) does: ⌈n / ranks⌉ a rank, the last ranks fewer or none.
/// Afterwards `shape` is the part's and `box` says where it lies, so FSDP cuts the part again along dim 0:
/// DTensor's (_StridedShard(dim=0), Shard(0)) where both cut the rows. Throws InvalidArgument
/// ("tp.cut_twice", "tp.no_such_dim").
///
/// With `copies`, which divides the ranks, as many neighbours keep the same of ranks / copies parts.
void cut_parameter(nn::Parameter& parameter, int32_t tensor_dim, int64_t ranks, int64_t rank,
                   int64_t copies = 1);

/// How many tp ranks share each key/value head: 1, or ranks / kv_heads where there are more ranks than heads,
/// which must divide them: Megatron's rule (its num_query_groups below tensor_model_parallel_size).
inline int64_t kv_copies(int64_t kv_heads, int64_t ranks) {
    return kv_heads > 0 && ranks > kv_heads && ranks % kv_heads == 0 ? ranks / kv_heads : 1;
}

/// The shape of the uncut parameter.
const nn::Shape& whole_shape(const nn::Parameter& parameter);

/// Reads a part's elements [first, first + numbers.size()), row-major in the part, out of the whole.
/// One read of `whole` a contiguous run of the whole array.
void read_part(const InitialValues& whole, const nn::Parameter& parameter, int64_t first,
               std::span<float> numbers);

/// Writes a part's elements [first, first + numbers.size()) where they lie in the whole array.
void write_part(std::span<float> whole, const nn::Parameter& parameter, int64_t first,
                std::span<const float> numbers);

/// The values of a model some of whose parameters were cut: to a strategy the parts look whole.
class PartValues final : public InitialValues {
  public:
    /// `whole` outlives it.
    explicit PartValues(const InitialValues& whole) : whole_(whole) {}
    void read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const override {
        read_part(whole_, parameter, first, numbers);
    }

  private:
    const InitialValues& whole_;
};

}  // namespace meshscope::parallel
