#include "backends/module/find_module.h"

#include <filesystem>

namespace meshscope::backends {

namespace fs = std::filesystem;

std::string find_module(std::string_view file) {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& folder :
         {program, program / "../lib", program / "../lib/meshscope", fs::path(MESHSCOPE_MODULE_FOLDER)})
        if (fs::exists(folder / file, error)) return (folder / file).string();
    return "";
}

}  // namespace meshscope::backends
