#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/i18n/catalogue.h"
#include "core/time/clock.h"
#include "core/trace/export.h"
#include "core/trace/trace.h"

namespace meshscope::html {

/// How the page looks when it is opened; the reader can change all of it there.
struct PageLook {
    i18n::Language language = i18n::Language::en;
    std::string theme = "dark";  ///< "dark" or "light"
    std::string name;            ///< of the run, beside its title
    int32_t rank = 0;
    int64_t cursor_ns = 0;
    bool measured = false;
};

/// The most events that a page takes: about 100 bytes each, so some 50 MB.
inline constexpr int64_t kMostEvents = 500'000;

/// A run as one HTML page with everything in it: the mesh, the timeline of all ranks and streams on both
/// clocks to scrub and zoom, each event with its reason and its PyTorch line, in both languages. It loads
/// nothing, so it opens from file:// without a network. `modelled` is the clock of the same trace. Throws
/// InvalidArgument ("html.too_large": events, most). Cost: linear in the events.
void write_page(const trace::Trace& trace, const time::Clock& modelled, const i18n::Catalogue& catalogue,
                const PageLook& look, const trace::TextSink& out);

/// The same into a file, beside and renamed. `go_on` is called now and then; what it throws ends the export,
/// and nothing is left. Throws also IoError "file.cannot_write".
void export_page(const trace::Trace& trace, const time::Clock& modelled, const i18n::Catalogue& catalogue,
                 const PageLook& look, const std::string& path, const std::function<void()>& go_on = {});

}  // namespace meshscope::html
