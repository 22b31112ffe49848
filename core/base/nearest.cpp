#include "core/base/nearest.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace meshscope {

int edit_distance(std::string_view a, std::string_view b) {
    constexpr std::size_t kLongest = 64;
    if (a.size() > kLongest || b.size() > kLongest) return std::numeric_limits<int>::max();
    // Optimal string alignment: three rows of the table are enough.
    std::vector<int> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            now[j] = std::min({replace, last[j] + 1, now[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(now);
    }
    return last[b.size()];
}

namespace {

/// Another case is no slip: AdamW, 1f1b.
std::string in_one_case(std::string_view word) {
    std::string text(word);
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

}  // namespace

std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& candidates) {
    const std::string meant = in_one_case(word);
    const int most = std::max(1, static_cast<int>(word.size()) / 3);
    std::vector<std::pair<int, std::string>> near;
    for (const std::string& candidate : candidates)
        if (const int distance = edit_distance(meant, in_one_case(candidate)); distance <= most)
            near.emplace_back(distance, candidate);
    std::ranges::stable_sort(near, {}, &std::pair<int, std::string>::first);
    std::vector<std::string> words;
    for (auto& [distance, candidate] : near) words.push_back(std::move(candidate));
    return words;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
    const std::vector<std::string> near = near_words(word, candidates);
    return near.empty() ? "" : near.front();
}

}  // namespace meshscope
