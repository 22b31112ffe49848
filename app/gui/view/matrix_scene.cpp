// Which products the view speaks of: the event at the cursor decides.
#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/focus.h"
#include "app/gui/view/matrices.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/op_strip.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

using Kind = MatrixStep::Kind;

/// The first and the last event of a chain.
std::pair<int32_t, int32_t> ends(const MatrixChain& chain) {
    return {chain.gather >= 0 ? chain.gather : chain.steps.front().event, chain.steps.back().event};
}

/// The chain that an event belongs to, else the last that begins before it, else the first. For what brings a
/// unit's weights (`unit`: its name) the first that needs them.
const MatrixChain* chain_of(const trace::Trace& trace, int32_t rank, const std::vector<MatrixChain>& chains,
                            const trace::Event& event) {
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    const std::string unit(trace.text(event.unit));
    if (event.kind == trace::EventKind::collective && event.op == CollectiveOp::all_gather && !unit.empty())
        for (const MatrixChain& chain : chains) {
            const auto& product = events[static_cast<std::size_t>(chain.first_product()->event)];
            const std::string_view module = trace.text(product.unit);
            if (product.id > event.id && (module == unit || module.starts_with(unit + "."))) return &chain;
        }
    const MatrixChain* before = nullptr;
    for (const MatrixChain& chain : chains) {
        const auto [first, last] = ends(chain);
        for (const MatrixStep& step : chain.steps)
            if (step.event == event.id) return &chain;
        if (chain.gather == event.id) return &chain;
        if (first <= event.id && (before == nullptr || ends(*before).second <= last)) before = &chain;
    }
    if (before != nullptr) return before;
    return chains.empty() ? nullptr : &chains.front();
}

/// The chain on another rank that begins with the same product.
const MatrixChain* like(const trace::Trace& trace, const MatrixChain& chain,
                        const std::vector<MatrixChain>& others) {
    const auto product = [&](const MatrixChain& of) -> const trace::Event& {
        return trace.event(of.rank, of.first_product()->event);
    };
    for (const MatrixChain& other : others)
        if (product(other).unit == product(chain).unit && product(other).name == product(chain).name &&
            other.steps.size() == chain.steps.size())
            return &other;
    return nullptr;
}

/// Ranks that may have the like, nearest first: of the group that adds, then of every other group.
std::vector<int32_t> neighbours(const trace::Trace& trace, int32_t rank, int32_t first_group) {
    std::vector<int32_t> all;
    const auto add = [&](const trace::Group& group) {
        const auto at = std::ranges::find(group.ranks, rank);
        if (at == group.ranks.end()) return;
        const auto n = static_cast<std::ptrdiff_t>(group.ranks.size()), me = at - group.ranks.begin();
        for (std::ptrdiff_t i = 1; i < std::min<std::ptrdiff_t>(n, 8); ++i) {
            const int32_t next = group.ranks[static_cast<std::size_t>((me + i) % n)];
            if (std::ranges::find(all, next) == all.end()) all.push_back(next);
        }
    };
    if (first_group >= 0) add(trace.groups[static_cast<std::size_t>(first_group)]);
    for (const trace::Group& group : trace.groups)
        if (group.mesh_dim != "world" && group.mesh_dim != "pp") add(group);
    for (const trace::Group& group : trace.groups) add(group);
    return all;
}

/// The module that a chain's products have in common; "" where it is the model itself.
std::string common_module(const trace::Trace& trace, const MatrixChain& chain) {
    std::string common;
    bool first = true;
    for (const MatrixStep& step : chain.steps) {
        if (step.kind != Kind::product) continue;
        const std::string_view unit = trace.text(trace.event(chain.rank, step.event).unit);
        const auto dot = unit.rfind('.');
        const std::string parent(dot == std::string_view::npos ? "" : unit.substr(0, dot));
        if (!first && parent != common) return "";
        common = parent;
        first = false;
    }
    return common;
}

