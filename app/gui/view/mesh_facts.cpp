#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_question.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"
#include "core/mesh/value.h"

namespace meshscope::view {
namespace {

// [[1, 3], [5, 7]] over several lines, as PyTorch prints a tensor: inner lists below each other.
std::vector<std::string> nested_lines(const std::string& text) {
    std::vector<std::string> lines{""};
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '[') ++depth;
        if (text[i] == ']') --depth;
        lines.back() += text[i];
        if (text[i] == ',' && i > 0 && text[i - 1] == ']') {
            lines.emplace_back(depth, ' ');
            if (i + 1 < text.size() && text[i + 1] == ' ') ++i;
        }
    }
    return lines;
}

class Facts {
  public:
    Facts(const Input& input, const MeshOptions& options)
        : in_(input), p_(input), q_(mesh_question(input, options)), asked_(options.asked) {
        right_ = in_.size.width - kPad;
    }

    Picture draw() {
        p_.layer = 2;
        if (q_.error) {
            heading(q_.unreadable ? "view.mesh.unreadable" : "view.mesh.refused", q_.expression);
            y_ = mesh_error(p_, *q_.error, {kPad, y_}, right_ - kPad) + 20;
        }
        if (q_.mesh) {
            const auto& shown = q_.slice && !q_.error ? *q_.slice : *q_.mesh;
            if (!q_.error && q_.value) got_value();
            if (!q_.error && !q_.value) got(shown);
            layouts();
            if (!asked_ || *asked_ != static_cast<double>(q_.mesh->cost().new_group)) costs();
        }
        return p_.take(y_ + 8);
    }

  private:
    static constexpr float kPad = 24;

    void heading(const std::string& id, const std::string& note) {
        const std::string words = p_.say(id);
        const float line = p_.line_height(Face::caption);
        p_.text(words, {kPad, y_}, Face::caption, Token::mute);
        const float w = p_.width(words, Face::caption);
        if (!note.empty() && p_.width(note, Face::caption) + w + 24 <= right_ - kPad)
            p_.text(note, {right_, y_}, Face::caption, Token::mute, Align::right);
        y_ += line + 4;
        p_.line({kPad, y_ + 0.5F}, {right_, y_ + 0.5F}, Token::line);
        y_ += 10;
        p_.tell("");
        p_.tell(words);
    }

    /// What the asking rank gets where a value was asked for: mesh.get_group("dp"), as Python prints it.
    void got_value() {
        heading("view.mesh.got", "rank " + std::to_string(q_.asking));
        const mesh::Reply reply = mesh::reply(*q_.value, GlobalRank{q_.asking});
        if (reply.error) {
            y_ = mesh_error(p_, *reply.error, {kPad, y_}, right_ - kPad) + 20;
            return;
        }
        constexpr int64_t kMostRanks = 64;  // the picture shows the others
        const std::string text =
            mesh::value_text(mesh::value_for(*q_.value, GlobalRank{q_.asking}, kMostRanks));
        p_.tell(text);
        const float pad = 16;
        const auto lines = p_.wrap(text, Face::mono, right_ - kPad - 2 * pad);
        const float line = p_.line_height(Face::mono), h = 2 * 12 + line * static_cast<float>(lines.size());
        p_.layer = 1;
        p_.rect({kPad, y_, right_ - kPad, h}, Token::inset, 8, {"answer"}).stroke = Token::line;
        p_.layer = 2;
        float y = y_ + 12;
        for (const auto& words : lines) {
            p_.text(words, {kPad + pad, y}, Face::mono, Token::text, Align::left, {"answer"});
            y += line;
        }
        y_ += h + 20;
    }

