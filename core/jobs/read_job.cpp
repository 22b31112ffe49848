#include "core/jobs/read_job.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/jobs/document.h"
#include "core/jobs/programs.h"
#include "core/jobs/settle.h"
#include "core/scenario/model_config.h"
#include "core/scenario/words.h"

namespace meshscope::jobs {
namespace {

namespace fs = std::filesystem;

/// A file that another names: from that one's folder, or from here. "" where it is in neither.
std::string found_beside(const std::string& file, const std::string& named) {
    std::error_code none;
    for (const fs::path& path : {fs::path(file).parent_path() / named, fs::path(named)})
        if (fs::is_regular_file(path, none)) return path.lexically_normal().string();
    return "";
}

void put_options(const JobOptions& options, Job& job) {
    const auto put = [&](const char* fact, const char* option, const std::optional<int64_t>& value) {
        if (value) job.facts.put(fact, *value, {Origin::Kind::option, "", option}, job.found);
    };
    put("world", "--world", options.world);
    put("ranks_per_node", "--ranks-per-node", options.ranks_per_node);
    put("micro_batch", "--micro-batch", options.micro_batch);
    put("accumulate", "--accumulate", options.accumulate);
    put("global_batch", "--global-batch", options.global_batch);
    put("seq", "--seq", options.seq);
    put(job.facts.has("vocab_multiple") ? "vocab" : "model.vocab", "--vocab", options.vocab);
}

/// The model that a config.json describes, held against what the job's files say of it. Vocabularies may
/// differ: a job pads its own.
void read_model(Job& job) {
    if (job.model_config.empty()) return;
    job.model = scenario::read_model_config(job.model_config).spec;
    const nn::ModelSpec& spec = *job.model;
    const bool llama = spec.kind == "llama";
    for (const auto& [fact, id] : {std::pair("model.experts", "jobs.dense_model"),
                                   std::pair("model.latent_attention", "jobs.no_latent_attention")})
        if (const Fact* const said = job.facts.find(fact))
            job.found.push_back(
                {{id,
                  {{"key", said->origin.key}, {"value", to_text(said->value)}, {"other", job.model_config}}},
                 {said->origin.source, 0, 0, -1},
                 {"jobs.hint.agree", {}}});
    const auto compare = [&](const char* fact, const char* field, Value value) {
        if (job.facts.said(fact))
            job.facts.put(fact, std::move(value), {Origin::Kind::file, job.model_config, field}, job.found);
    };
    compare("model.layers", "num_hidden_layers", spec.layers);
    compare("model.dim", "hidden_size", spec.dim);
    compare("model.hidden", "intermediate_size", spec.hidden);
    compare("model.heads", "num_attention_heads", spec.heads);
    compare("model.kv_heads", "num_key_value_heads", llama ? spec.kv_heads : spec.heads);
    compare("model.head_dim", "head_dim", spec.head_width());
    compare("model.norm_eps", llama ? "rms_norm_eps" : "layer_norm_epsilon", spec.norm_eps);
    const bool other_kind = job.facts.said("model.kind") && job.facts.text("model.kind") != spec.kind;
    compare("model.kind", "model_type", spec.kind);
    if (!other_kind) {
        compare("model.norm", "model_type", std::string(llama ? "RMSNorm" : "LayerNorm"));
        compare("model.positions", "model_type", std::string(llama ? "rope" : "learned_absolute"));
        compare("model.bias", "mlp_bias", llama ? spec.out_bias || spec.mlp_bias : spec.block_bias);
    }
    if (llama && !other_kind) {
        compare("model.gate", "hidden_act",
                std::string(spec.used_activation() == nn::Activation::silu ? "silu" : "gelu"));
        compare("model.rope_theta", "rope_theta", spec.rope_theta);
        compare("model.qk_norm", "model_type",
                std::string(scenario::qk_norms()[static_cast<std::size_t>(spec.qk_norm)]));
        compare("model.qkv_bias", "attention_bias", spec.qkv_bias);
    }
    if (job.facts.said("model.tied"))
        compare("model.tied", "tie_word_embeddings", spec.tied);
    else
        job.facts.replace("model.tied", spec.tied,
                          {Origin::Kind::file, job.model_config, "tie_word_embeddings"});
    // Heads are looked at with the mesh.
    job.facts.replace("model.heads", spec.heads,
                      {Origin::Kind::file, job.model_config, "num_attention_heads"});
    if (llama)
        job.facts.replace("model.kv_heads", spec.kv_heads,
                          {Origin::Kind::file, job.model_config, "num_key_value_heads"});
}

/// A DeepSpeed file that is given beside accelerate's, which names one: accelerate would read that one. Where
/// it is there it must be the given; where it is not, the given is read in its place, which is noted.
void hold_to_named(const Document& accelerate, const std::string& named, const std::string& given, Job& job) {
    const std::string path = found_beside(accelerate.file, named);
    std::error_code none;
    if (!path.empty() && fs::equivalent(path, given, none)) return;
    if (!path.empty())
        job.found.push_back({{"jobs.other_deepspeed_file", {{"named", path}, {"given", given}}},
                             {accelerate.file, 0, 0, -1},
                             {"jobs.hint.other_deepspeed_file", {}}});
    else
        job.unsaid.push_back({accelerate.file,
                              "deepspeed_config.deepspeed_config_file",
                              named,
                              false,
                              {"jobs.why.deepspeed_file", {{"given", given}}}});
}

void read_documents(std::vector<Document>& documents, Job& job) {
    const Document* main = nullptr;
    for (const Document& each : documents) {
        if (each.format == Format::model) {
            if (!job.model_config.empty() && job.model_config != each.file)
                job.found.push_back(
                    {{"jobs.two_models", {{"other", job.model_config}}}, {each.file, 0, 0, -1}, {}});
            job.model_config = each.file;
            continue;
        }
        if (each.format == Format::deepspeed) continue;
        if (main != nullptr)
            throw InputError(
                {{{"jobs.two", {{"other", main->file}}}, {each.file, 0, 0, -1}, {"jobs.hint.two", {}}}});
        main = &each;
    }
    std::string deepspeed_file;
    if (main != nullptr) {
        switch (main->format) {
            case Format::megatron:
                read_megatron(*main, job);
                break;
            case Format::nemo:
                read_nemo(*main, job);
                break;
            case Format::torchtitan:
                read_torchtitan(*main, job);
                break;
            case Format::accelerate:
                read_accelerate(*main, job, deepspeed_file);
                break;
            case Format::deepspeed:
            case Format::model:
                break;
        }
    }
    const auto deepspeed = std::ranges::find(documents, Format::deepspeed, &Document::format);
    const bool given = deepspeed != documents.end();
    if (!deepspeed_file.empty() && given) hold_to_named(*main, deepspeed_file, deepspeed->file, job);
    if (!deepspeed_file.empty() && !given) {
        const std::string path = found_beside(main->file, deepspeed_file);
        if (path.empty())
            throw InputError({{{"jobs.no_deepspeed_file", {{"named", deepspeed_file}}},
                               {main->file, 0, 0, -1},
                               {"jobs.hint.deepspeed_file", {}}}});
        Document document = read_document(path);
        if (document.format != Format::deepspeed)
            throw InputError({{{"jobs.no_deepspeed", {}}, {path, 0, 0, -1}, {}}});
        job.files.push_back(path);
        read_deepspeed(document, job);
    }
    if (main != nullptr && main->format != Format::accelerate && given)
        throw InputError(
            {{{"jobs.two", {{"other", main->file}}}, {deepspeed->file, 0, 0, -1}, {"jobs.hint.two", {}}}});
    for (const Document& each : documents)
        if (each.format == Format::deepspeed) read_deepspeed(each, job);
    if (job.program.empty())
        throw InputError(
            {{{"jobs.only_model", {}}, {documents.front().file, 0, 0, -1}, {"jobs.hint.known", {}}}});
}

}  // namespace

void fall_back(Job& job, const char* fact, Value value, const char* key) {
    job.facts.put(fact, std::move(value), {Origin::Kind::fallback, job.program, key}, job.found);
}

Job read_job(const std::vector<std::string>& files, const JobOptions& options) {
    Job job;
    std::vector<Document> documents;
    for (const std::string& file : files) {
        documents.push_back(read_document(file));
        job.files.push_back(file);
    }
    job.model_config = options.model;
    read_documents(documents, job);
    put_options(options, job);
    read_model(job);
    if (job.found.empty()) settle(job);
    for (Diagnostic& each : job.found)
        if (each.position.file.empty()) each.position.file = files.front();
    if (!job.found.empty()) throw InputError(std::move(job.found));
    return job;
}

}  // namespace meshscope::jobs
