#include "core/base/json_text.h"

#include <vector>

namespace meshscope {

bool is_readable_json(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) return false;  // the parser takes it for the end
    std::vector<int64_t> members;                                 // of each list and object that is open
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            for (++i; i < text.size() && text[i] != '"'; ++i)
                if (text[i] == '\\') ++i;
        } else if (c == '[' || c == '{') {
            members.push_back(0);
            if (members.size() > static_cast<std::size_t>(kMostJsonDepth)) return false;
        } else if (c == ':' && !members.empty()) {  // only an object has those
            if (++members.back() > kMostJsonMembers) return false;
        } else if ((c == ']' || c == '}') && !members.empty()) {
            members.pop_back();
        }
    }
    return true;
}

}  // namespace meshscope
