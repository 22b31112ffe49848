#include "drawn_text.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "app/gui/window/theme.h"

namespace meshscope::test {
namespace {

using view::Rect;

struct Colour {
    float r = 0, g = 0, b = 0, a = 1;
};

Colour colour_of(ImU32 packed) {
    const auto part = [&](int shift) { return static_cast<float>(packed >> shift & 0xFFU) / 255; };
    return {part(IM_COL32_R_SHIFT), part(IM_COL32_G_SHIFT), part(IM_COL32_B_SHIFT), part(IM_COL32_A_SHIFT)};
}

window::Rgb rgb_of(const Colour& c) {
    const auto part = [](float v) {
        return static_cast<uint8_t>(std::lround(std::clamp(v, 0.0F, 1.0F) * 255));
    };
    return {part(c.r), part(c.g), part(c.b)};
}

void blend(Colour& under, const Colour& over) {
    under.r += (over.r - under.r) * over.a;
    under.g += (over.g - under.g) * over.a;
    under.b += (over.b - under.b) * over.a;
}

/// A triangle that is no letter.
struct Triangle {
    ImDrawVert corner[3];
    ImVec4 clip;
    std::size_t order;  ///< of drawing
};

struct Letter {
    const ImFont* font;
    const ImFontGlyph* glyph;
    Rect box, visible;
    float scale;          ///< drawn size to the face's own
    float pen, baseline;  ///< where it starts, where its line's top is
    Colour colour;
    std::size_t order;
    const char* window;
};

struct GlyphPlace {
    const ImFont* font;
    const ImFontGlyph* glyph;
};

/// The atlas's glyphs by where they lie in the texture.
class Glyphs {
  public:
    explicit Glyphs(const ImFontAtlas& atlas) : width_(atlas.TexWidth), height_(atlas.TexHeight) {
        std::size_t all = 0;
        for (const ImFont* font : atlas.Fonts) all += static_cast<std::size_t>(font->Glyphs.Size);
        by_corner_.reserve(all);
        for (const ImFont* font : atlas.Fonts)
            for (const ImFontGlyph& g : font->Glyphs)
                if (g.Visible != 0) by_corner_.emplace(key(g.U0, g.V0), GlyphPlace{font, &g});
    }
    /// Null for what is no whole letter.
    const GlyphPlace* find(ImVec2 low, ImVec2 high) const {
        const auto found = by_corner_.find(key(low.x, low.y));
        if (found == by_corner_.end()) return nullptr;
        const ImFontGlyph& g = *found->second.glyph;
        const bool same = g.U0 == low.x && g.V0 == low.y && g.U1 == high.x && g.V1 == high.y;
        return same ? &found->second : nullptr;
    }

  private:
    uint64_t key(float u, float v) const {
        const auto pixel = [](float part, int size) {
            return static_cast<uint64_t>(std::lround(part * static_cast<float>(size)));
        };
        return pixel(u, width_) << 32 | pixel(v, height_);
    }
    int width_, height_;
    std::unordered_map<uint64_t, GlyphPlace> by_corner_;
};

/// What is drawn, apart in letters and all else, and a grid to find what lies at a point.
class Frame {
  public:
    Frame(const ImDrawData& data, window::Rgb clear) : clear_(clear), atlas_(*ImGui::GetIO().Fonts) {
        columns_ = static_cast<int>(data.DisplaySize.x) / kCell + 1;
        rows_ = static_cast<int>(data.DisplaySize.y) / kCell + 1;
        cells_.resize(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_));
        const Glyphs glyphs(atlas_);
        for (int i = 0; i < data.CmdListsCount; ++i) read(*data.CmdLists[i], glyphs);
    }
    const std::vector<Letter>& letters() const { return letters_; }

    /// The colour at a point before the letter is drawn, and whether something covers it after.
    std::pair<Colour, bool> around(float x, float y, std::size_t order) const {
        Colour under{static_cast<float>(clear_.r) / 255, static_cast<float>(clear_.g) / 255,
                     static_cast<float>(clear_.b) / 255, 1};
        float through = 1;  // of what is drawn later
        const int column = static_cast<int>(x) / kCell, row = static_cast<int>(y) / kCell;
        if (column < 0 || row < 0 || column >= columns_ || row >= rows_) return {under, true};
        for (const uint32_t t : cells_[static_cast<std::size_t>(row * columns_ + column)]) {
            const Triangle& triangle = triangles_[t];
            const Colour here = at(triangle, x, y);
            if (here.a <= 0) continue;
            if (triangle.order < order)
                blend(under, here);
            else
                through *= 1 - here.a;
        }
        return {under, through < 0.5F};
    }

  private:
    static constexpr int kCell = 48;

