#include "app/gui/panels/set_text.h"

#include <algorithm>
#include <string_view>

#include "app/gui/view/fitting.h"
#include "app/gui/view/utf8.h"

namespace meshscope::panels {
namespace {

bool is_space(const std::string& piece) {
    return piece == " ";
}

/// Whether the line may not break between the two.
bool joined(const std::string& before, const std::string& after) {
    if (is_space(before) || is_space(after)) return false;
    return !may_break(before, after);
}

/// Behind each of these marks.
std::vector<std::string> cut_behind(const std::string& text, std::string_view marks) {
    std::vector<std::string> parts(1);
    for (size_t i = 0; i < text.size(); ++i) {
        parts.back() += text[i];
        // Not between two marks: "::" and "()" stay one.
        const bool cut = marks.find(text[i]) != std::string_view::npos && i + 1 < text.size() &&
                         marks.find(text[i + 1]) == std::string_view::npos && text[i + 1] != ')';
        if (cut) parts.emplace_back();
    }
    return parts;
}

class Setter {
  public:
    Setter(const view::TextMeasure& measure, const std::vector<Span>& spans, float width)
        : measure_(measure), spans_(spans), width_(width) {
        for (size_t i = 0; i < spans.size(); ++i) {
            const std::string& text = spans[i].text;
            const bool whole = !spans[i].link.empty() && wide(i, text) <= width;
            const auto fits = [&](const std::string& piece) { return wide(i, piece) <= width; };
            for (std::string& piece :
                 whole ? std::vector<std::string>{text} : view::numbers_kept(break_pieces(text), fits))
                pieces_.push_back({i, piece == "\n" ? " " : std::move(piece), 0, 0, 0});
        }
        std::erase_if(pieces_, [](const TextRun& piece) { return piece.text.empty(); });
        for (TextRun& piece : pieces_) piece.width = wide(piece.span, piece.text);
    }

    std::vector<TextRun> run() {
        for (size_t i = 0; i < pieces_.size();) {
            size_t end = i + 1;
            float all = pieces_[i].width;
            while (end < pieces_.size() && joined(pieces_[end - 1].text, pieces_[end].text))
                all += pieces_[end++].width;
            if (!fits(all) && x_ > 0) {
                newline();
                if (is_space(pieces_[i].text)) {
                    i = end;
                    continue;
                }
            }
            for (; i < end; ++i) put(pieces_[i], all <= width_);
        }
        return std::move(out_);
    }

  private:
    float wide(size_t span, const std::string& text) const {
        return measure_.width(text, face_of(spans_[span]));
    }
    bool fits(float wide) const { return x_ + wide <= width_ + 0.5F; }
    void newline() {
        x_ = 0;
        ++line_;
    }

    /// `whole`: what it is joined to fits on the line with it.
    void put(TextRun piece, bool whole) {
        if (is_space(piece.text) && x_ == 0) return;
        if (whole || is_closing_mark(piece.text) || fits(piece.width)) return place(std::move(piece));
        if (piece.width <= width_) {
            newline();
            return place(std::move(piece));
        }
        for (std::string& part : cut_behind(piece.text, ".(,:/=[-"))
            put_part({piece.span, part, 0, wide(piece.span, part), 0}, "_");
    }

    /// A part of what is wider than a line, cut further where it must be.
    void put_part(TextRun part, std::string_view marks) {
        if (!fits(part.width) && x_ > 0) newline();
        if (fits(part.width)) return place(std::move(part));
        if (marks.empty()) return put_lines(part);
        for (std::string& smaller : cut_behind(part.text, marks))
            put_part({part.span, smaller, 0, wide(part.span, smaller), 0}, "");
    }

    /// What has no mark to break behind: as much as fits, line by line.
    void put_lines(const TextRun& part) {
        for (size_t at = 0; at < part.text.size();) {
            size_t end =
                view::line_end(measure_, part.text, at, face_of(spans_[part.span]), width_ + 0.5F - x_);
            if (end == at && x_ > 0) {
                newline();
                continue;
            }
            if (end == at) end = view::next_letter(part.text, at);  // a letter wider than the line
            const std::string piece = part.text.substr(at, end - at);
            place({part.span, piece, 0, wide(part.span, piece), 0});
            at = end;
        }
    }

    void place(TextRun piece) {
        piece.x = x_;
        piece.line = line_;
        x_ += piece.width;
        out_.push_back(std::move(piece));
    }

    const view::TextMeasure& measure_;
    const std::vector<Span>& spans_;
    float width_, x_ = 0;
    int line_ = 0;
    std::vector<TextRun> pieces_, out_;
};

}  // namespace

view::Face face_of(const Span& span) {
    return span.look == Span::Look::code ? view::Face::mono : view::Face::body;
}

std::vector<TextRun> set_text(const view::TextMeasure& measure, const std::vector<Span>& spans, float width) {
    return Setter(measure, spans, width).run();
}

}  // namespace meshscope::panels
