#include "tests/parallel/property/layout.h"

#include <algorithm>

namespace meshscope::test {

using parallel::pipeline::ScheduleKind;
using parallel::pipeline::ScheduleShape;

namespace {

constexpr int64_t kMostRanks = 8;

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

/// How context parallelism goes about it. A gpt's positions, which sequence parallelism cuts, cannot be cut
/// by cp too: those models are llama.
void draw_context(Dice& dice, Layout& layout) {
    layout.cp = dice.between(1, 4);
    layout.cp_method = dice.one_of<std::string>({"", "allgather", "alltoall", "ulysses"});
    layout.cp_balance = dice.chance(60);
}

}  // namespace

int64_t Layout::data_ranks() const {
    int64_t ranks = 1;
    if (data != "none")
        for (const int64_t n : data_sizes) ranks *= n;
    return ranks;
}

int64_t Layout::ranks() const {
    int64_t ranks = std::max<int64_t>(tp, 1) * std::max<int64_t>(pp, 1) * std::max<int64_t>(cp, 1);
    for (const int64_t n : data_sizes) ranks *= n;
    return ranks;
}

Layout draw_layout(Dice& dice) {
    for (;;) {
        Layout layout;
        layout.data = dice.one_of<std::string>({"none", "ddp", "ddp", "fsdp2", "fsdp2", "fsdp2", "fsdp1",
                                                "fsdp1", "zero1", "zero2", "zero3", "dp"});
        const bool one_process = layout.data == "dp";
        const bool two = (layout.data == "fsdp2" || layout.data == "fsdp1") && dice.chance(40);
        if (two || layout.data == "ddp" || one_process || (layout.data == "none" && dice.chance(15))) {
            layout.data_names.push_back("replicate");
            layout.data_sizes.push_back(dice.between(1, two ? 3 : 5));
        }
        if (layout.data != "ddp" && layout.data != "none" && !one_process) {
            layout.data_names.push_back("shard");
            // FSDP1's hybrid strategies need something to cut.
            layout.data_sizes.push_back(dice.between(two && layout.data == "fsdp1" ? 2 : 1, 5));
        }
        if (!one_process && dice.chance(40)) layout.tp = dice.between(1, 4);
        const bool staged =
            layout.data == "none" || layout.data == "ddp" || layout.data == "fsdp2" || layout.data == "zero1";
        if (staged && dice.chance(40)) layout.pp = dice.between(1, 4);
        if (!one_process && dice.chance(25)) draw_context(dice, layout);
        const auto dims = layout.data_sizes.size() + (layout.tp > 0) + (layout.pp > 0) + (layout.cp > 0);
        if (dims < 1 || dims > 3 || layout.ranks() > kMostRanks) continue;
        if (layout.pp > 0) draw_schedule(dice, layout);
        layout.tokens = layout.cp > 0 || dice.chance(60);
        layout.sequence = layout.tokens && layout.tp > 0 && dice.chance(50);
        return layout;
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
    if (layout.cp > 0) insert("cp", layout.cp);
}

}  // namespace meshscope::test