bool is_product(const trace::Trace& trace, const trace::Event& event) {
    return event.kind == trace::EventKind::compute && trace.text(event.name).starts_with("linear");
}

/// The event that says which pass is shown: `at`, or where its own has no product the last product before it
/// in its step, or the next. Null where the step has none.
const trace::Event* with_products(const Moment& input, int32_t rank, int32_t step, const trace::Event* at) {
    const auto& events = input.trace.ranks[static_cast<std::size_t>(rank)].events;
    const trace::Event *before = nullptr, *after = nullptr;
    for (const StepRun& run : step_runs(input.trace, rank, step, input.memo))
        for (std::size_t i = run.first; i < run.last; ++i) {
            if (!is_product(input.trace, events[i])) continue;
            if (at != nullptr && events[i].phase == at->phase && events[i].microbatch == at->microbatch)
                return at;
            if (at != nullptr && events[i].id < at->id) before = &events[i];
            if (after == nullptr && (at == nullptr || events[i].id > at->id)) after = &events[i];
        }
    return before != nullptr ? before : after;
}

/// The group over which the chain adds, else that of its all_gather; -1: it needs no other rank.
int32_t group_of(const trace::Trace& trace, const MatrixChain& chain) {
    for (const MatrixStep& step : chain.steps)
        if (step.kind == Kind::collective) return trace.event(chain.rank, step.event).group;
    return chain.gather >= 0 ? trace.event(chain.rank, chain.gather).group : -1;
}

using Chains = std::vector<MatrixChain>;

/// matrix_chains, found once a pass in a large record.
std::shared_ptr<const Chains> chains_of(const Moment& input, int32_t rank, const MatrixScene& pass) {
    constexpr std::size_t kKept = 16;
    const std::tuple key(rank, pass.step, pass.phase, pass.microbatch);
    return found_once<Chains>(input.memo, kKept, input.trace, nullptr, key, [&] {
        return matrix_chains(input.trace, rank, pass.step, pass.phase, pass.microbatch, input.memo);
    });
}

/// Which of the scene's matrices have numbers.
void count_numbers(MatrixScene& scene) {
    const auto look = [&](const MatrixTile& tile, bool operand) {
        const bool large = tile.own.rows * tile.own.columns > trace::kMaxRecordedValues;
        scene.has_numbers = scene.has_numbers || !tile.numbers.empty();
        if (!tile.numbers.empty()) return;
        scene.lacks_large = scene.lacks_large || large;
        scene.lacks_small = scene.lacks_small || (operand && !large);
    };
    for (const MatrixChain& chain : scene.chains) {
        if (chain.before) look(*chain.before, false);
        look(chain.start, true);
        for (const MatrixStep& step : chain.steps) {
            if (step.factor) look(*step.factor, true);
            look(step.result, step.kind != Kind::collective);
        }
    }
}

/// What there is to see of the step at `at`; null: at its first product.
MatrixScene find_scene(const Moment& input, MatrixScene scene, const trace::Event* at, std::size_t most) {
    const trace::Event* const shown = with_products(input, scene.rank, scene.step, at);
    if (shown == nullptr) return scene;
    scene.phase = shown->phase;
    scene.microbatch = shown->microbatch;
    const auto own = chains_of(input, scene.rank, scene);
    const MatrixChain* const chain = chain_of(input.trace, scene.rank, *own, *shown);
    if (chain == nullptr) return scene;
    scene.chains.push_back(*chain);
    scene.group = group_of(input.trace, *chain);
    scene.unit = common_module(input.trace, *chain);
    for (const int32_t rank : neighbours(input.trace, scene.rank, scene.group)) {
        if (scene.chains.size() >= most) break;
        const auto others = chains_of(input, rank, scene);
        if (const MatrixChain* other = like(input.trace, scene.chains.front(), *others))
            scene.chains.push_back(*other);
    }
    if (scene.group >= 0)
        scene.likewise = std::max<int64_t>(
            0, static_cast<int64_t>(input.trace.groups[static_cast<std::size_t>(scene.group)].ranks.size()) -
                   static_cast<int64_t>(scene.chains.size()));
    // A rank keeps its place when another is chosen.
    std::ranges::sort(scene.chains, {}, &MatrixChain::rank);
    count_numbers(scene);
    return scene;
}

