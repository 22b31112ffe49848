#include "app/gui/sandbox/what_if.h"

#include "app/gui/sandbox/toml_text.h"
#include "core/base/toml_text.h"

namespace meshscope::sandbox {
namespace {

using scenario::Scenario;

struct Question {
    std::string id;
    std::vector<Change> changes;
};

std::string code_of(const std::vector<Change>& changes) {
    std::string code;
    for (const Change& change : changes) {
        if (!code.empty()) code += ", ";
        code += split_key(change.key).back();
        code += change.value.empty() ? "" : " = " + change.value;
    }
    return code;
}

Question one(const char* id, const char* table, const char* name, std::string value) {
    Question question;
    question.id = id;
    question.changes.push_back({joined(table, name), std::move(value)});
    return question;
}

Question reshard(const Scenario& s, const std::string& present) {
    if (parallel::declaration(s.parallel.data).key("sharding_strategy") != nullptr) {
        const bool keeps = present == toml_string("shard_grad_op");
        return {
            keeps ? "free" : "keep",
            {{joined("parallel", "sharding_strategy"), toml_string(keeps ? "full_shard" : "shard_grad_op")}}};
    }
    const bool keeps = present == "false";
    return {keeps ? "free" : "keep",
            {{joined("parallel", "reshard_after_forward"), keeps ? "true" : "false"}}};
}

Question prefetch(const std::string& present) {
    const bool none = present == "false" || present == toml_string("none");
    return {none ? "prefetch" : "no_prefetch",
            {{joined("parallel", "backward_prefetch"), none ? "true" : "false"}}};
}

/// Everything in one unit; where it is so already, or where units are named, the model's layers again.
Question units(const std::string& present) {
    const std::string key = joined("parallel", "units");
    if (!present.empty()) return {"layer_units", {{key, ""}}};
    return {"one_unit", {{key, "[]"}}};
}

}  // namespace

std::vector<WhatIf> what_ifs(const std::string& text, const std::string& path) {
    const Reading reading = read_text(text, path);
    if (!reading.read || !reading.read->calls.empty()) return {};
    const Scenario& s = *reading.read;
    const auto value = [&](const char* table, const char* name) {
        return reading.value(joined(table, name));
    };
    const parallel::Declaration& strategy = parallel::declaration(s.parallel.data);
    const bool by_strategy = strategy.key("sharding_strategy") != nullptr;
    std::vector<Question> questions;
    questions.push_back(
        reshard(s, value("parallel", by_strategy ? "sharding_strategy" : "reshard_after_forward")));
    questions.push_back(prefetch(value("parallel", "backward_prefetch")));
    questions.push_back(units(value("parallel", "units")));
    const bool offloads = strategy.is(&parallel::Declaration::offloads, s.parallel);
    const bool again = s.parallel.recompute != nn::Recompute::none;
    questions.push_back(
        one(offloads ? "no_offload" : "offload", "parallel", "cpu_offload", offloads ? "false" : "true"));
    questions.push_back(one(again ? "no_recompute" : "recompute", "train", "recompute",
                            toml_string(again ? "none" : "full")));
    std::vector<WhatIf> found;
    for (Question& question : questions) {
        WhatIf what{question.id, question.changes, code_of(question.changes), {}};
        const Reading changed = read_text(changed_text(text, what.changes), path);
        if (!changed.scenario) what.refused = changed.mistakes.front().diagnostic.message;
        found.push_back(std::move(what));
    }
    return found;
}

std::vector<Change> variant_changes(const std::string& text, const std::string& path, const std::string& id) {
    try {
        for (const scenario::Variant& variant : scenario::parse_scenario(text, path).variants)
            if (variant.id == id) return variant.changes;
    } catch (const Error&) {
        // A record whose scenario this version does not read has nothing to change.
    }
    return {};
}

}  // namespace meshscope::sandbox
