#include "core/scenario/read_compare.h"

#include <algorithm>
#include <filesystem>

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
    if (!fs::is_regular_file(path, error)) {
        compare.report_element(
            "scenarios", at, {"scenario.no_such_file", {{"key", compare.full("scenarios")}, {"path", path}}},
            {"scenario.hint.relative_path", {}});
        return std::nullopt;
    }
    const bool itself = fs::equivalent(path, s.path, error);
    if (itself || std::count(s.compare.begin(), s.compare.end(), path) > 0) {
        const char* id = itself ? "scenario.compare_itself" : "scenario.compare_twice";
        compare.report_element("scenarios", at, {id, {{"path", path}}});
        return std::nullopt;
    }
    return path;
}

}  // namespace

void read_compare(const Section& root, Scenario& s) {
    const Section compare = root.section("compare");
    if (!compare.present()) return;
    compare.require("scenarios");
    const auto files = compare.texts("scenarios");
    if (!files) return;
    const auto count = static_cast<int64_t>(files->size());
    if (count < 1 || count > kMostCompared)
        compare.report("scenarios", {"scenario.compare_count", {{"count", count}, {"most", kMostCompared}}});
    for (std::size_t i = 0; i < files->size(); ++i)
        if (const auto path = compared_file(compare, i, (*files)[i], s)) s.compare.push_back(*path);
}

}  // namespace meshscope::scenario
