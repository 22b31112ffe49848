#include <algorithm>
#include <bit>
#include <utility>

#include "app/gui/view/collective_state.h"
#include "app/gui/view/common.h"
#include "app/gui/view/stepping.h"
#include "core/time/queue.h"
#include "core/trace/ended.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

constexpr const char* kMinus = "\u2212";

std::string fraction(int64_t n, bool twice) {
    return (twice ? "2·" : "") + std::to_string(n - 1) + "/" + std::to_string(n);
}

class Describer {
  public:
    Describer(const Input& input, EventRef ref, bool tells_end)
        : in_(input),
          p_(input),
          e_(input.trace.event(ref.rank, ref.event)),
          open_(trace::unended_calls(input.trace, ref.rank)),
          tells_end_(tells_end) {
        f_.ref = ref;
    }

    EventFacts describe() {
        f_.unit = std::string(in_.trace.text(e_.unit));
        f_.rule = std::string(in_.trace.text(e_.rule));
        f_.words = rule_words(in_.texts, f_.rule);
        f_.source = std::string(in_.trace.text(e_.source));
        if (has_phases(in_.trace)) f_.badge = p_.say("view.phase." + std::string(name(e_.phase)));
        if (e_.prefetch) f_.badge += " · prefetch";
        if (e_.kind == trace::EventKind::compute)
            compute();
        else
            collective();
        return f_;
    }

  private:
    void row(const std::string& id, std::string value, bool mono = true) {
        f_.rows.push_back({p_.say(id), std::move(value), mono});
    }

    void compute() {
        f_.op = std::string(in_.trace.text(e_.name));
        f_.hue = Token::soft;
        if (e_.flops > 0) row("view.fact.flops", format_count(e_.flops));
        if (e_.touched_bytes > 0) row("view.fact.touched", format_exact_bytes(e_.touched_bytes));
        row("view.fact.stream", std::string(name(e_.stream)));
        when();
        duration();
    }

    // Step and micro-batch, where there is more than one; set-up is no step.
    void when() {
        if (in_.trace.info.steps > 1 && e_.step >= 0) row("view.fact.step", format_count(e_.step));
        if (tells_microbatch(in_.trace, f_.ref.rank, e_))
            row("view.fact.microbatch", format_count(e_.microbatch));
    }

    void collective() {
        f_.op = std::string(name(e_.op));
        f_.hue = op_hue(e_.op);
        if (e_.group >= 0 && static_cast<std::size_t>(e_.group) < in_.trace.groups.size()) {
            const auto& group = in_.trace.groups[static_cast<std::size_t>(e_.group)];
            const std::vector<int64_t> ranks(group.ranks.begin(), group.ranks.end());
            row("view.fact.group", format_ranks(ranks));
            row("view.fact.dim", group.mesh_dim);
        }
        row("view.fact.elements", e_.in_elements == e_.out_elements
                                      ? format_count(e_.in_elements)
                                      : format_count(e_.in_elements) + " → " + format_count(e_.out_elements));
        if (e_.padding > 0) row("view.fact.padding", format_count(e_.padding));
        std::string type(name(e_.dtype));
        if (e_.reduce_op != ReduceOp::none) type += ", " + std::string(name(e_.reduce_op));
        row("view.fact.dtype", type);
        if (e_.peer >= 0) row("view.fact.peer", "rank " + std::to_string(e_.peer));
        const std::string word(name(e_.algorithm));
        const std::string& file = in_.trace.info.algorithm_file;
        const bool named = e_.algorithm == Algorithm::own && !file.empty();
        const std::string algorithm = named ? word + " (" + file + ")" : word;
        // A transfer is one hop by its name already.
        const bool transfer = e_.op == CollectiveOp::send || e_.op == CollectiveOp::recv;
        if (e_.algorithm != Algorithm::none) {
            if (!transfer) f_.how = p_.say("view.algorithm." + word);
            const int32_t hops = open() ? 0 : rounds();
            row("view.fact.algorithm",
                hops > 0 ? p_.say("view.fact.hops", {arg("algorithm", algorithm), arg("hops", hops)})
                         : algorithm);
        } else if (!transfer && e_.group >= 0 &&
                   in_.trace.groups[static_cast<std::size_t>(e_.group)].ranks.size() < 2)
            row("view.fact.algorithm", p_.say("view.fact.alone"), false);
        row("view.fact.sequence", format_count(e_.sequence));
        when();
        duration();
        if (!tells_sent_bytes(e_)) {
            f_.sent = p_.say("view.fact.not_told");
            return;
        }
        if (open() && !tells_end_) return;
        if (open()) {
            const bool hops = in_.trace.info.level >= trace::Level::hops && !is_point_to_point(e_.op);
            f_.sent = hops ? p_.say("view.fact.arrived", {arg("bytes", format_exact_bytes(arrived_bytes()))})
                           : p_.say("view.fact.sent_unknown");
            return;
        }
        f_.sent = format_exact_bytes(e_.sent_bytes);
        if (const auto formula = byte_formula(in_.trace, e_)) {
            f_.formula = formula->text;
            f_.predicted = format_exact_bytes(formula->bytes);
            f_.agrees = formula->bytes == e_.sent_bytes;
        }
    }

