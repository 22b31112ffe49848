#include "core/estimate/remedies.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/estimate/plan.h"

namespace meshscope::estimate {
namespace {

constexpr int64_t kMostTimesTheGpus = 16, kMostOfTheSequence = 32, kLoraRank = 16;

Question with(Question question, const Remedy& remedy) {
    if (remedy.gpus) question.gpus = *remedy.gpus;
    if (remedy.global_batch) question.global_batch = *remedy.global_batch;
    if (remedy.seq) question.shape.seq = *remedy.seq;
    if (remedy.lora_rank) question.lora_rank = *remedy.lora_rank;
    if (remedy.base_bits) question.base_bits = *remedy.base_bits;
    return question;
}

}  // namespace

std::vector<Remedy> remedies(const Question& question, const std::function<bool(int64_t tried)>& go_on) {
    std::vector<Remedy> found;
    const auto helps = [&](const Remedy& remedy) {
        if (go_on && !go_on(0)) return false;
        try {
            if (plan(with(question, remedy), go_on).fitting.empty()) return false;
        } catch (const InvalidArgument&) {  // nothing can be laid out so
            return false;
        }
        found.push_back(remedy);
        return true;
    };
    for (int64_t times = 2; times <= kMostTimesTheGpus && question.gpus * times <= kMostGpus; times *= 2) {
        Remedy more{.gpus = question.gpus * times};
        if (question.global_batch < *more.gpus) more.global_batch = more.gpus;
        if (helps(more)) break;
    }
    const auto shorter = [&](Remedy remedy) {
        for (int64_t part = 2; part <= kMostOfTheSequence && question.shape.seq / part > 0; part *= 2) {
            remedy.seq = question.shape.seq / part;
            if (helps(remedy)) break;
        }
    };
    shorter({});
    std::vector<Remedy> smaller;  // what is trained, and what the frozen weights take
    if (question.lora_rank == 0) smaller.push_back({.lora_rank = kLoraRank});
    if (question.base_bits != 4) {
        Remedy& four = smaller.emplace_back(Remedy{.base_bits = 4});
        if (question.lora_rank == 0) four.lora_rank = kLoraRank;
    }
    for (const Remedy& each : smaller) helps(each);
    if (found.empty())
        for (const Remedy& each : smaller) shorter(each);
    return found;
}

}  // namespace meshscope::estimate
