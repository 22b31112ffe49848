#include "tests/parallel/property/draw.h"

#include <algorithm>

#include "core/base/random.h"
#include "core/parallel/pipeline/schedule.h"

namespace meshscope::test {

using parallel::pipeline::ScheduleKind;
using parallel::pipeline::ScheduleShape;
using Words = std::vector<std::string>;

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
    return "format = 1\n" + model.to_toml("model") + data.to_toml("data") + train_alone.to_toml("train") +
           optimizer.to_toml("optimizer");
}

namespace {

constexpr int64_t kMostRanks = 8;

/// What is drawn first, because models and batches must fit it.
struct Layout {
    std::string data;
    std::vector<int64_t> data_sizes;
    Words data_names;
    int64_t tp = 0, pp = 0;  ///< 0: no such dim
    ScheduleShape schedule;

    int64_t data_ranks() const {
        int64_t ranks = 1;
        if (data != "none")
            for (const int64_t n : data_sizes) ranks *= n;
        return ranks;
    }
    int64_t ranks() const {
        int64_t ranks = std::max<int64_t>(tp, 1) * std::max<int64_t>(pp, 1);
        for (const int64_t n : data_sizes) ranks *= n;
        return ranks;
    }
    int64_t stages() const { return pp > 0 ? schedule.stages() : 1; }
};

Layout draw_layout(Dice& dice) {
    for (;;) {
        Layout layout;
        layout.data = dice.one_of<std::string>(
            {"none", "ddp", "ddp", "fsdp2", "fsdp2", "fsdp2", "fsdp1", "fsdp1", "zero1", "zero2", "zero3"});
        const bool two = (layout.data == "fsdp2" || layout.data == "fsdp1") && dice.chance(40);
        if (two || layout.data == "ddp" || (layout.data == "none" && dice.chance(15))) {
            layout.data_names.push_back("replicate");
            layout.data_sizes.push_back(dice.between(1, two ? 3 : 5));
        }
        if (layout.data != "ddp" && layout.data != "none") {
            layout.data_names.push_back("shard");
            // FSDP1's hybrid strategies need something to cut.
            layout.data_sizes.push_back(dice.between(two && layout.data == "fsdp1" ? 2 : 1, 5));
        }
        if (dice.chance(40)) layout.tp = dice.between(1, 4);
        const bool staged =
            layout.data == "none" || layout.data == "ddp" || layout.data == "fsdp2" || layout.data == "zero1";
        if (staged && dice.chance(50)) layout.pp = dice.between(1, 4);
        const auto dims = layout.data_sizes.size() + (layout.tp > 0) + (layout.pp > 0);
        if (dims < 1 || dims > 3 || layout.ranks() > kMostRanks) continue;
        return layout;
    }
}

void draw_schedule(Dice& dice, Layout& layout) {
    for (;;) {
        ScheduleShape& shape = layout.schedule;
        shape.kind = static_cast<ScheduleKind>(dice.below(parallel::pipeline::kScheduleKinds));
        shape.ranks = static_cast<int32_t>(layout.pp);
        shape.stages_per_rank = parallel::pipeline::default_stages_per_rank(shape.kind);
        if (shape.stages_per_rank > 1) shape.stages_per_rank = static_cast<int32_t>(dice.between(1, 3));
        shape.microbatches = static_cast<int32_t>(dice.between(1, 8));
        if (shape.stages() <= 6 && !why_impossible(shape)) return;
    }
}

void draw_tokens(Dice& dice, const Layout& layout, bool sequence, Keys& model) {
    const int64_t ranks = std::max<int64_t>(layout.tp, 1);
    const bool llama = model.get("kind") == "\"llama\"";
    const int64_t heads = ranks * dice.between(1, ranks > 2 ? 1 : 2);
    // A norm over fewer elements divides by a spread that is near zero, and what it multiplies by so much is
    // the rounding errors.
    const int64_t head_dim = ((7 + heads) / heads + 1) / 2 * 2 + 2 * dice.below(2);
    model.set("dim", heads * head_dim);
    // Strategies of flat arrays ask for even cuts beside sequence parallelism.
    const bool even = sequence && layout.data != "none" && layout.data != "ddp" && layout.data != "fsdp2";
    model.set("hidden", even ? ranks * dice.between(4 / ranks + 1, 12 / ranks) : dice.between(4, 12));
    model.set("heads", heads);
    if (llama && dice.chance(60)) model.set("kv_heads", dice.one_of<int64_t>({ranks, heads}));
    model.set("vocab", sequence ? ranks * dice.between(5 / ranks + 1, 12 / ranks) : dice.between(5, 13));
    model.set("seq", sequence ? ranks * dice.between(2 / ranks + 1, 8 / ranks) : dice.between(2, 6));
    if (layout.stages() == 1 && dice.chance(40)) model.set("tied", "true");
}

void draw_model(Dice& dice, const Layout& layout, bool tokens, bool sequence, Keys& model) {
    const bool toy = !tokens && layout.stages() <= 2 && dice.chance(30);
    model.set_word("kind", tokens ? dice.one_of<std::string>({"gpt", "llama"}) : toy ? "toy" : "mlp");
    if (tokens) draw_tokens(dice, layout, sequence, model);
    if (!tokens && !toy) {
        model.set("dim", dice.between(4, 9));
        model.set("hidden", dice.between(3, 12));
        if (dice.chance(30)) model.set("bias", "false");
    }
    if (!toy) model.set("layers", layout.stages() + dice.below(3));
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

/// Modules of one unit each: none that tied weights reach from outside.
std::string draw_units(Dice& dice, const Keys& model) {
    if (model.get("kind") == "\"toy\"")
        return dice.one_of<std::string>({"[\"net1\"]", "[\"net1\", \"net2\"]"});
    const std::string name = model.get("kind") == "\"mlp\"" ? "layers." : "blocks.";
    const int64_t layers = model.number("layers");
    std::string units;
    for (int64_t i = 0; i < layers; ++i) {
        if (dice.chance(30)) continue;  // the root's
        const std::string block = "\"" + name + std::to_string(i) + "\"";
        const std::string next = "\"" + name + std::to_string(i + 1) + "\"";
        const bool joined = i + 1 < layers && dice.chance(30);
        units += (units.empty() ? "" : ", ") + (joined ? "[" + block + ", " + next + "]" : block);
        if (joined) ++i;
    }
    return "[" + units + "]";
}

void draw_data_options(Dice& dice, const Layout& layout, const Keys& model, Keys& parallel) {
    const std::string& data = layout.data;
    const auto flag = [&](const char* key, int percent) {
        if (dice.chance(percent)) parallel.set(key, dice.chance(50) ? "true" : "false");
    };
    if (data != "none") parallel.set_word("data", data);
    if (data == "ddp" || data == "zero1" || data == "zero2")
        if (dice.chance(60))
            parallel.set("bucket_cap_mb", dice.one_of<std::string>({"0.0001", "0.0005", "0.002"}));
    if (data == "zero1" && dice.chance(40)) parallel.set_word("zero_variant", "pytorch");
    if (data == "fsdp2") {
        if (dice.chance(50))
            parallel.set("reshard_after_forward", dice.one_of<std::string>({"true", "false", "\"default\""}));
        if (layout.pp == 0) flag("is_last_backward", 30);
        flag("backward_prefetch", 40);
    }
    const bool flat = data == "fsdp1" || data == "zero3";
    if (flat) {
        if (dice.chance(50))
            parallel.set_word("backward_prefetch", dice.one_of<std::string>({"none", "pre", "post"}));
        flag("forward_prefetch", 40);
    }
    if (data == "fsdp1") {
        const bool two = layout.data_names.size() == 2;
        if (two || dice.chance(70))
            parallel.set_word("sharding_strategy",
                              two ? dice.one_of<std::string>({"hybrid_shard", "hybrid_shard_zero2"})
                                  : dice.one_of<std::string>({"full_shard", "shard_grad_op", "no_shard"}));
        flag("limit_all_gathers", 30);
        flag("use_orig_params", 30);
    }
    if ((flat || data == "fsdp2") && dice.chance(40)) {
        parallel.set("units", draw_units(dice, model));
    } else if (flat && model.get("tied").empty() && dice.chance(30)) {
        parallel.set_word("wrap", "size");
        parallel.set("wrap_min_elements", dice.between(1, 200));
    }
}

void draw_mesh(Dice& dice, const Layout& layout, Case& drawn) {
    drawn.shape = layout.data_sizes;
    drawn.names = layout.data_names;
    const auto insert = [&](const char* name, int64_t size) {
        const int64_t at = dice.between(0, static_cast<int64_t>(drawn.names.size()));
        drawn.names.insert(drawn.names.begin() + at, name);
        drawn.shape.insert(drawn.shape.begin() + at, size);
    };
    if (layout.tp > 0) insert("tp", layout.tp);
    if (layout.pp > 0) insert("pp", layout.pp);
}

void draw_parallel(Dice& dice, const Layout& layout, bool tokens, bool sequence, Case& drawn) {
    Keys& parallel = drawn.parallel;
    draw_data_options(dice, layout, drawn.model, parallel);
    if (dice.chance(30)) parallel.set_word("algorithm", dice.one_of<std::string>({"ring", "direct"}));
    if (layout.tp > 0) {
        if (sequence) parallel.set("sequence_parallel", "true");
        if (tokens && dice.chance(40)) parallel.set("loss_parallel", "true");
        if (!sequence && dice.chance(50))
            parallel.set_word("tp_plan", dice.one_of<std::string>({"block", "linear"}));
    }
    if (layout.pp > 0) {
        parallel.set_word("schedule", std::string(name(layout.schedule.kind)));
        parallel.set("microbatches", layout.schedule.microbatches);
        if (layout.schedule.stages_per_rank != default_stages_per_rank(layout.schedule.kind) ||
            dice.chance(20))
            parallel.set("stages_per_rank", layout.schedule.stages_per_rank);
    }
}

void draw_train(Dice& dice, const Layout& layout, Keys& train) {
    const int64_t parts = layout.pp > 0 ? layout.schedule.microbatches : dice.one_of<int64_t>({1, 1, 2, 3});
    const int64_t rows = parts * layout.data_ranks() > 16 ? 1 : dice.between(1, 3);
    train.set("steps", 3);
    train.set("global_batch", rows * parts * layout.data_ranks());
    if (layout.pp == 0 && parts > 1) train.set("accumulate", parts);
    if (dice.chance(20)) train.set("micro_batch", rows);
    if (dice.chance(50)) train.set("clip_norm", dice.one_of<std::string>({"0.05", "0.5", "100.0"}));
}

/// Whatever number of ranks a DistributedSampler deals to, a global batch is the same samples.
void draw_data(Dice& dice, const Keys& train, Keys& data) {
    data.set("seed", dice.below(1000));
    if (dice.chance(70)) return;
    data.set_word("sampler", "distributed");
    data.set("samples", train.number("global_batch") * dice.between(1, 4));
    if (dice.chance(60)) data.set("shuffle", "true");
    if (dice.chance(30)) data.set("drop_last", "true");
}

}  // namespace

Case draw_case(uint64_t seed) {
    Dice dice(seed);
    Layout layout = draw_layout(dice);
    if (layout.pp > 0) draw_schedule(dice, layout);
    const bool tokens = dice.chance(60);
    const bool sequence = tokens && layout.tp > 0 && dice.chance(50);
    Case drawn;
    draw_model(dice, layout, tokens, sequence, drawn.model);
    draw_optimizer(dice, drawn.optimizer);
    draw_mesh(dice, layout, drawn);
    draw_parallel(dice, layout, tokens, sequence, drawn);
    draw_train(dice, layout, drawn.train);
    draw_data(dice, drawn.train, drawn.data);
    if (dice.chance(10)) drawn.idle = dice.between(1, 2);
    return drawn;
}

}  // namespace meshscope::test
