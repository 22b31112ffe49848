#pragma once

#include <string>

#include "app/gui/view/memo.h"
#include "app/gui/view/picture.h"
#include "app/gui/view/state.h"
#include "core/base/message.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// The catalogue of one language as a view sees it: a sentence for a message. The window wires app/i18n
/// behind it, tests a table of their own, so that this module depends on no catalogue file.
class Texts {
  public:
    virtual ~Texts() = default;
    virtual std::string text(const Message& message) const = 0;
};

/// Room a picture may take, in logical pixels.
struct Size {
    float width = 0, height = 0;
};

/// A run that is laid below the one in front, to compare them.
struct RunBeside {
    std::string name;
    const trace::Trace& trace;
    const time::Clock& clock;
};

/// What every view-model is a pure function of (`memo` only saves time). References must live while the call
/// lasts, no longer.
struct Input {
    const trace::Trace& trace;
    const time::Clock& clock;
    Cursor cursor;
    const Selection& selection;
    Size size;
    Language language = Language::en;
    const TextMeasure& measure;
    const Texts& texts;
    Memo* memo = nullptr;  ///< what was found for earlier frames; null: all is found anew
    bool watched = false;  ///< in a film: nobody presses anything, so there are no controls
};

/// Of what is on show that which decides what a picture speaks of.
struct Moment {
    const trace::Trace& trace;
    const time::Clock& clock;
    Cursor cursor;
    const Selection& selection;
    Memo* memo = nullptr;
    Moment(const trace::Trace& t, const time::Clock& c, Cursor at, const Selection& chosen, Memo* m)
        : trace(t), clock(c), cursor(at), selection(chosen), memo(m) {}
    // NOLINTNEXTLINE(google-explicit-constructor): a part of it
    Moment(const Input& input)
        : Moment(input.trace, input.clock, input.cursor, input.selection, input.memo) {}
};

}  // namespace meshscope::view
