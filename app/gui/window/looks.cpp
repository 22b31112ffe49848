#include "app/gui/window/looks.h"

#include <imgui.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "app/gui/window/gl.h"

namespace meshscope::embedded {
std::string_view shaders(std::string_view file);  // written by cmake/embed.cmake
}  // namespace meshscope::embedded

namespace meshscope::window {
namespace {

constexpr std::array<const char*, kShapeShaders> kNames{"bars", "chunks", "hatch", "dashes", "heat"};
constexpr int kTableWide = 1024, kTableHigh = 2048;  // what every driver has

/// An object of GL's that goes with its owner.
template <class Delete>
class Owned {
  public:
    Owned(unsigned int name, Delete gone) : name_(name), gone_(gone) {}
    ~Owned() {
        if (name_ != 0) gone_(name_);
    }
    Owned(Owned&& other) noexcept : name_(std::exchange(other.name_, 0)), gone_(other.gone_) {}
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    Owned& operator=(Owned&&) = delete;
    unsigned int name() const { return name_; }

  private:
    unsigned int name_;
    Delete gone_;
};

constexpr auto kShaderGone = [](unsigned int n) { glDeleteShader(n); };
constexpr auto kProgramGone = [](unsigned int n) { glDeleteProgram(n); };
constexpr auto kBufferGone = [](unsigned int n) { glDeleteBuffers(1, &n); };
constexpr auto kArrayGone = [](unsigned int n) { glDeleteVertexArrays(1, &n); };
constexpr auto kTextureGone = [](unsigned int n) { glDeleteTextures(1, &n); };

template <class Make>
unsigned int made(Make make) {
    unsigned int name = 0;
    make(1, &name);
    return name;
}

/// The driver's words for what it refused.
template <class Get>
std::string log_of(Get get, unsigned int name) {
    std::array<char, 1024> text{};
    get(name, static_cast<GLsizei>(text.size()), nullptr, text.data());
    return text.data();
}

using Shader = Owned<decltype(kShaderGone)>;
Shader compile(GLenum kind, const std::string& text, std::string& refused) {
    Shader shader(glCreateShader(kind), kShaderGone);
    const char* lines = text.c_str();
    glShaderSource(shader.name(), 1, &lines, nullptr);
    glCompileShader(shader.name());
    GLint good = 0;
    glGetShaderiv(shader.name(), GL_COMPILE_STATUS, &good);
    if (good == 0) refused += log_of(glGetShaderInfoLog, shader.name());
    return shader;
}

struct Program {
    Owned<decltype(kProgramGone)> program{glCreateProgram(), kProgramGone};
    GLint screen = -1;
    std::string refused;

