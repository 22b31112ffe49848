#include "core/base/find_module.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

namespace meshscope {

namespace fs = std::filesystem;

std::string find_module(std::string_view file) {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& folder :
         {program, program / "../lib", program / "../lib/meshscope", fs::path(MESHSCOPE_MODULE_FOLDER)})
        if (fs::exists(folder / file, error)) return (folder / file).string();
    return "";
}

void* open_module(const std::string& path, std::string& reason) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    reason = dlerror();
    // Where a segment cannot be mapped the loader need not say why.
    const bool no_memory = reason.find(std::strerror(ENOMEM)) != std::string::npos ||
                           reason.ends_with("failed to map segment from shared object");
    if (no_memory) throw std::bad_alloc();
    return nullptr;
}

}  // namespace meshscope
