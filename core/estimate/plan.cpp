#include "core/estimate/plan.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/base/error.h"

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

bool is_any_of(const std::optional<int64_t>& wanted, int64_t is) {
    return !wanted || *wanted == is;
}

class Search {
  public:
    Search(const Question& question, const std::function<bool(int64_t)>& go_on)
        : question_(question), go_on_(go_on), machine_(question.profile, question.gpus_per_node) {}

    Plan run() {
        const Shape& s = question_.shape;
        for (const int64_t tp : powers_up_to(std::min(question_.gpus_per_node, s.heads))) {
            if (s.heads % tp != 0 || !is_any_of(question_.only.tp, tp)) continue;
            for (const int64_t cp : powers_up_to(std::max<int64_t>(1, s.seq / kFewestTokens)))
                for (const int64_t pp : cuts_up_to(s.layers, question_.gpus / (tp * cp))) {
                    if (s.seq % cp != 0 || question_.gpus % (tp * cp * pp) != 0) continue;
                    if (question_.base_bits < 16 && tp * cp * pp > 1) continue;
                    if (!data_parallel(tp, cp, pp)) return std::move(made_);
                }
        }
        std::ranges::stable_sort(made_.fitting, {}, [](const Layouted& each) { return order_of(each); });
        std::ranges::stable_sort(made_.too_large, {}, &Layouted::needed_bytes);
        return std::move(made_);
    }

  private:
    bool data_parallel(int64_t tp, int64_t cp, int64_t pp) {
        const int64_t ranks = question_.gpus / (tp * cp * pp);
        if (question_.global_batch % ranks != 0) return true;
        const int64_t samples = question_.global_batch / ranks;
        for (const Sharing& sharing :
             sharings(traits(question_.stack), ranks, question_.gpus_per_node / (tp * cp), pp > 1))
            for (const int64_t micro : powers_up_to(samples)) {
                if (samples % micro != 0) continue;
                for (const int64_t stages : powers_up_to(pp > 1 ? 8 : 1)) {
                    if (!std::ranges::binary_search(cuts_up_to(question_.shape.layers, pp * stages),
                                                    pp * stages))
                        continue;
                    if (stages > 1 && (samples / micro) % pp != 0)
                        continue;  // what interleaving asks of micro-batches
                    Job job = base();
                    job.layout = {.tp = tp,
                                  .cp = cp,
                                  .pp = pp,
                                  .replicas = sharing.replicas,
                                  .shards = sharing.shards,
                                  .zero = sharing.zero,
                                  .sequence_parallel = tp > 1,
                                  .virtual_stages = stages,
                                  .order = stages > 1 ? Order::interleaved : Order::one_f_one_b};
                    job.micro_batch = micro;
                    job.micro_batches = samples / micro;
                    if (!recomputations(job)) return false;
                }
            }
        return true;
    }

    bool recomputations(Job& job) {
        for (const Recompute each : {Recompute::none, Recompute::products, Recompute::full}) {
            job.recompute = each;
            if (!question_.only.hold(job)) continue;
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
        job.lora_rank = question_.lora_rank;
        job.base_bits = question_.base_bits;
        return job;
    }

    const Question& question_;
    const std::function<bool(int64_t)>& go_on_;
    Machine machine_;
    Plan made_;
};

double step_with(const Question& question, const Job& job, double time::Profile::*figure,
                 double time::Profile::*also) {
    time::Profile faster = question.profile;
    faster.*figure *= 2;
    if (also != nullptr) faster.*also *= 2;
    return step_time(job, Machine(faster, question.gpus_per_node)).total_s();
}

}  // namespace

bool Sizes::hold(const Job& job) const {
    const Layout& l = job.layout;
    return is_any_of(tp, l.tp) && is_any_of(cp, l.cp) && is_any_of(pp, l.pp) &&
           is_any_of(stages, l.virtual_stages) && is_any_of(zero, l.zero) &&
           is_any_of(micro, job.micro_batch) && (!recompute || *recompute == job.recompute);
}

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
    Plan made = Search(question, go_on).run();
    if (made.tried == 0 && question.only.any())
        throw InvalidArgument(
            {"plan.no_layout_of", {{"gpus", question.gpus}, {"batch", question.global_batch}}});
    if (made.tried == 0)
        throw InvalidArgument(
            {"plan.no_layout", {{"gpus", question.gpus}, {"batch", question.global_batch}}});
    return made;
}

Sensitivity sensitivity(const Question& question, const Job& job) {
    const double now = step_time(job, Machine(question.profile, question.gpus_per_node)).total_s();
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
