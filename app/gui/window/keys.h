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
    page_up,
    page_down,
    enter,
    escape,
    tab,
    backspace,
    remove,
    plus,
    minus,
    question,
    left_bracket,
    right_bracket,
    f1,
    f2,
    f3,
    f4,
    f5,
    f6,
    f7,
    f8,
    f9,
    f10,
    f11,
    f12,
    digit0,
    digit1,
    digit2,
    digit3,
    digit4,
    digit5,
    digit6,
    digit7,
    digit8,
    digit9,
    a,
    b,
    c,
    d,
    e,
    f,
    g,
    h,
    i,
    j,
    k,
    l,
    m,
    n,
    o,
    p,
    q,
    r,
    s,
    t,
    u,
    v,
    w,
    x,
    y,
    z
};

/// One press (or repeat) of a key. Kept in our own queue, because ImGui 1.86 polls keys and loses taps that
/// are shorter than a frame.
struct KeyPress {
    Key key = Key::other;
    bool shift = false, control = false;
    friend bool operator==(const KeyPress&, const KeyPress&) = default;
};

}  // namespace meshscope::window