    Program(const std::string& vertex, const std::string& fragment) {
        const Shader a = compile(GL_VERTEX_SHADER, vertex, refused),
                     b = compile(GL_FRAGMENT_SHADER, fragment, refused);
        if (!refused.empty()) return;
        glAttachShader(program.name(), a.name());
        glAttachShader(program.name(), b.name());
        glLinkProgram(program.name());
        GLint good = 0;
        glGetProgramiv(program.name(), GL_LINK_STATUS, &good);
        if (good == 0) {
            refused = log_of(glGetProgramInfoLog, program.name());
            if (refused.empty()) refused = "glLinkProgram";
            return;
        }
        screen = glGetUniformLocation(program.name(), "screen");  // the table is texture unit 0, as it begins
    }
};

const void* offset(size_t bytes) {
    return reinterpret_cast<const void*>(bytes);
}

/// Where the attributes of items.glsl lie in the bound buffer, from byte `begin` on.
void point_at(size_t begin) {
    constexpr GLsizei kStep = sizeof(LookItem);
    const auto floats = [&](GLuint at, size_t in) {
        glVertexAttribPointer(at, 4, GL_FLOAT, GL_FALSE, kStep, offset(begin + in));
    };
    const auto colour = [&](GLuint at, size_t in) {
        glVertexAttribPointer(at, 4, GL_UNSIGNED_BYTE, GL_TRUE, kStep, offset(begin + in));
    };
    floats(0, offsetof(LookItem, place));
    floats(1, offsetof(LookItem, shape));
    floats(2, offsetof(LookItem, more));
    colour(3, offsetof(LookItem, fill));
    colour(4, offsetof(LookItem, stroke));
    colour(5, offsetof(LookItem, hatch));
    glVertexAttribIPointer(6, 1, GL_UNSIGNED_INT, kStep, offset(begin + offsetof(LookItem, first)));
}

}  // namespace

struct Looks::Gl {
    std::vector<Program> programs;
    Owned<decltype(kArrayGone)> array{made(glGenVertexArrays), kArrayGone};
    Owned<decltype(kBufferGone)> items{made(glGenBuffers), kBufferGone};
    Owned<decltype(kTextureGone)> table{made(glGenTextures), kTextureGone};
};

std::string_view shader_name(ShapeShader look) {
    return kNames[static_cast<size_t>(look)];
}

std::string_view Looks::embedded_sources(const std::string& file) {
    return embedded::shaders("shaders/" + file);
}

Looks::Looks(const char* version, const Sources& sources) : gl_(std::make_unique<Gl>()) {
    const auto text = [&](const std::string& before, const std::string& file) {
        return std::string(version) + "\n" + std::string(sources(before)) + std::string(sources(file));
    };
    for (const std::string name : kNames) {
        gl_->programs.emplace_back(text("items.glsl", name + ".vert"), text("cover.glsl", name + ".frag"));
        const std::string& refused = gl_->programs.back().refused;
        on_[gl_->programs.size() - 1] = refused.empty();
        if (!refused.empty())
            said_.push_back(
                {"window.look_refused", {{"look", name}, {"why", refused.substr(0, refused.find('\n'))}}});
    }
    glBindVertexArray(gl_->array.name());
    for (GLuint i = 0; i < 7; ++i) {
        glEnableVertexAttribArray(i);
        glVertexAttribDivisor(i, 1);
    }
    glBindVertexArray(0);
    glBindTexture(GL_TEXTURE_2D, gl_->table.name());
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glBindTexture(GL_TEXTURE_2D, 0);
}

Looks::~Looks() = default;

std::vector<Message> Looks::take_messages() {
    return std::exchange(said_, {});
}

void Looks::begin_frame() {
    batches_.clear();
    items_.clear();
    numbers_.clear();
}

void Looks::add(ImDrawList& list, ShapeShader look, std::span<const LookItem> items) {
    if (items.empty()) return;
    Batch& batch = batches_.emplace_back(Batch{this, look, items_.size(), items.size()});
    items_.insert(items_.end(), items.begin(), items.end());
    list.AddCallback(draw_batch, &batch);
    list.AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

std::optional<uint32_t> Looks::table(std::span<const uint32_t> numbers) {
    if (numbers_.size() + numbers.size() > size_t{kTableWide} * kTableHigh) return {};
    const auto first = static_cast<uint32_t>(numbers_.size());
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
    return first;
}

void Looks::upload() {
    if (items_.empty()) return;
    glBindBuffer(GL_ARRAY_BUFFER, gl_->items.name());
    glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(items_.size() * sizeof(LookItem)), items_.data(),
                 GL_STREAM_DRAW);
    glBindBuffer(GL_ARRAY_BUFFER, 0);
    if (numbers_.empty()) return;
    const size_t high = (numbers_.size() + kTableWide - 1) / kTableWide;
    numbers_.resize(high * kTableWide);
    glBindTexture(GL_TEXTURE_2D, gl_->table.name());
    glTexImage2D(GL_TEXTURE_2D, 0, GL_R32UI, kTableWide, static_cast<GLsizei>(high), 0, GL_RED_INTEGER,
                 GL_UNSIGNED_INT, numbers_.data());
    glBindTexture(GL_TEXTURE_2D, 0);
}

void Looks::draw_batch(const ImDrawList*, const ImDrawCmd* command) {
    const Batch& batch = *static_cast<const Batch*>(command->UserCallbackData);
    batch.looks->draw(batch, *command);
}

void Looks::draw(const Batch& batch, const ImDrawCmd& command) const {
    // ImGui sets the clipping of its own draws; a callback's is what the list had when it was added.
    const ImDrawData& all = *ImGui::GetDrawData();
    const ImVec2 at = all.DisplayPos, scale = all.FramebufferScale;
    const auto pixel = [](float value) { return static_cast<GLint>(value); };
    const GLint left = pixel((command.ClipRect.x - at.x) * scale.x),
                top = pixel((command.ClipRect.y - at.y) * scale.y),
                right = pixel((command.ClipRect.z - at.x) * scale.x),
                bottom = pixel((command.ClipRect.w - at.y) * scale.y);
    if (right <= left || bottom <= top) return;
    glScissor(left, pixel(all.DisplaySize.y * scale.y) - bottom, right - left, bottom - top);
    const Program& program = gl_->programs[static_cast<size_t>(batch.look)];
    glUseProgram(program.program.name());
    glUniform4f(program.screen, at.x, at.y, all.DisplaySize.x, all.DisplaySize.y);
    glBlendFuncSeparate(GL_ONE, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    if (batch.look == ShapeShader::heat)
        glBindTexture(GL_TEXTURE_2D, gl_->table.name());  // ImGui binds its own a draw
    glBindVertexArray(gl_->array.name());
    glBindBuffer(GL_ARRAY_BUFFER, gl_->items.name());
    point_at(batch.first * sizeof(LookItem));
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, static_cast<GLsizei>(batch.count));
}

}  // namespace meshscope::window
