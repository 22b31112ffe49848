#include "backends/mpi/mpi_module.h"

#include <dlfcn.h>

#include <array>
#include <new>

#include "core/base/address_space.h"
#include "core/base/error.h"
#include "core/base/find_module.h"

namespace meshscope::backends::mpi {
namespace {

std::string module_of(const std::string& word) {
    return find_module("meshscope_mpi_" + word + ".so");
}

}  // namespace

std::vector<Library> libraries() {
    constexpr int64_t kMiB = int64_t{1} << 20;
    return {{"openmpi", "Open MPI", "libopenmpi-dev openmpi-bin", module_of("openmpi"), 140 * kMiB, 3, 3},
            {"mpich", "MPICH", "libmpich-dev mpich", module_of("mpich"), 64 * kMiB, 2, 2}};
}

const MeshscopeMpi& load(const Library& library) {
    const auto fail = [&](const std::string& reason) {
        throw InvalidArgument({"mpi.cannot_load", {{"library", library.title}, {"reason", reason}}});
    };
    if (library.path.empty())
        throw InvalidArgument({"mpi.not_built", {{"library", library.title}, {"package", library.package}}});
    if (!can_map(library.mapped_bytes)) throw std::bad_alloc();
    // Local: the other library has functions of the same names. Never closed: MPI cannot be started twice.
    std::string failure;
    void* const handle = open_module(library.path, failure);
    if (handle == nullptr) fail(failure);
    using Entry = const MeshscopeMpi*();
    auto* const entry = reinterpret_cast<Entry*>(dlsym(handle, "meshscope_mpi_module"));
    if (entry == nullptr) fail(dlerror());
    const MeshscopeMpi* const mpi = entry();
    if (mpi->abi != MESHSCOPE_MPI_ABI) fail("module version " + std::to_string(mpi->abi));
    return *mpi;
}

void check(const MeshscopeMpi& mpi, int code, const char* call) {
    if (code == 0) return;
    std::array<char, 512> text{};
    mpi.error_text(code, text.data(), static_cast<int32_t>(text.size()));
    throw InvalidArgument(
        {"mpi.failed", {{"call", std::string(call)}, {"reason", std::string(text.data())}}});
}

}  // namespace meshscope::backends::mpi
