#include "app/cli/model_argument.h"

#include <utility>

#include "app/cli/command.h"
#include "core/base/error.h"
#include "core/scenario/model_config.h"
#include "core/scenario/scenario.h"

namespace meshscope::cli {

ModelArgument model_argument(const std::string& name) {
    if (name.starts_with(scenario::kConfigPrefix) && name.size() > scenario::kConfigPrefix.size()) {
        scenario::ModelConfig config =
            scenario::read_model_config(name.substr(scenario::kConfigPrefix.size()));
        const int64_t most = config.spec.seq;
        return {std::move(config.spec), std::move(config.model_type), std::move(config.dtype), most};
    }
    if (!name.ends_with(".toml")) throw UsageError({"cli.model.bad_name", {{"name", name}}});
    const scenario::Scenario s = scenario::read_scenario(name);
    if (!s.calls.empty()) throw InvalidArgument({"cli.model.no_model", {{"path", name}}});
    std::optional<int64_t> most;
    if (!s.model_config.empty()) most = scenario::read_model_config(s.model_config).spec.seq;
    return {s.model, s.model.kind, "", most};
}

}  // namespace meshscope::cli
