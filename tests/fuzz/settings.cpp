// The window's settings.json, which people edit by hand. What is read is written, and read again: it must be
// the same text.
#include "app/gui/session/settings.h"

#include <cstdlib>

#include "tests/fuzz/target.h"

FUZZ_TARGET(settings) {
    using namespace meshscope::session;
    bool broken = false;
    const std::string text = settings_text(parse_settings(std::string(input), broken).settings);
    if (settings_text(parse_settings(text, broken).settings) != text || broken) std::abort();
}
