#include "core/trace/interner.h"

#include <array>
#include <utility>

namespace meshscope::trace {
namespace {

/// The directory this file was compiled in, up to the project's root. The compiler tells: our own path ends
/// as below.
std::string_view project_root() {
    constexpr std::string_view kHere = "core/trace/interner.cpp";
    const std::string_view file = std::source_location::current().file_name();
    return file.ends_with(kHere) ? file.substr(0, file.size() - kHere.size()) : std::string_view();
}

}  // namespace

std::string_view path_below_root(std::string_view file) {
    const std::string_view root = project_root();
    if (!root.empty() && file.starts_with(root)) return file.substr(root.size());
    // Compiled elsewhere (an embedding program, a mapped path): from the last folder that is one of ours.
    constexpr std::array<std::string_view, 4> kFolders{"/core/", "/app/", "/backends/", "/tests/"};
    std::size_t begin = 0;
    for (const std::string_view folder : kFolders) {
        const std::size_t at = file.rfind(folder);
        if (at != std::string_view::npos && at + 1 > begin) begin = at + 1;
    }
    return file.substr(begin);
}

StringId Interner::find_or_add(std::string_view text) {
    if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
    const auto number = static_cast<StringId>(strings_.size());
    strings_.emplace_back(text);
    numbers_.emplace(strings_.back(), number);
    return number;
}

StringId Interner::intern(const std::source_location& source) {
    const Line key{source.file_name(), source.line()};
    if (key == latest_line_) return latest_line_number_;
    auto found = lines_.find(key);
    if (found == lines_.end()) {
        std::string text(path_below_root(source.file_name()));
        if (!text.empty()) text += ":" + std::to_string(source.line());
        found = lines_.emplace(key, intern(text)).first;
    }
    latest_line_ = key;
    return latest_line_number_ = found->second;
}

std::vector<std::string> Interner::take() {
    std::vector<std::string> all = std::exchange(strings_, {""});
    numbers_.clear();
    lines_.clear();
    latest_.fill(0);
    latest_line_ = {nullptr, 0};
    return all;
}

}  // namespace meshscope::trace
