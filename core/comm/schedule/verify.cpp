#include "core/comm/schedule/verify.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "core/comm/schedule/call_values.h"
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/kept_steps.h"

namespace meshscope::comm {
namespace {

using Kind = ScheduleFlaw::Kind;

struct Sent {
    std::vector<Value> values;
    int32_t round = 0;
    int32_t step = 0;
    std::vector<Stretch> where;  ///< it leaves from; nowhere, when it was packed
};

class Rank {
  public:
    std::vector<KeptStep> steps;
    std::size_t at = 0;
    std::vector<std::vector<Value>> buffers;
    int32_t waits_for = -1;  ///< of a rank that cannot go on
    bool ended() const { return at == steps.size(); }
};

/// Raised where something is wrong for certain.
struct Found {
    ScheduleFlaw flaw;
};

class Verification {
  public:
    Verification(const ScheduleCall& call, const StepsOfRank& say)
        : call_(call), sets_(call.ranks), values_(call_, sets_) {
        for (int32_t r = 0; r < p(); ++r) ranks_.push_back(made(r, say));
    }

    void run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (int32_t r = 0; r < p(); ++r)
                while (!rank(r).ended() && take(r)) moved = true;
        }
        for (int32_t r = 0; r < p(); ++r)
            if (!rank(r).ended()) stuck(r);
        for (const auto& [pair, messages] : under_way_)
            if (!messages.empty())
                throw Found{{.kind = Kind::never_received,
                             .rank = pair.first,
                             .peer = pair.second,
                             .round = messages.front().round,
                             .step = messages.front().step}};
        for (int32_t r = 0; r < p(); ++r) check_result(r);
        check_rounds();
    }

  private:
    int32_t p() const { return call_.ranks; }
    Rank& rank(int32_t r) { return ranks_[static_cast<std::size_t>(r)]; }

    Rank made(int32_t r, const StepsOfRank& say) {
        Rank made;
        made.buffers.resize(2);
        values_.fill(r, made.buffers[0], made.buffers[1]);
        const ScheduleQuery query{.op = call_.op,
                                  .ranks = p(),
                                  .rank = r,
                                  .root = call_.root,
                                  .elements = call_.elements,
                                  .element_bytes = call_.element_bytes,
                                  .in_parts = values_.parts(),
                                  .out_parts = values_.parts(),
                                  .node_of = call_.node_of};
        KeptSteps kept;
        const StepSink keep = kept.keeper();
        const int32_t rounds = say(query, [&](const Step& step) {
            keep(step);
            last_round_ = std::max(last_round_, carries(step) ? step.round : -1);
        });
        made.steps = std::move(kept.steps);
        if (r == 0) said_rounds_ = rounds;
        if (rounds != said_rounds_)
            throw Found{{.kind = Kind::rounds, .rank = r, .elements = said_rounds_, .found = rounds}};
        return made;
    }
    static bool carries(const Step& step) {
        return step.kind == Step::Kind::receive || step.kind == Step::Kind::reduce ||
               step.kind == Step::Kind::reduce_many;
    }

    // Steps -------------------------------------------------------------------------------------------------

    Found outside(int32_t r) {
        const Step& step = now(r).step;
        return {{.kind = Kind::outside, .rank = r, .peer = step.peer, .round = step.round, .step = number(r)}};
    }
    const KeptStep& now(int32_t r) { return rank(r).steps[rank(r).at]; }
    int32_t number(int32_t r) { return static_cast<int32_t>(rank(r).at); }

    Value& value(int32_t r, const Stretch& stretch, int64_t i) {
        auto& buffers = rank(r).buffers;
        const auto buffer = static_cast<std::size_t>(stretch.buffer);
        const int64_t at = stretch.first + i;
        if (stretch.buffer < 0 || buffer >= buffers.size() || at < 0 ||
            at >= static_cast<int64_t>(buffers[buffer].size()))
            throw outside(r);
        return buffers[buffer][static_cast<std::size_t>(at)];
    }
    std::vector<Value> read(int32_t r, std::span<const Stretch> where) {
        std::vector<Value> values;
        for (const Stretch& each : where)
            for (int64_t i = 0; i < each.elements; ++i) values.push_back(value(r, each, i));
        return values;
    }
    void write(int32_t r, std::span<const Stretch> where, const std::vector<Value>& values) {
        std::size_t at = 0;
        for (const Stretch& each : where)
            for (int64_t i = 0; i < each.elements; ++i) {
                Value& held = value(r, each, i);
                note_lost(r, held, values[at]);
                held = values[at++];
            }
    }

