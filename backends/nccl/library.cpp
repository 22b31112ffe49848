#include "backends/nccl/library.h"

#include <dlfcn.h>

#include <array>
#include <vector>

#include "core/base/error.h"
#include "core/base/find_module.h"

namespace meshscope::backends::nccl {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";

const MeshscopeNccl& load_module(const std::string& path) {
    const auto fail = [&](const std::string& reason) {
        throw InvalidArgument({"nccl.cannot_load", {{"file", path}, {"reason", reason}}});
    };
    // Never closed: NCCL leaves threads behind.
    std::string failure;
    void* const handle = open_module(path, failure);
    if (handle == nullptr) fail(failure);
    using Entry = const MeshscopeNccl*();
    auto* const entry = reinterpret_cast<Entry*>(dlsym(handle, "meshscope_nccl_module"));
    if (entry == nullptr) fail(dlerror());
    const MeshscopeNccl* const table = entry();
    if (table->abi != MESHSCOPE_NCCL_ABI)
        throw InvalidArgument(
            {"nccl.other_version",
             {{"file", path}, {"version", int64_t{table->abi}}, {"wanted", int64_t{MESHSCOPE_NCCL_ABI}}}});
    return *table;
}

}  // namespace

std::string version_text(int32_t version) {
    const int32_t thousand = version < 10000 ? 1000 : 10000;
    return std::to_string(version / thousand) + "." + std::to_string(version % thousand / 100) + "." +
           std::to_string(version % 100);
}

std::string Library::version_text() const {
    return nccl::version_text(version);
}

Library load(const Choice& choice) {
    const std::string module = choice.module.empty() ? find_module(kModule) : choice.module;
    if (module.empty()) throw InvalidArgument({"nccl.not_built", {}});
    Library library;
    library.table = &load_module(module);
    std::vector<std::string> names{choice.library};
    if (choice.library.empty()) {
        names = {kLibrary};
        if (const std::string folder = MESHSCOPE_NCCL_FOLDER; !folder.empty())
            names.push_back(folder + "/" + kLibrary);
    }
    std::array<char, 1024> text{};
    const auto size = static_cast<int32_t>(text.size());
    std::string reason;  // of the first: the name that people know
    for (const std::string& name : names) {
        if (library.table->open(name.c_str(), &library.handle, text.data(), size) == 0) break;
        library.handle = nullptr;
        if (reason.empty()) reason = text.data();
    }
    if (library.handle == nullptr)
        throw InvalidArgument({"nccl.no_library", {{"file", names.front()}, {"reason", reason}}});
    library.table->version(library.handle, &library.version);
    library.table->file(library.handle, text.data(), size);
    library.file = text.data();
    library.on_host = library.table->on_host(library.handle) != 0;
    return library;
}

}  // namespace meshscope::backends::nccl
