#include "core/jobs/adapt.h"

#include <algorithm>
#include <limits>

#include "core/parallel/declaration.h"

namespace meshscope::jobs {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// Notes that the scenario does not hold a fact.
void unsaid(Job& job, const char* fact, Message why) {
    const Fact* const about = job.facts.find(fact);
    if (about == nullptr) return;
    const bool fallback = about->origin.kind == Origin::Kind::fallback;
    job.unsaid.push_back({about->origin.source, about->origin.key, "", fallback, std::move(why)});
}

void choose(Job& job, const char* fact, Value value, const char* reason) {
    if (!job.facts.has(fact)) job.facts.replace(fact, std::move(value), {Origin::Kind::chosen, "", reason});
}

const parallel::Declaration* strategy_of(const Job& job) {
    return parallel::find_declaration(job.facts.text("strategy").value_or("none"));
}

/// Whether the scenario holds all in bfloat16, as the job wants it, with what that changes noted; else that
/// it does not.
bool keeps_bfloat16(Job& job) {
    const parallel::Declaration* const strategy = strategy_of(job);
    if (strategy == nullptr || !strategy->stores_bfloat16) {
        unsaid(job, "dtype", {"jobs.why.float32_state", {}});
        job.facts.remove("dtype");
        return false;
    }
    // Only FSDP computes and reduces in other types than it keeps.
    if (job.facts.text("strategy") != "fsdp2") return true;
    if (job.facts.text("precision") != "bfloat16") unsaid(job, "precision", {"jobs.why.all_bfloat16", {}});
    if (job.facts.text("reduce") == "float32") unsaid(job, "reduce", {"jobs.why.reduced_bfloat16", {}});
    return true;
}

/// There is no float16 here.
void adapt_precision(Job& job) {
    const std::string precision = job.facts.text("precision").value_or("float32");
    if (job.facts.has("dtype") && keeps_bfloat16(job)) return;
    if (precision == "float32") return;
    if (precision != "bfloat16") return unsaid(job, "precision", {"jobs.why.half", {}});
    const Fact& known = *job.facts.find("precision");
    const std::string strategy = job.facts.text("strategy").value_or("none");
    if (job.autocasts && (strategy == "ddp" || strategy == "none"))
        unsaid(job, "precision", {"jobs.why.autocast", {}});
    job.facts.replace("param", precision, known.origin);
}

/// The size of a bucket, in MiB of what is reduced.
void adapt_buckets(Job& job) {
    const bool halved = job.facts.has("param") && job.facts.text("reduce").value_or("float32") != "float32";
    const double bytes = halved ? 2 : 4;
    const parallel::Declaration* const strategy = strategy_of(job);
    if (strategy == nullptr || strategy->key("bucket_cap_mb") == nullptr)
        return job.facts.remove("bucket_cap_mb");
    if (job.facts.flag("one_bucket")) {
        job.facts.replace("bucket_cap_mb", int64_t{1'000'000}, job.facts.find("one_bucket")->origin);
    } else if (const auto elements = job.facts.whole("bucket_elements")) {
        job.facts.replace("bucket_cap_mb", static_cast<double>(*elements) * bytes / kMiB,
                          job.facts.find("bucket_elements")->origin);
    } else if (job.min_bucket_elements > 0) {
        const int64_t own = std::max(job.min_bucket_elements,
                                     job.bucket_elements_per_dp_rank * job.facts.whole("dp").value_or(1));
        job.facts.replace("bucket_cap_mb", static_cast<double>(own) * bytes / kMiB,
                          {Origin::Kind::fallback, job.program, "--ddp-bucket-size"});
    }
}

}  // namespace

void adapt(Job& job) {
    adapt_precision(job);
    adapt_buckets(job);
    if (job.facts.flag("decoder_units") && job.facts.flag("model.tied"))
        unsaid(job, "decoder_units", {"jobs.why.tied_units", {}});
    choose(job, "steps", int64_t{2}, "jobs.origin.steps");
    if (const auto steps = job.facts.whole("steps"); *steps > std::numeric_limits<int32_t>::max())
        job.facts.replace("steps", int64_t{std::numeric_limits<int32_t>::max()},
                          job.facts.find("steps")->origin);
    choose(job, "optimizer", std::string("adamw"), "jobs.origin.optimizer");
    if (!job.facts.has("ranks_per_node"))
        choose(job, "ranks_per_node", std::min<int64_t>(8, job.facts.whole("world").value_or(8)),
               "jobs.origin.ranks_per_node");
    if (job.facts.whole("pp").value_or(1) > 1 && !job.facts.has("schedule")) {
        const bool loops = job.facts.whole("stages_per_rank").value_or(1) > 1;
        const Fact* const stages = job.facts.find("stages_per_rank");
        job.facts.replace(
            "schedule", std::string(loops ? "Interleaved1F1B" : "1F1B"),
            stages != nullptr ? stages->origin : Origin{Origin::Kind::fallback, job.program, "schedule"});
    }
}

bool concede(const std::string& refusal, Job& job) {
    const auto give_up = [&](const char* fact, Value value, Message why) {
        const Fact* const known = job.facts.find(fact);
        if (known == nullptr || known->value == value) return false;
        unsaid(job, fact, std::move(why));
        job.facts.replace(fact, std::move(value), {Origin::Kind::chosen, "", "jobs.origin.conceded"});
        return true;
    };
    if ((refusal == "scenario.precision_needs_ranks" || refusal == "scenario.precision_needs_shards") &&
        job.facts.has("param")) {
        unsaid(job, "param", {"jobs.why.precision_alone", {}});
        job.facts.remove("param");
        return true;
    }
    if (refusal == "scenario.pipeline_tied") return give_up("model.tied", false, {"jobs.why.tied", {}});
    if (refusal == "scenario.cp_sequence_gpt")
        return give_up("sequence_parallel", false, {"jobs.why.sequence_parallel", {}});
    return false;
}

}  // namespace meshscope::jobs
