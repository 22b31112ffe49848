#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gui/window/fonts.h"
#include "app/gui/window/looks.h"
#include "app/gui/window/theme.h"
#include "core/base/message.h"

struct GLFWwindow;
struct ImGuiContext;
struct ImDrawData;

namespace meshscope::window {

/// Sets every colour and size of ImGui's style from the theme. `scale` multiplies sizes.
void apply_style(const Theme& theme, float scale);

/// ImGui's context, with its font atlas, and nothing of GL: enough to lay out, to click and to test.
class ImGuiHost {
  public:
    ImGuiHost();
    virtual ~ImGuiHost();
    ImGuiHost(const ImGuiHost&) = delete;
    ImGuiHost& operator=(const ImGuiHost&) = delete;

    /// Rebuilds the atlas and the style when scale, theme or text changed. Between frames only.
    /// Returns what is missing (fonts), once a rebuild.
    std::vector<Message> prepare(const Theme& theme, float scale, const std::string& glyph_text);
    /// Starts a frame of this size; without a window the caller moves the clock by `delta_s`.
    virtual void begin(int width, int height, float delta_s);
    /// Ends the frame and gives what is to be drawn.
    virtual ImDrawData* end();

    /// What shaders draw; null where there are none.
    virtual Looks* looks() { return nullptr; }

    FontSet& fonts() { return fonts_; }
    const FontSet& fonts() const { return fonts_; }

  protected:
    virtual void atlas_changed() {}

  private:
    ImGuiContext* context_ = nullptr;
    FontSet fonts_;
    FontFiles files_;
    std::string glyph_text_;
    float scale_ = 0;
    const Theme* theme_ = nullptr;
};

/// The same with the OpenGL 3 renderer, and the GLFW backend where there is a window. The GL context must be
/// current.
class GlHost final : public ImGuiHost {
  public:
    explicit GlHost(GLFWwindow* window);  ///< null: headless
    ~GlHost() override;
    void begin(int width, int height, float delta_s) override;
    Looks* looks() override { return looks_.get(); }
    /// While on, frames are drawn as if the pointer were outside the window.
    void ignore_pointer(bool so) { ignores_pointer_ = so; }
    /// Draws onto the bound target after clearing it with the theme's scene colour.
    void draw(ImDrawData* data, int width, int height, Rgb clear) const;

    /// Lets go of the context, which is lost or about to be; between frames only. ImGui's own state stays.
    void detach();
    /// Takes the context that is current now, and `window`: shaders and the fonts' texture are made anew.
    void attach(GLFWwindow* window);

  protected:
    void atlas_changed() override;

  private:
    GLFWwindow* window_ = nullptr;
    bool attached_ = false, ignores_pointer_ = false;
    std::unique_ptr<Looks> looks_;
};

}  // namespace meshscope::window
