#include "core/jobs/settle.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "core/jobs/programs.h"
#include "core/jobs/table.h"
#include "core/scenario/readers.h"

namespace meshscope::jobs {
namespace {

/// Products stop here: no job has so many of anything.
constexpr int64_t kMost = Table::kMostTotal;

/// "tp 2 · pp 4"; without the ones, unless there is nothing else.
std::string product_text(const Facts& facts, std::initializer_list<const char*> names) {
    std::string text, ones;
    for (const char* name : names) {
        const auto n = facts.whole(name);
        if (!n) continue;
        std::string& into = *n == 1 ? ones : text;
        into += (into.empty() ? "" : " · ") + std::string(name) + " " + std::to_string(*n);
    }
    return text.empty() ? ones : text;
}

/// "64 / (tp 2 · pp 4)"
std::string quotient_text(const std::string& whole, const std::string& parts) {
    return whole + " / " + (parts.find(" · ") == std::string::npos ? parts : "(" + parts + ")");
}

/// Of two numbers of at least 1.
int64_t times(int64_t a, int64_t b) {
    return b > kMost / a ? kMost : a * b;
}

int64_t product(const Facts& facts, std::initializer_list<const char*> names) {
    int64_t all = 1;
    for (const char* name : names) all = times(all, std::max<int64_t>(1, facts.whole(name).value_or(1)));
    return all;
}

void report(Job& job, std::string_view fact, Message message, Message hint = {}) {
    const Fact* const about = job.facts.find(fact);
    const bool in_file = about != nullptr && about->origin.kind == Origin::Kind::file;
    job.found.push_back({std::move(message),
                         {in_file ? about->origin.source : job.files.front(), 0, 0, -1},
                         std::move(hint)});
}

/// How a fact is called where it comes from: "--global-batch-size".
std::string key_of(const Job& job, std::string_view fact) {
    const Fact* const found = job.facts.find(fact);
    return found == nullptr || found->origin.kind == Origin::Kind::derived ? std::string(fact)
                                                                           : found->origin.key;
}

void derive(Job& job, const char* fact, Value value, std::string sum) {
    job.facts.put(fact, std::move(value), {Origin::Kind::derived, "", std::move(sum)}, job.found);
}

/// Whether a product of facts is no more than a scenario can have; otherwise it is
/// reported as `id` ("jobs.too_many_ranks", "jobs.too_many_samples").
bool may_be(Job& job, const char* id, int64_t product, std::initializer_list<const char*> names,
            int64_t most) {
    if (product <= most) return true;
    const char* largest = *names.begin();
    for (const char* each : names)
        if (job.facts.whole(each).value_or(1) > job.facts.whole(largest).value_or(1)) largest = each;
    report(job, largest, {id, {{"sum", product_text(job.facts, names)}}},
           {"scenario.hint.range", {{"least", int64_t{1}}, {"most", most}}});
    return false;
}

/// Machines and ranks on each give all ranks, and the other way round. That there is one machine because
/// nobody says otherwise yields to ranks that somebody says.
void settle_machines(Job& job) {
    const auto nodes = job.facts.whole("nodes"), each = job.facts.whole("ranks_per_node"),
               world = job.facts.whole("world");
    const bool assumed = !job.facts.said("nodes");
    if (nodes && world && *world % *nodes != 0)
        return report(job, "world",
                      {"jobs.does_not_divide",
                       {{"key", key_of(job, "world")},
                        {"n", *world},
                        {"other", key_of(job, "nodes")},
                        {"ranks", *nodes}}},
                      {"jobs.hint.divides", {}});
    if (nodes && each && world && assumed && *world % *each == 0)
        return job.facts.replace(
            "nodes", *world / *each,
            {Origin::Kind::derived, "", key_of(job, "world") + " / " + key_of(job, "ranks_per_node")});
    if (nodes && each &&
        may_be(job, "jobs.too_many_ranks", *nodes * *each, {"nodes", "ranks_per_node"}, scenario::kMostRanks))
        derive(job, "world", *nodes * *each, product_text(job.facts, {"nodes", "ranks_per_node"}));
    else if (nodes && world)
        derive(job, "ranks_per_node", *world / *nodes, key_of(job, "world") + " / " + key_of(job, "nodes"));
}

bool has_degrees(const Job& job) {
    return job.facts.has("dp_shard");
}

/// Degrees that are all given, but perhaps for one that is the rest: torchtitan's, accelerate's.
void settle_degrees(Job& job) {
    Facts& facts = job.facts;
    const int64_t others = product(facts, {"dp_replicate", "tp", "cp", "pp"});
    const auto world = facts.whole("world");
    const int64_t shard = *facts.whole("dp_shard");
    const int64_t all = product(facts, {"dp_replicate", "dp_shard", "tp", "cp", "pp"});
    if (!may_be(job, "jobs.too_many_ranks", all, {"dp_replicate", "dp_shard", "pp", "cp", "tp"},
                scenario::kMostRanks))
        return;
    if (shard == -1) {
        job.world_multiple = others;
        if (!world) return;
        if (*world % others != 0)
            return report(job, "world",
                          {"jobs.world",
                           {{"world", *world},
                            {"product", others},
                            {"sum", product_text(facts, {"dp_replicate", "pp", "cp", "tp"})}}},
                          {"jobs.hint.world", {{"product", others}}});
        const std::string sum = key_of(job, "dp_shard") + " = -1: " +
                                quotient_text("world " + std::to_string(*world),
                                              product_text(facts, {"dp_replicate", "pp", "cp", "tp"}));
        facts.replace("dp_shard", *world / others, {Origin::Kind::derived, "", sum});
        return;
    }
    if (all == 1 && world && *world > 1) {  // accelerate: replicas
        facts.replace("dp_replicate", *world, facts.find("world")->origin);
        return;
    }
    const std::string sum = product_text(facts, {"dp_replicate", "dp_shard", "pp", "cp", "tp"});
    if (world && *world != all)
        return report(job, "world",
                      {"jobs.degrees",
                       {{"world", *world}, {"product", all}, {"sum", sum}, {"key", key_of(job, "world")}}},
                      {"jobs.hint.degrees", {}});
    if (!world) derive(job, "world", all, sum);
}

/// The batch's three numbers and the data-parallel ranks give each other: global = micro · accumulate · dp.
void settle_data_ranks(Job& job) {
    Facts& facts = job.facts;
    const int64_t others = product(facts, {"tp", "cp", "pp"});
    // Experts divide a stage's ranks in their own way.
    const int64_t expert = product(facts, {"ep", "etp", "pp"});
    if (!may_be(job, "jobs.too_many_ranks", others, {"tp", "cp", "pp"}, scenario::kMostRanks) ||
        !may_be(job, "jobs.too_many_ranks", expert, {"ep", "etp", "pp"}, scenario::kMostRanks))
        return;
    job.world_multiple =
        facts.whole("ep").value_or(1) > 1 || facts.has("model.experts") ? std::lcm(others, expert) : others;
    if (const auto world = facts.whole("world")) {
        if (*world % others != 0)
            return report(
                job, "world",
                {"jobs.world",
                 {{"world", *world}, {"product", others}, {"sum", product_text(facts, {"tp", "cp", "pp"})}}},
                {"jobs.hint.world", {{"product", job.world_multiple}}});
        if (*world % job.world_multiple != 0)
            return report(
                job, "world",
                {"jobs.world_experts",
                 {{"world", *world}, {"product", expert}, {"sum", product_text(facts, {"ep", "etp", "pp"})}}},
                {"jobs.hint.world", {{"product", job.world_multiple}}});
        return derive(
            job, "dp", *world / others,
            quotient_text("world " + std::to_string(*world), product_text(facts, {"tp", "cp", "pp"})));
    }
    const auto micro = facts.whole("micro_batch"), global = facts.whole("global_batch"),
               passes = facts.whole("accumulate");
    if (!micro || !global || !passes || !facts.said("accumulate")) return;
    if (*micro * *passes > *global || *global % (*micro * *passes) != 0)
        return report(job, "global_batch",
                      {"jobs.batch",
                       {{"key", key_of(job, "global_batch")},
                        {"batch", *global},
                        {"sum", product_text(facts, {"micro_batch", "accumulate"})},
                        {"product", *micro * *passes}}},
                      {"jobs.hint.batch", {{"product", *micro * *passes}}});
    const int64_t dp = *global / (*micro * *passes);
    derive(job, "dp", dp,
           quotient_text(key_of(job, "global_batch") + " " + std::to_string(*global),
                         product_text(facts, {"micro_batch", "accumulate"})));
    if (!may_be(job, "jobs.too_many_ranks", times(dp, others), {"dp", "tp", "cp", "pp"},
                scenario::kMostRanks))
        return;
    derive(job, "world", dp * others, product_text(facts, {"dp", "tp", "cp", "pp"}));
}

/// What the ranks that each have samples of their own are: along one dim, or replicas of shards.
struct DataDims {
    mesh::Shape shape;
    mesh::Names names;
};

DataDims data_dims(Job& job) {
    Facts& facts = job.facts;
    const std::string strategy = facts.text("strategy").value_or("none");
    int64_t replicas = facts.whole("dp_replicate").value_or(1), shards = facts.whole("dp_shard").value_or(1);
    if (!has_degrees(job)) {
        const int64_t dp = facts.whole("dp").value_or(1);
        const bool hybrid = facts.text("sharding_strategy").value_or("").starts_with("hybrid");
        const int64_t nodes = hybrid ? facts.whole("nodes").value_or(1) : 1;
        replicas = hybrid && dp % nodes == 0 ? nodes : 1;
        shards = dp / replicas;
        if (hybrid) return {{replicas, shards}, {"replicate", "shard"}};
    }
    if (strategy == "none" || strategy == "ddp") return {{replicas * shards}, {"replicate"}};
    if (replicas == 1 || strategy.starts_with("zero")) return {{replicas * shards}, {"shard"}};
    return {{replicas, shards}, {"replicate", "shard"}};
}

void settle_mesh(Job& job) {
    Facts& facts = job.facts;
    if (!facts.whole("world") || facts.whole("dp_shard") == -1) return;
    if (!has_degrees(job) && !facts.whole("dp")) return;
    const DataDims data = data_dims(job);
    const auto add = [&](const char* dim) {
        const int64_t n = facts.whole(dim).value_or(1);
        if (n == 1) return;
        job.mesh_shape.push_back(n);
        job.mesh_names.emplace_back(dim);
    };
    const auto add_data = [&] {
        job.mesh_shape.insert(job.mesh_shape.end(), data.shape.begin(), data.shape.end());
        job.mesh_names.insert(job.mesh_names.end(), data.names.begin(), data.names.end());
    };
    // The last dim is the fastest here; an order of Megatron begins with it.
    if (facts.text("order") == "tp-cp-ep-pp-dp") {
        add_data();
        add("pp");
    } else {
        add("pp");
        add_data();
    }
    add("cp");
    add("tp");
}

void settle_batch(Job& job) {
    Facts& facts = job.facts;
    if (job.mesh_shape.empty()) return;
    const int64_t dp = has_degrees(job) ? product(facts, {"dp_replicate", "dp_shard"}) : *facts.whole("dp");
    if (has_degrees(job)) derive(job, "dp", dp, product_text(facts, {"dp_replicate", "dp_shard"}));
    // torchtitan's micro-batches of a pipeline, and perhaps several pipelines a step.
    if (const Fact* const inner = facts.find("pp_microbatches");
        inner != nullptr && !facts.said("accumulate"))
        facts.replace("accumulate", inner->value, inner->origin);
    const auto micro = facts.whole("micro_batch"), global = facts.whole("global_batch");
    const auto passes = facts.whole("accumulate");
    if (facts.has("pp_microbatches") && passes) {
        if (micro && global && *global % times(*micro * *passes, dp) == 0 &&
            *global != times(*micro * *passes, dp)) {
            const Fact& inner = *facts.find("pp_microbatches");
            job.unsaid.push_back({inner.origin.source,
                                  inner.origin.key,
                                  to_text(inner.value),
                                  false,
                                  {"jobs.why.one_pipeline", {}}});
            facts.remove("accumulate");
        }
    }
    if (micro && global) {
        if (*global % (*micro * dp) != 0) {
            if (passes && facts.said("accumulate"))
                return report(job, "global_batch",
                              {"jobs.batch_is_not",
                               {{"key", key_of(job, "global_batch")},
                                {"batch", *global},
                                {"sum", product_text(facts, {"micro_batch", "accumulate", "dp"})},
                                {"product", times(*micro * *passes, dp)}}});
            return report(job, "global_batch",
                          {"jobs.batch",
                           {{"key", key_of(job, "global_batch")},
                            {"batch", *global},
                            {"sum", product_text(facts, {"micro_batch", "dp"})},
                            {"product", *micro * dp}}},
                          {"jobs.hint.batch", {{"product", *micro * dp}}});
        }
        return derive(job, "accumulate", *global / (*micro * dp),
                      quotient_text(key_of(job, "global_batch") + " " + std::to_string(*global),
                                    product_text(facts, {"micro_batch", "dp"})));
    }
    if (!passes) return;
    if (micro && may_be(job, "jobs.too_many_samples", times(*micro * *passes, dp),
                        {"micro_batch", "accumulate", "dp"}, kMostSamples))
        return derive(job, "global_batch", *micro * *passes * dp,
                      product_text(facts, {"micro_batch", "accumulate", "dp"}));
    if (global && (facts.said("accumulate") || job.counts_default_accumulation)) {
        if (*global % (*passes * dp) != 0)
            return report(job, "global_batch",
                          {"jobs.batch",
                           {{"key", key_of(job, "global_batch")},
                            {"batch", *global},
                            {"sum", product_text(facts, {"accumulate", "dp"})},
                            {"product", *passes * dp}}},
                          {"jobs.hint.batch", {{"product", *passes * dp}}});
        return derive(job, "micro_batch", *global / (*passes * dp),
                      quotient_text(key_of(job, "global_batch") + " " + std::to_string(*global),
                                    product_text(facts, {"accumulate", "dp"})));
    }
}

/// `what` parts of `fact` over `over` ranks.
void check_divides(Job& job, const char* fact, const char* over, bool or_factor = false) {
    const auto n = job.facts.whole(fact), ranks = job.facts.whole(over);
    if (!n || !ranks || *n % *ranks == 0 || (or_factor && *ranks % *n == 0)) return;
    report(job, fact,
           {"jobs.does_not_divide",
            {{"key", key_of(job, fact)}, {"n", *n}, {"other", key_of(job, over)}, {"ranks", *ranks}}},
           {"jobs.hint.divides", {}});
}

void ask(Job& job, const char* option, Message what) {
    job.missing.push_back({option, std::move(what)});
}

void settle_missing(Job& job) {
    const Facts& facts = job.facts;
    const Fact* const each = facts.find("ranks_per_node_word");
    if (job.mesh_shape.empty() && job.found.empty() && each != nullptr && facts.has("nodes"))
        ask(job, "--ranks-per-node",
            {"jobs.missing.ranks_per_node", {{"key", each->origin.key}, {"word", to_text(each->value)}}});
    else if (job.mesh_shape.empty() && job.found.empty())
        ask(job, "--world", {"jobs.missing.world", {{"multiple", job.world_multiple}}});
    if (!facts.whole("micro_batch") && !facts.whole("global_batch"))
        ask(job, "--micro-batch", {"jobs.missing.micro_batch", {}});
    else if (!facts.whole("micro_batch") && !job.mesh_shape.empty())
        ask(job, "--micro-batch", {"jobs.missing.micro_batch", {}});
    if (!facts.whole("accumulate") && !facts.whole("global_batch"))
        ask(job, "--accumulate", {"jobs.missing.accumulate", {}});
    if (!facts.whole("seq")) ask(job, "--seq", {"jobs.missing.seq", {}});
    if (job.model) return;
    if (facts.flag("model.other")) return ask(job, "--model", {"jobs.missing.other_model", {}});
    for (const char* size : {"model.kind", "model.layers", "model.dim", "model.heads"})
        if (!facts.has(size)) return ask(job, "--model", {"jobs.missing.model", {}});
    if (!facts.whole("model.vocab")) ask(job, "--vocab", {"jobs.missing.vocab", {}});
}

/// Megatron's table of tokens, padded to what the ranks can share.
void settle_vocabulary(Job& job) {
    Facts& facts = job.facts;
    const Fact* const vocab = facts.find("vocab");
    if (vocab == nullptr) return;
    if (facts.said("model.vocab")) {
        const auto wanted = facts.whole("vocab"), padded = facts.whole("model.vocab");
        if (wanted && padded && *wanted > *padded)
            report(job, "model.vocab",
                   {"jobs.padded_vocabulary",
                    {{"key", vocab->origin.key},
                     {"n", *wanted},
                     {"other", key_of(job, "model.vocab")},
                     {"padded", *padded}}},
                   {"jobs.hint.padded_vocabulary", {}});
        return;
    }
    const int64_t multiple = facts.whole("vocab_multiple").value_or(1) *
                             (facts.has("vocab_multiple") ? facts.whole("tp").value_or(1) : 1);
    const int64_t n = std::get<int64_t>(vocab->value), padded = (n + multiple - 1) / multiple * multiple;
    if (padded == n) return facts.replace("model.vocab", n, vocab->origin);
    facts.replace("model.vocab", padded,
                  {Origin::Kind::derived, "",
                   vocab->origin.key + " " + std::to_string(n) + " → " + std::to_string(multiple) + " · " +
                       std::to_string(padded / multiple) + " (" + key_of(job, "vocab_multiple") + ")"});
}

}  // namespace

void settle(Job& job) {
    settle_machines(job);
    if (has_degrees(job))
        settle_degrees(job);
    else
        settle_data_ranks(job);
    settle_replicas(job);
    if (job.found.empty()) settle_machines(job);
    if (job.found.empty()) settle_mesh(job);
    if (job.found.empty()) settle_batch(job);
    settle_vocabulary(job);
    if (const auto samples = job.facts.whole("samples"), batch = job.facts.whole("global_batch");
        samples && batch && *batch > 0)
        derive(job, "steps", std::max<int64_t>(1, *samples / *batch),
               key_of(job, "samples") + " " + std::to_string(*samples) + " / " + std::to_string(*batch));
    check_divides(job, "model.heads", "tp");
    check_divides(job, "model.kv_heads", "tp", true);
    if (job.facts.has("model.experts")) check_divides(job, "model.experts", "ep");
    settle_missing(job);
}

}  // namespace meshscope::jobs
