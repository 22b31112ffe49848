#include "app/gui/view/compare_figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/timeline_bars.h"
#include "core/memory/ledger.h"
#include "core/time/step.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

constexpr const char* kMinus = "\u2212";

bool has_hops(const trace::Trace& trace) {
    return std::any_of(trace.ranks.begin(), trace.ranks.end(), [](const auto& r) { return !r.hops.empty(); });
}

std::optional<int64_t> bytes_between_nodes(const trace::Trace& trace, int32_t step) {
    const auto& nodes = trace.info.node_of_rank;
    if (std::set<int32_t>(nodes.begin(), nodes.end()).size() < 2 || !has_hops(trace)) return std::nullopt;
    const auto node = [&](int32_t rank) { return nodes[static_cast<std::size_t>(rank)]; };
    int64_t bytes = 0;
    for (const trace::RankTrace& rank : trace.ranks)
        for (const trace::Hop& hop : rank.hops) {
            const trace::Event& e = rank.events[static_cast<std::size_t>(hop.event)];
            if (e.step == step && e.phase != Phase::evaluation && node(hop.src) != node(hop.dst))
                bytes += hop.bytes;
        }
    return bytes;
}

RunFigures count_figures(const ComparedRun& run, int32_t step, Memo* memo) {
    RunFigures f;
    f.step = step;
    // A step that the run ended in has no loss that all ranks know of.
    f.whole = run.end == nullptr || run.end->kind == RunEnd::Kind::not_finite || step < run.trace.info.steps;
    f.span = step_span(run.trace, run.clock, step, memo);
    if (run.trace.info.level == trace::Level::off ||
        (step >= 0 && step < trace::first_recorded_step(run.trace))) {
        f.step_ns = f.exposed_ns = f.peak_bytes = f.calls = f.sent_bytes = -1;  // unknown is not zero
        return f;
    }
    // Behind the break the clock goes on for a while, as if those who wait still did.
    if (run.end != nullptr && run.end->kind == RunEnd::Kind::failed)
        f.span.end_ns =
            std::min(f.span.end_ns, std::max(f.span.begin_ns, broke_off_ns(run.trace, run.clock, *run.end)));
    // As time::step_ns(), of spans that may be known already. What the run ended in counts from its own
    // begin: of the step before, too, a rank may not have come to the end.
    const int64_t before = step > 0 && f.whole ? step_span(run.trace, run.clock, step - 1, memo).end_ns : 0;
    f.step_ns = f.span.end_ns - time::counted_span(f.span, before).begin_ns;
    if (run.rank < 0 || static_cast<std::size_t>(run.rank) >= run.trace.ranks.size()) return f;
    f.exposed_ns = overlap_of(run, step).exposed_ns;
    f.peak_bytes = memory::peak(run.trace, run.rank, step).bytes;
    const auto& events = run.trace.ranks[static_cast<std::size_t>(run.rank)].events;
    for (const trace::Event& e : events) {
        if (e.step != step || e.kind != trace::EventKind::collective || e.phase == Phase::evaluation)
            continue;
        ++f.calls;
        int64_t& by_op = f.sent_by_op[e.op];
        const bool told = tells_sent_bytes(e) && (run.end == nullptr || !is_open(*run.end, run.rank, e.id));
        f.sent_bytes = told && f.sent_bytes >= 0 ? f.sent_bytes + e.sent_bytes : -1;
        by_op = told && by_op >= 0 ? by_op + e.sent_bytes : -1;
    }
    f.between_nodes = bytes_between_nodes(run.trace, step);
    return f;
}

}  // namespace

time::Overlap overlap_of(const ComparedRun& run, int32_t step) {
    const int64_t until =
        run.end == nullptr ? run.clock.end_ns : known_until_ns(run.trace, run.clock, *run.end, run.rank);
    return time::overlap(run.trace, run.clock, run.rank, step, until);
}

int32_t compared_step(const trace::Trace& trace, int32_t step) {
    int32_t last = trace.info.steps - 1;
    for (const trace::RankTrace& rank : trace.ranks)
        if (!rank.events.empty()) last = std::max(last, rank.events.back().step);
    return std::clamp(step, 0, std::max(0, last));
}

RunFigures run_figures(const ComparedRun& run, int32_t step, Memo* memo) {
    // Runs stand side by side for as long as the cursor goes through a step.
    return *found_once<RunFigures>(memo, 16, run.trace, &run.clock, std::pair(run.rank, step),
                                   [&] { return count_figures(run, step, memo); });
}

