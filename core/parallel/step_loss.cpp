#include "core/parallel/step_loss.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/parallel/model_declaration.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

int64_t count_targets(const Tensor& targets) {
    const tensor::HostNumbers<int64_t> numbers(targets);
    return static_cast<int64_t>(numbers.size()) - std::ranges::count(numbers.get(), tensor::kIgnoredTarget);
}

StepLoss::StepLoss(const RankContext& context, Options options, int32_t microbatches)
    : context_(context), options_(std::move(options)), microbatches_(microbatches) {}

void StepLoss::begin(const Tensor& targets) {
    if (!by_tokens()) return;
    if (context_.recorder) {
        context_.recorder->set_phase(Phase::forward);
        context_.recorder->set_microbatch(0);
    }
    const Tensor counted =
        context_.allocator->empty({1}, DType::int64, MemoryCategory::temporaries, "tokens that count");
    const int64_t own = count_targets(targets);
    tensor::fill_numbers<int64_t>(counted, [own](std::span<int64_t> number) { number[0] = own; });
    double ranks = 1;
    for (comm::ProcessGroup* const group : options_.averaged) {
        ranks *= group->size();
        group->all_reduce(counted, ReduceOp::sum,
                          {.cause = {"loss.count_tokens", "loss"}, .async_op = false});
    }
    divisor_ = static_cast<double>(tensor::HostNumbers<int64_t>(counted)[0]) / ranks;
}

void StepLoss::prepare(nn::Model& model, const Tensor& targets) const {
    if (!options_.some_ignored) return;
    model.loss_form = {by_tokens() ? divisor_ : static_cast<double>(count_targets(targets)), by_tokens()};
}

float StepLoss::seed() const {
    return by_tokens() ? 1.0F : 1.0F / static_cast<float>(microbatches_);
}

double StepLoss::of_step(double sum) const {
    return by_tokens() ? sum : sum / microbatches_;
}

namespace {

constexpr std::array<std::string_view, 2> kMeans{"tokens", "microbatches"};  ///< LossMean's

constexpr StrategyKey kLossKeys[] = {
    {.name = "loss_mean",
     .fallback = "\"tokens\"",
     .value =
         StrategyKey::Word{kMeans, [](StrategyOptions& o,
                                      std::size_t place) { o.loss_mean = static_cast<LossMean>(place); }},
     .of_tokens = true},
};

}  // namespace

extern const ModelDeclaration kStepLoss;
const ModelDeclaration kStepLoss{
    .role = {},
    .keys = kLossKeys,
    .settle = [](StrategyOptions&, const StrategyUse&) { return std::vector<Refusal>(); },
    .table = "train"};

}  // namespace meshscope::parallel
