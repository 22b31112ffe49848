#include "core/estimate/plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/estimate/machine.h"

namespace meshscope::estimate {
namespace {

constexpr int64_t kFewestTokens = 2048;  ///< of a sample, on a cp rank

/// Powers of 2 from 1 to `most`.
std::vector<int64_t> powers_up_to(int64_t most) {
    std::vector<int64_t> found;
    for (int64_t n = 1; n <= most; n *= 2) found.push_back(n);
    return found;
}

/// Into how many stages layers can be cut, so that at most an eighth of the places for them stay empty; or
/// into two more than there are, where embedding and head stand in for a layer each (Llama 3's 126 layers
/// in 128 stages).
std::vector<int64_t> cuts_up_to(int64_t layers, int64_t most) {
    std::vector<int64_t> found;
    for (int64_t n = 1; n <= std::min(layers + 2, most); ++n)
        if (n != layers + 1 && ((layers + n - 1) / n * n - layers) * 8 <= layers) found.push_back(n);
    return found;
}

/// How data-parallel ranks share out a model: zero, and HSDP's two sizes.
struct Sharing {
    int zero;
    int64_t replicas, shards;
};

std::vector<Sharing> sharings(const StackTraits& stack, int64_t ranks, int64_t within_node, bool pipeline) {
    if (ranks == 1) return {{0, 1, 1}};
    std::vector<Sharing> found{{0, ranks, 1}};
    if (stack.zero_1) found.push_back({1, ranks, 1});
    if (!stack.fsdp) return found;
    // A stage's weights would be gathered once a micro-batch; so they are kept from the first one's forward
    // on.
    const int zero = pipeline ? 2 : 3;
    found.push_back({zero, 1, ranks});
    if (within_node > 1 && within_node < ranks && ranks % within_node == 0)
        found.push_back({zero, ranks / within_node, within_node});
    return found;
}

/// Times within 1 % of each other are no difference that an estimate can tell: then fewer dims and less
/// memory come first.
std::tuple<int64_t, int, double> order_of(const Layouted& each) {
    const Layout& l = each.job.layout;
    const int dims = (l.tp > 1) + (l.cp > 1) + (l.pp > 1) + (l.replicas > 1 && l.shards > 1);
    return {std::llround(std::log(each.time.total_s()) / std::log(1.01)), dims, each.needed_bytes};
}

/// What is tried of a size: what is asked for, else what a plan tries by itself.
std::vector<int64_t> asked_or(const std::optional<int64_t>& asked, std::vector<int64_t> otherwise) {
    return asked ? std::vector{*asked} : std::move(otherwise);
}

/// Why a layout was not tried, in the order in which that is found; what comes later came closer.
enum class Hurdle : uint8_t { none, tp, cp, ranks, batch, zero, micro, stages, job };

class Search {
  public:
    Search(const Question& question, const std::function<bool(int64_t)>& go_on)
        : question_(question), go_on_(go_on), machine_(question.profile, question.in_node()) {}

    Plan run() {
        if (every_layout()) {
            std::ranges::stable_sort(made_.fitting, {}, [](const Layouted& each) { return order_of(each); });
            std::ranges::stable_sort(made_.too_large, {}, &Layouted::needed_bytes);
        }
        return std::move(made_);
    }

    /// Why the one that came closest was not tried, where none was.
    const Message& why_none() const { return why_; }

  private:
    /// False where it was stopped.
    bool every_layout() {
        const Shape& s = question_.shape;
        const int64_t gpus = question_.gpus;
        for (const int64_t tp :
             asked_or(question_.only.tp, powers_up_to(std::min(question_.in_node(), s.heads)))) {
            if (s.heads % tp != 0) {
                refuse(Hurdle::tp, {"estimate.heads_tp", {{"heads", s.heads}, {"tp", tp}}});
                continue;
            }
            for (const int64_t cp :
                 asked_or(question_.only.cp, powers_up_to(std::max<int64_t>(1, s.seq / kFewestTokens)))) {
                if (s.seq % cp != 0) {
                    refuse(Hurdle::cp, {"estimate.seq_cp", {{"seq", s.seq}, {"cp", cp}}});
                    continue;
                }
                // Where tp and cp alone are too many, so they are for the message.
                const int64_t most = std::max<int64_t>(1, gpus / (tp * cp));
                for (const int64_t pp : asked_or(question_.only.pp, cuts_up_to(s.layers, most)))
                    if (!data_parallel(tp, cp, pp)) return false;
            }
        }
        return true;
    }

    bool data_parallel(int64_t tp, int64_t cp, int64_t pp) {
        const int64_t cut = tp * cp * pp, gpus = question_.gpus;
        if (gpus % cut != 0)
            return refuse(
                Hurdle::ranks,
                {"plan.ranks", {{"tp", tp}, {"cp", cp}, {"pp", pp}, {"ranks", cut}, {"gpus", gpus}}});
        if (question_.base_bits < 16 && cut > 1) return refuse(Hurdle::ranks, {"estimate.base_bits_cut", {}});
        const int64_t ranks = gpus / cut, batch = question_.global_batch;
        if (batch % ranks != 0)
            return refuse(Hurdle::batch, {"plan.batch", {{"batch", batch}, {"ranks", ranks}}});
        const auto all = sharings(traits(question_.stack), ranks, question_.in_node() / (tp * cp), pp > 1);
        std::vector<int64_t> known;
        for (const Sharing& sharing : all) {
            if (question_.only.zero.value_or(sharing.zero) != sharing.zero) {
                if (std::ranges::find(known, sharing.zero) == known.end()) known.push_back(sharing.zero);
                continue;
            }
            const int64_t samples = batch / ranks;
            for (const int64_t micro : asked_or(question_.only.micro, powers_up_to(samples))) {
                if (samples % micro != 0) {
                    refuse(Hurdle::micro, {"plan.micro", {{"samples", samples}, {"micro", micro}}});
                    continue;
                }
                Job job = base();
                job.layout = {.tp = tp,
                              .cp = cp,
                              .pp = pp,
                              .replicas = sharing.replicas,
                              .shards = sharing.shards,
                              .zero = sharing.zero,
                              .sequence_parallel = tp > 1};
                job.micro_batch = micro;
                job.micro_batches = samples / micro;
                if (!stages(job)) return false;
            }
        }
        if (!known.empty())
            refuse(Hurdle::zero, {"plan.zero",
                                  {{"zero", *question_.only.zero},
                                   {"stack", std::string(traits(question_.stack).word)},
                                   {"ranks", ranks},
                                   {"pp", pp},
                                   {"known", known}}});
        return true;
    }

