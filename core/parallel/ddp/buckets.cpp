#include "core/parallel/ddp/buckets.h"

#include <utility>

namespace meshscope::parallel {

BucketCaps BucketCaps::of(std::optional<double> bucket_cap_mb) {
    if (!bucket_cap_mb) return {};
    const auto cap = static_cast<int64_t>(*bucket_cap_mb * double(int64_t{1} << 20));
    return {cap, cap};
}

std::vector<std::vector<int32_t>> assign_buckets(std::span<const int64_t> bytes, BucketCaps caps,
                                                 int32_t alone) {
    std::vector<std::vector<int32_t>> buckets;
    std::vector<int32_t> open;
    int64_t filled = 0;
    const auto close = [&] {
        if (!open.empty()) buckets.push_back(std::move(open));
        open = {};
        filled = 0;
    };
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto position = static_cast<int32_t>(i);
        if (position == alone) close();
        open.push_back(position);
        filled += bytes[i];
        if (position == alone || filled >= (buckets.empty() ? caps.first : caps.rest)) close();
    }
    close();
    return buckets;
}

}  // namespace meshscope::parallel