    // Of the whole collective, as CollectiveState::rounds: this rank may be spoken to in some of them only.
    int32_t rounds() const {
        int32_t most = 0;
        for (const auto& instance : parallel_instances(in_.trace, f_.ref.rank, f_.ref.event)) {
            if (instance.group != e_.group) continue;
            for (std::size_t m = 0; m < instance.ranks.size(); ++m)
                for (const auto& hop : in_.trace.ranks[static_cast<std::size_t>(instance.ranks[m])].hops)
                    if (hop.event == instance.events[m]) most = std::max(most, hop.round + 1);
        }
        return most;
    }

    /// The call had not ended when the run broke off.
    bool open() const { return std::ranges::binary_search(open_, f_.ref.event); }

    /// It stood behind another call of its queue that never ended.
    bool queued() const {
        const auto queue = [&](const trace::Event& e) { return time::queue_of(in_.trace, in_.clock, e); };
        return std::ranges::any_of(open_, [&](int32_t id) {
            return id < f_.ref.event && queue(in_.trace.event(f_.ref.rank, id)) == queue(e_);
        });
    }

    /// What others recorded of it as received. What was under way when the run broke off nobody recorded.
    int64_t arrived_bytes() const {
        int64_t bytes = 0;
        for (const trace::RankTrace& rank : in_.trace.ranks)
            for (const trace::Hop& hop : rank.hops)
                if (hop.src == f_.ref.rank &&
                    same_collective(e_, rank.events[static_cast<std::size_t>(hop.event)]))
                    bytes += hop.bytes;
        return bytes;
    }

    void duration() {
        const auto& t =
            in_.clock.events[static_cast<std::size_t>(f_.ref.rank)][static_cast<std::size_t>(f_.ref.event)];
        if (open() && !tells_end_) return row("view.fact.begin", format_time(t.begin_ns));
        if (open() && queued()) return row("view.fact.begin", p_.say("view.fact.not_begun"), false);
        row("view.fact.begin", format_time(t.begin_ns));
        if (open()) return row("view.fact.end", p_.say("view.fact.not_ended"), false);
        row("view.fact.duration", format_time(t.end_ns - t.begin_ns));
    }

    const Input& in_;
    Painter p_;
    const trace::Event& e_;
    const std::vector<int32_t> open_;  ///< calls of its rank that never ended, ascending
    bool tells_end_;
    EventFacts f_;
};

}  // namespace

EventFacts describe_event(const Input& input, EventRef ref, bool tells_end) {
    return Describer(input, ref, tells_end).describe();
}

