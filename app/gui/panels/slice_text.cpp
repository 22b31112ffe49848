#include "app/gui/panels/slice_text.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/mesh/question_text.h"

namespace meshscope::panels {
namespace {

/// Names and commas, as read_slice() writes a plain slice.
bool is_plain(const std::string& slice) {
    return slice.find_first_of("[](){};\"' \\\n") == std::string::npos;
}

}  // namespace

std::string slice_text(const std::string& slice) {
    if (slice.empty() || slice == "mesh" || !is_plain(slice)) return slice;
    std::string text = "mesh[\"";
    for (const char c : slice) text += c == ',' ? std::string("\", \"") : std::string(1, c);
    return text + "\"]";
}

TypedSlice read_slice(const std::string& typed) {
    const std::string text(trimmed(typed));
    try {
        const std::vector<mesh::Question> questions = mesh::parse_questions(text);
        if (questions.empty()) return {};
        const mesh::Question& first = questions.front();
        if (questions.size() > 1 || first.kind != mesh::QuestionKind::slice || !first.of.empty() ||
            first.names.empty())
            return {text, {}};
        std::string names;
        for (const std::string& name : first.names) {
            if (name.empty() || name.find(',') != std::string::npos || !is_plain(name)) return {text, {}};
            names += (names.empty() ? "" : ",") + name;
        }
        return {names == "mesh" ? text : names, {}};
    } catch (const InvalidArgument& error) {
        return {"", error.message()};
    }
}

std::string toggled_slice(const std::string& slice, const std::vector<std::string>& names, int64_t dim) {
    if (dim < 0 || dim >= static_cast<int64_t>(names.size())) return slice;
    const std::string& pressed = names[static_cast<size_t>(dim)];
    const std::string within = is_plain(slice) ? "," + slice + "," : ",";
    std::string kept;
    for (const std::string& name : names)
        if ((within.find("," + name + ",") != std::string::npos) != (name == pressed))
            kept += (kept.empty() ? "" : ",") + name;
    return kept;
}

}  // namespace meshscope::panels
