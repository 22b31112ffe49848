#include "app/html/page.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/html/packed_text.h"
#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "core/base/replace_file.h"
#include "core/base/text.h"
#include "core/base/text_file.h"
#include "core/time/clock.h"
#include "core/trace/excerpt.h"
#include "core/trace/recorded.h"

namespace meshscope::html {
namespace {

namespace fs = std::filesystem;
using trace::StepRange;
using trace::Trace;

/// A larger file is no page of ours.
constexpr std::uintmax_t kMostPageBytes = std::uintmax_t{64} << 20;

/// A word in a link, in an attribute of HTML: only letters, digits and what means nothing in either.
std::string escaped(std::string_view text) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("._-").find(c) != std::string_view::npos;
        if (plain)
            out += c;
        else
            (out += '%').append({kHex[byte >> 4], kHex[byte & 15]});
    }
    return out;
}

std::string opening_tag(const PageRecord& record) {
    std::string place;
    for (const auto& [word, value] : record.place)
        place += (place.empty() ? "" : "&amp;") + escaped(word) + '=' + escaped(value);
    return "<script type=\"text/plain\" id=\"record\" data-name=\"" + escaped(record.name) +
           "\" data-place=\"" + place + "\">";
}

int64_t events_of(const Trace& trace) {
    int64_t events = 0;
    for (const trace::RankTrace& rank : trace.ranks) events += static_cast<int64_t>(rank.events.size());
    return events;
}

/// Says which steps would fit: those from `first` on.
[[noreturn]] void refuse(const Trace& trace, int64_t events, int32_t first) {
    const std::optional<StepRange> fits = trace::longest_excerpt(trace, first, kMostEvents);
    if (!fits)
        throw InvalidArgument(
            {"html.step_too_large", {{"events", events}, {"most", kMostEvents}, {"step", int64_t{first}}}});
    throw InvalidArgument({"html.too_large",
                           {{"events", events},
                            {"most", kMostEvents},
                            {"first", int64_t{fits->first}},
                            {"end", int64_t{fits->end}}}});
}

/// In one language; a title that there is in the other alone is taken.
std::string title_of(const trace::RunInfo& info, StepRange steps, const i18n::Catalogue& catalogue,
                     i18n::Language language) {
    const bool zh = info.title_en.empty() || (language == i18n::Language::zh && !info.title_zh.empty());
    const bool one = steps.end == steps.first + 1;
    return catalogue.text({one ? "html.excerpt_title_one" : "html.excerpt_title",
                           {{"title", zh ? info.title_zh : info.title_en},
                            {"first", int64_t{steps.first}},
                            {"last", int64_t{steps.end} - 1},
                            {"steps", int64_t{info.steps}}}},
                          language);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> place_of(const std::vector<std::string>& words) {
    constexpr std::array<std::string_view, 9> kWords{"step", "lang",  "view",  "form", "rank",
                                                     "at",   "clock", "theme", "scale"};
    std::vector<std::pair<std::string, std::string>> place;
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i].starts_with("--") && std::ranges::find(kWords, words[i].substr(2)) != kWords.end())
            place.emplace_back(words[i].substr(2), words[i + 1]);
    return place;
}

std::string find_page(const std::string& named, const std::string& program_folder) {
    std::error_code ignored;
    if (!named.empty()) {
        if (!fs::is_regular_file(named, ignored))
            throw InvalidArgument({"html.no_such_page", {{"path", named}}});
        return named;
    }
    for (const char* from : {"../share/meshscope/meshscope.html", "../../../out/web/meshscope.html"}) {
        const fs::path page = (fs::path(program_folder) / from).lexically_normal();
        if (fs::is_regular_file(page, ignored)) return page.string();
    }
    throw InvalidArgument({"html.no_page", {}});
}

std::optional<Trace> part_for_page(const Trace& trace, const std::optional<StepRange>& steps,
                                   const i18n::Catalogue& catalogue) {
    const int64_t all = events_of(trace);
    if (!steps) {
        if (all > kMostEvents) refuse(trace, all, trace::first_recorded_step(trace));
        return {};
    }
    Trace part = trace::excerpt(trace, *steps);
    if (const int64_t events = events_of(part); events > kMostEvents) refuse(trace, events, steps->first);
    try {
        static_cast<void>(time::modelled(part, time::classroom()));
    } catch (const InvalidArgument& error) {
        if (error.message().id != "time.cannot_replay") throw;
        throw InvalidArgument(
            {"html.torn_steps", {{"first", int64_t{steps->first}}, {"end", int64_t{steps->end}}}});
    }
    part.info.title_en = title_of(trace.info, *steps, catalogue, i18n::Language::en);
    part.info.title_zh = title_of(trace.info, *steps, catalogue, i18n::Language::zh);
    return part;
}

void write_page(std::string_view bytes, const PageRecord& record, const std::string& page,
                const trace::TextSink& out) {
    const std::string text = read_text_file(page, static_cast<int64_t>(kMostPageBytes));
    const std::size_t place = text.find(kEmptyRecord);
    if (place == std::string::npos || text.size() > kMostPageBytes)
        throw InvalidArgument({"html.not_a_page", {{"path", page}}});
    const std::string_view whole = text;
    // Behind the doctype, where a comment may stand.
    const std::size_t doctype = std::min(text.find('>') + 1, place);
    out(whole.substr(0, doctype));
    if (whole.substr(0, place).find(kXmlMark) == std::string::npos) out(kXmlMark);
    out(whole.substr(doctype, place - doctype));
    out(opening_tag(record));
    write_packed(bytes, out);
    out("</script>");
    out(whole.substr(place + kEmptyRecord.size()));
}

void export_page(std::string_view bytes, const PageRecord& record, const std::string& page,
                 const std::string& path, const std::function<void()>& go_on) {
    ReplaceFile file(path);
    write_page(bytes, record, page, [&](std::string_view text) {
        if (go_on) go_on();
        file.write(text);
    });
    file.commit();
}

}  // namespace meshscope::html
