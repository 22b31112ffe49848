#include "app/gui/session/palette.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>

#include "app/gui/session/commands.h"
#include "app/gui/session/keys.h"
#include "app/gui/session/lessons.h"

namespace meshscope::session {
namespace {

/// The letters of a UTF-8 text, Latin ones small.
std::vector<std::string> letters(const std::string& text) {
    std::vector<std::string> found;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0U) == 0x80U && !found.empty()) {
            found.back() += c;
        } else {
            found.emplace_back(1, c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
        }
    }
    return found;
}

bool is_gap(const std::string& letter) {
    return letter.size() == 1 && std::string_view(" _-./:·,()").find(letter[0]) != std::string_view::npos;
}

/// How well the letters from `at` on are found, taking each at its first place.
int score_from(const std::vector<std::string>& wanted, const std::vector<std::string>& text, std::size_t at) {
    int score = 0;
    std::size_t last = text.size();
    for (const std::string& letter : wanted) {
        const auto found = std::find(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), letter);
        if (found == text.end()) return -1;
        const auto place = static_cast<std::size_t>(found - text.begin());
        score += 1;
        if (place == last + 1) score += 6;
        if (place == 0 || is_gap(text[place - 1])) score += 5;
        last = place;
        at = place + 1;
    }
    return score;
}

void add_commands(std::vector<PaletteItem>& items, const AppState& state, const BothTexts& texts) {
    for (const Command& command : commands()) {
        // What only opens this list is no line of it.
        const std::string_view id = command.id;
        const bool path_is_typed = !state.picks_files && (state.document || state.plan);
        if (id == "keys.palette" || (id == "keys.open_path" && path_is_typed)) continue;
        const auto action = command.action(state);
        if (!action) continue;
        const auto& keys = keys_of(command, state.remembered.keys);
        items.push_back({texts(command.id), keys.empty() ? "" : key_label(keys.front()), *action});
    }
}

void add_steps(std::vector<PaletteItem>& items, const AppState& state, const BothTexts& texts) {
    if (!state.document) return;
    const scenario::Text kind = texts("palette.step");
    const auto& steps = state.document->steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string number = " " + std::to_string(i + 1) + " · ";
        items.push_back({{kind.en + number + steps[i].title.en, kind.zh + number + steps[i].title.zh},
                         "",
                         GoToLessonStep{static_cast<int32_t>(i)}});
    }
}

}  // namespace

int fuzzy_score(const std::string& query, const std::string& text) {
    std::vector<std::string> wanted = letters(query);
    std::erase(wanted, " ");
    if (wanted.empty()) return 0;
    const std::vector<std::string> in = letters(text);
    // From each place where the first letter stands: the first place is not always the best.
    int best = -1;
    for (std::size_t at = 0; at < in.size(); ++at) {
        if (in[at] != wanted.front()) continue;
        const int score = score_from(wanted, in, at);
        if (score < 0) break;  // further on there is even less
        best = std::max(best, 16 * score - static_cast<int>(std::min<std::size_t>(at, 15)));
    }
    return best;
}

std::vector<PaletteItem> palette_items(const AppState& state, const BothTexts& texts) {
    std::vector<PaletteItem> items;
    add_commands(items, state, texts);
    add_steps(items, state, texts);
    const scenario::Text front = texts("palette.run"), lesson = texts("palette.lesson"),
                         recent = texts("palette.recent"), beside = texts("palette.beside");
    for (std::size_t i = 0; i < state.runs.size() && state.runs.size() > 1; ++i)
        items.push_back({{front.en + " · " + state.runs[i]->name, front.zh + " · " + state.runs[i]->name},
                         "",
                         BringToFront{static_cast<int32_t>(i)}});
    for (const Recent& r : state.remembered.recent)
        items.push_back({{recent.en + " · " + r.name, recent.zh + " · " + r.name}, "", OpenPath{r.path}});
    for (const LessonCard& offer : state.offers) {
        const std::string folder = folder_of(offer.id);
        items.push_back({{lesson.en + " · " + offer.title.en, lesson.zh + " · " + offer.title.zh},
                         folder,
                         OpenPath{offer.id}});
        if (state.document && state.runs.size() < kMostRuns)
            items.push_back({{beside.en + " · " + offer.title.en, beside.zh + " · " + offer.title.zh},
                             folder,
                             OpenBeside{offer.id, true, {}}});
    }
    return items;
}

bool reads_as_path(const std::string& query) {
    const auto begins = [&](std::string_view with) { return query.starts_with(with); };
    const auto ends = [&](std::string_view with) {
        return query.size() > with.size() && query.ends_with(with);
    };
    return begins("/") || begins("./") || begins("../") || begins("~/") || ends(".mscope") || ends(".toml") ||
           ends(".json") || ends(".xml");
}

void offer_typed_path(std::vector<PaletteItem>& items, const std::string& query, const AppState& state,
                      const std::string& open, const std::string& beside) {
    std::erase_if(items, [](const PaletteItem& item) { return item.typed; });
    if (!reads_as_path(query)) return;
    const auto offer = [&](const std::string& words, const Action& action) {
        const std::string label = words + " · " + query;
        return PaletteItem{{label, label}, "", action, true};
    };
    std::vector<PaletteItem> offers{offer(open, OpenPath{query})};
    if (state.document && state.runs.size() < kMostRuns)
        offers.push_back(offer(beside, OpenBeside{query, true, {}}));
    items.insert(items.begin(), offers.begin(), offers.end());
}

std::vector<std::size_t> palette_matches(const std::vector<PaletteItem>& items, const std::string& query) {
    std::vector<std::size_t> found;
    std::vector<int> scores(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].typed)
            scores[i] = std::numeric_limits<int>::max();
        else
            scores[i] = std::max({fuzzy_score(query, items[i].label.en),
                                  fuzzy_score(query, items[i].label.zh), fuzzy_score(query, items[i].note)});
        if (scores[i] >= 0) found.push_back(i);
    }
    std::stable_sort(found.begin(), found.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    return found;
}

}  // namespace meshscope::session
