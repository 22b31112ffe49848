// A stand-in for libcuda.so.1, as far as CUDA's runtime asks a driver before it uses a device. It says what
// the environment tells it to, so that what the real module makes of each answer is seen on a machine without
// a driver.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using Function = void (*)();

int told(const char* name, int otherwise) {
    const char* const value = std::getenv(name);
    return value == nullptr ? otherwise : std::atoi(value);
}

/// What stands for every function that is not here: CUDA_ERROR_UNKNOWN.
int unknown() {
    return 999;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
    return told("FAKE_CUDA_INIT", 0);
}

int cuDriverGetVersion(int* version) {
    *version = told("FAKE_CUDA_VERSION", 99000);
    return 0;
}

/// No table of the driver's inside is offered: CUDA_ERROR_INVALID_VALUE.
int cuGetExportTable(const void** table, const void*) {
    *table = nullptr;
    return 1;
}

int cuGetProcAddress_v2(const char* name, Function* found, int, uint64_t, int* status) {
    const struct {
        const char* name;
        Function function;
    } known[] = {{"cuInit", reinterpret_cast<Function>(cuInit)},
                 {"cuDriverGetVersion", reinterpret_cast<Function>(cuDriverGetVersion)},
                 {"cuGetExportTable", reinterpret_cast<Function>(cuGetExportTable)},
                 {"cuGetProcAddress", reinterpret_cast<Function>(cuGetProcAddress_v2)}};
    if (status != nullptr) *status = 0;
    *found = reinterpret_cast<Function>(unknown);
    for (const auto& each : known)
        if (std::strcmp(each.name, name) == 0) *found = each.function;
    return 0;
}
}