std::string figure_time(int64_t ns) {
    return ns < 0 ? "—" : format_time(ns);
}

std::string Difference::text(std::size_t run) const {
    const int64_t value = values[run];
    if (value < 0) return "—";
    return time ? format_time(value) : bytes ? format_bytes(value) : format_count(value);
}

std::vector<Difference> differences(const std::vector<RunFigures>& figures) {
    std::vector<Difference> rows;
    const auto add = [&](Difference row, const auto& of) {
        for (const RunFigures& f : figures) row.values.push_back(of(f));
        if (std::any_of(row.values.begin(), row.values.end(), [](int64_t v) { return v > 0; }))
            rows.push_back(std::move(row));
    };
    add({"view.compare.step_time", "", true, false, {}}, [](const RunFigures& f) { return f.step_ns; });
    add({"view.compare.exposed", "", true, false, {}}, [](const RunFigures& f) { return f.exposed_ns; });
    add({"view.compare.peak", "", false, true, {}}, [](const RunFigures& f) { return f.peak_bytes; });
    add({"view.compare.sent", "", false, true, {}}, [](const RunFigures& f) { return f.sent_bytes; });
    std::set<CollectiveOp> ops;
    for (const RunFigures& f : figures)
        for (const auto& [op, bytes] : f.sent_by_op) ops.insert(op);
    // One op alone would repeat the line above.
    if (ops.size() > 1)
        for (const CollectiveOp op : ops)
            add({"view.compare.sent_by", std::string(name(op)), false, true, {}}, [op](const RunFigures& f) {
                const auto found = f.sent_by_op.find(op);
                if (found != f.sent_by_op.end()) return found->second;
                return f.calls < 0 ? int64_t{-1} : int64_t{0};
            });
    add({"view.compare.nodes", "", false, true, {}},
        [](const RunFigures& f) { return f.between_nodes.value_or(-1); });
    add({"view.compare.calls", "", false, false, {}}, [](const RunFigures& f) { return f.calls; });
    return rows;
}

std::string change_text(int64_t base, int64_t value) {
    if (base <= 0 || value < 0) return "";
    const double share = static_cast<double>(value - base) / static_cast<double>(base);
    const auto percent = std::llround(std::abs(share) * 100);
    if (value == base) return "0 %";
    const std::string number = percent == 0 ? "< 1" : format_count(percent);
    return (value > base ? "+" : kMinus) + number + " %";
}

namespace {

const RunTrait* find(const ComparedRun& run, const std::string& key) {
    if (run.traits == nullptr) return nullptr;
    const auto found = std::find_if(run.traits->begin(), run.traits->end(),
                                    [&](const RunTrait& trait) { return trait.key == key; });
    return found == run.traits->end() ? nullptr : &*found;
}

}  // namespace

Unlike unlike(const ComparedRun& first, const RunFigures& first_figures, const ComparedRun& run,
              const RunFigures& figures) {
    Unlike out;
    const bool measured = first.clock.kind == time::ClockKind::measured;
    const auto differs = [&](std::vector<std::string>& list, const std::string& key, const std::string& a,
                             const std::string& b) {
        const auto shown = [](const std::string& value) { return value.empty() ? "–" : value; };
        if (a != b) list.push_back(key + " " + shown(a) + " / " + shown(b));
    };
    if (first.traits != nullptr)
        for (const RunTrait& trait : *first.traits) {
            const RunTrait* other = find(run, trait.key);
            if (other == nullptr) continue;
            const bool backend = trait.key == "backend";
            auto& list = trait.kind == RunTrait::Kind::work                             ? out.work
                         : trait.kind == RunTrait::Kind::where || (backend && measured) ? out.where
                                                                                        : out.how;
            differs(list, trait.key, trait.value, other->value);
        }
    differs(out.where, "ranks", std::to_string(first.trace.info.world_size),
            std::to_string(run.trace.info.world_size));
    if (!measured) differs(out.where, "hardware", first.clock.profile, run.clock.profile);
    const bool unrecorded = figures.step_ns < 0 || first_figures.step_ns < 0;
    out.other_step =
        figures.step != first_figures.step || !figures.whole || !first_figures.whole || unrecorded;
    out.verdict = !out.work.empty() || out.other_step ? Verdict::none
                  : out.where.empty()                 ? Verdict::better_or_worse
                                                      : Verdict::change;
    return out;
}

}  // namespace meshscope::view
