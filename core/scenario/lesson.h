#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::scenario {

/// A run of words in a lesson's paragraph.
enum class SpanKind : unsigned char {
    words,
    code,    ///< `inline code`
    strong,  ///< **important**
    link     ///< [words](kind:target): lights something up while pointed at, and shows it when clicked
};

struct Span {
    SpanKind kind = SpanKind::words;
    std::string text;          ///< placeholders {{id}} still inside
    std::string link_kind;     ///< rank, ranks, dim, event, unit, step, view (link only)
    std::string link_target;   ///< "1", "0,2", "replicate", a step's id …
    int line = 0, column = 0;  ///< where it begins
};

/// A row of a table: the spans of each cell.
using TableRow = std::vector<std::vector<Span>>;

struct Paragraph {
    bool bullet = false;  ///< an item of a list: "- …"
    bool code = false;    ///< a block between ``` lines; one span, its line breaks kept
    std::vector<Span> spans = {};
    /// A table of lines "| a | b |": its head, then its rows, each as long as the head. Then `spans` is
    /// empty.
    std::vector<TableRow> rows = {};
    std::vector<bool> right = {};  ///< a table's columns set to the right: "---:"
};

/// How many chapters the course has.
inline constexpr int32_t kChapters = 10;

struct LessonSection {
    std::string id;       ///< "prefetch" of "## prefetch: Gathered ahead"; the id alone is allowed
    std::string heading;  ///< "Gathered ahead"; "" when only the id was given
    std::vector<Paragraph> paragraphs;
    int line = 0;  ///< of its heading; 0 = the text has no such section
};

/// A {{number}} of a text, and where it stands.
struct NamedNumber {
    std::string id;
    int line = 0, column = 0;
};

/// A lesson's text in one language.
struct LessonText {
    std::string path;  ///< its file
    int lines = 0;     ///< how many it has
    std::string title;
    LessonSection goals;                  ///< "## goals": its list, what a learner will be able to do
    std::vector<Paragraph> introduction;  ///< before the first step, without the list of goals
    std::vector<LessonSection> steps;
    LessonSection to_break;            ///< "## break": what to change, and why it breaks
    LessonSection to_change;           ///< "## change": what to change oneself
    LessonSection summary;             ///< "## summary"
    std::vector<NamedNumber> numbers;  ///< every {{number}} of the file, in its order

    /// The sections that the text has, in its order: goals, the steps, break, change, summary.
    std::vector<const LessonSection*> sections() const;
};

/// Whether a section of this id is no step: goals, break, change, summary.
bool is_reserved_section(std::string_view id);

/// Calls `visit` with every span of the paragraphs, those in tables too, in reading order.
void for_each_span(const std::vector<Paragraph>& paragraphs, const std::function<void(const Span&)>& visit);

/// The kinds a link may have.
const std::vector<std::string>& link_kinds();

/// Reads a lesson text (docs/scenario.md, "Lesson texts"). Throws InputError with every mistake, each with
/// its line and column: what line_mistakes() finds (lesson_lines.h), no title or one that does not stand
/// first, a section without an id, a step twice, goals behind a step or another reserved section before one,
/// a link with an unknown kind, without words or without an end, a mark that is not closed, a table without
/// its line under the head or with a row of another length. Reserved sections and headings may be missing:
/// `lesson check` tells.
LessonText parse_lesson(std::string_view text, const std::string& path);

/// FOLDER/lesson.en.md or FOLDER/lesson.zh.md. Throws IoError when it cannot be read.
LessonText read_lesson(const std::string& folder, std::string_view language);

/// The ids of the {{id}} placeholders in a text, in order.
std::vector<std::string> number_ids(std::string_view text);

/// The numbers that a lesson's text names, in order.
std::vector<std::string> number_ids(const LessonText& text);

/// The text with every {{id}} replaced by value(id).
std::string fill_numbers(std::string_view text, const std::function<std::string(const std::string&)>& value);

/// "hsdp" of "63_hsdp"; a name without a number is short already.
std::string short_lesson_name(const std::string& folder);

/// Whether `word` means the lesson in the folder called `folder`: "63_hsdp", "hsdp", "63" or "063". The
/// terminal and the window take the same names.
bool names_lesson(const std::string& word, const std::string& folder);

/// The chapter that a folder of the course stands in: 6 for "63_hsdp", 10 for "101_config", its number
/// without the last digit. 0 for others.
int32_t chapter_of_folder(const std::string& folder);

/// The order of the course: numbered folders by their numbers, "92_which_one" before "101_config"; then the
/// others by name.
bool lesson_before(const std::string& folder, const std::string& other);

}  // namespace meshscope::scenario
