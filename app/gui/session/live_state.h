#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/gui/session/document.h"
#include "app/gui/view/live_view.h"

namespace meshscope::session {

/// A run whose ranks are held.
struct LiveState {
    std::string name;
    view::LiveWorld world;
    std::shared_ptr<const Document> document;  ///< what was recorded so far; null: nothing yet
};

/// How far a held rank is let go.
enum class LetGoHow : uint8_t {
    hop,         ///< until it has sent or received one message of a tensor
    collective,  ///< until it stands before its next call
    all          ///< all ranks, to the end
};

/// Begins to run the sandbox's scenario with all ranks held.
struct StartLive {};
struct LetGo {
    int32_t rank = 0;
    LetGoHow how = LetGoHow::hop;
};
/// Gives the held run up; what it recorded stays.
struct StopLive {};
/// How it stands; nothing: it is over.
struct ShowLive {
    std::optional<LiveState> live;
};

}  // namespace meshscope::session
