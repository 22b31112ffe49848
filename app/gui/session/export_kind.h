#pragma once

#include <optional>
#include <string>

namespace meshscope::session {

enum class ExportKind { png, svg, gif, mp4, html };

/// "png", …: the endings of the kinds, in their order.
inline constexpr const char* kExportEndings[] = {"png", "svg", "gif", "mp4", "html"};

/// What a file's name asks for by its ending, in either case; nothing where it asks for none of them.
std::optional<ExportKind> export_kind_of(const std::string& path);

}  // namespace meshscope::session
