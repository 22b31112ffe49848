#include "core/base/toml_text.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/text_file.h"

namespace meshscope {
namespace {

/// Walks over the text as TOML reads it, without keeping anything, and finds the first byte that is nested
/// too deep. Up to the first mistake of syntax both see the same; behind one the parser keeps nothing, so
/// what is seen there does not matter.
class DepthScan {
  public:
    explicit DepthScan(std::string_view text) : text_(text) {}

    std::optional<std::size_t> too_deep() {
        if (is("\xEF\xBB\xBF")) at_ = 3;  // the mark of UTF-8 that some editors put in front
        begin_line();
        while (at_ < text_.size() && depth_ <= kMostTomlDepth)
            if (!step()) return std::nullopt;
        if (depth_ <= kMostTomlDepth) return std::nullopt;
        return at_ - 1;  // the bracket, or the dot before the part that is one too many
    }

  private:
    bool is(std::string_view word) const { return text_.substr(at_).starts_with(word); }

    /// A line outside of all brackets: a header's name, or a key below the last header.
    void begin_line() {
        depth_ = header_ + 1;
        in_key_ = true;
        in_header_ = false;
        fresh_ = true;
    }

    /// Past one token. False where the text is no TOML.
    bool step() {
        const char c = text_[at_];
        if (c == '"' || c == '\'') return string(c);
        if (c == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
            return true;
        }
        ++at_;
        if (c == '\n') {
            if (in_header_) header_ = depth_;
            if (brackets_.empty()) begin_line();
            return true;
        }
        const bool blank = c == ' ' || c == '\t' || c == '\r';
        const bool begins_line = fresh_ && !blank;
        if (!blank) fresh_ = false;
        if (c == '[' && begins_line && brackets_.empty()) {
            in_header_ = true;
            depth_ = 1;
            if (is("[")) ++at_;
        } else if (c == '.' && in_key_) {
            ++depth_;
        } else if (c == '=') {
            in_key_ = false;
        } else if ((c == '[' || c == '{') && !in_key_) {
            brackets_.push_back({depth_, c == '{'});
            ++depth_;
            in_key_ = c == '{';
        } else if (c == ',' && !brackets_.empty()) {
            depth_ = brackets_.back().depth + 1;
            in_key_ = brackets_.back().is_table;
        } else if ((c == ']' || c == '}') && !brackets_.empty()) {
            depth_ = brackets_.back().depth;
            brackets_.pop_back();
            in_key_ = false;
        }
        return true;
    }

    bool string(char quote) {
        fresh_ = false;
        const std::string three(3, quote);
        const bool lines = is(three);
        for (at_ += lines ? 3 : 1; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\\' && quote == '"') {
                ++at_;
            } else if (text_[at_] == '\n' && !lines) {
                return false;
            } else if (lines ? is(three) : text_[at_] == quote) {
                at_ += lines ? 3 : 1;
                // Up to two quotes before the closing three are part of the text.
                for (int more = 0; lines && more < 2 && at_ < text_.size() && text_[at_] == quote; ++more)
                    ++at_;
                return true;
            }
        }
        return false;
    }

    struct Bracket {
        int depth = 0;  ///< where it stands
        bool is_table = false;
    };

    std::string_view text_;
    std::size_t at_ = 0;
    int header_ = 0;  ///< parts of the last header's name
    int depth_ = 0;   ///< where the scan stands
    bool in_key_ = false, in_header_ = false;
    bool fresh_ = false;  ///< nothing of the line was seen yet
    std::vector<Bracket> brackets_;
};

/// The line and the column, in code points, of a byte.
SourcePosition position_of(std::string_view text, std::size_t byte, const std::string& path) {
    SourcePosition at{path, 1, 1, -1};
    for (std::size_t i = 0; i < byte; i += code_point_at(text, i).bytes) {
        const bool line_ends = text[i] == '\n';
        at.line += line_ends ? 1 : 0;
        at.column = line_ends ? 1 : at.column + 1;
    }
    return at;
}

/// What to write instead, for the slips that people make most; {} for others. The parser's own words are
/// those of toml++ 3.
Message hint_for_syntax(std::string_view said) {
    const auto says = [&](std::string_view words) { return said.find(words) != std::string_view::npos; };
    if (says("could not determine value type")) return {"toml.hint.quotes", {}};
    if (says("cannot redefine existing")) return {"toml.hint.once", {}};
    if (says("expected '='")) return {"toml.hint.pair", {}};
    return {};
}

/// What is wrong, in our words where the parser's are known, else in the parser's own.
Message syntax_message(std::string_view said) {
    const auto says = [&](std::string_view words) { return said.find(words) != std::string_view::npos; };
    if (says("could not determine value type")) return {"toml.syntax.value", {}};
    if (says("expected '='")) return {"toml.syntax.pair", {}};
    if (says("expected ']'")) return {"toml.syntax.bracket", {}};
    if (says("unescaped control characters")) return {"toml.syntax.control", {}};
    if (says("encountered end-of-line")) return {"toml.syntax.line_ends", {}};
    if (says("encountered end-of-file")) return {"toml.syntax.file_ends", {}};
    // "cannot redefine existing table 'model'"
    const std::size_t end = said.rfind('\''), begin = end > 0 ? said.rfind('\'', end - 1) : end;
    if (says("cannot redefine existing") && begin < end && end != std::string_view::npos)
        return {"toml.syntax.twice", {{"name", std::string(said.substr(begin + 1, end - begin - 1))}}};
    return {"toml.syntax", {{"detail", std::string(said)}}};
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& path) {
    if (static_cast<int64_t>(text.size()) > kMostTextBytes)
        throw InputError({{{"toml.too_large", {{"most", kMostTextBytes}}}, {path, 0, 0, -1}, {}}});
    if (const auto byte = DepthScan(text).too_deep())
        throw InputError(
            {{{"toml.too_deep", {{"most", int64_t{kMostTomlDepth}}}}, position_of(text, *byte, path), {}}});
    try {
        return toml::parse(text, path);
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        throw InputError({{syntax_message(error.description()),
                           {path, static_cast<int>(at.line), static_cast<int>(at.column), -1},
                           hint_for_syntax(error.description())}});
    }
}

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\r':
                out += "\\r";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
                    char code[8];
                    std::snprintf(code, sizeof(code), "\\u%04X", static_cast<unsigned>(c));
                    out += code;
                } else {
                    out += c;
                }
        }
    }
    return out + "\"";
}

}  // namespace meshscope
