#include "core/base/file_kind.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"

namespace meshscope {
namespace {

using namespace std::string_view_literals;

constexpr std::array kNames{
    ".mscope", "safetensors", "JSON", "bench --table", "bench profile", "scenario", "trace export csv",
    "SVG",     "PNG",         "HTML", "GIF",           "MP4",           "--report", "manual"};

/// Bytes from each end of a file.
struct Ends {
    std::string first, last;
};

Ends ends_of(const std::string& path) {
    constexpr std::size_t kBytes = 4096;
    Ends ends;
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return ends;
    const auto read_at = [&](std::string& bytes, off_t at) {
        bytes.resize(kBytes);
        const ssize_t got = pread(file, bytes.data(), bytes.size(), at);
        bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    };
    struct stat status {};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        read_at(ends.first, 0);
        read_at(ends.last, std::max<off_t>(status.st_size - static_cast<off_t>(kBytes), 0));
    }
    close(file);
    return ends;
}

/// Without the white space, and the byte order mark, that a text may begin with.
std::string_view begun(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos ? ""sv : text.substr(first);
}

bool is_text(std::string_view bytes) {
    return std::ranges::none_of(bytes, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f';
    });
}

constexpr std::array kCsvBeginnings{"id,rank,step,phase,"sv, "rank,collective,ordinal,"sv, "rank,ordinal,"sv};

/// Whether the key of kJsonMark is there with its value.
bool has_json_mark(std::string_view text) {
    const std::string key = "\"" + std::string(kJsonMark) + "\":";
    const std::size_t at = text.find(key);
    return at != std::string_view::npos &&
           begun(text.substr(at + key.size())).starts_with("\"" + std::string(kJsonMarkValue) + "\"");
}

bool has_xml_mark(std::string_view text) {
    return text.starts_with('<') && text.find(kXmlMark) != std::string_view::npos;
}

}  // namespace

bool is_ours(const std::string& path, FileKind kind) {
    const Ends ends = ends_of(path);
    const std::string_view all = ends.first, text = begun(all);
    switch (kind) {
        case FileKind::trace:  // SQLite's header, with our number in it (core/trace/schema.h)
            return all.size() >= 100 && all.starts_with("SQLite format 3\0"sv) && all.substr(68, 4) == "MScp";
        case FileKind::safetensors:  // the length of a JSON object, and the object
            return all.size() >= 10 && all[7] == '\0' && all[8] == '{' && has_json_mark(all);
        case FileKind::json:
            return is_text(all) && text.starts_with('{') && (has_json_mark(all) || has_json_mark(ends.last));
        case FileKind::choices:  // app/cli/bench_table.cpp
            return is_text(all) && text.starts_with("# Which algorithm ");
        case FileKind::profile:  // core/time/read_profile.cpp; one that was written by hand is not replaced
            return is_text(all) && text.starts_with(kProfileMark);
        case FileKind::scenario:  // one that was written by hand is not replaced
            return text.starts_with(kScenarioMark);
        case FileKind::csv:  // the first columns of a view (core/trace/schema.cpp)
            return is_text(all) && std::ranges::any_of(kCsvBeginnings, [&](std::string_view columns) {
                       return all.starts_with(columns);
                   });
        case FileKind::svg:
            return is_text(all) && has_xml_mark(text) && text.find("<svg") != std::string_view::npos;
        case FileKind::html:
            return has_xml_mark(text) && text.find("<svg") == std::string_view::npos;
        case FileKind::png:
            return all.starts_with("\x89PNG\r\n\x1a\n") &&
                   all.substr(std::min(all.size(), kPngMarkAt)).starts_with(kPngMark);
        case FileKind::gif:
            return all.starts_with("GIF8") && ends.last.ends_with(kGifMark);
        case FileKind::report:  // app/cli/report.cpp
            return is_text(all) && text.starts_with("<!-- meshscope report -->");
        case FileKind::manual:  // app/cli/manual_command.cpp
            return is_text(all) && text.starts_with(kManualMark);
        case FileKind::mp4:
            return all.size() >= 8 && all.substr(4, 4) == "ftyp" && ends.last.ends_with(kMp4Mark);
    }
    return false;
}

void refuse_other_kind(const std::string& path, FileKind kind) {
    if (path.empty() || path == "-") return;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || status.st_size == 0 || !S_ISREG(status.st_mode)) return;
    if (!is_ours(path, kind))
        throw InvalidArgument(
            {"file.other_kind",
             {{"path", path}, {"kind", std::string(kNames[static_cast<std::size_t>(kind)])}}});
}

}  // namespace meshscope
