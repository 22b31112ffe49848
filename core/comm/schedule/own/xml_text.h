#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace meshscope::comm::own {

/// Algorithms for 64 ranks have a few MB.
inline constexpr int64_t kMostXmlBytes = int64_t{1} << 24;
inline constexpr int kMostXmlDepth = 16;

/// The lines of a text, for what a parser tells by byte.
class Lines {
  public:
    explicit Lines(std::string_view text);
    SourcePosition position(const std::string& file, std::size_t byte) const;
    int line(std::size_t byte) const;

  private:
    std::vector<std::size_t> begins_;
};

/// Refuses what no parser shall see: a text that is too large or nested too deep, that holds a NUL, or a
/// DOCTYPE (which could define entities that grow without end, or name other files). Throws InputError
/// "xml.too_large", "xml.too_deep", "xml.doctype", "xml.nul", each at its place.
void guard_xml(std::string_view text, const std::string& file);

}  // namespace meshscope::comm::own
