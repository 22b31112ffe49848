#include "core/comm/schedule/own/xml_text.h"

#include <algorithm>
#include <cctype>

namespace meshscope::comm::own {

Lines::Lines(std::string_view text) : begins_{0} {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') begins_.push_back(i + 1);
}

int Lines::line(std::size_t byte) const {
    return static_cast<int>(std::ranges::upper_bound(begins_, byte) - begins_.begin());
}

SourcePosition Lines::position(const std::string& file, std::size_t byte) const {
    const int at = line(byte);
    return {file, at, static_cast<int>(byte - begins_[static_cast<std::size_t>(at - 1)]) + 1, -1};
}

void guard_xml(std::string_view text, const std::string& file) {
    if (static_cast<int64_t>(text.size()) > kMostXmlBytes)
        throw InputError({{{"xml.too_large", {{"most", kMostXmlBytes}}}, {file, 0, 0, -1}, {}}});
    const auto refuse = [&](std::size_t at, Message message) {
        throw InputError({{std::move(message), Lines(text).position(file, at), {}}});
    };
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) refuse(nul, {"xml.nul", {}});
    int depth = 0;
    std::size_t at = 0;
    const auto skip_past = [&](std::string_view end) {
        const std::size_t found = text.find(end, at);
        at = found == std::string_view::npos ? text.size() : found + end.size();
    };
    while ((at = text.find('<', at)) != std::string_view::npos) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("<!--")) {
            skip_past("-->");
        } else if (rest.starts_with("<![CDATA[")) {
            skip_past("]]>");
        } else if (rest.starts_with("<?")) {
            skip_past("?>");
        } else if (rest.starts_with("<!")) {
            refuse(at, {"xml.doctype", {}});
        } else {
            const bool closes = rest.starts_with("</");
            const std::size_t begin = at;
            char quote = '\0';
            for (++at; at < text.size() && (quote != '\0' || text[at] != '>'); ++at) {
                if (quote == '\0' && (text[at] == '"' || text[at] == '\''))
                    quote = text[at];
                else if (text[at] == quote)
                    quote = '\0';
            }
            const bool alone = at < text.size() && text[at - 1] == '/';
            if (closes)
                --depth;
            else if (!alone && ++depth > kMostXmlDepth)
                refuse(begin, {"xml.too_deep", {{"most", int64_t{kMostXmlDepth}}}});
        }
    }
}

}  // namespace meshscope::comm::own
