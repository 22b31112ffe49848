#pragma once

#include "app/gui/session/actions.h"
#include "app/gui/session/keys.h"
#include "harness.h"

namespace meshscope::test {

/// The window's state alone, without a window: what a user does, and what comes of it.
struct Machine {
    session::AppState state;
    session::Effects effects;
    void act(const session::Action& action) { session::apply(state, action, effects); }
    void settle() {
        for (int i = 0; i < 400 && state.glide; ++i) act(session::Tick{0.05});
    }
    void press(window::Key key, bool shift = false, bool control = false, bool typing = false) {
        if (const auto action = session::key_action(state, {key, shift, control}, typing)) act(*action);
    }
};

/// With the lesson open.
inline Machine with_lesson() {
    Machine m;
    m.act(session::ShowDocument{lesson()});
    return m;
}

}  // namespace meshscope::test
