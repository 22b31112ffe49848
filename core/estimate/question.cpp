#include "core/estimate/question.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace meshscope::estimate {
namespace {

constexpr SizeKey kSizeKeys[] = {{"tp", &Sizes::tp, 1, kMostGpus}, {"cp", &Sizes::cp, 1, kMostGpus},
                                 {"pp", &Sizes::pp, 1, kMostGpus}, {"stages", &Sizes::stages, 1, kMostGpus},
                                 {"zero", &Sizes::zero, 0, 3},     {"micro", &Sizes::micro, 1, kMostBatch}};

}  // namespace

std::span<const SizeKey> size_keys() {
    return kSizeKeys;
}

bool Sizes::any() const {
    return recompute || std::ranges::any_of(
                            kSizeKeys, [&](const SizeKey& each) { return (this->*each.size).has_value(); });
}

Question settled(Question question, const Stated& stated) {
    if (auto why = why_no_base_bits(question.base_bits, question.lora_rank))
        throw InvalidArgument(std::move(*why));
    for (const SizeKey& each : kSizeKeys)
        if (const auto size = question.only.*each.size; size && (*size < each.least || *size > each.most))
            throw InvalidArgument({"estimate.size",
                                   {{"name", std::string(each.name)},
                                    {"value", *size},
                                    {"least", each.least},
                                    {"most", each.most}}});
    const int64_t most = question.shape.seq, seq = stated.seq.value_or(most);
    if (question.shape.learned_positions && seq > most)
        throw InvalidArgument({"estimate.positions", {{"seq", seq}, {"most", most}}});
    question.shape.seq = seq;
    question.global_batch = stated.global_batch.value_or(question.gpus);
    question.memory_bytes = stated.memory_bytes.value_or(static_cast<double>(question.profile.memory_bytes));
    if (question.memory_bytes <= 0)
        throw InvalidArgument({"estimate.no_memory", {{"gpu", question.profile.name}}});
    return question;
}

}  // namespace meshscope::estimate
