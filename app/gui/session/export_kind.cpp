#include "app/gui/session/export_kind.h"

#include <cctype>
#include <iterator>

namespace meshscope::session {

std::optional<ExportKind> export_kind_of(const std::string& path) {
    const std::size_t dot = path.rfind('.');
    std::string ending = dot == std::string::npos ? "" : path.substr(dot + 1);
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (std::size_t i = 0; i < std::size(kExportEndings); ++i)
        if (ending == kExportEndings[i]) return static_cast<ExportKind>(i);
    return std::nullopt;
}

}  // namespace meshscope::session
