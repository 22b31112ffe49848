#include "core/scenario/plan_file.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/base/json_text.h"
#include "core/base/text_file.h"
#include "core/estimate/model_shape.h"
#include "core/scenario/named_model.h"
#include "core/scenario/scenario.h"
#include "core/time/read_profile.h"

namespace meshscope::scenario {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kRecompute = "recompute";  ///< of estimate::Sizes, beside estimate::size_keys()

/// The values of a question, or of an object in it, each refused by its key from the file's top.
class QuestionReader {
  public:
    /// `prefix` stands before the keys: "question.".
    QuestionReader(const json& values, std::string path, std::string prefix)
        : values_(values), path_(std::move(path)), prefix_(std::move(prefix)) {}

    [[noreturn]] void refuse(Message message) const {
        throw InputError({{std::move(message), {path_, 0, 0, -1}, {}}});
    }
    [[noreturn]] void refuse(const char* key, const std::string& expected) const {
        refuse({"plan.file.key", {{"key", prefix_ + key}, {"expected", expected}}});
    }

    std::string text(const char* key) const {
        const auto found = values_.find(key);
        if (found == values_.end() || !found->is_string()) refuse(key, "text");
        return found->get<std::string>();
    }
    int64_t whole(const char* key, int64_t least, int64_t most) const {
        const auto found = values_.find(key);
        const auto value = found == values_.end() ? std::nullopt : json_whole<int64_t>(*found);
        if (!value || *value < least || *value > most)
            refuse(key, std::to_string(least) + " … " + std::to_string(most));
        return *value;
    }
    bool flag(const char* key) const {
        const auto found = values_.find(key);
        if (found == values_.end() || !found->is_boolean()) refuse(key, "true, false");
        return found->get<bool>();
    }
    double figure(const char* key) const {
        const auto found = values_.find(key);
        const double value = found != values_.end() && found->is_number() ? found->get<double>() : 0;
        if (!(value >= 1 && value <= 1e18)) refuse(key, "1 … 1e18");
        return value;
    }
    bool has(const char* key) const { return values_.contains(key) && !values_.at(key).is_null(); }
    estimate::Sizes sizes(const char* key) const {
        estimate::Sizes sizes;
        if (!has(key)) return sizes;
        const json& wanted = values_.at(key);
        if (!wanted.is_object()) refuse(key, "{}");
        const QuestionReader inner(wanted, path_, prefix_ + key + ".");
        for (const auto& [name, value] : wanted.items()) {
            if (name == kRecompute) {
                sizes.recompute = estimate::parse_recompute(inner.text(kRecompute));
                if (!sizes.recompute) inner.refuse(kRecompute, joined(estimate::recompute_words()));
                continue;
            }
            const auto known = std::ranges::find(estimate::size_keys(), name, &estimate::SizeKey::name);
            if (known == estimate::size_keys().end())
                refuse(key, joined(estimate::size_keys(), std::mem_fn(&estimate::SizeKey::name)) + ", " +
                                kRecompute);
            sizes.*known->size = inner.whole(name.c_str(), known->least, known->most);
        }
        return sizes;
    }
    const std::string& path() const { return path_; }

  private:
    const json& values_;
    std::string path_, prefix_;
};

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
    const QuestionReader file(root, path, "");
    if (!root.is_object() || static_cast<int64_t>(text.size()) > kMostPlanBytes)
        file.refuse({"plan.file.not_json", {}});
    if (!root.contains("question") || !root.at("question").is_object())
        file.refuse({"plan.file.no_question", {}});
    const QuestionReader read(root.at("question"), path, "question.");
    PlanFile made;
    made.model = read.text("model");
    made.spec = model_of(read.text("model_toml"), path);
    if (read.has("max_position_embeddings"))
        made.most_tokens = read.whole("max_position_embeddings", 1, nn::kMostSize);
    const auto shape = estimate::shape_of(made.spec);
    if (!shape) read.refuse("model_toml", "gpt, llama");
    estimate::Question& q = made.question;
    q.shape = *shape;
    q.profile = profile_of(read.text("profile_toml"), path);
    const auto stack = estimate::parse_stack(read.text("stack"));
    if (!stack) read.refuse("stack", joined(estimate::stack_words()));
    q.stack = *stack;
    q.compiled = read.flag("compiled");
    q.lora_rank = read.whole("lora_rank", 0, estimate::kMostLoraRank);
    q.base_bits = read.whole("base_bits", 4, 16);
    q.gpus = read.whole("gpus", 1, estimate::kMostGpus);
    q.gpus_per_node = read.whole("gpus_per_node", 1, estimate::kMostGpus);
    q.only = read.sizes("only");
    try {
        q = estimate::settled(std::move(q),
                              {.seq = read.whole("seq", 1, nn::kMostSize),
                               .global_batch = read.whole("global_batch", 1, estimate::kMostBatch),
                               .memory_bytes = read.figure("memory_bytes")});
    } catch (const InvalidArgument& error) {
        read.refuse(error.message());
    }
    return made;
}

}  // namespace meshscope::scenario
