#pragma once

#include <string_view>

#include "core/trace/export.h"

namespace meshscope::html {

/// Bytes as base64 of gzip, as the page's other parts are (app/web/make_page.py), given out in pieces of
/// about a megabyte. The same bytes give the same text (with one version of zlib). Cost: linear, about 20
/// MB/s.
void write_packed(std::string_view bytes, const trace::TextSink& out);

}  // namespace meshscope::html
