#pragma once

#include <string>
#include <string_view>

namespace meshscope {

/// What this program writes at a path that a user named.
/// `report` is Markdown; `csv` is a view of a trace, `choices` what bench --table writes, `profile` what
/// bench profile does, `scenario` what `scenario from` and `plan --scenario` do, `manual` a page of `manual`.
enum class FileKind : unsigned char {
    trace,
    safetensors,
    json,
    choices,
    profile,
    scenario,
    csv,
    svg,
    png,
    html,
    gif,
    mp4,
    report,
    manual
};

/// What says that this program wrote a file, in the words of its format. An SVG and a page of HTML have the
/// comment behind their first tag; an object of JSON has the key, a header of safetensors the metadata, with
/// the value; the others have these bytes, a PNG behind its header (a chunk of text), a film at its end (GIF:
/// a comment and the trailer; MP4: a free box). Reports, manual pages and job scenarios begin with a comment,
/// traces have an id in SQLite's header, tables their first line.
inline constexpr std::string_view kXmlMark = "<!-- meshscope -->";
inline constexpr std::string_view kJsonMark = "written_by";
inline constexpr std::string_view kJsonMarkValue = "meshscope";
inline constexpr std::string_view kProfileMark = "# meshscope bench profile";
inline constexpr std::string_view kScenarioMark = "# meshscope scenario from";
inline constexpr std::string_view kManualMark = ".\\\" meshscope manual";  ///< packaging/app_manual.cmake too
inline constexpr std::string_view kPngMark{"\0\0\0\x12tEXtSoftware\0meshscope\xED\xA8\xBE\x65", 30};
inline constexpr std::size_t kPngMarkAt = 33;  ///< behind the signature and the header chunk
inline constexpr std::string_view kGifMark{"\x21\xFE\x09meshscope\0\x3B", 14};
inline constexpr std::string_view kMp4Mark{
    "\0\0\0\x11"
    "freemeshscope",
    17};

/// Whether the file is one of that kind that this program wrote, by its mark: somebody else's notes, pages
/// and pictures have none. False where it cannot be read. Cost: 4 KiB of each end of the file are read.
bool is_ours(const std::string& path, FileKind kind);

/// Refuses to put a file in the place of another's, or of another kind: a slip in a name shall cost nobody a
/// file. What is not there, or empty, may be written. Throws InvalidArgument "file.other_kind" {path, kind}.
/// "" and "-" are no files.
void refuse_other_kind(const std::string& path, FileKind kind);

}  // namespace meshscope
