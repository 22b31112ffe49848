// What of a drawn case is trained, in which numbers, and in which order its pipeline works.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/parallel/pipeline/own_order.h"
#include "tests/parallel/property/layout.h"

namespace meshscope::test {
namespace {

using parallel::pipeline::Action;
using parallel::pipeline::ActionKind;
using parallel::pipeline::Slot;

bool is_kind(const Keys& model, const char* kind) {
    return model.get("kind") == "\"" + std::string(kind) + "\"";
}

/// The linear layers of a layer, by their names in it.
std::vector<std::string> linears(const Keys& model) {
    if (is_kind(model, "toy")) return {"net1", "net2"};
    if (is_kind(model, "mlp")) return {"up", "down"};
    std::vector<std::string> names{"attn.wq", "attn.wk", "attn.wv", "attn.wo", "mlp.up", "mlp.down"};
    if (is_kind(model, "llama")) names.push_back("mlp.gate");
    return names;
}

/// What can be frozen without leaving a stage nothing to train.
std::string draw_frozen(Dice& dice, const Keys& model) {
    if (is_kind(model, "toy")) return dice.one_of<std::string>({"\"net1.bias\"", "\"net2.bias\""});
    const bool tokens = !model.get("heads").empty();
    const std::string layers = tokens ? "\"blocks." : "\"layers.";
    const std::string last = std::to_string(model.number("layers") - 1);
    const auto linear = "." + dice.one_of(linears(model)) + "\"";
    std::vector<std::string> choices{
        layers + "0" + linear, layers + "0" + linear + ", " + layers + last + linear, layers + last + linear};
    if (tokens) {
        choices.insert(choices.end(),
                       {"\"ln_f\"", "\"tok\"", "\"tok\", " + layers + "0" + linear, layers + "0.attn\"",
                        layers + "0.attn\", " + layers + last + ".mlp.up.weight\""});
        if (model.get("tied").empty()) choices.push_back("\"head\"");
    }
    return dice.one_of(choices);
}

void draw_lora(Dice& dice, Keys& model, bool staged) {
    model.set("lora_rank", dice.between(1, 3));
    if (dice.chance(50)) model.set("lora_alpha", dice.one_of<std::string>({"2.0", "16", "0.5"}));
    // A stage of a toy has one of its two layers alone.
    if (dice.chance(40) || (staged && is_kind(model, "toy"))) return;
    std::string targets;
    for (const std::string& name : linears(model))
        if (dice.chance(40))
            targets += (targets.empty() ? "\"" : ", \"") + name.substr(name.find('.') + 1) + "\"";
    if (!targets.empty()) model.set("lora_targets", "[" + targets + "]");
}

/// Whether everything is done that an action waits for.
bool is_ready(const Action& action, int32_t last_stage, const std::set<std::string>& done) {
    const auto is_done = [&](ActionKind kind, int32_t stage) {
        return done.contains(to_text(Action{kind, stage, action.microbatch, {}}));
    };
    if (action.kind == ActionKind::forward)
        return action.stage == 0 || is_done(ActionKind::forward, action.stage - 1);
    if (action.kind == ActionKind::weight_grad) return is_done(ActionKind::input_grad, action.stage);
    return is_done(ActionKind::forward, action.stage) &&
           (action.stage == last_stage || is_done(ActionKind::backward, action.stage + 1) ||
            is_done(ActionKind::input_grad, action.stage + 1));
}

/// The schedule's actions in another order that the ranks can work through: one that is ready, of any rank,
/// after the other.
std::string draw_order(Dice& dice, const parallel::pipeline::ScheduleShape& shape) {
    std::vector<std::vector<Slot>> left = parallel::pipeline::make_schedule(shape).order;
    std::vector<std::vector<Slot>> order(left.size());
    for (auto& row : left) {
        std::vector<Slot> actions;  // those that run at once stand one after the other
        for (const Slot& slot : row)
            if (slot && !slot->parts.empty())
                for (const Action& part : slot->parts) actions.emplace_back(part);
            else if (slot)
                actions.push_back(slot);
        row = std::move(actions);
    }
    std::set<std::string> done;
    for (;;) {
        std::vector<std::pair<std::size_t, std::size_t>> ready;
        for (std::size_t r = 0; r < left.size(); ++r)
            for (std::size_t i = 0; i < left[r].size(); ++i)
                if (is_ready(*left[r][i], shape.stages() - 1, done)) ready.emplace_back(r, i);
        if (ready.empty()) break;
        const auto [rank, at] = dice.one_of(ready);
        done.insert(to_text(*left[rank][at]));
        order[rank].push_back(left[rank][at]);
        left[rank].erase(left[rank].begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::string rows;
    for (const auto& row : order)
        rows += (rows.empty() ? "\"" : ", \"") + parallel::pipeline::row_text(row) + "\"";
    return "[" + rows + "]";
}

}  // namespace

void draw_trained(Dice& dice, const Layout& layout, Case& drawn) {
    const bool staged = layout.pp > 0;
    // FSDP1 keeps a unit as one array, of which parts may be frozen only where the parts are seen.
    const bool parts = drawn.parallel.get("use_orig_params") != "false";
    if (layout.data != "dp" && parts) {
        if (dice.chance(15)) drawn.train.set("frozen", "[" + draw_frozen(dice, drawn.model) + "]");
        if (dice.chance(12)) draw_lora(dice, drawn.model, staged);
    }
    const bool keeps_bfloat16 = layout.data == "none" || layout.data == "ddp" || layout.data == "fsdp2";
    if (keeps_bfloat16 && dice.chance(8)) drawn.train.set_word("dtype", "bfloat16");
    if (staged && dice.chance(30)) drawn.parallel.set("schedule_order", draw_order(dice, layout.schedule));
}

void change_trained(Dice& dice, Case& c) {
    const auto word = [&](const std::vector<std::string>& words) { return dice.one_of(words); };
    switch (dice.below(5)) {
        case 0:
            return c.train.set(
                "frozen", "[" +
                              word({"\"tok\"", "\"blocks.0\"", "\"blocks.0-1\"", "\"layers.0\"",
                                    "\"layers.0-9\"", "\"head\"", "\"net1\"", "\"blocks.1.attn.wq.weight\"",
                                    "\"layers.1.up\", \"layers.0\""}) +
                              "]");
        case 1:
            c.model.set("lora_rank", dice.between(0, 4));
            if (dice.chance(40))
                c.model.set("lora_targets",
                            "[" + word({"\"wq\", \"wv\"", "\"up\"", "\"net2\"", "\"gate\""}) + "]");
            return;
        case 2:
            return c.train.set_word("dtype", word({"bfloat16", "float32"}));
        case 3:
            return c.parallel.set("schedule_order",
                                  word({"[\"0F0, 0B0\"]", "[\"0F0, 0B0\", \"1F0, 1B0\"]",
                                        "[\"0F0, 0F1, 0B1, 0B0\", \"1F0, 1F1, 1B1, 1B0\"]"}));
        default:
            // Another schedule or number of micro-batches beside the drawn order.
            if (!c.parallel.get("schedule_order").empty())
                c.parallel.set_word("schedule", word({"GPipe", "1F1B", "InterleavedZeroBubble"}));
            else
                c.model.set("lora_alpha", "4.0");
    }
}

}  // namespace meshscope::test
