#include "app/gui/view/parameter_life.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/gui/view/parameters_picture.h"
#include "core/memory/ledger.h"

namespace meshscope::view {
namespace {

// Of what is true at once, the last of these is told.
constexpr std::array<Holding, kHoldings> kTelling{Holding::kept,     Holding::updated,  Holding::whole,
                                                  Holding::reduced,  Holding::gradient, Holding::gathering,
                                                  Holding::reducing, Holding::updating};

int rank_of(Holding holding) {
    return static_cast<int>(std::find(kTelling.begin(), kTelling.end(), holding) - kTelling.begin());
}

/// "net1.weight grad" is of "net1.weight", "net1 flat gradients" of the unit "net1".
bool is_of(std::string_view label, std::string_view owner) {
    return !owner.empty() && label.starts_with(owner) &&
           (label.size() == owner.size() || label[owner.size()] == ' ');
}

bool is_update(const trace::Trace& trace, const trace::Event& event) {
    const std::string_view kernel = trace.text(event.name);
    return event.kind == trace::EventKind::compute && event.phase == Phase::optimizer &&
           (kernel == "sgd" || kernel == "adam" || kernel == "adamw");
}

class Life {
  public:
    Life(const trace::Trace& trace, const time::Clock& clock, int32_t rank, int32_t step,
         const ShownParameter& parameter)
        : trace_(trace),
          rank_(rank),
          record_(trace.ranks[static_cast<std::size_t>(rank)]),
          times_(clock.events[static_cast<std::size_t>(rank)]),
          step_(step),
          parameter_(parameter),
          unit_(parameter.unit) {
        const auto& events = record_.events;
        const auto before = [](const trace::Event& e, int32_t s) { return e.step < s; };
        first_ = static_cast<std::size_t>(std::lower_bound(events.begin(), events.end(), step, before) -
                                          events.begin());
        last_ = static_cast<std::size_t>(std::lower_bound(events.begin(), events.end(), step + 1, before) -
                                         events.begin());
    }

    ParameterLife tell() {
        if (first_ == last_) return {};
        begin_ns_ = times_[first_].begin_ns;
        end_ns_ = begin_ns_;
        for (std::size_t i = first_; i < last_; ++i) {
            begin_ns_ = std::min(begin_ns_, times_[i].begin_ns);
            end_ns_ = std::max(end_ns_, times_[i].end_ns);
        }
        if (unit_ == 0) unit_ = bucket();
        no_gradients_ = drops_gradients();
        collectives();
        memory();
        update();
        return {cut(), intervals_};
    }

  private:
    /// The bucket that carries this parameter's gradient, where buckets are cut anew (DDP).
    trace::StringId bucket() const {
        std::vector<trace::StringId> copied, appeared;
        for (std::size_t i = first_; i < last_; ++i)
            if (trace_.text(record_.events[i].name) == "ddp.copy_to_bucket")
                copied.push_back(record_.events[i].unit);
        for (const auto& change : record_.memory) {
            if (change.step != step_ || change.delta_bytes <= 0 ||
                change.category != MemoryCategory::gradients)
                continue;
            if (trace_.text(change.label).ends_with(" grad")) appeared.push_back(change.label);
        }
        if (copied.size() != appeared.size()) return 0;
        for (std::size_t k = 0; k < appeared.size(); ++k)
            if (is_of(trace_.text(appeared[k]), parameter_.name)) return copied[k];
        return 0;
    }

    void collectives() {
        int32_t microbatch = -1;  // of the reduction before
        for (std::size_t i = first_; i < last_; ++i) {
            const auto& e = record_.events[i];
            if (e.kind != trace::EventKind::collective) continue;
            // By its name where nothing gathers it with others: a broadcast of ZeRO's, a sum over tp.
            if (!((unit_ != 0 && e.unit == unit_) || e.unit == parameter_.id)) continue;
            if (e.op == CollectiveOp::all_gather || e.op == CollectiveOp::broadcast)
                add({times_[i].begin_ns, times_[i].end_ns, Holding::gathering, e.id});
            if (no_gradients_) continue;  // its unit's reductions carry others
            if (e.op != CollectiveOp::reduce_scatter && e.op != CollectiveOp::all_reduce &&
                e.op != CollectiveOp::reduce)
                continue;
            // HSDP's all_reduce goes on where the reduce_scatter of the same micro-batch stopped.
            if (microbatch == e.microbatch) {
                LifeSpan& whole = intervals_[reductions_.back()];
                whole.end_ns = std::max(whole.end_ns, times_[i].end_ns);
            } else {
                reductions_.push_back(intervals_.size());
                add({times_[i].begin_ns, times_[i].end_ns, Holding::reducing, e.id});
            }
            microbatch = e.microbatch;
        }
    }

