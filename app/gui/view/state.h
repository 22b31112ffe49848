#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time/clock.h"

namespace meshscope::view {

enum class Language : uint8_t { en, zh };
enum class ViewKind : uint8_t { mesh, collective, timeline, memory, compare, code };

/// The one time cursor: nanoseconds on the shown clock. Everything on screen is a pure function of it.
struct Cursor {
    int64_t t_ns = 0;
};

/// The one selection; every view lights up what belongs to it.
struct Selection {
    std::optional<int32_t> rank;        ///< selected rank: all its groups light up everywhere
    std::optional<int32_t> event_rank;  ///< selected event: of which rank …
    std::optional<int32_t> event;       ///< … and its id
    std::optional<int32_t> group;       ///< selected group (index into Trace::groups)
    std::optional<int32_t> chunk;
    std::string slice;        ///< what the slice box holds: "replicate,shard"; "" = no slice
    int32_t asking_rank = 0;  ///< "be rank r"
};

}  // namespace meshscope::view
