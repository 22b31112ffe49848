#include "app/cli/outputs.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>

#include "app/cli/command.h"
#include "core/base/error.h"
#include "core/base/replace_file.h"
#include "core/base/same_file.h"
#include "core/comm/schedule/own/own_algorithm.h"

namespace meshscope::cli {

namespace fs = std::filesystem;

namespace {

/// Asked, not tried: a trial could leave something behind. In /proc and /sys nothing new can be made,
/// whatever the mode says to root.
bool takes_new(const fs::path& folder) {
    std::error_code error;
    struct statfs system {};
    return fs::is_directory(folder, error) && access(folder.c_str(), W_OK | X_OK) == 0 &&
           statfs(folder.c_str(), &system) == 0 && system.f_type != PROC_SUPER_MAGIC &&
           system.f_type != SYSFS_MAGIC;
}

/// Throws unless `folder` takes new files, for `path` is to lie in it.
void require_writable(const fs::path& folder, const std::string& path) {
    if (!takes_new(folder))
        throw IoError({"cli.run.folder_not_writable", {{"path", path}, {"folder", folder.string()}}});
}

}  // namespace

void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs, bool force) {
    std::vector<std::string> seen;
    for (const auto& [path, kind] : outputs) {
        if (path.empty() || path == "-") continue;
        refuse_to_overwrite(path, inputs);
        for (const std::string& other : seen)
            if (is_same_file(path, other)) throw UsageError({"cli.run.same_output", {{"path", path}}});
        seen.push_back(path);
        std::error_code error;
        fs::path target = fs::absolute(path, error);
        // Through a link its target is written, which need not exist.
        if (fs::is_symlink(target, error)) target = fs::weakly_canonical(target, error);
        file_to_write(path);  // refuses what cannot be replaced: a folder, a pipe
        require_writable(target.parent_path(), path);
        if (!force) refuse_other_kind(path, kind);
    }
}

void check_checkpoint_folder(const scenario::Scenario& scenario) {
    const std::string& folder = scenario.checkpoint.folder;
    if (folder.empty()) return;
    std::error_code error;
    fs::path there = fs::absolute(folder, error);
    // A link that leads nowhere is there: nothing can be made in its place.
    while (!fs::exists(fs::symlink_status(there, error)) && there != there.root_path())
        there = there.parent_path();
    require_writable(there, folder);
}

std::vector<std::string> inputs_of(const scenario::Scenario& scenario) {
    std::vector<std::string> inputs{scenario.path};
    for (const std::string* path : {&scenario.model_config, &scenario.weights, &scenario.data_file})
        if (!path->empty()) inputs.push_back(*path);
    if (scenario.parallel.own) inputs.push_back(scenario.parallel.own->path());
    return inputs;
}

}  // namespace meshscope::cli
