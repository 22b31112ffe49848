#include "tests/stand_in/machine.h"

namespace meshscope::stand_in {

Machine& g_machine() {
    static Machine machine;
    return machine;
}

int32_t enter(const char* call) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    ++m.calls[call];
    if (m.fails_in == 0 || m.fails != call || --m.fails_in > 0) return MESHSCOPE_GPU_OK;
    return m.fails_with;
}

bool is_device(int32_t device) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    return m.told.code == 0 && device >= 0 && device < m.told.devices;
}

}  // namespace meshscope::stand_in
