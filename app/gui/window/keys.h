#pragma once

#include <cstdint>

namespace meshscope::window {

/// The keys the program listens to, apart from typing.
enum class Key : uint8_t {
    other,
    space,
    left,
    right,
    up,
    down,
    home,
    end,
    enter,
    escape,
    tab,
    backspace,
    f1,
    f2,
    plus,
    minus,
    question,
    digit0,
    digit1,
    digit2,
    digit3,
    digit4,
    digit5,
    digit6,
    digit7,
    digit8,
    c,
    e,
    l,
    o,
    s,
    t,
    z
};

/// One press (or repeat) of a key. Kept in our own queue, because ImGui 1.86 polls keys and loses taps that
/// are shorter than a frame.
struct KeyPress {
    Key key = Key::other;
    bool shift = false, control = false;
};

}  // namespace meshscope::window
