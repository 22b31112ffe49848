#include "core/scenario/plan_file.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/base/json_text.h"
#include "core/base/nearest.h"
#include "core/base/text_file.h"
#include "core/estimate/model_shape.h"
#include "core/scenario/named_model.h"
#include "core/scenario/plan_json.h"
#include "core/scenario/scenario.h"
#include "core/time/read_profile.h"

namespace meshscope::scenario {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kRecompute = "recompute";  ///< of estimate::Sizes, beside estimate::size_keys()
constexpr std::string_view kQuestion = "question.";
constexpr std::size_t kMostUnknown = 1000;  ///< keys that are told

/// The values of a question, or of a table in it; what is wrong with them goes into a list.
class QuestionReader {
  public:
    QuestionReader(const json& values, std::string path, std::vector<Diagnostic>& found,
                   std::string within = std::string(kQuestion))
        : values_(values), path_(std::move(path)), found_(found), within_(std::move(within)) {}

    void refuse(Message message, Message hint = {}) const {
        found_.push_back({std::move(message), {path_, 0, 0, -1}, std::move(hint)});
    }
    void refuse(const std::string& key, const std::string& expected) const {
        if (!meant_.contains(key))
            refuse({"plan.file.key", {{"key", within_ + key}, {"expected", expected}}});
    }
    /// Refuses what is none of `keys`, and takes it that the nearest of them was meant.
    void only(const std::vector<std::string>& keys) {
        std::vector<std::string> absent;
        for (const std::string& key : keys)
            if (!values_.contains(key)) absent.push_back(key);
        for (const auto& [key, value] : values_.items()) {
            if (std::ranges::find(keys, key) != keys.end()) continue;
            if (found_.size() >= kMostUnknown) return;
            const std::string guess = nearest(key, absent);
            refuse({"scenario.unknown_key", {{"key", within_ + key}}},
                   guess.empty() ? Message{"scenario.hint.known", {{"known", joined(keys)}}}
                                 : Message{"scenario.hint.did_you_mean", {{"guess", guess}}});
            if (guess.empty()) continue;
            std::erase(absent, guess);
            meant_.insert(guess);
        }
    }

    std::string text(const char* key) const {
        const auto found = values_.find(key);
        if (found != values_.end() && found->is_string()) return found->get<std::string>();
        refuse(key, "text");
        return "";
    }
    int64_t whole(const char* key, int64_t least, int64_t most) const {
        const auto found = values_.find(key);
        const auto value = found == values_.end() ? std::nullopt : json_whole<int64_t>(*found);
        if (value && *value >= least && *value <= most) return *value;
        refuse(key, std::to_string(least) + " … " + std::to_string(most));
        return least;
    }
    bool flag(const char* key) const {
        const auto found = values_.find(key);
        if (found != values_.end() && found->is_boolean()) return found->get<bool>();
        refuse(key, "true, false");
        return false;
    }
    double figure(const char* key) const {
        const auto found = values_.find(key);
        const double value = found != values_.end() && found->is_number() ? found->get<double>() : 0;
        if (value >= 1 && value <= 1e18) return value;
        refuse(key, "1 … 1e18");
        return 1;
    }
    bool has(const char* key) const { return values_.contains(key) && !values_.at(key).is_null(); }
    estimate::Sizes sizes(const char* key) const {
        estimate::Sizes sizes;
        if (!has(key)) return sizes;
        const json& wanted = values_.at(key);
        if (!wanted.is_object()) {
            refuse(key, "{}");
            return sizes;
        }
        QuestionReader inner(wanted, path_, found_, within_ + key + ".");
        std::vector<std::string> keys{kRecompute};
        for (const estimate::SizeKey& each : estimate::size_keys()) keys.emplace_back(each.name);
        inner.only(keys);
        for (const estimate::SizeKey& each : estimate::size_keys()) {
            const std::string name(each.name);
            if (wanted.contains(name)) sizes.*each.size = inner.whole(name.c_str(), each.least, each.most);
        }
        if (!wanted.contains(kRecompute)) return sizes;
        sizes.recompute = estimate::parse_recompute(inner.text(kRecompute));
        if (!sizes.recompute && wanted.at(kRecompute).is_string())
            inner.refuse(kRecompute, joined(estimate::recompute_words()));
        return sizes;
    }

  private:
    const json& values_;
    std::string path_;
    std::vector<Diagnostic>& found_;
    std::string within_;
    std::set<std::string> meant_;  ///< keys that another one seems to be, misspelt
};

/// Calls read(), which reads a text inside the file: its mistakes stand in that text's own lines, of which
/// the first `before` are not the file's.
template <class Read>
auto inside(const std::string& path, const char* key, int before, const Read& read) {
    const std::string file = path + " (" + std::string(kQuestion) + key + ")";
    try {
        return read(file);
    } catch (const InputError& error) {
        std::vector<Diagnostic> found = error.diagnostics();
        for (Diagnostic& each : found)
            if (each.position.file == file) each.position.line = std::max(0, each.position.line - before);
        throw InputError(std::move(found));
    }
}

/// The profile inside the program where the text is its own, whose figures have more than six digits.
time::Profile profile_of(const std::string& text, const std::string& path) {
    time::Profile read = time::parse_profile(text, path);
    const auto known = time::profile_names();
    if (std::ranges::find(known, read.name) == known.end()) return read;
    time::Profile own = time::named_profile(read.name);
    return time::profile_text(own) == text ? own : read;
}

nn::ModelSpec model_of(const std::string& text, const std::string& path) {
    return architecture_of(
        parse_scenario("format = 1\n" + text + "\n[train]\nsteps = 1\nglobal_batch = 1\n", path).model);
}

}  // namespace

