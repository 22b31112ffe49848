#include "core/time/nccl_tests.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/text.h"
#include "core/base/text_file.h"

namespace meshscope::time {
namespace {

using nlohmann::json;

constexpr int64_t kMostFileBytes = int64_t{16} << 20;
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr int64_t kMostRanks = 1 << 20;

[[noreturn]] void refuse(const std::string& path, Message message, Message hint = {}) {
    throw InputError({{std::move(message), {path, 0, 0, -1}, std::move(hint)}});
}

/// The collectives whose ring is known, by the names of their programs.
std::optional<CollectiveOp> op_of(std::string_view program) {
    constexpr std::array<std::pair<std::string_view, CollectiveOp>, 4> kOps{
        {{"all_reduce_perf", CollectiveOp::all_reduce},
         {"all_gather_perf", CollectiveOp::all_gather},
         {"reduce_scatter_perf", CollectiveOp::reduce_scatter},
         {"alltoall_perf", CollectiveOp::all_to_all}}};
    for (const auto& [name, op] : kOps)
        if (program.ends_with(name)) return op;
    return std::nullopt;
}

/// A time that is one: nccl-tests writes "nan" as text where it measured none.
double time_of(const json& half) {
    if (!half.is_object() || !half.contains("time") || !half["time"].is_number()) return 0;
    const auto us = half["time"].get<double>();
    return std::isfinite(us) && us > 0 ? us : 0;
}

bool is_wrong(const json& half) {
    return half.is_object() && half.contains("nwrong") && half["nwrong"].is_number() &&
           half["nwrong"].get<double>() > 0;
}

std::string text_at(const json& table, const char* key) {
    return table.is_object() && table.contains(key) && table[key].is_string() ? table[key].get<std::string>()
                                                                              : "";
}

NcclTests read_json(const std::string& path, const json& root) {
    NcclTests made{path, CollectiveOp::all_reduce, 0, 1, {}};
    if (!root.is_object() || !root.contains("results") || !root["results"].is_array())
        refuse(path, {"nccl.not_json", {}});
    std::string program;
    if (root.contains("args") && root["args"].is_array() && !root["args"].empty() &&
        root["args"][0].is_string())
        program = root["args"][0].get<std::string>();
    std::set<std::string> hosts;
    if (root.contains("config") && root["config"].is_object() && root["config"].contains("devices") &&
        root["config"]["devices"].is_array())
        for (const json& device : root["config"]["devices"]) {
            ++made.ranks;
            hosts.insert(text_at(device, "hostname"));
        }
    made.hosts = std::max<int64_t>(1, static_cast<int64_t>(hosts.size()));
    for (const json& row : root["results"]) {
        if (!row.is_object() || !row.contains("size")) refuse(path, {"nccl.not_json", {}});
        const std::optional<int64_t> size = json_whole<int64_t>(row["size"]);
        if (!size || *size < 0 || *size > kMostBytes) refuse(path, {"nccl.size", {}});
        if (program.empty()) program = text_at(row, "experiment_name");
        const json none;
        const json& out = row.contains("out_of_place") ? row["out_of_place"] : none;
        const json& in = row.contains("in_place") ? row["in_place"] : none;
        made.rows.push_back({*size, time_of(out), time_of(in), is_wrong(out) || is_wrong(in)});
    }
    const std::optional<CollectiveOp> op = op_of(program);
    if (!op) refuse(path, {"nccl.unknown_op", {{"op", program.empty() ? "?" : program}}}, {"nccl.hint.op", {}});
    made.op = *op;
    return made;
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    while (!(line = trimmed(line)).empty()) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
    return words;
}

template <class T>
std::optional<T> number_of(std::string_view word) {
    T value{};
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    return read.ec == std::errc() && read.ptr == word.data() + word.size() ? std::optional(value)
                                                                           : std::nullopt;
}

/// One line of the table: size count type redop [root] and twice time algbw busbw #wrong.
struct TableLine {
    NcclRow row;
    double bus_share = 0;  ///< busbw ÷ algbw
    bool rooted = false;   ///< one rank sends to all, or gets from all
};

std::optional<TableLine> line_of(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() != 12 && words.size() != 13) return std::nullopt;
    const std::size_t first = words.size() - 8;
    const auto size = number_of<int64_t>(words[0]);
    if (!size || *size < 0 || *size > kMostBytes) return std::nullopt;
    const auto time = [&](std::size_t at) {
        const double us = number_of<double>(words[at]).value_or(0);
        return std::isfinite(us) && us > 0 ? us : 0;
    };
    const auto wrong = [&](std::size_t at) { return number_of<double>(words[at]).value_or(0) > 0; };
    TableLine made{{*size, time(first), time(first + 4), wrong(first + 3) || wrong(first + 7)}, 0, false};
    made.rooted = words.size() == 13 && number_of<int64_t>(words[4]).value_or(-1) >= 0;
    const double algorithm = time(first + 1), bus = time(first + 2);
    if (algorithm > 0) made.bus_share = bus / algorithm;
    return made;
}

NcclTests read_table(const std::string& path, std::string_view text) {
    NcclTests made{path, CollectiveOp::all_reduce, 0, 1, {}};
    std::set<std::string, std::less<>> hosts, ranks;
    std::string program;
    bool rooted = false;
    const auto refuse_two = [&] { refuse(path, {"nccl.two_runs", {}}, {"nccl.hint.two_runs", {}}); };
    const auto refuse_op = [&] {
        refuse(path, {"nccl.unknown_op", {{"op", program.empty() ? "?" : program}}}, {"nccl.hint.op", {}});
    };
    double share = 0;  // of the largest rate: it has the most digits
    double most = 0;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::vector<std::string_view> words = words_of(line);
        if (words.empty()) continue;
        if (words[0].starts_with('#')) {
            // "#  Rank  0 Group  0 Pid   1000 on      node0 device  0 [0x10] …"
            const auto on = std::ranges::find(words, "on");
            if (words.size() > 2 && words[1] == "Rank" && on != words.end() && on + 1 != words.end()) {
                if (!made.rows.empty() || !ranks.emplace(words[2]).second) refuse_two();
                ++made.ranks;
                hosts.emplace(*(on + 1));
            }
            for (const std::string_view word : words) {
                if (!word.ends_with("_perf")) continue;
                const std::string_view name = word.substr(word.rfind('/') + 1);
                if (!made.rows.empty() || (!program.empty() && program != name)) refuse_two();
                program = name;
            }
            continue;
        }
        if (const std::optional<TableLine> read = line_of(line)) {
            made.rows.push_back(read->row);
            rooted = rooted || read->rooted;
            const double rate = read->row.out_of_place_us > 0
                                    ? static_cast<double>(read->row.bytes) / read->row.out_of_place_us
                                    : 0;
            if (rate > most && read->bus_share > 0) {
                most = rate;
                share = read->bus_share;
            }
        }
    }
    if (made.ranks == 0 && made.rows.empty()) refuse(path, {"nccl.no_table", {}});
    made.hosts = std::max<int64_t>(1, static_cast<int64_t>(hosts.size()));
    std::optional<CollectiveOp> op = op_of(program);
    if (!program.empty() && !op) refuse_op();
    if (!op && made.ranks > 1) {
        const double once = static_cast<double>(made.ranks - 1) / static_cast<double>(made.ranks);
        constexpr double kNear = 0.02;  // the table has two decimals
        if (std::abs(share - 2 * once) < kNear * 2 * once)
            op = CollectiveOp::all_reduce;
        else if (!rooted && std::abs(share - once) < kNear * once && 1 - once > 2 * kNear)
            op = CollectiveOp::all_gather;
        else
            refuse_op();
    }
    made.op = op.value_or(CollectiveOp::all_reduce);
    return made;
}

}  // namespace

double NcclTests::steps() const {
    const auto hops = static_cast<double>(ranks - 1);
    return op == CollectiveOp::all_reduce ? 2 * hops : hops;
}

double NcclTests::factor() const {
    return steps() / static_cast<double>(ranks);
}

NcclTests read_nccl_tests(const std::string& path) {
    return parse_nccl_tests(read_text_file(path, kMostFileBytes), path);
}

NcclTests parse_nccl_tests(const std::string& text, const std::string& path) {
    if (static_cast<int64_t>(text.size()) > kMostFileBytes)
        refuse(path, {"nccl.too_large", {{"most", kMostFileBytes}}});
    NcclTests made;
    if (trimmed(text).starts_with('{')) {
        const auto root = parse_json<json>(text);
        if (root.is_discarded()) refuse(path, {"nccl.not_json", {}});
        made = read_json(path, root);
    } else {
        made = read_table(path, text);
    }
    if (made.ranks < 2 || made.ranks > kMostRanks) refuse(path, {"nccl.ranks", {}});
    if (made.rows.empty()) refuse(path, {"nccl.no_rows", {}});
    return made;
}

}  // namespace meshscope::time
