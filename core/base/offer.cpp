#include "core/base/offer.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace meshscope {

std::vector<Offer> offers_around(const std::string& key, int64_t now, int64_t step, int64_t most,
                                 const std::function<bool(int64_t)>& good) {
    constexpr int64_t kLooked = 1 << 16;
    std::vector<Offer> offers;
    const auto look = [&](int64_t first, int64_t by) {
        Offer offer;
        int64_t looked = 0;
        for (int64_t n = first;
             n >= 1 && n <= most && looked < kLooked && offer.candidates.size() < kMostCandidates;
             n += by, ++looked)
            if (n != now && (!good || good(n))) offer.candidates.push_back({{key, n}});
        if (!offer.candidates.empty()) offers.push_back(std::move(offer));
    };
    const int64_t below = std::min(now, most) / step * step;
    look(below, -step);
    look(below + step, step);
    return offers;
}

std::vector<Offer> joined_offers(std::vector<Offer> first, std::vector<Offer> second) {
    std::ranges::move(second, std::back_inserter(first));
    return first;
}

}  // namespace meshscope
