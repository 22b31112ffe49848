#include "tests/parallel/property/draw.h"

#include <algorithm>

#include "core/base/random.h"
#include "tests/parallel/property/layout.h"

namespace meshscope::test {

using parallel::pipeline::ScheduleKind;

int64_t Dice::below(int64_t n) {
    constexpr uint64_t kStream = 0x64696365;  // "dice"
    return static_cast<int64_t>(uniform_below(static_cast<uint64_t>(n), seed_, kStream, thrown_++));
}

void Keys::set(const std::string& key, std::string value) {
    const auto found = std::ranges::find(keys_, key, &std::pair<std::string, std::string>::first);
    if (found == keys_.end())
        keys_.emplace_back(key, std::move(value));
    else
        found->second = std::move(value);
}

void Keys::drop(const std::string& key) {
    std::erase_if(keys_, [&](const auto& entry) { return entry.first == key; });
}

std::string Keys::get(const std::string& key) const {
    const auto found = std::ranges::find(keys_, key, &std::pair<std::string, std::string>::first);
    return found == keys_.end() ? "" : found->second;
}

std::string Keys::to_toml(const std::string& table) const {
    std::string text = "[" + table + "]\n";
    for (const auto& [key, value] : keys_) text.append(key).append(" = ").append(value).append("\n");
    return text;
}

int64_t Case::ranks() const {
    int64_t ranks = 1;
    for (const int64_t n : shape) ranks *= n;
    return ranks;
}

std::string Case::to_toml() const {
    std::string sizes, words;
    for (const int64_t n : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(n);
    for (const std::string& name : names) words += (words.empty() ? "\"" : ", \"") + name + "\"";
    const std::string world = idle != 0 ? "world = " + std::to_string(ranks() + idle) + "\n" : "";
    return "format = 1\n" + model.to_toml("model") + data.to_toml("data") + train.to_toml("train") +
           optimizer.to_toml("optimizer") + "[mesh]\nshape = [" + sizes + "]\nnames = [" + words + "]\n" +
           world + parallel.to_toml("parallel");
}

std::string Case::alone() const {
    Keys train_alone = train;
    train_alone.drop("accumulate");
    train_alone.drop("micro_batch");
    train_alone.drop("recompute");
    return "format = 1\n" + model.to_toml("model") + data.to_toml("data") + train_alone.to_toml("train") +
           optimizer.to_toml("optimizer");
}

namespace {

void draw_tokens(Dice& dice, const Layout& layout, Keys& model) {
    const int64_t tp = std::max<int64_t>(layout.tp, 1), cp = std::max<int64_t>(layout.cp, 1);
    const bool llama = model.get("kind") == "\"llama\"";
    // Every tp rank needs a head of its own, and Ulysses deals each one's out among the cp ranks.
    const int64_t dealt = layout.cp_method == "ulysses" ? tp * cp : tp;
    const int64_t heads = dealt * dice.between(1, dealt > 2 ? 1 : 2);
    // A norm over fewer elements divides by a spread that is near zero, and what it multiplies by so much is
    // the rounding errors.
    const int64_t head_dim = ((7 + heads) / heads + 1) / 2 * 2 + 2 * dice.below(2);
    model.set("dim", heads * head_dim);
    model.set("hidden", dice.between(4, 12));
    model.set("heads", heads);
    if (llama && dice.chance(60)) model.set("kv_heads", dice.one_of<int64_t>({dealt, heads}));
    // Fewer than the tp ranks: neighbours share each.
    if (llama && dealt == tp && dice.chance(20)) model.set("kv_heads", dice.one_of<int64_t>({1, tp}));
    model.set("vocab", dice.between(5, 13));
    // What a cp rank holds is cut in two by the balance; what sequence parallelism cuts need not be even.
    const int64_t unit = cp * (layout.cp > 0 && layout.cp_balance ? 2 : 1);
    model.set("seq", unit * dice.between(2 / unit + 1, std::max<int64_t>(8 / unit, 2 / unit + 1)));
    if (layout.stages() == 1 && dice.chance(40)) model.set("tied", "true");
}

/// What real models have beside the sizes.
void draw_shape(Dice& dice, const Layout& layout, Keys& model) {
    const auto often = [&](const char* key, const std::string& value) {
        if (dice.chance(35)) model.set(key, value);
    };
    const bool llama = model.get("kind") == "\"llama\"";
    often("window", std::to_string(dice.between(1, 5)));
    if (!model.get("window").empty() && dice.chance(40)) model.set("full_attention", "[0]");
    often("attention_scale", "0.4");
    often("norm_eps", "1e-3");
    if (!llama) {
        often("bias", "true");
        return often("activation", dice.one_of<std::string>({"\"gelu\"", "\"relu\""}));
    }
    for (const char* key : {"qkv_bias", "out_bias", "mlp_bias", "zero_centered_norm", "scaled_embedding"})
        often(key, "true");
    often("activation", dice.one_of<std::string>({"\"gelu\"", "\"gelu_tanh\""}));
    often("norm_place", dice.one_of<std::string>({"\"after\"", "\"both\""}));
    often("rope_pairs", "\"halves\"");
    often("rope_scaling", "{ kind = \"linear\", factor = 3.0 }");
    // A norm over few elements multiplies rounding errors.
    often("head_dim", "8");
    if (!model.get("head_dim").empty())
        often("qk_norm", layout.tp > 1 || dice.chance(60) ? "\"head\"" : "\"width\"");
}

void draw_model(Dice& dice, const Layout& layout, Keys& model) {
    const bool toy = !layout.tokens && layout.stages() <= 2 && dice.chance(30);
    const bool llama = (layout.cp > 0 && layout.sequence) || dice.chance(50);
    model.set_word("kind", layout.tokens ? (llama ? "llama" : "gpt") : toy ? "toy" : "mlp");
    if (layout.tokens) draw_tokens(dice, layout, model);
    if (!layout.tokens && !toy) {
        model.set("dim", dice.between(4, 9));
        model.set("hidden", dice.between(3, 12));
        if (dice.chance(30)) model.set("bias", "false");
    }
    if (!toy) model.set("layers", layout.stages() + dice.below(3));
    if (layout.tokens && dice.chance(50)) draw_shape(dice, layout, model);
    model.set("seed", dice.below(1000));
}

void draw_optimizer(Dice& dice, Keys& optimizer) {
    const auto kind = dice.one_of<std::string>({"sgd", "adam", "adamw"});
    optimizer.set_word("kind", kind);
    if (kind == "sgd") {
        optimizer.set("lr", "0.05");
        if (dice.chance(50)) optimizer.set("momentum", "0.9");
    } else {
        // A step is lr·m/(√v + eps): with this eps a rounding error of a gradient near zero is multiplied by
        // no more than lr/eps = 100, and stays below the tolerance of the weights.
        optimizer.set("lr", "0.001");
        optimizer.set("eps", "1e-5");
    }
    if (dice.chance(30)) optimizer.set("weight_decay", "0.1");
}

bool splits_backward(ScheduleKind kind) {
    return kind == ScheduleKind::interleaved_zero_bubble || kind == ScheduleKind::zbv_zero_bubble ||
           kind == ScheduleKind::dual_pipe_v;
}

void draw_train(Dice& dice, const Layout& layout, bool can_recompute, Keys& train) {
    const int64_t parts = layout.pp > 0 ? layout.schedule.microbatches : dice.one_of<int64_t>({1, 1, 2, 3});
    const int64_t rows = parts * layout.data_ranks() > 16 ? 1 : dice.between(1, 3);
    train.set("steps", 3);
    train.set("global_batch", rows * parts * layout.data_ranks());
    if (layout.pp == 0 && parts > 1) train.set("accumulate", parts);
    if (dice.chance(20)) train.set("micro_batch", rows);
    if (can_recompute && dice.chance(25))
        train.set_word("recompute", dice.one_of<std::string>({"full", "selective"}));
    if (dice.chance(50)) train.set("clip_norm", dice.one_of<std::string>({"0.05", "0.5", "100.0"}));
}

/// Whatever number of ranks a DistributedSampler deals to, a global batch is the same samples.
void draw_data(Dice& dice, const Layout& layout, const Keys& train, Keys& data) {
    data.set("seed", dice.below(1000));
    if (layout.data == "dp" || dice.chance(70)) return;
    data.set_word("sampler", "distributed");
    data.set("samples", train.number("global_batch") * dice.between(1, 4));
    if (dice.chance(60)) data.set("shuffle", "true");
    if (dice.chance(30)) data.set("drop_last", "true");
}

}  // namespace

Case draw_case(uint64_t seed) {
    Dice dice(seed);
    const Layout layout = draw_layout(dice);
    Case drawn;
    draw_model(dice, layout, drawn.model);
    draw_optimizer(dice, drawn.optimizer);
    draw_mesh(dice, layout, drawn);
    draw_parallel(dice, layout, drawn);
    // Units inside a layer, and backwards in two halves, do not go together with running a layer again.
    const bool can_recompute =
        drawn.parallel.get("wrap").empty() && (layout.pp == 0 || !splits_backward(layout.schedule.kind));
    draw_train(dice, layout, can_recompute, drawn.train);
    draw_data(dice, layout, drawn.train, drawn.data);
    if (dice.chance(10)) drawn.idle = dice.between(1, 2);
    draw_trained(dice, layout, drawn);
    return drawn;
}

}  // namespace meshscope::test
