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
    ".mscope",          "safetensors", "JSON", "bench --table", "bench profile", "scenario from",
    "trace export csv", "SVG",         "PNG",  "HTML",          "GIF",           "MP4",
    "--report"};

std::string beginning(const std::string& path) {
    std::string bytes(4096, '\0');
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const ssize_t got = file < 0 ? 0 : read(file, bytes.data(), bytes.size());
    if (file >= 0) close(file);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
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

/// Whether one of the lines begins so.
bool has_line(std::string_view text, std::string_view begin) {
    while (!text.empty()) {
        if (text.starts_with(begin)) return true;
        const std::size_t end = text.find('\n');
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return false;
}

/// Whether a line of TOML gives `key` a value.
bool has_key(std::string_view text, const std::string& key) {
    return has_line(text, key + " =") || has_line(text, key + "=");
}

std::string lower(std::string_view text) {
    std::string low(text);
    for (char& c : low)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return low;
}

/// Whether a text that begins with "[" may go on as JSON: "[mesh]" and "[[call]]" are tables of TOML.
bool is_json_list(std::string_view text) {
    while (text.starts_with('[')) text = begun(text.substr(1));
    constexpr std::string_view kValues = "{\"]-0123456789";
    return text.empty() || kValues.find(text[0]) != std::string_view::npos || text.starts_with("true") ||
           text.starts_with("false") || text.starts_with("null");
}

}  // namespace

bool begins_as(const std::string& path, FileKind kind) {
    const std::string bytes = beginning(path);
    const std::string_view all = bytes, text = begun(bytes);
    switch (kind) {
        case FileKind::trace:  // SQLite's header, with our number in it (core/trace/schema.h)
            return all.size() >= 100 && all.starts_with("SQLite format 3\0"sv) && all.substr(68, 4) == "MScp";
        case FileKind::safetensors:  // the length of a JSON object, and the object
            return all.size() >= 10 && all[7] == '\0' && all[8] == '{';
        case FileKind::json:
            return is_text(all) && (text.starts_with('{') || (text.starts_with('[') && is_json_list(text)));
        case FileKind::choices:  // app/cli/bench_table.cpp
            return is_text(all) && text.starts_with("# Which algorithm ");
        case FileKind::profile:  // core/time/read_profile.cpp; who wrote one by hand knows what it is
            return is_text(all) && has_line(text, "[compute]") && has_key(text, "name");
        case FileKind::scenario:  // core/jobs/write.cpp; one that was written by hand is not replaced
            return text.starts_with("# meshscope scenario from");
        case FileKind::csv:  // the first columns of a view (core/trace/schema.cpp)
            return is_text(all) && std::ranges::any_of(kCsvBeginnings, [&](std::string_view columns) {
                       return all.starts_with(columns);
                   });
        case FileKind::svg:
            return is_text(all) && text.starts_with('<') && text.find("<svg") != std::string_view::npos;
        case FileKind::html: {
            const std::string low = lower(text.substr(0, 64));
            return low.starts_with("<!doctype html") || low.starts_with("<html");
        }
        case FileKind::png:
            return all.starts_with("\x89PNG\r\n\x1a\n");
        case FileKind::gif:
            return all.starts_with("GIF8");
        case FileKind::report:  // app/cli/report.cpp
            return is_text(all) && text.starts_with("<!-- meshscope report -->");
        case FileKind::mp4:
            return all.size() >= 8 && all.substr(4, 4) == "ftyp";
    }
    return false;
}

void refuse_other_kind(const std::string& path, FileKind kind) {
    if (path.empty() || path == "-") return;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || status.st_size == 0 || !S_ISREG(status.st_mode)) return;
    if (!begins_as(path, kind))
        throw InvalidArgument(
            {"file.other_kind",
             {{"path", path}, {"kind", std::string(kNames[static_cast<std::size_t>(kind)])}}});
}

}  // namespace meshscope
