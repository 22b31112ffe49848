#include "core/scenario/compare.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/toml_text.h"
#include "core/mesh/roles.h"
#include "core/parallel/declaration.h"
#include "core/scenario/readers.h"
#include "core/scenario/section.h"

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
        const auto changed = [&](const std::string& other) {
            auto words = compare.texts("strategies").value_or(std::vector<std::string>{});
            if (at < words.size()) words[at] = other;
            return Candidate{{compare.place("strategies"), std::move(words)}};
        };
        return compare.refuse_word("strategies", word, known, changed, at);
    }
    if (std::count(s.compare.begin(), s.compare.end(), Scenario::Compared{"", word}) > 0)
        compare.report_element("strategies", at, {"scenario.compare_strategy_twice", {{"strategy", word}}});
    else
        s.compare.push_back({"", word});
}

constexpr std::array<std::string_view, 7> kLeftOut{"lesson", "quiz",       "check",  "faults",
                                                   "eval",   "checkpoint", "compare"};

/// Whether a word of the list means a strategy on a mesh of replicate and shard.
bool is_hybrid(std::string_view word) {
    return word == parallel::find_declaration(word)->hybrid_word;
}

/// The word that the scenario itself would have in the list; "" for what has none.
std::string own_word(const Scenario& s) {
    const parallel::Declaration& own = parallel::declaration(s.parallel.data);
    return std::string(!own.hybrid_word.empty() && s.mesh_shape.size() == 2 ? own.hybrid_word : own.word);
}

/// Ranks on the machine of rank 0; all of them where nothing divides them.
int64_t ranks_per_node(const Scenario& s, int64_t ranks) {
    if (!s.node_of_rank.empty())
        return std::count(s.node_of_rank.begin(), s.node_of_rank.end(), s.node_of_rank.front());
    // As describe_run has it: on a mesh of two dims or more each index of the first is a machine.
    return s.mesh_shape.size() > 1 ? ranks / s.mesh_shape.front() : ranks;
}

toml::array list(const std::vector<int64_t>& numbers) {
    toml::array made;
    for (const int64_t n : numbers) made.push_back(n);
    return made;
}

toml::table mesh_of(const Scenario& s, std::string_view strategy, int64_t ranks, int64_t each_node) {
    toml::array names;
    std::vector<int64_t> shape{ranks};
    if (is_hybrid(strategy)) {
        const bool even = each_node > 1 && each_node < ranks && ranks % each_node == 0;
        const int64_t shard = even ? each_node : ranks / 2;
        shape = own_word(s) == strategy ? s.mesh_shape : std::vector<int64_t>{ranks / shard, shard};
        names.push_back("replicate");
        names.push_back("shard");
    } else {
        const bool replicates = parallel::find_declaration(strategy)->dims == parallel::DataDims::replicate;
        names.push_back(replicates ? "replicate" : "shard");
    }
    toml::table mesh;
    mesh.insert("shape", list(shape));
    mesh.insert("names", std::move(names));
    return mesh;
}

toml::table parallel_of(const toml::table& root, std::string_view strategy) {
    const parallel::Declaration& declared = *parallel::find_declaration(strategy);
    toml::table parallel;
    parallel.insert("data", std::string(declared.word));
    const toml::table* old = root["parallel"].as_table();
    if (old == nullptr) return parallel;
    for (const char* key : {"algorithm", "units"})
        if (const toml::node* kept = old->get(key);
            kept && (std::string_view(key) != "units" || declared.key("units") != nullptr))
            kept->visit([&](const auto& value) { parallel.insert(key, value); });
    return parallel;
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

std::span<const std::string_view> compared_strategies() {
    static const std::vector<std::string_view> kCompared = [] {
        std::vector<std::string_view> words;
        for (const parallel::Declaration* const strategy : parallel::strategies()) {
            if (strategy->compared) words.push_back(strategy->word);
            if (!strategy->hybrid_word.empty()) words.push_back(strategy->hybrid_word);
        }
        return words;
    }();
    return kCompared;
}

Scenario with_strategy(const Scenario& s, std::string_view strategy) {
    const auto known = compared_strategies();
    if (std::ranges::find(known, strategy) == known.end())
        throw InvalidArgument(
            {"scenario.unknown_word", {{"key", "compare.strategies"}, {"word", std::string(strategy)}}});
    const int64_t ranks =
        std::accumulate(s.mesh_shape.begin(), s.mesh_shape.end(), int64_t{1}, std::multiplies<>());
    if (!mesh::roles_of(s.mesh_names).model.empty() || ranks < 2)
        throw InvalidArgument({"scenario.strategy_needs_data_mesh", {{"strategy", std::string(strategy)}}});
    if (is_hybrid(strategy) && (ranks % 2 != 0 || ranks < 4) && own_word(s) != strategy)
        throw InvalidArgument({"scenario.strategy_needs_even_ranks", {{"ranks", ranks}}});
    toml::table root = parse_table(s.source, s.path);
    const int64_t each_node = ranks_per_node(s, ranks);
    for (const std::string_view key : kLeftOut) root.erase(key);
    root.insert_or_assign("mesh", mesh_of(s, strategy, ranks, each_node));
    root.insert_or_assign("parallel", parallel_of(root, strategy));
    if (!root.contains("hardware")) root.insert("hardware", toml::table{});
    root["hardware"].as_table()->insert_or_assign("ranks_per_node", each_node);
    std::ostringstream text;
    text << root;
    return parse_scenario(text.str(), s.path);
}

std::vector<std::string> other_strategies(const Scenario& s) {
    std::vector<std::string> found;
    const std::string own = own_word(s);
    for (const std::string_view strategy : compared_strategies()) {
        if (strategy == own) continue;
        try {
            with_strategy(s, strategy);
            found.emplace_back(strategy);
        } catch (const InvalidArgument&) {
        } catch (const InputError&) {
            // Its batch, its model or its precision does not go with that strategy.
        }
    }
    return found;
}

}  // namespace meshscope::scenario