ordered_json sizes_json(const estimate::Sizes& sizes) {
    ordered_json made = ordered_json::object();
    for (const estimate::SizeKey& each : estimate::size_keys())
        if (const auto size = sizes.*each.size) made[std::string(each.name)] = *size;
    if (sizes.recompute) made[kRecompute] = estimate::word(*sizes.recompute);
    return made;
}

ordered_json question_json(const PlanFile& file) {
    const estimate::Question& q = file.question;
    return {{"model", file.model},
            {"model_toml", model_text(file.spec)},
            {"max_position_embeddings", file.most_tokens ? ordered_json(*file.most_tokens) : ordered_json()},
            {"profile_toml", time::profile_text(q.profile)},
            {"memory_bytes", q.memory_bytes},
            {"gpus", q.gpus},
            {"gpus_per_node", q.gpus_per_node},
            {"global_batch", q.global_batch},
            {"seq", q.shape.seq},
            {"stack", estimate::traits(q.stack).word},
            {"compiled", q.compiled},
            {"lora_rank", q.lora_rank},
            {"base_bits", q.base_bits},
            {"only", sizes_json(q.only)}};
}

PlanFile usual_plan(const std::string& model) {
    const NamedModel named = named_model(model);
    const auto shape = estimate::shape_of(named.spec);
    if (!shape) throw InvalidArgument({"cli.plan.no_transformer", {{"kind", named.type}}});
    estimate::Question question;
    question.shape = *shape;
    question.gpus = kUsualGpus;
    question.profile = time::named_profile(kUsualGpu);
    const int64_t seq = std::min(shape->seq, kMostUsualSeq);
    return {model, named.spec, named.most_tokens, estimate::settled(std::move(question), {.seq = seq})};
}

PlanFile changed(PlanFile file, const PlanChange& change) {
    estimate::Question& question = file.question;
    const estimate::Stated stated{
        .seq = change.seq.value_or(question.shape.seq),
        .global_batch = change.global_batch.value_or(question.global_batch),
        .memory_bytes = change.gpu ? std::nullopt : std::optional(question.memory_bytes)};
    if (change.gpus) question.gpus = *change.gpus;
    if (change.gpu) question.profile = time::named_profile(*change.gpu);
    question.shape.seq = file.spec.seq;  // the most that learned positions reach
    question = estimate::settled(std::move(question), stated);
    return file;
}

bool begins_as_plan(std::string_view text) {
    const std::size_t brace = text.find_first_not_of(" \t\r\n");
    if (brace == text.npos || text[brace] != '{') return false;
    const std::size_t key = text.find_first_not_of(" \t\r\n", brace + 1);
    return key != text.npos && text.substr(key).starts_with("\"parameters\"") &&
           text.find("\"gpus_per_node\"", key) != text.npos;
}

PlanFile read_plan_file(const std::string& path) {
    const std::string text = read_text_file(path, kMostPlanBytes);
    const json root = parse_json<json>(text);
    std::vector<Diagnostic> found;
    const auto refuse_file = [&](Message message) {
        throw InputError({{std::move(message), {path, 0, 0, -1}, {}}});
    };
    if (static_cast<int64_t>(text.size()) > kMostPlanBytes)
        refuse_file({"plan.file.too_large", {{"most", kMostPlanBytes}}});
    if (!root.is_object()) refuse_file({"plan.file.not_json", {}});
    if (!root.contains("question") || !root.at("question").is_object())
        refuse_file({"plan.file.no_question", {}});
    const json& question = root.at("question");
    QuestionReader read(question, path, found);
    std::vector<std::string> keys;
    const ordered_json written = question_json({});
    for (const auto& [key, value] : written.items()) keys.push_back(key);
    read.only(keys);
    PlanFile made;
    estimate::Question& q = made.question;
    made.model = read.text("model");
    const std::string model = read.text("model_toml"), profile = read.text("profile_toml");
    if (read.has("max_position_embeddings"))
        made.most_tokens = read.whole("max_position_embeddings", 1, nn::kMostSize);
    const std::string stack_word = read.text("stack");
    const auto stack = estimate::parse_stack(stack_word);
    if (!stack && question.contains("stack") && question.at("stack").is_string()) {
        read.refuse("stack", joined(estimate::stack_words()));
    }
    q.stack = stack.value_or(q.stack);
    q.compiled = read.flag("compiled");
    q.lora_rank = read.whole("lora_rank", 0, estimate::kMostLoraRank);
    q.base_bits = read.whole("base_bits", 4, 16);
    q.gpus = read.whole("gpus", 1, estimate::kMostGpus);
    q.gpus_per_node = read.whole("gpus_per_node", 1, estimate::kMostGpus);
    q.only = read.sizes("only");
    const int64_t seq = read.whole("seq", 1, nn::kMostSize);
    const int64_t global_batch = read.whole("global_batch", 1, estimate::kMostBatch);
    const double memory_bytes = read.figure("memory_bytes");
    if (!found.empty()) throw InputError(std::move(found));
    made.spec = inside(path, "model_toml", 1, [&](const std::string& file) { return model_of(model, file); });
    q.profile =
        inside(path, "profile_toml", 0, [&](const std::string& file) { return profile_of(profile, file); });
    if (const auto shape = estimate::shape_of(made.spec))
        q.shape = *shape;
    else
        read.refuse("model_toml", "gpt, llama");
    if (!found.empty()) throw InputError(std::move(found));
    try {
        q = estimate::settled(std::move(q),
                              {.seq = seq, .global_batch = global_batch, .memory_bytes = memory_bytes});
    } catch (const InvalidArgument& error) {
        refuse_file(error.message());
    }
    return made;
}

}  // namespace meshscope::scenario