    bool stages(Job& job) {
        Layout& l = job.layout;
        const auto cuts = cuts_up_to(question_.shape.layers, 8 * l.pp);
        for (const int64_t each : asked_or(question_.only.stages, powers_up_to(l.pp > 1 ? 8 : 1))) {
            const bool asked = question_.only.stages || (question_.only.pp && each == 1);
            if (!asked && !std::ranges::binary_search(cuts, l.pp * each)) continue;
            if (each > 1 && l.pp == 1) {
                refuse(Hurdle::stages, {"plan.stages_pp", {{"stages", each}}});
                continue;
            }
            if (each > 1 && job.micro_batches % l.pp != 0) {  // what interleaving asks of micro-batches
                refuse(Hurdle::stages, {"plan.interleaving",
                                        {{"stages", each}, {"pp", l.pp}, {"batches", job.micro_batches}}});
                continue;
            }
            l.virtual_stages = each;
            l.order = each > 1 ? Order::interleaved : Order::one_f_one_b;
            if (auto why = why_impossible(job))
                refuse(Hurdle::job, std::move(*why));
            else if (!recomputations(job))
                return false;
        }
        return true;
    }

    bool recomputations(Job& job) {
        for (const Recompute each : {Recompute::none, Recompute::products, Recompute::full}) {
            job.recompute = each;
            if (question_.only.recompute.value_or(each) != each) continue;
            Layouted made{.job = job, .time = {}, .memory = peak_memory(job)};
            made.needed_bytes = needed_bytes(made.memory.total(), question_.stack);
            made.time = step_time(job, machine_);
            ++made_.tried;
            const bool fits = made.needed_bytes <= question_.memory_bytes;
            (fits ? made_.fitting : made_.too_large).push_back(std::move(made));
        }
        return !go_on_ || go_on_(made_.tried);
    }

    Job base() const {
        Job job;
        job.shape = question_.shape;
        job.stack = question_.stack;
        job.compiled = question_.compiled;
        job.overlap_tensor = traits(question_.stack).overlap_tensor;
        job.lora_rank = question_.lora_rank;
        job.base_bits = question_.base_bits;
        return job;
    }

    /// Always true: the search goes on.
    bool refuse(Hurdle hurdle, Message why) {
        if (made_.tried == 0 && hurdle > hurdle_) {
            hurdle_ = hurdle;
            why_ = std::move(why);
        }
        return true;
    }

    const Question& question_;
    const std::function<bool(int64_t)>& go_on_;
    Machine machine_;
    Plan made_;
    Hurdle hurdle_ = Hurdle::none;
    Message why_;
};

double step_with(const Question& question, const Job& job, double time::Profile::*figure,
                 double time::Profile::*also) {
    time::Profile faster = question.profile;
    faster.*figure *= 2;
    if (also != nullptr) faster.*also *= 2;
    return step_time(job, Machine(faster, question.in_node())).total_s();
}

}  // namespace

std::vector<const Layouted*> Plan::pareto() const {
    std::vector<const Layouted*> by_time;
    for (const Layouted& each : fitting) by_time.push_back(&each);
    std::ranges::stable_sort(by_time, {}, [](const Layouted* each) { return each->time.total_s(); });
    std::vector<const Layouted*> front;
    for (const Layouted* each : by_time)
        if (front.empty() || each->needed_bytes < front.back()->needed_bytes) front.push_back(each);
    return front;
}

Plan plan(const Question& question, const std::function<bool(int64_t tried)>& go_on) {
    if (question.gpus < 1 || question.global_batch < 1 || question.shape.layers < 1)
        throw InvalidArgument({"plan.nothing", {{"gpus", question.gpus}, {"batch", question.global_batch}}});
    Search search(question, go_on);
    Plan made = search.run();
    if (made.tried == 0 && question.only.any() && !search.why_none().id.empty())
        throw InvalidArgument(search.why_none());
    if (made.tried == 0)
        throw InvalidArgument(
            {"plan.no_layout", {{"gpus", question.gpus}, {"batch", question.global_batch}}});
    return made;
}

Sensitivity sensitivity(const Question& question, const Job& job) {
    const double now = step_time(job, Machine(question.profile, question.in_node())).total_s();
    const auto saved = [&](double time::Profile::*figure, double time::Profile::*also) {
        return 1 - step_with(question, job, figure, also) / now;
    };
    using P = time::Profile;
    return {.network = saved(&P::bandwidth_between_bytes_per_s, &P::node_bytes_per_s),
            .links = saved(&P::bandwidth_inside_bytes_per_s, nullptr),
            .products = saved(&P::bfloat16_flops_per_s, &P::flops_per_s),
            .memory = saved(&P::memory_bytes_per_s, nullptr)};
}

}  // namespace meshscope::estimate