    void got(const mesh::DeviceMesh& shown) {
        heading("view.mesh.got", "rank " + std::to_string(q_.asking));
        const mesh::Derived whole{{}, {shown}, std::nullopt};
        const auto reply = mesh::reply(whole, GlobalRank{q_.asking});
        if (!reply.answer) {
            if (reply.error) y_ = mesh_error(p_, *reply.error, {kPad, y_}, right_ - kPad) + 20;
            return;
        }
        const auto& a = *reply.answer;
        const std::string nested = mesh::nested_text(a);
        p_.tell(nested);
        const float pad = 16, inner = right_ - kPad - 2 * pad;
        Face face = Face::mono_title;
        auto lines = nested_lines(nested);
        const auto widest = [&](Face f) {
            float w = 0;
            for (const auto& l : lines) w = std::max(w, p_.width(l, f));
            return w;
        };
        if (widest(face) > inner) face = Face::mono;
        if (widest(face) > inner) face = Face::mono_small;
        if (widest(face) > inner) lines = p_.wrap(nested, face, inner);
        const std::size_t most = 12;  // more rows are in the table
        const std::size_t rows = std::min(lines.size(), most);
        const std::string shape = "shape " + format_tuple(a.shape);
        std::vector<int64_t> strides;
        std::string stride = "stride (";
        for (std::size_t d = 0; d < a.layouts.size(); ++d) {
            const auto colon = a.layouts[d].find(':');
            stride += (d ? ", " : "") +
                      (colon == std::string::npos ? a.layouts[d] : a.layouts[d].substr(colon + 1));
        }
        stride += a.layouts.size() == 1 ? ",)" : ")";
        const float line = p_.line_height(face), small = p_.line_height(Face::mono_small);
        const float side = std::max(p_.width(shape, Face::mono_small), p_.width(stride, Face::mono_small));
        const bool beside = widest(face) + 24 + side <= inner && rows == lines.size();
        float h = 2 * 12 + line * static_cast<float>(rows);
        if (beside)
            h = std::max(h, 2 * 12 + 2 * small);
        else
            h += 2 * small + 8;
        p_.layer = 1;
        p_.rect({kPad, y_, right_ - kPad, h}, Token::inset, 8, {"answer"}).stroke = Token::line;
        p_.layer = 2;
        float y = y_ + 12;
        for (std::size_t i = 0; i < rows; ++i, y += line)
            p_.text(lines[i], {kPad + pad, y}, face, Token::text, Align::left, {"answer"});
        float sy = beside ? y_ + 12 : y + 4;
        for (const auto& words : {shape, stride}) {
            p_.text(words, {right_ - pad, sy}, Face::mono_small, Token::mute, Align::right);
            sy += small;
        }
        p_.tell(shape + " " + stride);
        y_ += h + 20;
        if (a.coordinate) return;
        // A process of the world that no cell of the mesh is for: it has the object and no place in it.
        const std::string outside = p_.say("view.mesh.outside", {arg("rank", int64_t{q_.asking})});
        p_.tell(outside);
        y_ = p_.paragraph(outside, {kPad, y_ - 8}, Face::body, Token::soft, right_ - kPad) + 12;
    }

    static std::pair<std::string, std::string> shape_stride(const mesh::DeviceMesh& m) {
        std::string shape, stride;
        for (int64_t d = 0; d < m.ndim(); ++d) {
            const auto text =
                m.layout(d).shape().size() == 1
                    ? std::pair{std::to_string(m.layout(d).shape()[0]),
                                std::to_string(m.layout(d).stride()[0])}
                    : std::pair{format_tuple(m.layout(d).shape()), format_tuple(m.layout(d).stride())};
            shape += (d ? ", " : "") + (m.layout(d).shape().empty() ? std::string("1") : text.first);
            stride += (d ? ", " : "") + (m.layout(d).stride().empty() ? std::string("()") : text.second);
        }
        // A tuple of one is written with its comma, as Python does.
        const std::string end = m.ndim() == 1 ? ",)" : ")";
        return {"(" + shape + end, "(" + stride + end};
    }

    void layouts() {
        heading("view.mesh.layout", "");
        struct Row {
            std::string label;
            std::pair<std::string, std::string> layout;
            Token tone;
        };
        std::vector<Row> rows{{"mesh", shape_stride(*q_.mesh), Token::text}};
        if (q_.slice && !q_.error)
            rows.push_back({p_.say("view.mesh.layout.slice"), shape_stride(*q_.slice), Token::text});
        if (q_.sliced)
            for (std::size_t d = 0; d < q_.shape.size(); ++d)
                if (std::find(q_.kept.begin(), q_.kept.end(), d) == q_.kept.end()) {
                    const auto& l = q_.mesh->layout(static_cast<int64_t>(d));
                    rows.push_back({p_.say("view.mesh.layout.dropped", {arg("dim", q_.names[d])}),
                                    {format_tuple(l.shape()), format_tuple(l.stride())},
                                    q_.hue(d)});
                }
        float labels = 0, shapes = 0;
        for (const auto& r : rows) {
            labels = std::max(labels, p_.width(r.label, Face::body));
            shapes = std::max(shapes, p_.width(r.layout.first, Face::mono_small));
        }
        const float line = p_.line_height(Face::body);
        const bool stacked = kPad + labels + 16 + shapes + 24 + shapes > right_;
        for (const auto& r : rows) {
            const Id id{"layout"};
            p_.text(r.label, {kPad, y_}, Face::body, Token::soft, Align::left, id);
            const std::string both = r.layout.first + " : " + r.layout.second;
            if (stacked) {
                y_ += line;
                p_.text(both, {kPad + 12, y_}, Face::mono_small, r.tone, Align::left, id);
            } else {
                const float x = kPad + labels + 16;
                p_.text(r.layout.first, {x, y_ + 1}, Face::mono_small, r.tone, Align::left, id);
                p_.text(":", {x + shapes + 10, y_ + 1}, Face::mono_small, Token::mute);
                p_.text(r.layout.second, {x + shapes + 28, y_ + 1}, Face::mono_small, r.tone, Align::left,
                        id);
            }
            p_.tell(r.label + "  " + both);
            y_ += line + 4;
        }
        y_ += 16;
    }

