#include "app/gui/session/lessons.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/text_file.h"
#include "core/scenario/lesson.h"

namespace meshscope::session {
namespace {

bool has_all(const std::string& text, const std::vector<std::string>& words) {
    return std::ranges::all_of(words, [&](const std::string& word) { return text.find(word) != text.npos; });
}

/// How good a hit is: 0 the best; nothing where it is none.
std::optional<int> rank_of(const LessonCard& card, const std::vector<std::string>& words) {
    if (words.size() == 1 && (scenario::names_lesson(words[0], folder_of(card.id)) ||
                              (card.number > 0 && std::to_string(card.number).starts_with(words[0]))))
        return 0;
    // A number alone is a lesson's, not one of the thousands in the texts.
    if (words.size() == 1 && words[0].find_first_not_of("0123456789") == std::string::npos)
        return std::nullopt;
    if (has_all(searched(card.title.en), words) || has_all(searched(card.title.zh), words)) return 1;
    if (has_all(card.words, words)) return 2;
    return std::nullopt;
}

}  // namespace

std::string folder_of(const std::string& scenario) {
    return std::filesystem::path(scenario).parent_path().filename().string();
}

std::vector<LessonCard> with_search_words(std::vector<LessonCard> offers) {
    for (LessonCard& card : offers) {
        card.words = searched(folder_of(card.id));
        for (const char* file : {"lesson.en.md", "lesson.zh.md", "pytorch.py"}) {
            const std::filesystem::path path = std::filesystem::path(card.id).parent_path() / file;
            std::error_code none;
            if (std::filesystem::exists(path, none))
                card.words += "\n" + searched(read_text_file(path.string()));
        }
    }
    return offers;
}

std::vector<Chapter> chapters_of(const std::vector<LessonCard>& offers) {
    std::vector<Chapter> chapters;
    for (std::size_t i = 0; i < offers.size(); ++i) {
        auto at = std::ranges::find(chapters, offers[i].chapter, &Chapter::number);
        if (at == chapters.end()) at = chapters.insert(at, {offers[i].chapter, {}});
        at->offers.push_back(i);
    }
    std::ranges::stable_partition(chapters, [](const Chapter& c) { return c.number > 0; });
    return chapters;
}

std::string searched(std::string text) {
    constexpr std::string_view kWideSpace = "　";
    for (std::size_t at; (at = text.find(kWideSpace)) != text.npos;) text.replace(at, kWideSpace.size(), " ");
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '-') c = '_';
    }
    return text;
}

std::vector<std::size_t> find_lessons_by(const std::vector<LessonCard>& offers, const std::string& query) {
    std::istringstream in(searched(query));
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    std::array<std::vector<std::size_t>, 3> found;
    for (std::size_t i = 0; i < offers.size(); ++i)
        if (const auto rank = rank_of(offers[i], words)) found[static_cast<std::size_t>(*rank)].push_back(i);
    for (std::size_t k = 1; k < found.size(); ++k)
        found[0].insert(found[0].end(), found[k].begin(), found[k].end());
    return found[0];
}

const LessonProgress* progress_of(const AppState& state, const LessonCard& card) {
    const auto found = state.remembered.progress.find(folder_of(card.id));
    return found == state.remembered.progress.end() || found->second.seen.empty() ? nullptr : &found->second;
}

Reached reached(const AppState& state, const LessonCard& card) {
    const LessonProgress* progress = progress_of(state, card);
    if (progress == nullptr) return Reached::nothing;
    return std::cmp_less(progress->seen.size(), progress->steps) ? Reached::begun : Reached::done;
}

const LessonCard* next_lesson(const AppState& state) {
    const auto lesson = open_lesson(state);
    if (!lesson) return nullptr;
    const auto at = std::ranges::find_if(
        state.offers, [&](const LessonCard& each) { return folder_of(each.id) == lesson->name; });
    return at == state.offers.end() || at + 1 == state.offers.end() || (at + 1)->number == 0 ? nullptr
                                                                                             : &*(at + 1);
}

std::optional<std::size_t> go_on_with(const AppState& state) {
    const auto& offers = state.offers;
    for (const Recent& recent : state.remembered.recent) {
        const auto at = std::ranges::find(offers, recent.path, &LessonCard::id);
        if (at != offers.end() && reached(state, *at) == Reached::begun)
            return static_cast<std::size_t>(at - offers.begin());
    }
    for (std::size_t i = 0; i < offers.size(); ++i)
        if (reached(state, offers[i]) != Reached::done) return i;
    return offers.empty() ? std::nullopt : std::optional<std::size_t>(0);
}

std::optional<std::vector<MeshDim>> mesh_named(const std::string& typed) {
    std::string query = searched(typed);
    for (const std::string_view sign :
         {"×", "，", "、"})  // as the page writes a mesh, and as Chinese keyboards do
        for (std::size_t found; (found = query.find(sign)) != query.npos;)
            query.replace(found, sign.size(), ",");
    std::vector<int64_t> sizes;
    std::size_t at = 0;
    const auto skip = [&](std::string_view letters) {
        std::size_t n = 0;
        for (; at < query.size() && letters.find(query[at]) != letters.npos; ++at) ++n;
        return n;
    };
    skip(" ([");
    while (at < query.size() && std::isdigit(static_cast<unsigned char>(query[at])) != 0) {
        int64_t size = 0;
        for (; at < query.size() && std::isdigit(static_cast<unsigned char>(query[at])) != 0; ++at)
            size = std::min<int64_t>(size * 10 + (query[at] - '0'), kMostMeshRanks + 1);
        sizes.push_back(size);
        if (skip(" ,x*") == 0) break;
    }
    skip(" )]");
    if (at < query.size() || sizes.size() < 2 || sizes.size() > 3) return std::nullopt;
    constexpr std::array kNames{"replicate", "shard", "tp"};
    std::vector<MeshDim> dims;
    int64_t ranks = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        dims.push_back({kNames[d], sizes[d]});
        ranks *= sizes[d];
    }
    if (ranks < 1 || ranks > kMostMeshRanks) return std::nullopt;
    return dims;
}

RunRequest mesh_request(const std::vector<MeshDim>& dims) {
    std::string shape, names, calls, title;
    for (const MeshDim& dim : dims) {
        shape += (shape.empty() ? "" : ", ") + std::to_string(dim.size);
        names += (names.empty() ? "\"" : ", \"") + dim.name + "\"";
        title += (title.empty() ? "" : " × ") + std::to_string(dim.size);
        calls += "\n[[call]]\nop = \"all_reduce\"\ngroup = \"" + dim.name + "\"\nlabel = \"" + dim.name +
                 "\"\nelements = 8\n";
    }
    RunRequest request;
    request.name = title;
    request.path = "mesh.toml";
    request.text = "format = 1\ntitle = { en = \"Mesh " + title + "\", zh = \"mesh " + title +
                   "\" }\n\n[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n" + calls;
    return request;
}

}  // namespace meshscope::session
