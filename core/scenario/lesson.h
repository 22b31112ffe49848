#pragma once

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
    std::string text;         ///< placeholders {{id}} still inside
    std::string link_kind;    ///< rank, ranks, dim, event, unit, step, view (link only)
    std::string link_target;  ///< "1", "0,2", "replicate", a step's id …
};

struct Paragraph {
    bool bullet = false;  ///< an item of a list: "- …"
    bool code = false;    ///< a block between ``` lines; one span, its line breaks kept
    std::vector<Span> spans;
};

struct LessonSection {
    std::string id;       ///< "prefetch" of "## prefetch: Gathered ahead"; the id alone is allowed
    std::string heading;  ///< "Gathered ahead"; "" when only the id was given
    std::vector<Paragraph> paragraphs;
    int line = 0;  ///< of its heading
};

/// A lesson's text in one language.
struct LessonText {
    std::string title;
    std::vector<Paragraph> introduction;  ///< between the title and the first step
    std::vector<LessonSection> steps;
};

/// The kinds a link may have.
const std::vector<std::string>& link_kinds();

/// Reads a lesson text (docs/scenario.md, "Lesson texts"). Throws InputError with every mistake: no title, a
/// step twice, a link with an unknown kind or without an end.
LessonText parse_lesson(std::string_view text, const std::string& path);

/// FOLDER/lesson.en.md or FOLDER/lesson.zh.md. Throws IoError when it cannot be read.
LessonText read_lesson(const std::string& folder, std::string_view language);

/// The ids of the {{id}} placeholders in a text, in order.
std::vector<std::string> number_ids(std::string_view text);

/// The text with every {{id}} replaced by value(id).
std::string fill_numbers(std::string_view text, const std::function<std::string(const std::string&)>& value);

}  // namespace meshscope::scenario