    void read(const ImDrawList& list, const Glyphs& glyphs) {
        for (const ImDrawCmd& command : list.CmdBuffer) {
            if (command.UserCallback != nullptr) continue;
            for (unsigned int i = 0; i + 2 < command.ElemCount; i += 3) {
                const auto corner = [&](unsigned int k) -> const ImDrawVert& {
                    const auto index = static_cast<int>(command.IdxOffset + i + k);
                    return list.VtxBuffer[static_cast<int>(command.VtxOffset) + list.IdxBuffer[index]];
                };
                ++order_;
                const ImDrawVert &a = corner(0), &b = corner(1), &c = corner(2);
                // A letter is two triangles of one rectangle: top left, top right, bottom right; then again.
                const GlyphPlace* glyph = glyphs.find(a.uv, c.uv);
                if (glyph != nullptr && i + 5 < command.ElemCount) {
                    add_letter(list, command, *glyph, a, c);
                    i += 3;
                    continue;
                }
                add_triangle({{a, b, c}, command.ClipRect, order_});
            }
        }
    }

    void add_letter(const ImDrawList& list, const ImDrawCmd& command, const GlyphPlace& place,
                    const ImDrawVert& first, const ImDrawVert& last) {
        Letter letter;
        letter.font = place.font;
        letter.glyph = place.glyph;
        letter.box = {first.pos.x, first.pos.y, last.pos.x - first.pos.x, last.pos.y - first.pos.y};
        const ImVec4& clip = command.ClipRect;
        const float x0 = std::max(first.pos.x, clip.x), x1 = std::min(last.pos.x, clip.z);
        const float y0 = std::max(first.pos.y, clip.y), y1 = std::min(last.pos.y, clip.w);
        letter.visible = {x0, y0, std::max(0.0F, x1 - x0), std::max(0.0F, y1 - y0)};
        letter.scale = letter.box.h / (place.glyph->Y1 - place.glyph->Y0);
        letter.pen = first.pos.x - place.glyph->X0 * letter.scale;
        letter.baseline = first.pos.y - place.glyph->Y0 * letter.scale;
        letter.colour = colour_of(first.col);
        letter.order = order_;
        letter.window = list._OwnerName != nullptr ? list._OwnerName : "";
        letters_.push_back(letter);
    }

    void add_triangle(const Triangle& t) {
        float x0 = 1e9F, y0 = 1e9F, x1 = -1e9F, y1 = -1e9F;
        for (const ImDrawVert& v : t.corner) {
            x0 = std::min(x0, v.pos.x), x1 = std::max(x1, v.pos.x);
            y0 = std::min(y0, v.pos.y), y1 = std::max(y1, v.pos.y);
        }
        const auto cell = [](float v, int most) {
            return static_cast<int>(std::clamp(v / kCell, 0.0F, static_cast<float>(most - 1)));
        };
        x0 = std::max(x0, t.clip.x), x1 = std::min(x1, t.clip.z);
        y0 = std::max(y0, t.clip.y), y1 = std::min(y1, t.clip.w);
        if (x1 <= x0 || y1 <= y0) return;
        triangles_.push_back(t);
        for (int row = cell(y0, rows_); row <= cell(y1, rows_); ++row)
            for (int column = cell(x0, columns_); column <= cell(x1, columns_); ++column)
                cells_[static_cast<std::size_t>(row * columns_ + column)].push_back(
                    static_cast<uint32_t>(triangles_.size() - 1));
    }

