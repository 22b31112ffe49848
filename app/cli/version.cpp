#include "app/cli/version.h"

#include "meshscope_version.h"

namespace meshscope::cli {

std::string version_number() {
    return MESHSCOPE_VERSION;
}
std::string version_git_hash() {
    return MESHSCOPE_GIT_HASH;
}
std::string version_build_type() {
    return MESHSCOPE_BUILD_TYPE;
}

std::string version_compiler() {
#if defined(__clang__)
    return std::string("Clang ") + __clang_version__;
#elif defined(__GNUC__)
    return std::string("GCC ") + __VERSION__;
#else
    return "unknown";
#endif
}

std::string version_text(const CommandContext& context) {
    std::string backends;
    for (const std::string& name : context.make_backends()->names())
        backends += (backends.empty() ? "" : ", ") + name;
    const std::string hash = version_git_hash();
    return "meshscope " + version_number() + (hash.empty() ? "" : " (" + hash + ")") + "\n" +
           version_compiler() + ", " + version_build_type() + "\nbackends: " + backends;
}

}  // namespace meshscope::cli
