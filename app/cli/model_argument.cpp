#include "app/cli/model_argument.h"

#include "app/cli/command.h"

namespace meshscope::cli {

ModelArgument model_argument(const std::string& name) {
    if (!scenario::names_model(name)) throw UsageError({"cli.model.bad_name", {{"name", name}}});
    return scenario::named_model(name);
}

}  // namespace meshscope::cli
