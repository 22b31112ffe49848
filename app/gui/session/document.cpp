#include "app/gui/session/document.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/scenario/evaluate.h"

namespace meshscope::session {
namespace {

/// The numbers of "0, 2" or "[0,2]".
std::vector<double> numbers(const std::string& text) {
    std::vector<double> found;
    const char* at = text.c_str();
    while (*at != '\0') {
        char* end = nullptr;
        const double value = std::strtod(at, &end);
        if (end == at) {
            ++at;
        } else {
            found.push_back(value);
            at = end;
        }
    }
    return found;
}

}  // namespace

bool right_answer(const QuizCard& quiz, const std::string& guess) {
    // A list may hold other things than numbers: F0, B0.
    if (quiz.kind == "order")
        return !scenario::list_items(guess).empty() && scenario::same_items(guess, quiz.answer);
    std::vector<double> a = numbers(guess), b = numbers(quiz.answer);
    if (a.empty() || a.size() != b.size()) return false;
    if (quiz.kind == "ranks") {
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
    }
    return std::equal(a.begin(), a.end(), b.begin(),
                      [&](double x, double y) { return std::abs(x - y) <= quiz.tolerance; });
}

}  // namespace meshscope::session
