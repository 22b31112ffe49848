#include "core/jobs/write.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/file_kind.h"
#include "core/base/shell_word.h"
#include "core/base/text.h"
#include "core/base/toml_text.h"
#include "core/jobs/adapt.h"
#include "core/scenario/model_config.h"
#include "core/scenario/scenario.h"

namespace meshscope::jobs {
namespace {

namespace fs = std::filesystem;

std::string toml_text(const Value& value) {
    if (const auto* word = std::get_if<std::string>(&value)) return toml_string(*word);
    std::string text = to_text(value);
    // A fraction that is whole stays a fraction.
    if (std::holds_alternative<double>(value) && text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
}

/// A file's name without its folder: the folders stand in the first line.
std::string leaf(const std::string& file) {
    return fs::path(file).filename().string();
}

/// A scenario, line by line.
class Writer {
  public:
    Writer(const Job& job, const std::function<std::string(const Message&)>& say) : job_(job), say_(say) {}

    void table(const char* name) { pending_ = name; }

    void comment(const Message& message) {
        open();
        text_ += "# " + printable(say_(message)) + "\n";
    }

    void line(const char* key, const std::string& value, const Origin* origin) {
        open();
        text_ += std::string(key) + " = " + value;
        if (origin != nullptr) text_ += "  # " + printable(say_(to_message(*origin)));
        text_ += '\n';
    }

    /// `key` with the value of a fact, where it is known.
    void fact(const char* key, const char* name) {
        if (const Fact* const fact = job_.facts.find(name)) line(key, toml_text(fact->value), &fact->origin);
    }

    std::string take() { return std::move(text_); }
    void raw(const std::string& text) { text_ += text; }

  private:
    /// A table is opened by its first line.
    void open() {
        if (pending_ == nullptr) return;
        text_ += std::string("\n[") + pending_ + "]\n";
        pending_ = nullptr;
    }

    const Job& job_;
    const std::function<std::string(const Message&)>& say_;
    std::string text_;
    const char* pending_ = nullptr;
};

void write_head(const Job& job, Writer& out) {
    std::string files;
    for (const std::string& file : job.files) files += " " + shell_word(printable(file));
    out.raw(std::string(kScenarioMark) + files + "\n");
    out.comment({"jobs.text.head", {}});
    out.raw("format = 1\n");
}

void write_model(const Job& job, const std::string& path, Writer& out) {
    out.table("model");
    if (job.model) {
        // From the scenario's folder, unless the path begins at the root.
        fs::path config(job.model_config);
        if (config.is_relative()) {
            const fs::path folder =
                path.empty() ? fs::current_path() : fs::absolute(fs::path(path)).parent_path();
            config = fs::absolute(config).lexically_proximate(folder);
        }
        const Origin origin{Origin::Kind::file, leaf(job.model_config), "model_type"};
        out.line("kind", toml_text(std::string(scenario::kConfigPrefix) + config.string()), &origin);
        out.fact("seq", "seq");
        if (job.facts.said("model.vocab")) out.fact("vocab", "model.vocab");
        if (const Fact* const tied = job.facts.find("model.tied");
            tied != nullptr && tied->origin.source != job.model_config)
            out.fact("tied", "model.tied");
        return;
    }
    const bool llama = job.facts.text("model.kind") == "llama";
    for (const auto& [key, fact] :
         {std::pair("kind", "model.kind"), std::pair("dim", "model.dim"), std::pair("hidden", "model.hidden"),
          std::pair("layers", "model.layers"), std::pair("heads", "model.heads")})
        out.fact(key, fact);
    if (llama) out.fact("kv_heads", "model.kv_heads");
    for (const auto& [key, fact] :
         {std::pair("head_dim", "model.head_dim"), std::pair("vocab", "model.vocab"), std::pair("seq", "seq"),
          std::pair("tied", "model.tied"), std::pair("norm_eps", "model.norm_eps")})
        out.fact(key, fact);
    if (llama) {
        out.fact("rope_theta", "model.rope_theta");
        out.fact("qk_norm", "model.qk_norm");
        const bool biased = job.facts.flag("model.bias");
        if (biased || job.facts.flag("model.qkv_bias"))
            out.fact("qkv_bias", job.facts.flag("model.qkv_bias") ? "model.qkv_bias" : "model.bias");
        if (biased) {
            out.fact("out_bias", "model.bias");
            out.fact("mlp_bias", "model.bias");
        }
    } else {
        out.fact("bias", "model.bias");
        out.fact("activation", "model.activation");
    }
    for (const auto& [key, fact] :
         {std::pair("experts", "model.experts"), std::pair("experts_per_token", "model.experts_per_token"),
          std::pair("expert_hidden", "model.expert_hidden"),
          std::pair("latent_attention", "model.latent_attention")})
        out.fact(key, fact);
}

void write_training(const Job& job, Writer& out) {
    const bool pipeline = job.facts.whole("pp").value_or(1) > 1;
    out.table("train");
    out.fact("steps", "steps");
    out.fact("global_batch", "global_batch");
    out.fact("micro_batch", "micro_batch");
    if (!pipeline && job.facts.whole("accumulate").value_or(1) > 1) out.fact("accumulate", "accumulate");
    out.fact("dtype", "dtype");
    out.fact("clip_norm", "clip_norm");
    if (job.facts.text("recompute").value_or("none") != "none") out.fact("recompute", "recompute");
    out.table("optimizer");
    out.fact("kind", "optimizer");
    out.fact("lr", "lr");
    const Fact* const first = job.facts.find("beta1");
    const Fact* const second = job.facts.find("beta2");
    if (first != nullptr && second != nullptr && job.facts.text("optimizer") != "sgd")
        out.line("betas", "[" + toml_text(first->value) + ", " + toml_text(second->value) + "]",
                 &second->origin);
    if (job.facts.text("optimizer") == "sgd")
        out.fact("momentum", "momentum");
    else
        out.fact("eps", "eps");
    out.fact("weight_decay", "weight_decay");
}

/// What a dim of the mesh is called as a fact.
std::string fact_of(const Job& job, const std::string& dim) {
    if (dim == "replicate" && job.facts.has("dp_replicate") && job.mesh_names.size() > 1)
        return "dp_replicate";
    if (dim == "shard" && job.facts.has("dp_shard")) return "dp_shard";
    return dim == "replicate" || dim == "shard" ? "dp" : dim;
}

void write_mesh(const Job& job, const std::function<std::string(const Message&)>& say, Writer& out) {
    out.table("mesh");
    std::string shape, names;
    for (std::size_t i = 0; i < job.mesh_shape.size(); ++i) {
        const std::string& dim = job.mesh_names[i];
        if (const Fact* const fact = job.facts.find(fact_of(job, dim)))
            out.comment(
                {"jobs.text.dim",
                 {{"dim", dim}, {"n", job.mesh_shape[i]}, {"origin", say(to_message(fact->origin))}}});
        shape += (i == 0 ? "" : ", ") + std::to_string(job.mesh_shape[i]);
        names += (i == 0 ? "\"" : ", \"") + dim + "\"";
    }
    out.line("shape", "[" + shape + "]", nullptr);
    const Fact* const order = job.facts.find("order");
    out.line("names", "[" + names + "]", order == nullptr ? nullptr : &order->origin);
}

/// A list over as many lines as it takes.
std::string list_text(const std::vector<std::string>& items) {
    constexpr std::size_t kLine = 100;
    std::string text = "[";
    std::size_t line = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const bool wraps = line + items[i].size() > kLine;
        text += std::string(i == 0 ? "" : ",") + (wraps ? "\n    " : i == 0 ? "" : " ") + items[i];
        line = wraps ? items[i].size() : line + items[i].size() + 2;
    }
    return text + "]";
}

/// What FSDP2 gathers together, and what it frees after forward.
void write_units(const Job& job, Writer& out) {
    const Facts& facts = job.facts;
    if (facts.text("strategy") != "fsdp2") return;
    const Fact* const frees = facts.find("reshard_after_forward");
    const Fact* const units = facts.find("decoder_units");
    const int64_t layers = job.model ? job.model->layers : facts.whole("model.layers").value_or(0);
    const bool named = units != nullptr && layers > 0 && !facts.flag("model.tied");
    if (named) {
        std::vector<std::string> names{"\"tok\""};
        for (int64_t i = 0; i < layers; ++i) names.push_back("\"blocks." + std::to_string(i) + "\"");
        names.emplace_back("[\"ln_f\", \"head\"]");
        out.line("units", list_text(names), &units->origin);
    }
    if (frees == nullptr) return;
    const std::string& word = std::get<std::string>(frees->value);
    if (word != "default") return out.line("reshard_after_forward", word, &frees->origin);
    if (!named) return out.line("reshard_after_forward", toml_text(word), &frees->origin);
    std::vector<std::string> each(static_cast<std::size_t>(layers) + 1, "true");
    each.emplace_back("false");  // the head is the first that backward needs
    out.line("reshard_after_forward", list_text(each), &frees->origin);
}

void write_parallel(const Job& job, Writer& out) {
    const Facts& facts = job.facts;
    out.table("parallel");
    out.fact("data", "strategy");
    if (facts.whole("pp").value_or(1) > 1) {
        out.fact("schedule", "schedule");
        out.fact("microbatches", "accumulate");
        if (facts.whole("stages_per_rank").value_or(1) > 1) out.fact("stages_per_rank", "stages_per_rank");
        if (const Fact* const layers = facts.find("stage_layers"))
            out.line("stage_layers", std::get<std::string>(layers->value), &layers->origin);
    }
    if (facts.whole("tp").value_or(1) > 1) {
        out.fact("sequence_parallel", "sequence_parallel");
        out.fact("loss_parallel", "loss_parallel");
    }
    if (facts.whole("cp").value_or(1) > 1) out.fact("cp", "cp_kind");
    write_units(job, out);
    for (const char* key : {"sharding_strategy", "backward_prefetch", "forward_prefetch", "use_orig_params",
                            "wrap", "wrap_min_elements", "cpu_offload", "bucket_cap_mb"})
        out.fact(key, key);
    if (facts.has("param")) {
        out.table("parallel.mixed_precision");
        out.fact("param", "param");
        out.fact("reduce", "reduce");
    }
}

void write_tail(const Job& job, const std::function<std::string(const Message&)>& say, Writer& out) {
    out.table("hardware");
    out.fact("ranks_per_node", "ranks_per_node");
    if (!job.unsaid.empty()) {
        out.raw("\n");
        out.comment({"jobs.text.unsaid", {}});
        for (const Unsaid& each : job.unsaid) out.comment(to_message(each, say(each.why)));
    }
    if (job.unread.empty()) return;
    out.raw("\n");
    out.comment({"jobs.text.unread", {}});
    std::string line = "#";
    for (const auto& [file, key] : job.unread) {
        if (line.size() + key.size() > 110) {
            out.raw(line + "\n");
            line = "#";
        }
        line += " " + printable(key);
    }
    out.raw(line + "\n");
}

std::string write(const Job& job, const std::string& path,
                  const std::function<std::string(const Message&)>& say) {
    Writer out(job, say);
    write_head(job, out);
    write_model(job, path, out);
    write_training(job, out);
    write_mesh(job, say, out);
    write_parallel(job, out);
    write_tail(job, say, out);
    return out.take();
}

/// The job with such names.
Job with_short_names(Job job) {
    for (const Fact& each : std::vector<Fact>(job.facts.all())) {
        Origin origin = each.origin;
        if (origin.kind == Origin::Kind::file) origin.source = leaf(origin.source);
        job.facts.replace(each.name, each.value, std::move(origin));
    }
    for (Unsaid& each : job.unsaid)
        if (!each.fallback) each.file = leaf(each.file);
    return job;
}

}  // namespace

Message to_message(const Unsaid& unsaid, const std::string& why) {
    return {unsaid.fallback ? "jobs.unsaid.fallback" : "jobs.unsaid.file",
            {{"file", unsaid.file},
             {"setting", unsaid.value.empty() ? unsaid.key : unsaid.key + " = " + unsaid.value},
             {"why", why}}};
}

Made write_scenario(Job& job, const std::string& path,
                    const std::function<std::string(const Message&)>& say) {
    adapt(job);
    constexpr int kMostConcessions = 8;
    for (int i = 0;; ++i) {
        Made made{write(with_short_names(job), path, say), {}};
        try {
            scenario::parse_scenario(made.text, path.empty() ? "scenario.toml" : path);
        } catch (const InputError& error) {
            made.refused = error.diagnostics();
        }
        const bool conceded =
            i < kMostConcessions && std::ranges::any_of(made.refused, [&](const Diagnostic& each) {
                return concede(each.message.id, job);
            });
        if (!conceded) return made;
    }
}

}  // namespace meshscope::jobs