    void costs() {
        const auto cost = q_.mesh->cost();
        heading("view.mesh.cost", "");
        std::vector<int64_t> per_dim(q_.shape.size(), 0);
        int64_t sum = 0, all = 1;
        for (const int64_t s : q_.shape) all *= s;
        for (std::size_t d = 0; d < q_.shape.size(); ++d) {
            per_dim[d] = all / q_.shape[d];
            sum += per_dim[d];
        }
        // One square a call in its dim's hue; where PyTorch reuses the default group the counts differ and
        // one hue does.
        const bool by_dim = sum == cost.new_group;
        const auto split = [&](std::size_t) { return int64_t{1}; };
        squares("new_group", cost.new_group, [&](std::size_t d) { return by_dim ? per_dim[d] : int64_t{0}; });
        squares("split_group", cost.split_group, [&](std::size_t d) {
            return cost.split_group == static_cast<int64_t>(q_.shape.size()) ? split(d) : int64_t{0};
        });
        squares(p_.say("view.mesh.layout.slice"), 0, [](std::size_t) { return int64_t{0}; });
        y_ += 4;
        const std::string note = cost.new_group > 0
                                     ? p_.say("view.mesh.cost.note", {arg("calls", cost.new_group)})
                                     : p_.say("view.mesh.cost.none");
        p_.tell(note);
        y_ = p_.paragraph(note, {kPad, y_}, Face::body, Token::soft, right_ - kPad) + 16;
    }

    template <class PerDim>
    void squares(const std::string& label, int64_t calls, PerDim per_dim) {
        const float line = p_.line_height(Face::body);
        p_.text(label, {kPad, y_}, Face::mono_small, Token::soft);
        const std::string count = p_.say("view.mesh.cost.calls", {arg("calls", calls)});
        p_.text(count, {right_, y_}, Face::body, Token::text, Align::right);
        p_.tell(label + ": " + count);
        const float x0 =
            kPad + std::max(p_.width("split_group", Face::mono_small), p_.width(label, Face::mono_small)) +
            14;
        const float x1 = right_ - p_.width(count, Face::body) - 12;
        int64_t drawn = 0;
        for (std::size_t d = 0; d < q_.shape.size(); ++d) drawn += per_dim(d);
        const auto gaps = 4.F * static_cast<float>(q_.shape.size());
        const float each = calls > 0 ? std::min(15.F, (x1 - x0 - gaps) / static_cast<float>(calls)) : 0;
        if (calls > 0 && each >= 4) {
            float x = x0;
            for (std::size_t d = 0; d < q_.shape.size(); ++d) {
                for (int64_t k = 0; k < (drawn == calls ? per_dim(d) : d == 0 ? calls : 0); ++k, x += each)
                    p_.rect({x, y_ + line / 2 - 6, each - 3, 12}, drawn == calls ? q_.hue(d) : Token::grey, 2,
                            {"cost", static_cast<int64_t>(d)})
                        .fill_alpha = 0.85F;
                x += 4;
            }
        } else if (calls > 0 && x1 > x0) {
            // Too many to count: a bar in proportion to its dims.
            float x = x0;
            for (std::size_t d = 0; d < q_.shape.size(); ++d) {
                const auto part = drawn == calls ? static_cast<float>(per_dim(d)) / static_cast<float>(calls)
                                  : d == 0       ? 1.F
                                                 : 0.F;
                p_.rect({x, y_ + line / 2 - 6, std::max(0.F, (x1 - x0) * part - 2), 12},
                        drawn == calls ? q_.hue(d) : Token::grey, 2, {"cost", static_cast<int64_t>(d)})
                    .fill_alpha = 0.85F;
                x += (x1 - x0) * part;
            }
        } else {
            p_.line({x0, y_ + line / 2}, {x0 + 20, y_ + line / 2}, Token::mute);
        }
        y_ += line + 6;
    }

    const Input& in_;
    Painter p_;
    MeshQuestion q_;
    std::optional<double> asked_;
    float y_ = 14, right_ = 0;
};

}  // namespace

Picture mesh_facts(const Input& input, const MeshOptions& options) {
    return Facts(input, options).draw();
}

}  // namespace meshscope::view
