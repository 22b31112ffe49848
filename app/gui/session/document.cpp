#include "app/gui/session/document.h"

#include <cctype>
#include <utility>

#include "core/scenario/evaluate.h"

namespace meshscope::session {
namespace {

/// The SQL in lower case with single spaces.
std::string plain(const std::string& sql) {
    std::string out;
    for (const char c : sql) {
        const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!space)
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    }
    return out;
}

/// What stands between SELECT and its FROM, and what comes behind; "" where it is no such question.
std::pair<std::string, std::string> selected(const std::string& sql) {
    const std::string head = "select ";
    if (!sql.starts_with(head)) return {};
    int depth = 0;
    for (std::size_t i = head.size(); i < sql.size(); ++i) {
        if (sql[i] == '(') ++depth;
        if (sql[i] == ')') --depth;
        if (depth == 0 && sql.compare(i, 6, " from ") == 0)
            return {sql.substr(head.size(), i - head.size()), sql.substr(i + 6)};
    }
    return {};
}

/// "sum(c.bytes)" → "bytes": without what gathers several into one, and without the table's name.
std::string column_of(std::string text) {
    for (bool again = true; again;) {
        again = false;
        if (text.starts_with("distinct ")) text = text.substr(9);
        for (const char* word : {"sum(", "max(", "min(", "coalesce("}) {
            const std::string call = word;
            if (!text.starts_with(call) || !text.ends_with(')')) continue;
            std::string inside = text.substr(call.size(), text.size() - call.size() - 1);
            if (call == "coalesce(" && inside.ends_with(", 0")) inside.resize(inside.size() - 3);
            text = inside;
            again = true;
        }
    }
    const std::size_t point = text.find('.');
    const bool name = text.find_first_of(" (*/+-") == std::string::npos;
    return name && point != std::string::npos ? text.substr(point + 1) : text;
}

}  // namespace

Asked asked_by(const std::string& sql) {
    const auto [what, from] = selected(plain(sql));
    const std::string column = column_of(what);
    if (column == "bytes" || column == "sent_bytes" || column == "delta_bytes") return Asked::bytes;
    if (column == "in_elements" || column == "out_elements") return Asked::elements;
    if (column == "peer" || column == "dst") return Asked::peer;
    if (column == "hops" || column == "collectives" || column == "prefetch") return Asked::calls;
    const bool counted =
        column == "count(*)" && (from.starts_with("collectives") || from.starts_with("groups"));
    return counted ? Asked::calls : Asked::other;
}

bool readable_answer(const QuizCard& quiz, const std::string& guess) {
    return scenario::is_readable(quiz.kind, quiz.choices.size(), guess);
}

bool right_answer(const QuizCard& quiz, const std::string& guess) {
    return scenario::is_right(quiz.kind, quiz.tolerance, quiz.answer, guess);
}

}  // namespace meshscope::session
