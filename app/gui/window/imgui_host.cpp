#include "app/gui/window/imgui_host.h"

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "app/gui/window/gl.h"
#include "app/gui/window/imgui_compat.h"
#include "core/base/error.h"

namespace meshscope::window {

namespace {

/// ImGui uses what it is given unseen.
void* allocate(std::size_t bytes, void*) {
    void* const memory = std::malloc(bytes);
    if (memory == nullptr && bytes > 0) throw std::bad_alloc();
    return memory;
}

void release(void* memory, void*) {
    std::free(memory);
}

ImGuiContext* new_context() {
    ImGui::SetAllocatorFunctions(allocate, release);
    return ImGui::CreateContext();
}

}  // namespace

ImGuiHost::ImGuiHost() : context_(new_context()), files_(find_fonts()) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    // A draw list may have more vertices than its 16-bit indices count: it is cut into draws with an offset
    // each. The OpenGL renderer, which always has 3.3, does the same; without one only the lists are looked
    // at.
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
}

ImGuiHost::~ImGuiHost() {
    ImGui::DestroyContext(context_);
}

std::vector<Message> ImGuiHost::prepare(const Theme& theme, float scale, const std::string& glyph_text) {
    std::vector<Message> said;
    const bool atlas = scale != scale_ || glyph_text != glyph_text_;
    if (atlas) {
        said = fonts_.build(*ImGui::GetIO().Fonts, files_, glyph_text, scale);
        ImGui::GetIO().FontDefault = fonts_.font(view::Face::body);
        glyph_text_ = glyph_text;
        atlas_changed();
    }
    if (atlas || theme_ != &theme) apply_style(theme, scale);
    scale_ = scale;
    theme_ = &theme;
    return said;
}

void ImGuiHost::begin(int width, int height, float delta_s) {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = ImVec2(static_cast<float>(width), static_cast<float>(height));
    if (delta_s > 0) io.DeltaTime = delta_s;
    ImGui::NewFrame();
}

ImDrawData* ImGuiHost::end() {
    ImGui::Render();
    return ImGui::GetDrawData();
}

GlHost::GlHost(GLFWwindow* window) {
    attach(window);
}

GlHost::~GlHost() {
    if (attached_) detach();
}

void GlHost::attach(GLFWwindow* window) {
    window_ = window;
    // It opens libGL.so.1 by itself, also where EGL made the context; without it no call of OpenGL may
    // follow.
    if (!ImGui_ImplOpenGL3_Init(shader_version())) throw DeviceError({"window.no_opengl", {}});
    if (window_ != nullptr) ImGui_ImplGlfw_InitForOpenGL(window_, true);
    // Later on the atlas may be built anew before the next frame, which then needs something to put it in.
    if (ImGui::GetFrameCount() > 0) ImGui_ImplOpenGL3_CreateDeviceObjects();
    attached_ = true;
    looks_ = std::make_unique<Looks>(shader_version());
}

void GlHost::detach() {
    looks_.reset();
    ImGui_ImplOpenGL3_Shutdown();
    if (window_ != nullptr) ImGui_ImplGlfw_Shutdown();
    window_ = nullptr;
    attached_ = false;
}

void GlHost::begin(int width, int height, float delta_s) {
    ImGui_ImplOpenGL3_NewFrame();
    if (window_ != nullptr) ImGui_ImplGlfw_NewFrame();
    if (ignores_pointer_) compat::pointer_away();
    if (looks_) looks_->begin_frame();
    ImGuiHost::begin(width, height, window_ != nullptr ? 0.0F : delta_s);
}

void GlHost::draw(ImDrawData* data, int width, int height, Rgb clear) const {
    glViewport(0, 0, width, height);
    glDisable(GL_SCISSOR_TEST);
    glClearColor(static_cast<float>(clear.r) / 255.0F, static_cast<float>(clear.g) / 255.0F,
                 static_cast<float>(clear.b) / 255.0F, 1.0F);
    glClear(GL_COLOR_BUFFER_BIT);
    if (looks_) looks_->upload();
    ImGui_ImplOpenGL3_RenderDrawData(data);
}

void GlHost::atlas_changed() {
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    // Before the first NewFrame there are no device objects yet; NewFrame makes the texture with them.
    if (ImGui::GetFrameCount() > 0) ImGui_ImplOpenGL3_CreateFontsTexture();
}

}  // namespace meshscope::window
