#include "app/gui/panels/slice_text.h"

namespace meshscope::panels {

std::string slice_text(const std::string& names) {
    if (names.empty()) return {};
    std::string text = "mesh[\"";
    for (const char c : names) text += c == ',' ? std::string("\", \"") : std::string(1, c);
    return text + "\"]";
}

std::string slice_names(const std::string& typed) {
    std::string inner = typed;
    const size_t open = inner.find('[');
    if (open != std::string::npos) inner = inner.substr(open + 1, inner.rfind(']') - open - 1);
    std::string names;
    for (const char c : inner) {
        if (c != '"' && c != '\'' && c != ' ' && c != '(' && c != ')' && c != '[' && c != ']') names += c;
    }
    while (!names.empty() && names.back() == ',') names.pop_back();
    return names;
}

std::string toggled_slice(const std::string& slice, const std::vector<std::string>& names, int64_t dim) {
    if (dim < 0 || dim >= static_cast<int64_t>(names.size())) return slice;
    const std::string& pressed = names[static_cast<size_t>(dim)];
    const std::string within = "," + slice + ",";
    std::string kept;
    for (const std::string& name : names)
        if ((within.find("," + name + ",") != std::string::npos) != (name == pressed))
            kept += (kept.empty() ? "" : ",") + name;
    return kept;
}

}  // namespace meshscope::panels
