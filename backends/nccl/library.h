#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/nccl/nccl_module.h"

namespace meshscope::backends::nccl {

/// Which module and which NCCL to take; empty: looked for.
struct Choice {
    std::string module;   ///< path of meshscope-nccl.so
    std::string library;  ///< path of a libnccl.so.2
};

/// Variables that say which: the module, the library; and NCCL's own, by which NCCL from 2.30 lets two ranks
/// be on one GPU. Read by whoever opens the backend, never here.
inline constexpr const char* kModuleVariable = "MESHSCOPE_NCCL_MODULE";
inline constexpr const char* kLibraryVariable = "MESHSCOPE_NCCL";
inline constexpr const char* kShareVariable = "NCCL_MULTI_RANK_GPU_ENABLE";

/// The module's file name, for find_module().
inline constexpr std::string_view kModule = "meshscope-nccl.so";

/// A loaded NCCL: the table of the module, and the library behind it. Copied freely; both stay loaded until
/// the process ends.
struct Library {
    const MeshscopeNccl* table = nullptr;
    MeshscopeNcclLibrary* handle = nullptr;
    int32_t version = 0;  ///< as NCCL writes it: 22809 is 2.28.9
    std::string file;     ///< that was really loaded
    /// A stand-in that works on host memory (for tests): no GPU is behind it.
    bool on_host = false;

    /// "2.28.9"
    std::string version_text() const;
    /// Whether it can put two ranks on one GPU (from 2.30, with NCCL_MULTI_RANK_GPU_ENABLE=1).
    bool can_share_devices() const { return version >= 23000; }
};

/// "2.28.9" for 22809, "2.8.4" for 2804 (NCCL wrote versions so up to 2.8).
std::string version_text(int32_t version);

/// Loads the module, and by it libnccl: the one that is named, else the system's, else the one that the
/// toolkit at build time had. Throws InvalidArgument "nccl.not_built", "nccl.cannot_load" {file, reason},
/// "nccl.no_library" {file, reason}.
Library load(const Choice& choice);

}  // namespace meshscope::backends::nccl
