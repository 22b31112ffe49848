#include "core/parallel/zero/zero_redundancy.h"

#include <algorithm>
#include <numeric>

#include "core/parallel/gradient_norm.h"
#include "core/parallel/record_ownership.h"

namespace meshscope::parallel {

std::vector<std::vector<std::size_t>> partition_by_size(std::span<const int64_t> elements, int64_t ranks) {
    std::vector<std::size_t> order(elements.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return elements[a] > elements[b]; });
    std::vector<std::vector<std::size_t>> parts(static_cast<std::size_t>(ranks));
    std::vector<int64_t> held(parts.size(), 0);
    for (const std::size_t i : order) {
        const auto least = static_cast<std::size_t>(std::ranges::min_element(held) - held.begin());
        parts[least].push_back(i);
        held[least] += elements[i];
    }
    return parts;
}

ZeroRedundancy::ZeroRedundancy(const RankContext& context, nn::Model& model, DdpOptions ddp)
    : context_(context), group_(*context.groups.at(0)), model_(model), ddp_(context, model, std::move(ddp)) {
    std::vector<int64_t> elements;
    std::vector<std::size_t> trained;
    for (const auto& parameter : model.all_parameters()) {
        if (parameter->frozen) continue;
        trained.push_back(static_cast<std::size_t>(parameter->index));
        elements.push_back(tensor::count(parameter->shape));
    }
    parts_ = partition_by_size(elements, group_.size());
    for (std::vector<std::size_t>& part : parts_)
        for (std::size_t& i : part) i = trained[i];
}

void ZeroRedundancy::load(const InitialValues& values) {
    ddp_.load_values(values);
    const auto& mine = parts_[static_cast<std::size_t>(group_.rank().value)];
    record_whole(context_, model_, [&](std::size_t i) { return std::ranges::find(mine, i) != mine.end(); });
    for (const std::size_t i : mine) {
        local_.push_back(ddp_.local_parameters()[i]);
        local_.back().owned = true;
    }
    if (group_.rank() != GroupRank{0}) return;
    for (const LocalParameter& each : ddp_.local_parameters())
        if (each.parameter->frozen) local_.push_back(each);  // nobody updates it: the first rank answers
}

std::vector<Tensor> ZeroRedundancy::gradients() const {
    const std::vector<Tensor> all = ddp_.gradients();
    std::vector<Tensor> mine;
    for (const std::size_t i : parts_[static_cast<std::size_t>(group_.rank().value)]) mine.push_back(all[i]);
    mine.resize(local_.size());  // frozen ones have none
    return mine;
}

double ZeroRedundancy::gradient_norm() {
    if (!context_.along(mesh::Role::tp)) return ddp_.gradient_norm();
    return sharded_gradient_norm(gradients(), local_, &group_, "zero.grad_norm.all_reduce", context_);
}

void ZeroRedundancy::after_step() {
    if (context_.recorder)
        context_.recorder->depend(Stream::all_reduce, context_.recorder->last_event(Stream::compute));
    std::vector<comm::Work> broadcasts;
    for (std::size_t owner = 0; owner < parts_.size(); ++owner)
        for (const std::size_t i : parts_[owner]) {
            const nn::Parameter& parameter = *model_.all_parameters()[i];
            broadcasts.push_back(group_.broadcast(
                parameter.value, GroupRank{static_cast<int32_t>(owner)},
                {.stream = Stream::all_reduce, .cause = {"zero.broadcast.parameter", parameter.name}}));
        }
    for (comm::Work& broadcast : broadcasts) broadcast.wait();
    ddp_.after_step();
}

}  // namespace meshscope::parallel
