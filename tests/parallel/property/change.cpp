// Drawn scenarios with something changed: perhaps possible, or certainly not.
#include <algorithm>
#include <functional>

#include "tests/parallel/property/draw.h"
#include "tests/parallel/property/layout.h"

namespace meshscope::test {
namespace {

bool has_dim(const Case& c, const std::string& name) {
    return std::ranges::find(c.names, name) != c.names.end();
}

bool of_tokens(const Case& c) {
    return !c.model.get("heads").empty();
}

int64_t size_of(const Case& c, const std::string& name) {
    const auto found = std::ranges::find(c.names, name);
    return found == c.names.end() ? 1 : c.shape[static_cast<std::size_t>(found - c.names.begin())];
}

void change_mesh(Dice& dice, Case& c) {
    const auto i = static_cast<std::size_t>(dice.below(static_cast<int64_t>(c.shape.size())));
    if (dice.chance(50)) {
        c.shape[i] = 1;
        c.shape[i] = dice.between(1, std::max<int64_t>(1, std::min<int64_t>(6, 12 / c.ranks())));
    } else {
        c.names[i] = dice.one_of<std::string>({"replicate", "shard", "tp", "pp", "cp", "rows"});
    }
}

/// Sizes stay where a loss tells something: one token or one class leaves gradients of rounding errors.
void change_model(Dice& dice, Case& c) {
    const auto key = dice.one_of<std::string>({"layers", "heads", "kv_heads", "seq", "vocab", "tied", "dim"});
    if (key == "tied")
        c.model.set(key, dice.chance(70) ? "true" : "false");
    else if (key == "dim")
        c.model.set(key, dice.between(8, 14));
    else
        c.model.set(key, key == "layers" ? dice.between(1, 4) : dice.between(key == "heads" ? 1 : 3, 9));
}

void change_train(Dice& dice, Case& c) {
    const auto key = dice.one_of<std::string>({"global_batch", "accumulate", "micro_batch"});
    c.train.set(key, dice.between(1, key == "global_batch" ? 24 : 4));
    // Batches that do not fill a data set are padded by the number of ranks: then one rank sees other
    // samples.
    for (const char* of_sampler : {"sampler", "samples", "shuffle", "drop_last"}) c.data.drop(of_sampler);
}

void change_parallel(Dice& dice, Case& c) {
    Keys& p = c.parallel;
    const auto word = [&](const char* key, const std::vector<std::string>& words) {
        p.set_word(key, dice.one_of(words));
    };
    const auto flag = [&](const char* key) { p.set(key, dice.chance(70) ? "true" : "false"); };
    switch (dice.below(12)) {
        case 0:
            return word("data", {"none", "ddp", "fsdp2", "fsdp1", "zero1", "zero2", "zero3", "dp"});
        case 1:
            return word("schedule", {"GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble",
                                     "ZBVZeroBubble", "DualPipeV"});
        case 2:
            return p.set("microbatches", dice.between(1, 6));
        case 3:
            return p.set("stages_per_rank", dice.between(1, 3));
        case 4:
            return word("sharding_strategy", {"full_shard", "shard_grad_op", "hybrid_shard", "no_shard"});
        case 5:
            p.set_word("wrap", "size");
            return p.set("wrap_min_elements", dice.between(1, 100));
        case 6:
            return flag("sequence_parallel");
        case 7:
            return flag("loss_parallel");
        case 8:
            return flag("is_last_backward");
        case 9:
            return p.set("units",
                         dice.one_of<std::string>({"[\"blocks.0\"]", "[\"layers.0\"]", "[\"tok\"]",
                                                   "[[\"tok\", \"head\"]]", "[\"ln_f\", \"head\"]"}));
        case 10:
            return p.set("bucket_cap_mb", "0.001");
        default:
            return p.drop(dice.one_of<std::string>({"data", "schedule", "microbatches", "units"}));
    }
}

/// Something that cannot be, and whether a case has what it takes to be wrong in that way.
struct Impossible {
    const char* what;
    std::function<bool(const Case&)> applies;
    std::function<void(Case&)> spoil;
};

const std::vector<Impossible>& impossible() {
    const auto always = [](const Case&) { return true; };
    const auto staged = [](const Case& c) { return !c.parallel.get("schedule").empty(); };
    static const std::vector<Impossible> all{
        {"a world smaller than the mesh", [](const Case& c) { return c.ranks() > 1; },
         [](Case& c) { c.idle = 1 - c.ranks(); }},
        {"a key that there is none of", always, [](Case& c) { c.parallel.set("shards", 2); }},
        {"a strategy that there is none of", always, [](Case& c) { c.parallel.set_word("data", "fsdp"); }},
        {"a number where a word stands", always, [](Case& c) { c.parallel.set("data", 2); }},
        {"no steps", always, [](Case& c) { c.train.set("steps", "0"); }},
        {"no global batch", always, [](Case& c) { c.train.drop("global_batch"); }},
        {"a learning rate below zero", always, [](Case& c) { c.optimizer.set("lr", "-0.1"); }},
        {"a dim of no ranks", always, [](Case& c) { c.shape.front() = 0; }},
        {"a dim without a name", always, [](Case& c) { c.shape.push_back(1); }},
        {"two dims of one name", always,
         [](Case& c) {
             c.shape.push_back(1);
             c.names.push_back(c.names.front());
         }},
        {"a unit that is no module", always, [](Case& c) { c.parallel.set("units", "[\"stem\"]"); }},
        {"a batch that cannot be cut into its parts", [](const Case& c) { return c.ranks() >= 1; },
         [](Case& c) {
             c.train.set("global_batch", c.train.number("global_batch") + 1);
             c.train.drop("micro_batch");
             c.parallel.drop("microbatches");
             c.parallel.drop("schedule");
             c.train.set("accumulate", c.train.number("global_batch") + 1);
         }},
        {"accumulation beside micro-batches", staged, [](Case& c) { c.train.set("accumulate", 2); }},
        {"units of FSDP1 in a pipeline", staged, [](Case& c) { c.parallel.set_word("data", "fsdp1"); }},
        {"ZeRO-2 in a pipeline", staged, [](Case& c) { c.parallel.set_word("data", "zero2"); }},
        {"a schedule without its dim", [](const Case& c) { return !has_dim(c, "pp"); },
         [](Case& c) {
             c.parallel.set_word("schedule", "1F1B");
             c.parallel.set("microbatches", 8);
         }},
        {"more pipeline ranks than layers and micro-batches", staged,
         [](Case& c) { c.parallel.set("stages_per_rank", 50); }},
        {"layers of fewer stages than there are",
         [=](const Case& c) { return staged(c) && size_of(c, "pp") > 1; },
         [](Case& c) { c.parallel.set("stage_layers", "[1]"); }},
        {"frozen parameters that there are none of", always,
         [](Case& c) { c.train.set("frozen", "[\"stem\"]"); }},
        {"nothing left to train", [](const Case& c) { return c.model.get("kind") == "\"toy\""; },
         [](Case& c) {
             c.train.set("frozen", "[\"net1\", \"net2\"]");
             c.model.drop("lora_rank");
             c.model.drop("lora_alpha");
             c.model.drop("lora_targets");
         }},
        {"adapters of no rank", [](const Case& c) { return c.model.get("lora_rank").empty(); },
         [](Case& c) { c.model.set("lora_alpha", "4.0"); }},
        {"adapters beside no linear layer", always,
         [](Case& c) {
             c.model.set("lora_rank", 2);
             c.model.set("lora_targets", "[\"tok\"]");
         }},
        {"a dtype that nothing is kept in", always, [](Case& c) { c.train.set_word("dtype", "float16"); }},
        {"an order that does not end what it begins", staged,
         [](Case& c) { c.parallel.set("schedule_order", "[\"0F0\"]"); }},
        {"heads that do not divide dim", of_tokens,
         [](Case& c) {
             c.model.set("heads", c.model.number("dim") + 1);
             c.model.drop("head_dim");  // with which they need not
         }},
        {"heads that tensor parallelism cannot share",
         [](const Case& c) { return of_tokens(c) && size_of(c, "tp") > 1; },
         [](Case& c) {
             c.model.set("heads", 1);
             c.model.drop("kv_heads");
         }},
        {"a cut sequence where there is none", [](const Case& c) { return !of_tokens(c); },
         [](Case& c) { c.parallel.set("sequence_parallel", "true"); }},
        {"keys of tensor parallelism without its dim", [](const Case& c) { return !has_dim(c, "tp"); },
         [](Case& c) { c.parallel.set("loss_parallel", "true"); }},
    };
    return all;
}

}  // namespace

Case draw_wild(uint64_t seed) {
    Case c = draw_case(seed);
    Dice dice(seed ^ 0x77696c64);  // "wild": other throws than those that drew the case
    const int64_t changes = dice.between(1, 3);
    for (int64_t i = 0; i < changes; ++i) {
        const int64_t which = dice.below(5);
        if (which == 0)
            change_mesh(dice, c);
        else if (which == 1)
            change_model(dice, c);
        else if (which == 2)
            change_train(dice, c);
        else
            change_parallel(dice, c);
    }
    if (dice.chance(20)) change_trained(dice, c);
    return c;
}

Case draw_impossible(uint64_t seed, std::string& what) {
    Case c = draw_case(seed);
    Dice dice(seed ^ 0x6e657665);  // "neve"
    for (;;) {
        const Impossible& chosen = dice.one_of(impossible());
        if (!chosen.applies(c)) continue;
        chosen.spoil(c);
        what = chosen.what;
        return c;
    }
}

}  // namespace meshscope::test