    void memory() {
        const std::string_view unit = trace_.text(unit_);
        std::vector<std::pair<uint64_t, std::size_t>> open;  // allocation, its interval
        const auto& changes = record_.memory;
        const auto before = [](const trace::MemoryChange& c, int32_t s) { return c.step < s; };
        auto change = std::lower_bound(changes.begin(), changes.end(), step_, before);
        for (; change != changes.end() && change->step == step_; ++change) {
            const bool copy = change->category == MemoryCategory::unsharded_parameters;
            if (!copy && change->category != MemoryCategory::gradients) continue;
            const std::string_view label = trace_.text(change->label);
            if (!is_of(label, parameter_.name) && !is_of(label, unit)) continue;
            if (!copy && no_gradients_) continue;
            if (change->delta_bytes <= 0) {
                const auto at = std::find_if(open.begin(), open.end(),
                                             [&](const auto& o) { return o.first == change->allocation; });
                if (at == open.end()) {
                    // Gathered in an earlier step, and there from this one's begin to the drop.
                    if (copy) add({begin_ns_, computed(change->after_event), Holding::whole, -1});
                    continue;
                }
                intervals_[at->second].end_ns = computed(change->after_event);
                open.erase(at);
                continue;
            }
            const bool part =
                label.find("shard") != std::string_view::npos || label.find("part") != std::string_view::npos;
            // Memory holds something once the event that asked for it has ended.
            const int32_t event = memory::event_of_change(trace_, rank_, change - changes.begin());
            open.emplace_back(change->allocation, intervals_.size());
            add({event < 0 ? begin_ns_ : times_[static_cast<std::size_t>(event)].end_ns, end_ns_,
                 copy   ? Holding::whole
                 : part ? Holding::reduced
                        : Holding::gradient,
                 event});
        }
        // Gathered numbers are there from the end of the gather on, in its buffer, before they are copied
        // out.
        for (LifeSpan& i : intervals_) {
            if (i.holding != Holding::whole) continue;
            const LifeSpan* last = nullptr;
            for (const LifeSpan& g : intervals_)
                if (g.holding == Holding::gathering && g.end_ns <= i.begin_ns &&
                    (last == nullptr || g.end_ns > last->end_ns))
                    last = &g;
            const bool used =
                last != nullptr && std::any_of(intervals_.begin(), intervals_.end(), [&](const auto& w) {
                    return &w != &i && w.holding == Holding::whole && w.begin_ns >= last->end_ns &&
                           w.end_ns <= i.begin_ns;
                });
            if (last == nullptr || used) continue;
            i.event = last->event;
            i.begin_ns = last->end_ns;
        }
        const std::size_t count = intervals_.size();
        for (std::size_t k = 0; k < count; ++k) {
            LifeSpan& i = intervals_[k];
            if (i.holding != Holding::reduced && i.holding != Holding::gradient) continue;
            const auto sum = std::find_if(reductions_.begin(), reductions_.end(),
                                          [&](std::size_t r) { return intervals_[r].end_ns > i.begin_ns; });
            if (sum == reductions_.end()) continue;
            const LifeSpan reduction = intervals_[*sum];
            if (i.holding == Holding::reduced) {
                // Room for the sum is taken before it is there.
                i.begin_ns = std::max(i.begin_ns, reduction.end_ns);
            } else if (i.end_ns <= reduction.begin_ns) {
                i.end_ns = reduction.begin_ns;  // copied to where it leaves from
            } else if (const LifeSpan last = intervals_[reductions_.back()]; last.end_ns < i.end_ns) {
                // Summed where it lies (DDP): from then on it is the sum.
                const int64_t end = i.end_ns;
                i.end_ns = last.end_ns;
                add({last.end_ns, end, Holding::reduced, last.event});
            }
        }
    }

