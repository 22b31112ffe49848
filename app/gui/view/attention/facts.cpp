// The attention in words.
#include <algorithm>

#include "app/gui/view/attention/picture.h"
#include "app/gui/view/attention/softmax.h"
#include "app/gui/view/format.h"
#include "app/gui/view/sheet.h"
#include "core/trace/recorded.h"

namespace meshscope::view {

namespace {

/// What the rank's calls sent, those of the ring and those back home apart.
void call_rows(FactList& list, const trace::Trace& trace, const AttentionRank& rank) {
    for (const auto* calls : {&rank.exchanges, &rank.home}) {
        if (calls->empty()) continue;
        const trace::Event& event = trace.event(rank.rank, calls->front());
        int64_t sent = 0;
        bool told = true;
        for (const int32_t id : *calls) {
            const trace::Event& each = trace.event(rank.rank, id);
            sent += each.sent_bytes;
            told =
                told && trace::tells_sent_bytes(each) && std::ranges::find(rank.open, id) == rank.open.end();
        }
        list.row(op_hue(event.op), std::string(name(event.op)) + " × " + std::to_string(calls->size()),
                 std::string(name(event.op)), told ? format_bytes(sent) : "",
                 std::string(trace.text(event.rule)), {"kernel", rank.rank, event.id});
    }
}

}  // namespace

Picture attention_facts(const Input& input, const AttentionOptions& options) {
    FactList list(input);
    const Painter& p = list.p;
    AttentionScene scene = attention_scene(input);
    if (!options.sums)
        for (AttentionRank& each : scene.ranks) each.tokens.clear();
    if (scene.empty()) {
        list.sentence(p.say(scene.step < 0 ? "view.attention.none.setup" : "view.attention.none",
                            {arg("step", scene.step)}),
                      {"empty"});
        return list.take();
    }
    const std::size_t place = scene.place();
    const AttentionRank& rank = scene.own();
    list.head(scene.unit, "rank " + std::to_string(scene.rank));
    if (scene.way == AttentionWay::heads && scene.tokens > 0)
        list.sentence(
            p.say("view.attention.facts.heads", {arg("ranks", static_cast<int64_t>(scene.n())),
                                                 arg("heads", scene.heads), arg("tokens", scene.tokens)}));
    else if (scene.n() > 1 && !rank.tokens.empty())
        list.sentence(p.say("view.attention.facts.cut",
                            {arg("rank", rank.rank), arg("tokens", token_ranges(rank.tokens)),
                             arg("cut", attention_cut(p, scene))}));
    if (scene.way == AttentionWay::ring)
        list.sentence(p.say(scene.backward ? "view.attention.facts.ring_back" : "view.attention.facts.ring",
                            {arg("n", std::ssize(rank.exchanges))}));
    if (scene.way == AttentionWay::gather) list.sentence(p.say("view.attention.facts.gather"));
    // What this rank computes, in its own order.
    list.space(4);
    std::vector<std::size_t> order;
    for (std::size_t keys = 0; keys < rank.blocks.size(); ++keys)
        if (rank.blocks[keys].event >= 0) order.push_back(keys);
    std::ranges::sort(order, {}, [&](std::size_t keys) { return rank.blocks[keys].turn; });
    constexpr std::size_t kMost = 8;
    for (std::size_t i = 0; i < std::min(order.size(), kMost) && options.sums; ++i) {
        const AttentionBlock& block = rank.blocks[order[i]];
        const std::string what =
            scene.n() == 1 || scene.way == AttentionWay::heads
                ? std::string("attention")
                : p.say("view.attention.strip.block", {arg("queries", int64_t{rank.rank}),
                                                       arg("keys", int64_t{scene.ranks[order[i]].rank})});
        const std::string pairs = block.pairs < 0 || !options.sums
                                      ? ""
                                      : p.say("view.attention.facts.pairs", {arg("pairs", block.pairs)});
        list.row(origin_hue(static_cast<int64_t>(order[i])), what, what,
                 options.sums ? format_count(block.flops) + " FLOP" : "", pairs,
                 {"kernel", rank.rank, block.event});
    }
    if (options.sums && order.size() + rank.unplaced.size() > kMost)
        list.sentence(p.say("view.attention.facts.more",
                            {arg("blocks", static_cast<int64_t>(order.size() + rank.unplaced.size() -
                                                                std::min(order.size(), kMost)))}));
    const auto masked = std::ranges::count_if(
        rank.blocks, [](const AttentionBlock& block) { return block.event < 0 && block.cells_known; });
    if ((scene.way == AttentionWay::ring || scene.way == AttentionWay::gather) && masked > 0 && options.sums)
        list.sentence(p.say("view.attention.facts.masked",
                            {arg("blocks", static_cast<int64_t>(masked)), arg("rank", rank.rank)}));
    if (options.senders_covered.empty()) call_rows(list, input.trace, rank);
    const bool table = (scene.way == AttentionWay::ring || scene.way == AttentionWay::gather) &&
                       options.sums && scene.n() <= AttentionPicture::kMostRows;
    const auto lines =
        table ? softmax_lines(input.trace, scene, {place, 0, 0, 0}) : std::vector<SoftmaxLine>();
    if (!lines.empty() &&
        std::ranges::all_of(lines, [](const SoftmaxLine& line) { return line.m || line.sees_none; }))
        list.sentence(p.say("view.attention.facts.softmax"));
    if (const std::string lacks = attention_lacks(p, input.trace, scene); options.sums && !lacks.empty())
        list.sentence(lacks);
    return list.take();
}

}  // namespace meshscope::view
