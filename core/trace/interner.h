#pragma once

#include <array>
#include <cstdint>
#include <cstring>
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
    /// The number of `text`. Cost: nearly always a compare with the latest text that looked alike; else one
    /// hash of the text; an allocation only when it is new.
    StringId intern(std::string_view text) {
        if (text.empty()) return 0;
        StringId& latest = latest_[place_of(text)];
        if (text != strings_[latest]) latest = find_or_add(text);
        return latest;
    }

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
    static constexpr int kPlaceBits = 10;
    /// The place in latest_ for `text`: eight bytes at a time, the last ones once more.
    static std::size_t place_of(std::string_view text) {
        uint64_t mixed = text.size();
        const auto mix = [&](std::size_t at, std::size_t bytes) {
            uint64_t some = 0;
            std::memcpy(&some, text.data() + at, bytes);
            mixed = (mixed ^ some) * 0x9E3779B97F4A7C15U;
        };
        const std::size_t n = text.size();
        if (n >= 8) {
            for (std::size_t at = 0; at + 8 < n; at += 8) mix(at, 8);
            mix(n - 8, 8);
        } else if (n >= 4) {
            mix(0, 4);
            mix(n - 4, 4);
        } else {
            mix(0, 1);
            mix(n / 2, 1);
            mix(n - 1, 1);
        }
        return mixed >> (64 - kPlaceBits);
    }
    StringId find_or_add(std::string_view text);

    std::vector<std::string> strings_{""};
    std::array<StringId, std::size_t{1} << kPlaceBits>
        latest_{};  ///< numbers to try first; 0 where there was none
    Line latest_line_{nullptr, 0};
    StringId latest_line_number_ = 0;
    std::unordered_map<std::string, StringId, Hash, std::equal_to<>> numbers_;
    std::unordered_map<Line, StringId, LineHash> lines_;
};

/// `file` as seen from the project's root ("core/trace/recorder.cpp"), whatever directory it was compiled in.
std::string_view path_below_root(std::string_view file);

}  // namespace meshscope::trace