    /// Frozen, and in no flat array whose gradients are computed all the same.
    bool drops_gradients() const {
        if (!parameter_.frozen) return false;
        const trace::Event* const gather = first_gather(trace_, rank_, unit_);
        return gather == nullptr || flat_array_of(trace_.text(gather->rule)) != FlatArray::fsdp1;
    }

    void update() {
        if (parameter_.frozen) return;
        for (std::size_t i = first_; i < last_; ++i) {
            if (!is_update(trace_, record_.events[i])) continue;
            add({times_[i].begin_ns, times_[i].end_ns, Holding::updating, record_.events[i].id});
            add({times_[i].end_ns, end_ns_, Holding::updated, record_.events[i].id});
        }
    }

    /// When what the rank had computed up to `event` is done: communication goes on beside it.
    int64_t computed(int32_t event) const {
        for (auto i = std::min<int64_t>(event, static_cast<int64_t>(last_) - 1);
             i >= static_cast<int64_t>(first_); --i)
            if (record_.events[static_cast<std::size_t>(i)].stream == Stream::compute)
                return times_[static_cast<std::size_t>(i)].end_ns;
        return begin_ns_;
    }

    void add(LifeSpan interval) { intervals_.push_back(interval); }

    /// One span after the other, each the most telling of what is true in it.
    std::vector<LifeSpan> cut() const {
        std::vector<int64_t> edges{begin_ns_, end_ns_};
        for (const LifeSpan& i : intervals_)
            for (const int64_t t : {i.begin_ns, i.end_ns})
                if (t > begin_ns_ && t < end_ns_) edges.push_back(t);
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        std::vector<LifeSpan> out;
        for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
            LifeSpan span{edges[k], edges[k + 1], Holding::kept, -1};
            for (const LifeSpan& i : intervals_)
                if (i.begin_ns <= edges[k] && i.end_ns >= edges[k + 1] &&
                    rank_of(i.holding) > rank_of(span.holding)) {
                    span.holding = i.holding;
                    span.event = i.event;
                }
            if (!out.empty() && out.back().holding == span.holding && out.back().event == span.event)
                out.back().end_ns = span.end_ns;
            else if (!out.empty() && out.back().holding == span.holding &&
                     span.holding != Holding::reducing && span.holding != Holding::gathering)
                out.back().end_ns = span.end_ns;
            else
                out.push_back(span);
        }
        return out;
    }

    const trace::Trace& trace_;
    int32_t rank_;
    const trace::RankTrace& record_;
    const std::vector<time::Interval>& times_;
    int32_t step_;
    const ShownParameter& parameter_;
    trace::StringId unit_;
    bool no_gradients_ = false;         // of it, for others' are reduced with its unit
    std::size_t first_ = 0, last_ = 0;  // the step's events
    int64_t begin_ns_ = 0, end_ns_ = 0;
    std::vector<LifeSpan> intervals_;
    std::vector<std::size_t> reductions_;  // of them
};

}  // namespace

const char* name(Holding holding) {
    constexpr std::array<const char*, kHoldings> kNames{"kept",     "gathering", "whole",    "gradient",
                                                        "reducing", "reduced",   "updating", "updated"};
    return kNames[static_cast<std::size_t>(holding)];
}

ParameterLife life_of(const trace::Trace& trace, const time::Clock& clock, int32_t rank, int32_t step,
                      const ShownParameter& parameter) {
    return Life(trace, clock, rank, step, parameter).tell();
}

bool ParameterLife::holds(Holding holding, int64_t t_ns) const {
    return std::any_of(truths.begin(), truths.end(), [&](const LifeSpan& t) {
        return t.holding == holding && t_ns >= t.begin_ns && t_ns < t.end_ns;
    });
}

const LifeSpan* ParameterLife::at(int64_t t_ns) const {
    for (std::size_t i = 0; i < spans.size(); ++i)
        if (t_ns >= spans[i].begin_ns && (t_ns < spans[i].end_ns || i + 1 == spans.size()) &&
            t_ns <= spans[i].end_ns)
            return &spans[i];
    return nullptr;
}

}  // namespace meshscope::view
