#include "app/cli/outputs.h"

#include <unistd.h>

#include <filesystem>

#include "app/cli/command.h"
#include "core/base/same_file.h"

namespace meshscope::cli {

namespace fs = std::filesystem;

void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
    std::vector<std::string> seen;
    for (const std::string& path : outputs) {
        if (path.empty() || path == "-") continue;
        refuse_to_overwrite(path, inputs);
        for (const std::string& other : seen)
            if (is_same_file(path, other)) throw UsageError({"cli.run.same_output", {{"path", path}}});
        seen.push_back(path);
        std::error_code error;
        fs::path target = fs::absolute(path, error);
        // Through a link its target is written, which need not exist.
        if (fs::is_symlink(target, error)) target = fs::weakly_canonical(target, error);
        const std::string folder = target.parent_path().string();
        if (access(folder.c_str(), W_OK | X_OK) != 0)
            throw IoError({"cli.run.folder_not_writable", {{"path", path}, {"folder", folder}}});
    }
}

std::vector<std::string> inputs_of(const scenario::Scenario& scenario) {
    std::vector<std::string> inputs{scenario.path};
    for (const std::string* path : {&scenario.weights, &scenario.data_file})
        if (!path->empty()) inputs.push_back(*path);
    return inputs;
}

}  // namespace meshscope::cli
