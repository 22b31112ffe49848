#include "app/gui/window/fonts.h"

#include <imgui.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <system_error>

#include "core/base/text.h"

namespace meshscope::window {
namespace {

bool is_readable(const std::string& path) {
    // ImGui aborts the program on a font it cannot open, so each is opened here first.
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return false;
    std::fclose(file);
    return true;
}

/// The tree that the program is installed in, which may have brought its own fonts: "/app" of
/// "/app/bin/meshscope-app"; "" where that cannot be told.
std::string own_tree() {
    std::error_code none;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
    return program.parent_path().parent_path().string();
}

std::string first_readable(std::initializer_list<const char*> paths) {
    const std::string tree = own_tree(), usual = "/usr";
    if (!tree.empty())
        for (const char* path : paths)
            if (std::string own = tree + (path + usual.size()); is_readable(own)) return own;
    for (const char* path : paths)
        if (is_readable(path)) return path;
    return {};
}

// What the program draws itself beside the catalogues' words: values, paths, formulas.
constexpr const char* kSymbols = "→←↔↑↓−×·µαβΠΣ≤≥≠≈…–—✓✗●▲■◆★○°±∞“”‘’（），。：；？！、《》【】％";

}  // namespace

float face_size(view::Face face) {
    switch (face) {
        case view::Face::caption:
            return 14;
        case view::Face::body:
            return 16;
        case view::Face::title:
            return 20;
        case view::Face::lesson_title:
            return 22;
        case view::Face::display:
            return 28;
        case view::Face::mono_small:
            return 14;
        case view::Face::mono:
            return 16;
        case view::Face::mono_title:
            return 20;
    }
    return 16;
}

bool is_mono(view::Face face) {
    return face == view::Face::mono_small || face == view::Face::mono || face == view::Face::mono_title;
}

FontFiles find_fonts() {
    return {first_readable({"/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
                            "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
                            "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc"}),
            first_readable({"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
                            "/usr/share/fonts/TTF/DejaVuSansMono.ttf",
                            "/usr/share/fonts/dejavu-sans-mono-fonts/DejaVuSansMono.ttf"}),
            first_readable({"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                            "/usr/share/fonts/TTF/DejaVuSans.ttf",
                            "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf"})};
}

std::vector<Message> FontSet::build(ImFontAtlas& atlas, const FontFiles& files, std::string_view text,
                                    float scale) {
    std::vector<Message> said;
    scale_ = scale;
    atlas.Clear();
    if (files.words.empty()) said.push_back({"window.font_words_missing", {}});
    if (files.mono.empty()) said.push_back({"window.font_mono_missing", {}});

    ImFontGlyphRangesBuilder used;
    used.AddRanges(atlas.GetGlyphRangesDefault());
    // As it is drawn. A U+0000 among the ranges would end them: the atlas would have no letter at all.
    const std::string shown = printable(text);
    used.AddText(shown.data(), shown.data() + shown.size());
    used.AddText(kSymbols);
    ImVector<ImWchar> ranges;
    used.BuildRanges(&ranges);

    for (int i = 0; i < kFaces; ++i) {
        const auto face = static_cast<view::Face>(i);
        const float size = pixels(face);
        ImFontConfig config;
        config.OversampleH = 1;
        config.OversampleV = 1;
        config.PixelSnapH = true;
        // The first file that has a glyph wins; the others fill the gaps.
        const std::array<const std::string*, 3> order = {is_mono(face) ? &files.mono : &files.words,
                                                         is_mono(face) ? &files.words : &files.symbols,
                                                         is_mono(face) ? &files.symbols : &files.mono};
        ImFont* made = nullptr;
        for (const std::string* file : order) {
            if (file->empty()) continue;
            config.MergeMode = made != nullptr;
            ImFont* added = atlas.AddFontFromFileTTF(file->c_str(), size, &config, ranges.Data);
            if (made == nullptr) made = added;
        }
        if (made == nullptr) {
            ImFontConfig builtin;
            builtin.SizePixels = size;
            made = atlas.AddFontDefault(&builtin);
        }
        fonts_[static_cast<size_t>(i)] = made;
    }
    atlas.Build();
    return said;
}

float FontSet::pixels(view::Face face) const {
    return std::round(face_size(face) * scale_);
}

bool FontSet::has(view::Face face, char32_t code_point) const {
    return code_point <= 0xFFFF &&
           font(face)->FindGlyphNoFallback(static_cast<ImWchar>(code_point)) != nullptr;
}

float FontMeasure::width(const std::string& text, view::Face face) const {
    if (has_unseen(text)) return width(printable(text), face);  // as it is drawn
    const ImFont* font = fonts_.font(face);
    return font->CalcTextSizeA(fonts_.pixels(face), 1e9F, 0, text.data(), text.data() + text.size()).x /
           fonts_.scale();
}

float FontMeasure::line_height(view::Face face) const {
    return std::round(face_size(face) * 1.5F);
}

std::vector<char32_t> code_points(std::string_view text) {
    std::vector<char32_t> out;
    for (size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const size_t length = lead < 0x80       ? 1
                              : lead >> 5 == 6  ? 2
                              : lead >> 4 == 14 ? 3
                              : lead >> 3 == 30 ? 4
                                                : 0;
        if (length == 0 || i + length > text.size()) {
            out.push_back(0xFFFD);
            ++i;
            continue;
        }
        char32_t value = length == 1 ? lead : lead & (0x7FU >> length);
        for (size_t k = 1; k < length; ++k)
            value = value << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
        out.push_back(value);
        i += length;
    }
    return out;
}

}  // namespace meshscope::window
