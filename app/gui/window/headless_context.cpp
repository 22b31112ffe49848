#include "app/gui/window/headless_context.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/address_space.h"
#include "core/base/error.h"

namespace meshscope::window {

struct HeadlessContext::Impl {
    EGLDisplay display = EGL_NO_DISPLAY;
    EGLContext context = EGL_NO_CONTEXT;

    void close() {
        if (display == EGL_NO_DISPLAY) return;
        eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
        // No eglTerminate: EGL has one display a platform for the whole process, and other contexts may stand
        // on it. Mesa would also unload its driver and lose the memory that the driver keeps for the next
        // one.
        display = EGL_NO_DISPLAY;
        context = EGL_NO_CONTEXT;
    }

    /// Empty when a context is current, else what failed.
    std::string open(EGLenum platform, void* native) {
        const auto get_display =
            reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
        if (get_display == nullptr) return "eglGetPlatformDisplayEXT";
        display = get_display(platform, native, nullptr);
        if (display == EGL_NO_DISPLAY) return "eglGetPlatformDisplayEXT";
        if (eglInitialize(display, nullptr, nullptr) != EGL_TRUE) {
            display = EGL_NO_DISPLAY;
            return "eglInitialize";
        }
        if (eglBindAPI(EGL_OPENGL_API) != EGL_TRUE) return "eglBindAPI";
        const EGLint wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
        EGLConfig config = nullptr;
        EGLint count = 0;
        if (eglChooseConfig(display, wanted, &config, 1, &count) != EGL_TRUE || count < 1)
            return "eglChooseConfig";
        const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                                  3,
                                  EGL_CONTEXT_MINOR_VERSION,
                                  3,
                                  EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                  EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                  EGL_NONE};
        context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
        if (context == EGL_NO_CONTEXT) return "eglCreateContext";
        if (eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context) != EGL_TRUE)
            return "eglMakeCurrent";
        return {};
    }
};

HeadlessContext::HeadlessContext() : impl_(std::make_unique<Impl>()) {
    require_drawing_room();
    const std::string surfaceless = impl_->open(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY);
    if (surfaceless.empty()) return;
    impl_->close();

    std::string device = "eglQueryDevicesEXT";
    if (const auto query =
            reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(eglGetProcAddress("eglQueryDevicesEXT"))) {
        EGLDeviceEXT devices[16];
        EGLint count = 0;
        if (query(16, devices, &count) == EGL_TRUE) {
            for (EGLint i = 0; i < count; ++i) {
                device = impl_->open(EGL_PLATFORM_DEVICE_EXT, devices[i]);
                if (device.empty()) return;
                impl_->close();
            }
        }
    }
    throw DeviceError({"window.no_egl", {{"surfaceless", surfaceless}, {"device", device}}});
}

HeadlessContext::~HeadlessContext() {
    impl_->close();
}

void require_drawing_room() {
    constexpr int64_t kMiB = int64_t{1} << 20;
    // Mesa's llvmpipe, a picture of 1920 × 1080 pixels and the glyphs of both languages, as measured.
    constexpr int64_t kNeeded = 640 * kMiB;
    const auto left = address_space_left();
    if (!left || left->left_bytes >= kNeeded) return;
    throw DeviceError({"window.no_room",
                       {{"need", kNeeded / kMiB},
                        {"option", std::string(left->data ? "ulimit -d" : "ulimit -v")},
                        {"free", left->left_bytes / kMiB}}});
}

}  // namespace meshscope::window
