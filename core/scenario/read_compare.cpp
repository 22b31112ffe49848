#include "core/scenario/readers.h"

#include <algorithm>
#include <filesystem>

#include "core/scenario/with_strategy.h"

namespace meshscope::scenario {

namespace fs = std::filesystem;

namespace {

/// The file as the list names it, absolute; nothing when it cannot stand there (reported).
std::optional<std::string> compared_file(const Section& compare, std::size_t at, const std::string& given,
                                         const Scenario& s) {
    if (given.empty()) {
        compare.report_element("scenarios", at,
                               {"scenario.empty_path", {{"key", compare.full("scenarios")}}});
        return std::nullopt;
    }
    std::error_code error;
    const fs::path there = fs::path(given).is_absolute() ? fs::path(given) : fs::path(s.folder) / given;
    const std::string path = fs::absolute(there, error).lexically_normal().string();
    if (fs::is_directory(path, error)) {
        compare.report_element(
            "scenarios", at,
            {"scenario.folder_for_file", {{"key", compare.full("scenarios")}, {"path", path}}});
        return std::nullopt;
    }
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
        compare.report_element("scenarios", at, {"file.not_regular_input", {{"path", path}}});
        return std::nullopt;
    }
    if (!fs::is_regular_file(path, error)) {
        compare.report_element(
            "scenarios", at, {"scenario.no_such_file", {{"key", compare.full("scenarios")}, {"path", path}}},
            {"scenario.hint.relative_path", {}});
        return std::nullopt;
    }
    const bool itself = fs::equivalent(path, s.path, error);
    if (itself || std::count(s.compare.begin(), s.compare.end(), Scenario::Compared{path, ""}) > 0) {
        const char* id = itself ? "scenario.compare_itself" : "scenario.compare_twice";
        compare.report_element("scenarios", at, {id, {{"path", path}}});
        return std::nullopt;
    }
    return path;
}

/// A strategy of the list; nothing when it cannot stand there (reported).
void read_strategy(const Section& compare, std::size_t at, const std::string& word, Scenario& s) {
    const auto known = compared_strategies();
    if (std::find(known.begin(), known.end(), word) == known.end()) {
        compare.report_element(
            "strategies", at,
            {"scenario.unknown_word", {{"key", compare.full("strategies")}, {"word", word}}},
            hint_for(word, known));
        return;
    }
    if (std::count(s.compare.begin(), s.compare.end(), Scenario::Compared{"", word}) > 0)
        compare.report_element("strategies", at, {"scenario.compare_strategy_twice", {{"strategy", word}}});
    else
        s.compare.push_back({"", word});
}

}  // namespace

void read_compare(const Section& root, Scenario& s) {
    const Section compare = root.section("compare");
    if (!compare.present()) return;
    const auto strategies = compare.texts("strategies"), files = compare.texts("scenarios");
    if (!compare.has("strategies") && !compare.has("scenarios")) compare.require("strategies");
    const auto count =
        static_cast<int64_t>((strategies ? strategies->size() : 0) + (files ? files->size() : 0));
    // A list that could not be read has been reported.
    const bool read = (strategies || !compare.has("strategies")) && (files || !compare.has("scenarios"));
    if (read && (strategies || files) && (count < 1 || count > kMostCompared))
        compare.report(strategies ? "strategies" : "scenarios",
                       {"scenario.compare_count", {{"count", count}, {"most", kMostCompared}}});
    for (std::size_t i = 0; strategies && i < strategies->size(); ++i)
        read_strategy(compare, i, (*strategies)[i], s);
    for (std::size_t i = 0; files && i < files->size(); ++i)
        if (const auto path = compared_file(compare, i, (*files)[i], s)) s.compare.push_back({*path, ""});
}

}  // namespace meshscope::scenario
