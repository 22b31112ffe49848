#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "backends/nccl/library.h"

namespace meshscope::nccl_test {

/// What tests tell the stand-in for NCCL (fake_nccl/control.h), which the program's own code has loaded.
class Fake {
  public:
    static Fake& the() {
        static Fake fake;
        return fake;
    }

    backends::nccl::Choice choice{MESHSCOPE_NCCL_MODULE, MESHSCOPE_FAKE_NCCL};
    backends::nccl::Library library = backends::nccl::load(choice);

    void (*fail)(const char*, int, int, int);
    void (*break_group)(int, int, int);
    void (*reset)();
    int (*calls)(const char*);
    int (*buffers)();
    int (*comms)();
    void (*set_version)(int);

  private:
    Fake() : handle_(dlopen(MESHSCOPE_FAKE_NCCL, RTLD_NOW | RTLD_NOLOAD)) {
        find("fake_nccl_fail", fail);
        find("fake_nccl_break", break_group);
        find("fake_nccl_reset", reset);
        find("fake_nccl_calls", calls);
        find("fake_nccl_buffers", buffers);
        find("fake_nccl_comms", comms);
        find("fake_nccl_set_version", set_version);
    }
    template <class Function>
    void find(const char* name, Function& function) {
        function = reinterpret_cast<Function>(dlsym(handle_, name));
        if (function == nullptr) throw std::runtime_error(std::string("the stand-in lacks ") + name);
    }

    void* handle_;
};

}  // namespace meshscope::nccl_test
