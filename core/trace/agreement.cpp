#include "core/trace/agreement.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace meshscope::trace {
namespace {

void compare_one(double a, double b, bool same_bits, Agreement& to) {
    ++to.compared;
    if (same_bits) {
        ++to.equal_bits;
        ++to.within;
        return;
    }
    const double off = std::abs(a - b);
    if (std::isnan(off)) {
        to.largest = std::numeric_limits<double>::infinity();
        return;
    }
    to.largest = std::max(to.largest, off);
    if (off <= kAgreeWithin * std::max({1.0, std::abs(a), std::abs(b)})) ++to.within;
}

void add(const Agreement& one, Agreement& to) {
    to.compared += one.compared;
    to.equal_bits += one.equal_bits;
    to.within += one.within;
    to.largest = std::max(to.largest, one.largest);
}

}  // namespace

Agreement compare_losses(const RunInfo& a, const RunInfo& b) {
    Agreement found;
    const std::size_t steps = std::min(a.losses.size(), b.losses.size());
    for (std::size_t s = 0; s < steps; ++s)
        compare_one(a.losses[s], b.losses[s],
                    std::bit_cast<uint64_t>(a.losses[s]) == std::bit_cast<uint64_t>(b.losses[s]), found);
    return found;
}

WeightAgreement compare_weights(const RunInfo& a, const RunInfo& b) {
    WeightAgreement found;
    if (a.parameters.empty() || b.parameters.empty()) return found;
    std::map<std::string, const FinalParameter*> others;
    for (const FinalParameter& p : b.parameters) others[p.name] = &p;
    const auto differ = [&](const std::string& name) {
        found = {};
        found.state = WeightAgreement::State::other_models;
        found.culprit = name;
        return found;
    };
    for (const FinalParameter& p : a.parameters) {
        const auto other = others.find(p.name);
        if (other == others.end() || other->second->shape != p.shape) return differ(p.name);
        const std::vector<float>& theirs = other->second->numbers;
        WeightAgreement::One one{p.name, static_cast<int64_t>(found.same.size()), {}};
        for (std::size_t i = 0; i < p.numbers.size(); ++i) {
            const bool same = std::bit_cast<uint32_t>(p.numbers[i]) == std::bit_cast<uint32_t>(theirs[i]);
            compare_one(static_cast<double>(p.numbers[i]), static_cast<double>(theirs[i]), same, one.numbers);
            found.same.push_back(same ? 1 : 0);
        }
        add(one.numbers, found.all);
        found.parameters.push_back(std::move(one));
        others.erase(other);
    }
    if (!others.empty()) return differ(others.begin()->first);
    found.state =
        a.steps == b.steps ? WeightAgreement::State::compared : WeightAgreement::State::other_lengths;
    return found;
}

}  // namespace meshscope::trace
