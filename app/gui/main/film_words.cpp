#include "app/gui/main/film_words.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "app/gui/panels/inline_text.h"

namespace meshscope::gui {
namespace {

bool one_of(const std::string& letter, std::initializer_list<const char*> marks) {
    return std::ranges::any_of(marks, [&](const char* mark) { return letter == mark; });
}

/// A question, or the beginning of a table or of a program, which a film does not show.
bool is_left_out(const std::string& sentence) {
    return std::ranges::any_of(std::initializer_list<std::string_view>{"?", "？", ":", "："},
                               [&](std::string_view end) { return sentence.ends_with(end); });
}

std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

/// A sentence of Latin letters ends before a space that a small letter does not follow ("e.g. net1" goes on).
bool goes_on(const std::vector<std::string>& letters, std::size_t after) {
    if (after >= letters.size()) return false;
    if (letters[after] != " ") return true;
    return after + 1 < letters.size() && letters[after + 1] >= "a" && letters[after + 1] <= "z";
}

void add_sentences(const std::string& paragraph, std::vector<std::string>& found) {
    std::string plain;
    for (const panels::Span& span : panels::parse_inline(paragraph)) plain += span.text;
    const std::vector<std::string> letters = panels::letters(plain);
    std::string sentence;
    const auto finish = [&] {
        sentence = trimmed(sentence);
        if (!sentence.empty() && !is_left_out(sentence)) found.push_back(sentence);
        sentence.clear();
    };
    for (std::size_t i = 0; i < letters.size(); ++i) {
        sentence += letters[i];
        const bool closes = i + 1 < letters.size() && one_of(letters[i + 1], {"”", "」", "）", ")", "\""});
        if (closes) continue;
        std::size_t mark = i;
        while (mark > 0 && one_of(letters[mark], {"”", "」", "）", ")", "\""})) --mark;
        if (one_of(letters[mark], {"。", "？", "！"}) ||
            (one_of(letters[mark], {".", "?", "!"}) && !goes_on(letters, i + 1)))
            finish();
    }
    finish();
}

}  // namespace

const std::string& in_language(const scenario::Text& text, view::Language language) {
    const bool zh = language == view::Language::zh;
    const std::string& first = zh ? text.zh : text.en;
    return first.empty() ? (zh ? text.en : text.zh) : first;
}

std::vector<std::string> sentences(const std::string& body) {
    std::vector<std::string> found;
    std::string paragraph;
    std::istringstream lines(body);
    const auto finish = [&] {
        add_sentences(paragraph, found);
        paragraph.clear();
    };
    bool program = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) program = !program;
        if (program || line.starts_with("```")) {
            finish();
            continue;
        }
        const bool point = line.starts_with("- ");
        if (line.empty() || point || line.starts_with("|")) finish();
        if (line.starts_with("|")) continue;
        paragraph += (paragraph.empty() ? "" : " ") + (point ? line.substr(2) : line);
    }
    finish();
    return found;
}

double reading_seconds(const std::string& sentence) {
    double seconds = 1;
    for (const std::string& letter : panels::letters(sentence))
        seconds += letter.size() > 2 ? 1.0 / 5 : 1.0 / 15;
    return seconds;
}

std::vector<Said> read_in(const std::vector<std::string>& sentences, int frames, int frames_per_s) {
    const double room = static_cast<double>(frames) / frames_per_s;
    std::vector<double> ends;
    double all = 0;
    for (const std::string& sentence : sentences) {
        const double seconds = reading_seconds(sentence);
        if (!ends.empty() && all + seconds > room + 1e-9) break;
        ends.push_back(all += seconds);
    }
    std::vector<Said> said;
    double begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        said.push_back({sentences[i], static_cast<int>(std::lround(begin / all * frames))});
        begin = ends[i];
    }
    return said;
}

}  // namespace meshscope::gui
