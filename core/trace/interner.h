#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace/event.h"

namespace meshscope::trace {

/// Gives equal texts equal numbers, in the order they first come; 0 is "".
class Interner {
  public:
    /// The number of `text`. Cost: one hash of the text; an allocation only when it is new.
    StringId intern(std::string_view text);

    /// The same for a caller whose text is often the one before: `latest` is that one's number. Cost: a
    /// compare.
    StringId intern(std::string_view text, StringId& latest) {
        if (text != strings_[latest]) latest = intern(text);
        return latest;
    }

    /// The number of a line of our own source, as "core/parallel/ddp/bucket.cpp:120". Cost: one hash of a
    /// pointer and a line; the text is made once. Relies on file_name() being a constant of the program.
    StringId intern(const std::source_location& source);

    const std::vector<std::string>& strings() const { return strings_; }
    /// Gives the texts away; only "" is known after.
    std::vector<std::string> take();

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    struct Line {
        const char* file;
        uint32_t line;
        bool operator==(const Line&) const = default;
    };
    struct LineHash {
        std::size_t operator()(const Line& at) const {
            return std::hash<const void*>{}(at.file) * 31 + at.line;
        }
    };
    std::vector<std::string> strings_{""};
    std::unordered_map<std::string, StringId, Hash, std::equal_to<>> numbers_;
    std::unordered_map<Line, StringId, LineHash> lines_;
};

/// `file` as seen from the project's root ("core/trace/recorder.cpp"), whatever directory it was compiled in.
std::string_view path_below_root(std::string_view file);

}  // namespace meshscope::trace