    /// The triangle's colour at a point, with what its texture lets through; alpha 0 outside of it.
    Colour at(const Triangle& t, float x, float y) const {
        if (x < t.clip.x || y < t.clip.y || x >= t.clip.z || y >= t.clip.w) return {0, 0, 0, 0};
        const ImVec2 a = t.corner[0].pos, b = t.corner[1].pos, c = t.corner[2].pos;
        const float area = (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
        if (area == 0) return {0, 0, 0, 0};
        const float v = ((x - a.x) * (c.y - a.y) - (c.x - a.x) * (y - a.y)) / area;
        const float w = ((b.x - a.x) * (y - a.y) - (x - a.x) * (b.y - a.y)) / area;
        const float u = 1 - v - w;
        if (u < 0 || v < 0 || w < 0) return {0, 0, 0, 0};
        const Colour p = colour_of(t.corner[0].col), q = colour_of(t.corner[1].col),
                     r = colour_of(t.corner[2].col);
        const auto mixed = [&](float i, float j, float k) { return i * u + j * v + k * w; };
        Colour out{mixed(p.r, q.r, r.r), mixed(p.g, q.g, r.g), mixed(p.b, q.b, r.b), mixed(p.a, q.a, r.a)};
        const ImVec2 i = t.corner[0].uv, j = t.corner[1].uv, k = t.corner[2].uv;
        out.a *= texture(mixed(i.x, j.x, k.x), mixed(i.y, j.y, k.y));
        return out;
    }

    float texture(float u, float v) const {
        if (atlas_.TexPixelsAlpha8 == nullptr) return 1;
        const auto pixel = [](float part, int size) {
            return std::clamp(static_cast<int>(part * static_cast<float>(size)), 0, size - 1);
        };
        const int at = pixel(v, atlas_.TexHeight) * atlas_.TexWidth + pixel(u, atlas_.TexWidth);
        return static_cast<float>(atlas_.TexPixelsAlpha8[at]) / 255;
    }

    window::Rgb clear_;
    const ImFontAtlas& atlas_;
    int columns_ = 0, rows_ = 0;
    std::size_t order_ = 0;
    std::vector<Triangle> triangles_;
    std::vector<Letter> letters_;
    std::vector<std::vector<uint32_t>> cells_;  ///< by place: the triangles there, in order
};

void append(std::string& text, unsigned int code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        text += static_cast<char>(0xE0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    }
}

bool same_colour(const Colour& a, const Colour& b) {
    return a.r == b.r && a.g == b.g && a.b == b.b && a.a == b.a;
}

/// How many blanks lie between two letters; -1: they are no neighbours of one text.
int blanks_between(const Letter& before, const Letter& next) {
    if (before.font != next.font || before.window != next.window || before.scale != next.scale ||
        std::abs(before.baseline - next.baseline) > 0.5F || !same_colour(before.colour, next.colour))
        return -1;
    const float gap = next.pen - before.pen - before.glyph->AdvanceX * before.scale;
    const float blank = before.font->GetCharAdvance(' ') * before.scale;
    const int blanks = static_cast<int>(std::lround(gap / blank));
    return blanks >= 0 && blanks <= 2 && std::abs(gap - static_cast<float>(blanks) * blank) < 0.6F ? blanks
                                                                                                   : -1;
}

DrawnText finish(const Frame& frame, const std::vector<const Letter*>& run, std::string text) {
    DrawnText out;
    out.window = run.front()->window;
    out.text = std::move(text);
    out.size = run.front()->font->FontSize * run.front()->scale;
    float x0 = 1e9F, y0 = 1e9F, x1 = -1e9F, y1 = -1e9F;
    std::vector<double> contrasts;
    std::size_t covered = 0, asked = 0;
    const std::size_t step = std::max<std::size_t>(1, run.size() / 6);
    for (std::size_t i = 0; i < run.size(); ++i) {
        const Letter& letter = *run[i];
        const Rect& seen = letter.visible;
        if (seen.w < letter.box.w - 1) out.cut = true;
        if (seen.w <= 0 || seen.h <= 0) continue;
        out.letters.push_back(seen);
        x0 = std::min(x0, seen.x), x1 = std::max(x1, seen.x + seen.w);
        y0 = std::min(y0, seen.y), y1 = std::max(y1, seen.y + seen.h);
        if (i % step != 0) continue;
        ++asked;
        // A little off the middle: on an edge that two triangles share, both would count.
        const auto [under, over] =
            frame.around(seen.x + seen.w / 2 + 0.037F, seen.y + seen.h / 2 + 0.021F, letter.order);
        covered += over ? 1 : 0;
        Colour written = under;
        blend(written, letter.colour);
        contrasts.push_back(window::contrast(rgb_of(written), rgb_of(under)));
    }
    if (out.letters.empty()) return out;
    out.box = {x0, y0, x1 - x0, y1 - y0};
    out.covered = 2 * covered > asked;
    if (!contrasts.empty()) {
        const auto middle = contrasts.begin() + static_cast<std::ptrdiff_t>(contrasts.size() / 2);
        std::nth_element(contrasts.begin(), middle, contrasts.end());
        out.contrast = *middle;
    }
    return out;
}

bool meet(const Rect& a, const Rect& b, float slack) {
    return a.x + slack < b.x + b.w && b.x + slack < a.x + a.w && a.y + slack < b.y + b.h &&
           b.y + slack < a.y + a.h;
}

}  // namespace

std::vector<DrawnText> drawn_texts(const ImDrawData& data, window::Rgb clear) {
    const Frame frame(data, clear);
    std::vector<DrawnText> out;
    std::vector<const Letter*> run;
    std::string text;
    const auto end = [&] {
        if (!run.empty()) {
            DrawnText made = finish(frame, run, text);
            if (!made.letters.empty()) out.push_back(std::move(made));
        }
        run.clear();
        text.clear();
    };
    for (const Letter& letter : frame.letters()) {
        int blanks = 0;
        if (!run.empty() && (blanks = blanks_between(*run.back(), letter)) < 0) {
            end();
            blanks = 0;
        }
        text.append(static_cast<std::size_t>(blanks), ' ');
        append(text, letter.glyph->Codepoint);
        run.push_back(&letter);
    }
    end();
    return out;
}

std::vector<std::string> overlapping(const std::vector<DrawnText>& texts) {
    constexpr float kSlack = 1.5F;
    std::vector<std::string> out;
    for (std::size_t i = 0; i < texts.size(); ++i)
        for (std::size_t k = i + 1; k < texts.size(); ++k) {
            const DrawnText &a = texts[i], &b = texts[k];
            if (a.covered || b.covered || !meet(a.box, b.box, kSlack)) continue;
            bool share = false;
            for (const Rect& one : a.letters)
                for (const Rect& other : b.letters) share = share || meet(one, other, kSlack);
            if (share) out.push_back("\"" + a.text + "\" and \"" + b.text + "\" share pixels");
        }
    return out;
}

}  // namespace meshscope::test
