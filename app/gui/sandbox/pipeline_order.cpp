#include "app/gui/sandbox/pipeline_order.h"

#include <algorithm>
#include <utility>

#include "app/gui/sandbox/toml_text.h"
#include "core/base/toml_text.h"
#include "core/parallel/pipeline/own_order.h"

namespace meshscope::sandbox {
namespace {

namespace pipeline = parallel::pipeline;

/// Without idle slots, pairs one after the other, as a rank works through them.
ActionRows rows_of(const pipeline::Schedule& schedule) {
    ActionRows rows;
    for (const auto& row : pipeline::pairs_apart(schedule).order) {
        rows.emplace_back();
        for (const pipeline::Slot& slot : row)
            if (slot) rows.back().push_back(pipeline::to_text(*slot));
    }
    return rows;
}

std::vector<pipeline::Slot> slots_of(const std::vector<std::string>& row) {
    std::vector<pipeline::Slot> slots;
    for (const std::string& action : row) slots.push_back(pipeline::parse_action(action));
    return slots;
}

pipeline::Order order_of(const ActionRows& rows) {
    pipeline::Order order;
    for (const std::vector<std::string>& row : rows) order.push_back(slots_of(row));
    return order;
}

}  // namespace

std::vector<RowAction> parts_of_row(const std::vector<std::string>& row) {
    std::vector<RowAction> parts;
    for (const pipeline::Slot& slot : slots_of(row)) {
        RowAction& part = parts.emplace_back();
        if (slot) part = {slot->stage, slot->microbatch, pipeline::word(slot->kind).front()};
    }
    return parts;
}

ActionRows moved(ActionRows rows, std::size_t row, std::size_t from, std::size_t before) {
    const auto begin = rows[row].begin();
    const auto at = begin + static_cast<std::ptrdiff_t>(from),
               to = begin + static_cast<std::ptrdiff_t>(before);
    if (to > at)
        std::rotate(at, at + 1, to);
    else
        std::rotate(to, at, at + 1);
    return rows;
}

std::shared_ptr<const PipelineOrder> PipelineOrder::of(const scenario::Scenario& scenario) {
    const pipeline::PipelineOptions& options = scenario.parallel.pipeline;
    if (!options.shape) return nullptr;
    std::shared_ptr<PipelineOrder> made(new PipelineOrder);
    made->shape_ = *options.shape;
    made->rows_ = rows_of(pipeline::schedule_of(options));
    for (const auto& row : made->rows_) made->parts_.push_back(parts_of_row(row));
    made->own_ = !options.order.empty() && made->rows_ != made->usual();
    return made;
}

ActionRows PipelineOrder::usual() const {
    return rows_of(pipeline::make_schedule(shape_));
}

OrderRefusal PipelineOrder::refusal(const ActionRows& rows) const {
    const pipeline::Order order = order_of(rows);
    std::vector<pipeline::Fault> faults = pipeline::faults_of_order(shape_, order);
    if (faults.empty()) return {};
    OrderRefusal found{std::move(faults.front().message), std::move(faults.front().hint), {}};
    if (found.message.id != "pipeline.deadlock") return found;
    for (const pipeline::Stuck& stuck : pipeline::circle_of(shape_, order))
        found.circle.push_back({static_cast<std::size_t>(stuck.rank), stuck.action,
                                static_cast<std::size_t>(stuck.other), stuck.waits_for});
    return found;
}

std::vector<Change> PipelineOrder::changes_to(const ActionRows& rows) const {
    std::string text;
    if (rows != usual()) {
        for (const auto& row : order_of(rows))
            text += (text.empty() ? "[" : ", ") + toml_string(pipeline::row_text(row));
        text += "]";
    }
    return {{joined("parallel", "schedule_order"), text}};
}

}  // namespace meshscope::sandbox