    /// What a partial sum had and what takes its place has not.
    void note_lost(int32_t r, const Value& held, const Value& comes) {
        if (!reduces(call_.op) || held.index < 0 || held.index != comes.index || held.from == comes.from)
            return;
        std::vector<int32_t> ranks = sets_.missing(comes.from, held.from);
        if (!ranks.empty() && losses_.size() < kMostLosses)
            losses_.push_back({held.index, r, number(r), std::move(ranks)});
    }
    void name_loss(ScheduleFlaw& flaw, int64_t index) const {
        for (const Loss& each : losses_)
            if (each.index == index &&
                std::ranges::find(each.ranks, flaw.ranks.front()) != each.ranks.end()) {
                flaw.lost_rank = each.rank;
                flaw.lost_step = each.step;
                return;
            }
    }

    Value combine(const Value& a, const Value& b) {
        Value sum = a;
        sum.from = sets_.combined(a.from, b.from);
        if (a.index != b.index) {
            sum.mixed = true;
            sum.other = b.index;
        }
        sum.mixed = sum.mixed || b.mixed;
        if (a.index < 0 || b.index < 0) sum.index = -1;
        sum.divisions = std::max(a.divisions, b.divisions);  // a quotient in a sum is none of the whole sum
        if (a.divisions + b.divisions > 0) sum.divisions = 2;
        return sum;
    }

    /// A rank that writes where a message of its own still leaves from waits for whom it goes to.
    bool may_write(int32_t r, std::span<const Stretch> where) {
        for (auto messages = under_way_.lower_bound({r, 0});
             messages != under_way_.end() && messages->first.first == r; ++messages) {
            const int32_t peer = messages->first.second;
            for (const Sent& sent : messages->second)
                for (const Stretch& left : sent.where)
                    for (const Stretch& to : where)
                        if (left.buffer == to.buffer && left.first < to.first + to.elements &&
                            to.first < left.first + left.elements) {
                            rank(r).waits_for = peer;
                            return false;
                        }
        }
        return true;
    }
    bool has_message(int32_t r, int32_t peer) {
        if (peer < 0 || peer >= p() || peer == r) throw outside(r);
        rank(r).waits_for = peer;
        return !under_way_[{peer, r}].empty();
    }
    std::vector<Value> message(int32_t r, int32_t peer, int64_t elements) {
        std::deque<Sent>& messages = under_way_[{peer, r}];
        Sent sent = std::move(messages.front());
        messages.pop_front();
        const Step& step = now(r).step;
        if (static_cast<int64_t>(sent.values.size()) != elements)
            throw Found{{.kind = Kind::message_size,
                         .rank = r,
                         .peer = peer,
                         .round = step.round,
                         .step = number(r),
                         .elements = elements,
                         .found = static_cast<int64_t>(sent.values.size())}};
        for (Value& each : sent.values) {
            each.peer = peer;
            each.round = step.round;
            each.step = number(r);
        }
        return std::move(sent.values);
    }

