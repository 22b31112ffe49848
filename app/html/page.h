#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/i18n/catalogue.h"
#include "core/trace/excerpt.h"
#include "core/trace/export.h"
#include "core/trace/trace.h"

namespace meshscope::html {

/// What stands in meshscope.html where a record goes (app/web/page.html).
inline constexpr std::string_view kEmptyRecord = "<script type=\"text/plain\" id=\"record\"></script>";

/// A record in a page, and what is shown of it when the page is opened.
struct PageRecord {
    std::string name;  ///< "hsdp.mscope"
    /// Words of a link (docs/web.md): view, step, rank, at, lang …; the reader's own link goes before them.
    std::vector<std::pair<std::string, std::string>> place;
};

/// The words of a command line that shows something ("--view", "memory", …), as a page takes them.
std::vector<std::pair<std::string, std::string>> place_of(const std::vector<std::string>& words);

/// The page that a record is put into: the file `named`, else meshscope.html where a package installs it
/// beside the program (`program_folder`/../share/meshscope) or where scripts/web makes it in a checkout.
/// Throws InvalidArgument "html.no_page", "html.no_such_page" {path}.
std::string find_page(const std::string& named, const std::string& program_folder);

/// The most events that a page takes: what a browser opens within some ten seconds.
inline constexpr int64_t kMostEvents = 500'000;

/// What of the run goes into a page: nothing where that is all of it, else a record of those steps, whose
/// titles say so. Throws InvalidArgument "html.too_large" {events, most, first, end} with the range that
/// would fit, "html.step_too_large" {events, most, step}; "html.torn_steps" {first, end} where a collective
/// spans their border; "trace.no_such_steps".
std::optional<trace::Trace> part_for_page(const trace::Trace& trace,
                                          const std::optional<trace::StepRange>& steps,
                                          const i18n::Catalogue& catalogue);

/// `page` with the record (the bytes of a .mscope file) in it, as base64 of gzip. It loads nothing, so it
/// opens from file:// without a network. The same page and record give the same bytes. Throws InvalidArgument
/// "html.not_a_page" {path} when `page` has no place for a record, IoError. Cost: linear, about 20 MB/s.
void write_page(std::string_view bytes, const PageRecord& record, const std::string& page,
                const trace::TextSink& out);

/// The same into a file, beside and renamed. `go_on` is called now and then; what it throws ends the export,
/// and nothing is left. Throws also IoError "file.cannot_write".
void export_page(std::string_view bytes, const PageRecord& record, const std::string& page,
                 const std::string& path, const std::function<void()>& go_on = {});

}  // namespace meshscope::html