/// What is computed while a gather brings the weights of a later product: it needs none of them yet, so the
/// picture stays with it. `at` where it is no such gather, or where nothing is computed meanwhile.
const trace::Event* beside_prefetch(const Moment& input, int32_t rank, const trace::Event* at) {
    if (at->prefetch == 0) return at;
    const auto r = static_cast<std::size_t>(rank);
    const trace::Event* computed = nullptr;
    for (const StepRun& run : step_runs(input.trace, rank, at->step, input.memo))
        for (std::size_t i = run.first; i < run.last; ++i) {
            const trace::Event& event = input.trace.ranks[r].events[i];
            if (event.kind != trace::EventKind::compute) continue;
            const time::Interval& when = input.clock.events[r][static_cast<std::size_t>(event.id)];
            if (when.begin_ns <= input.cursor.t_ns && input.cursor.t_ns < when.end_ns) computed = &event;
        }
    return computed != nullptr ? computed : at;
}

}  // namespace

MatrixScene matrix_scene(const Moment& input, std::size_t most) {
    const Focus focus = focus_of(input);
    MatrixScene nothing;
    nothing.rank = focus.rank;
    nothing.step = focus.step;
    if (input.trace.ranks.empty()) return nothing;
    const trace::Event* at = focus.event;
    if (at != nullptr && !focus.chosen) at = beside_prefetch(input, focus.rank, at);
    constexpr std::size_t kKept = 4;  // as the cursor goes on, both the picture and the facts ask for one
    const std::tuple key(nothing.rank, nothing.step, at == nullptr ? -1 : at->id, most);
    return *found_once<MatrixScene>(input.memo, kKept, input.trace, nullptr, key,
                                    [&] { return find_scene(input, nothing, at, most); });
}

const MatrixChain& MatrixScene::chain() const {
    return *std::ranges::find(chains, rank, &MatrixChain::rank);
}

std::vector<int32_t> events_of_unit(const Moment& input, const MatrixScene& scene) {
    std::vector<int32_t> ids;
    if (scene.empty()) return ids;
    const trace::Trace& trace = input.trace;
    const auto [first_of_chain, last_of_chain] = ends(scene.chain());
    const auto first = first_of_chain, last = last_of_chain;  // a lambda of clang 14 cannot take a binding
    const auto& events = trace.ranks[static_cast<std::size_t>(scene.rank)].events;
    const auto inside = [](std::string_view name, std::string_view module) {
        return !module.empty() && name.starts_with(module) &&
               (name.size() == module.size() || name[module.size()] == '.');
    };
    const auto belongs = [&](const trace::Event& event) {
        const std::string_view unit = trace.text(event.unit);
        if (event.id >= first && event.id <= last && event.stream == Stream::compute) return true;
        if (inside(unit, scene.unit)) return true;
        if (event.kind != trace::EventKind::collective || unit.empty()) return false;
        return std::ranges::any_of(scene.chain().steps, [&](const MatrixStep& step) {
            return step.kind == Kind::product &&
                   inside(trace.text(trace.event(scene.rank, step.event).unit), unit);
        });
    };
    for (const StepRun& run : step_runs(trace, scene.rank, scene.step, input.memo))
        for (std::size_t i = run.first; i < run.last; ++i)
            if (events[i].phase == scene.phase && events[i].microbatch == scene.microbatch &&
                belongs(events[i]))
                ids.push_back(events[i].id);
    return ids;
}

std::optional<EventRef> next_op(const Moment& at, int by) {
    const MatrixScene scene = matrix_scene(at, 1);
    if (scene.empty()) return std::nullopt;
    return next_in_strip(at, scene.rank, events_of_unit(at, scene), by);
}

}  // namespace meshscope::view
