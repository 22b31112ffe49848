#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"

struct ImDrawCmd;
struct ImDrawData;
struct ImDrawList;

namespace meshscope::window {

/// The pairs of shaders by the shapes that they draw: shaders/NAME.vert and NAME.frag.
enum class ShapeShader : uint8_t { bars, chunks, hatch, dashes, heat };
inline constexpr int kShapeShaders = 5;
std::string_view shader_name(ShapeShader look);

/// One thing that a look draws; what the numbers mean to it stands in its vertex shader. Colours as ImGui
/// packs them.
struct LookItem {
    std::array<float, 4> place{};  ///< screen pixels
    std::array<float, 4> shape{}, more{};
    uint32_t fill = 0, stroke = 0, hatch = 0;
    uint32_t first = 0;  ///< of its numbers in the table
};
static_assert(sizeof(LookItem) == 64);

/// Draws by shaders what would be many triangles, at its place among what ImGui draws: each batch is a
/// callback in a draw list, with that list's clipping. One buffer of items and one table of numbers a frame.
class Looks {
  public:
    using Sources = std::function<std::string_view(const std::string& file)>;

    /// A GL context must be current, here, in draw() and at the end. A look whose shaders the driver refuses
    /// is off, which take_messages() tells. `version`: the line that shaders begin with.
    explicit Looks(const char* version, const Sources& sources = embedded_sources);
    ~Looks();
    Looks(const Looks&) = delete;
    Looks& operator=(const Looks&) = delete;

    /// Whether `look` can be drawn here; else the caller draws it plainly.
    bool draws(ShapeShader look) const { return on_[static_cast<size_t>(look)]; }
    std::vector<Message> take_messages();

    /// Forgets the last frame's batches.
    void begin_frame();
    /// Adds a batch to a draw list; it is drawn when that is.
    void add(ImDrawList& list, ShapeShader look, std::span<const LookItem> items);
    /// Puts numbers into the frame's table and gives where they begin; nothing where it is full.
    std::optional<uint32_t> table(std::span<const uint32_t> numbers);
    /// Hands the frame's items and numbers to the driver; before the draw data is drawn.
    void upload();

    /// The text of a file of shaders/, which is inside the program.
    static std::string_view embedded_sources(const std::string& file);

  private:
    struct Gl;
    struct Batch {
        Looks* looks;
        ShapeShader look;
        size_t first, count;
    };
    static void draw_batch(const ImDrawList* list, const ImDrawCmd* command);
    void draw(const Batch& batch, const ImDrawCmd& command) const;

    std::unique_ptr<Gl> gl_;
    std::array<bool, kShapeShaders> on_{};
    std::deque<Batch> batches_;  // addresses stay
    std::vector<LookItem> items_;
    std::vector<uint32_t> numbers_;
    std::vector<Message> said_;
};

}  // namespace meshscope::window