std::optional<ByteFormula> byte_formula(const trace::Trace& trace, const trace::Event& event) {
    if (event.kind != trace::EventKind::collective || event.group < 0) return std::nullopt;
    if (event.algorithm == Algorithm::own) return std::nullopt;  // its file says what it sends, no formula
    const auto n = static_cast<int64_t>(trace.groups[static_cast<std::size_t>(event.group)].ranks.size());
    const int64_t element = bytes_per_element(event.dtype);
    const auto part = [&](int64_t elements, bool twice) -> std::optional<ByteFormula> {
        ByteFormula f;
        f.whole_bytes = elements * element;
        f.bytes = (twice ? 2 : 1) * (n - 1) * f.whole_bytes / n;
        f.text = std::string(twice ? "2" : "") + "(n" + kMinus + "1)/n·S = " + fraction(n, twice) + "·" +
                 format_exact_bytes(f.whole_bytes);
        return f;
    };
    switch (event.op) {
        case CollectiveOp::all_gather:
            if (event.in_elements * n == event.out_elements) return part(event.out_elements, false);
            break;
        case CollectiveOp::reduce_scatter:
            if (event.algorithm == Algorithm::recursive_halving && (n & (n - 1)) != 0) break;  // folded
            if (event.out_elements * n == event.in_elements) return part(event.in_elements, false);
            break;
        case CollectiveOp::all_to_all:
            if (event.algorithm == Algorithm::bruck) {  // every slot travels as often as its number has ones
                int64_t ones = 0;
                for (int64_t i = 1; i < n; ++i) ones += std::popcount(static_cast<uint64_t>(i));
                ByteFormula f;
                f.whole_bytes = event.in_elements * element;
                f.bytes = ones * f.whole_bytes / n;
                f.text = std::to_string(ones) + "/n·S = " + std::to_string(ones) + "/" + std::to_string(n) +
                         "·" + format_exact_bytes(f.whole_bytes);
                return f;
            }
            if (n > 1 && event.sent_bytes == event.in_elements * element) {  // a permute: one part, all of it
                ByteFormula f;
                f.whole_bytes = f.bytes = event.in_elements * element;
                f.text = "S";
                return f;
            }
            if (event.in_elements == event.out_elements && event.in_elements % n == 0)
                return part(event.in_elements, false);
            break;
        case CollectiveOp::all_reduce: {
            // The ring is cut as torch.chunk cuts; a short last chunk makes the ranks send different amounts,
            // which no one formula of n and S gives. A direct all_reduce may take one round: everyone sends
            // everything.
            const bool even = event.in_elements % n == 0;
            if (event.algorithm == Algorithm::direct &&
                event.sent_bytes == (n - 1) * event.in_elements * element && n > 2) {
                ByteFormula f;
                f.whole_bytes = event.in_elements * element;
                f.bytes = (n - 1) * f.whole_bytes;
                f.text = std::string("(n") + kMinus + "1)·S = " + std::to_string(n - 1) + "·" +
                         format_exact_bytes(f.whole_bytes);
                return f;
            }
            // Those that reduce and gather in parts, ring and halving-doubling among them, send so much.
            if (const auto f = part(event.in_elements, true);
                event.algorithm != Algorithm::native && (even || n == 2) && f && f->bytes == event.sent_bytes)
                return f;
            break;
        }
        default:
            break;
    }
    return std::nullopt;
}

std::string words_of(const Texts& texts, const std::string& id, std::vector<MessageArg> args) {
    std::string words = texts.text(Message{id, std::move(args)});
    return words.starts_with(id) ? "" : words;
}

Explanation rule_words(const Texts& texts, std::string_view rule) {
    constexpr std::string_view kAgain = "recompute.";
    const auto of = [&](std::string_view id) {
        const std::string start = "rule." + std::string(id);
        return Explanation{words_of(texts, start + ".sentence"), words_of(texts, start + ".pytorch")};
    };
    Explanation found = of(rule);
    if (!found.sentence.empty() || !rule.starts_with(kAgain)) return found;
    found = of(rule.substr(kAgain.size()));
    if (found.sentence.empty()) return found;
    return {words_of(texts, "recompute.again.sentence", {{"sentence", found.sentence}}),
            words_of(texts, "recompute.again.pytorch", {{"pytorch", found.pytorch}})};
}

}  // namespace meshscope::view