    /// Takes the rank's next step, or gives false where it has to wait.
    bool take(int32_t r) {
        const KeptStep& kept = now(r);
        const Step& step = kept.step;
        const std::vector<Stretch> own{step.own};
        switch (step.kind) {
            case Step::Kind::scratch:
                rank(r).buffers.emplace_back(static_cast<std::size_t>(step.elements));
                break;
            case Step::Kind::send:
                if (step.peer < 0 || step.peer >= p() || step.peer == r) throw outside(r);
                under_way_[{r, step.peer}].push_back(
                    {read(r, kept.from), step.round, number(r),
                     kept.from.size() == 1 && !step.packed ? kept.from : std::vector<Stretch>{}});
                break;
            case Step::Kind::receive:
                if (!may_write(r, kept.to) || !has_message(r, step.peer)) return false;
                write(r, kept.to, message(r, step.peer, step.elements));
                break;
            case Step::Kind::reduce: {
                if (!may_write(r, kept.to) || !has_message(r, step.peer)) return false;
                std::vector<Value> sums = message(r, step.peer, step.elements);
                const std::vector<Value> mine = read(r, kept.combined());
                if (mine.size() != sums.size()) throw outside(r);
                for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = combine(sums[i], mine[i]);
                write(r, kept.to, sums);
                break;
            }
            case Step::Kind::reduce_many: {
                if (!may_write(r, kept.to)) return false;
                for (int32_t peer = 0; peer < p(); ++peer)
                    if (peer != r && !has_message(r, peer)) return false;
                std::vector<Value> sums = read(r, own);
                for (int32_t peer = 0; peer < p(); ++peer) {
                    if (peer == r) continue;
                    const std::vector<Value> theirs = message(r, peer, step.elements);
                    if (theirs.size() != sums.size()) throw outside(r);
                    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = combine(theirs[i], sums[i]);
                }
                for (Value& each : sums) ++each.divisions;
                write(r, kept.to, sums);
                break;
            }
            case Step::Kind::copy:
                if (!may_write(r, kept.to)) return false;
                if (step.own.elements != step.elements) throw outside(r);
                write(r, kept.to, read(r, own));
                break;
            case Step::Kind::add: {
                if (!may_write(r, kept.to)) return false;
                const std::vector<Value> mine = read(r, own);
                std::vector<Value> sums = read(r, kept.to);
                if (mine.size() != sums.size()) throw outside(r);
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    const Value held = sums[i];
                    sums[i] = combine(mine[i], held);
                    if (held.peer >= 0 && mine[i].peer < 0) sums[i].peer = held.peer;
                }
                write(r, kept.to, sums);
                break;
            }
            case Step::Kind::finish: {
                if (!may_write(r, kept.to)) return false;
                std::vector<Value> values = read(r, kept.to);
                for (Value& each : values) ++each.divisions;
                write(r, kept.to, values);
                break;
            }
            case Step::Kind::wait:
                for (int32_t peer = 0; peer < p(); ++peer)
                    if (const auto sent = under_way_.find({r, peer});
                        sent != under_way_.end() && !sent->second.empty()) {
                        rank(r).waits_for = peer;
                        return false;
                    }
                break;
        }
        ++rank(r).at;
        return true;
    }

    // What is wrong ------------------------------------------------------------------------------------------

    /// Of ranks that cannot go on: a circle, or one that waits for a rank that has ended.
    [[noreturn]] void stuck(int32_t first) {
        std::vector<int32_t> way;
        int32_t r = first;
        while (std::ranges::find(way, r) == way.end()) {
            way.push_back(r);
            const int32_t next = rank(r).waits_for;
            if (rank(next).ended())
                throw Found{{.kind = Kind::never_sent,
                             .rank = r,
                             .peer = next,
                             .round = now(r).step.round,
                             .step = number(r)}};
            r = next;
        }
        way.erase(way.begin(), std::ranges::find(way, r));
        std::ranges::rotate(way, std::ranges::min_element(way));
        throw Found{{.kind = Kind::circle,
                     .rank = way.front(),
                     .peer = rank(way.front()).waits_for,
                     .round = now(way.front()).step.round,
                     .step = number(way.front()),
                     .ranks = way}};
    }

    void check_result(int32_t r) {
        const auto& out = rank(r).buffers[Stretch::kOutput];
        for (std::size_t i = 0; i < out.size(); ++i) {
            const auto want = values_.wanted(r, static_cast<int64_t>(i));
            if (!want) return;
            const Value& has = out[i];
            ScheduleFlaw flaw{.rank = r,
                              .peer = has.peer,
                              .round = has.round,
                              .step = has.step,
                              .element = static_cast<int64_t>(i)};
            if (has.mixed && has.other >= 0) {
                flaw.kind = Kind::mixed;
                flaw.found = has.other == want->index ? has.index : has.other;
            } else if (has.index < 0) {
                flaw.kind = Kind::unwritten;
            } else if (has.index != want->index ||
                       (!reduces(call_.op) && has.from != want->from)) {
                flaw.kind = Kind::wrong_place;
                flaw.found = has.index;
                flaw.ranks = sets_.beyond(has.from, want->from);
            } else if (flaw.ranks = sets_.twice(has.from); !flaw.ranks.empty()) {
                flaw.kind = Kind::twice;
            } else if (flaw.ranks = sets_.missing(has.from, want->from); !flaw.ranks.empty()) {
                flaw.kind = Kind::missing;
                name_loss(flaw, want->index);
            } else if (has.divisions != want->divisions) {
                flaw.kind = Kind::not_divided;
                flaw.found = has.divisions;
            } else {
                continue;
            }
            throw Found{std::move(flaw)};
        }
    }

    void check_rounds() const {
        if (call_.elements > 0 && last_round_ + 1 != said_rounds_)
            throw Found{{.kind = Kind::rounds, .elements = said_rounds_, .found = last_round_ + 1}};
    }

    struct Loss {
        int64_t index = 0;
        int32_t rank = 0, step = 0;
        std::vector<int32_t> ranks;
    };
    const ScheduleCall& call_;
    static constexpr std::size_t kMostLosses = 1 << 16;
    std::vector<Loss> losses_;
    Contributions sets_;
    CallValues values_;
    std::vector<Rank> ranks_;
    std::map<std::pair<int32_t, int32_t>, std::deque<Sent>> under_way_;
    int32_t last_round_ = -1, said_rounds_ = 0;
};

}  // namespace

std::optional<ScheduleFlaw> verify(const ScheduleCall& call, const StepsOfRank& steps) {
    try {
        Verification(call, steps).run();
    } catch (const Found& found) {
        return found.flaw;
    }
    return std::nullopt;
}

std::optional<ScheduleFlaw> verify(const ScheduleCall& call, Algorithm algorithm) {
    return verify(call, [algorithm](const ScheduleQuery& query, const StepSink& sink) {
        return say_steps(algorithm, query, sink);
    });
}

}  // namespace meshscope::comm
