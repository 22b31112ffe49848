#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "core/base/error.h"
#include "core/comm/choice.h"

namespace meshscope::embedded {
std::string_view comm_choice(std::string_view file);
}

namespace meshscope::comm {
namespace {

constexpr std::string_view kShared = "shared_memory", kMessages = "messages";

[[noreturn]] void refuse(const std::string& line) {
    throw InvalidArgument({"comm.choice_line", {{"line", line}}});
}

/// A whole number of at least `least`, or "max".
std::optional<int32_t> number(std::string_view word, int32_t least) {
    if (word == "max") return ChoiceTable::kMax;
    int32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < least) return std::nullopt;
    return value;
}

ChoiceTable::Row row_of(const std::string& line) {
    std::istringstream words(line);
    std::string op, kind, ranks, bytes, algorithm, more;
    if (!(words >> op >> kind >> ranks >> bytes >> algorithm) || (words >> more)) refuse(line);
    const auto dash = ranks.find('-');
    const auto from = number(std::string_view(ranks).substr(0, dash), 2);
    const auto to = dash == std::string::npos ? from : number(std::string_view(ranks).substr(dash + 1), 2);
    const auto most = number(bytes, 0);
    const auto parsed_op = parse_collective_op(op);
    const auto parsed = parse_algorithm(algorithm);
    if (!from || !to || *to < *from || !most || !parsed_op || !parsed ||
        (kind != kShared && kind != kMessages))
        refuse(line);
    const auto has = algorithms_of(*parsed_op);
    if (std::find(has.begin(), has.end(), *parsed) == has.end()) refuse(line);
    return {*parsed_op, kind == kShared, *from, *to, *most, *parsed};
}

std::string max_or(int64_t value) {
    return value == ChoiceTable::kMax ? "max" : std::to_string(value);
}

}  // namespace

std::string line_of(const ChoiceTable::Row& row) {
    std::string ranks = std::to_string(row.ranks_from);
    if (row.ranks_to != row.ranks_from) ranks += "-" + max_or(row.ranks_to);
    std::string line;
    for (const auto& [word, width] : {std::pair{std::string(name(row.op)), 16UL},
                                      {std::string(row.shares_memory ? kShared : kMessages), 15UL},
                                      {ranks, 7UL},
                                      {max_or(row.bytes_to), 10UL}})
        line += word + std::string(word.size() < width ? width - word.size() : 1, ' ');
    return line + std::string(name(row.algorithm));
}

std::vector<ChoiceTable::Row> lines_from(ChoiceTable::Row range, const std::vector<int64_t>& sizes,
                                         const std::vector<Algorithm>& algorithms,
                                         const std::vector<std::vector<double>>& times) {
    constexpr double kFaster = 0.9;  // of the present one's time, or it stays
    std::vector<ChoiceTable::Row> lines;
    // First the one that is best over all sizes: of several that are as good the luck of one size must not
    // choose.
    std::vector<double> over_all(algorithms.size(), 0.0);
    for (const auto& row : times)
        for (std::size_t a = 0; a < algorithms.size(); ++a) over_all[a] += std::log(row[a]);
    auto present =
        static_cast<std::size_t>(std::min_element(over_all.begin(), over_all.end()) - over_all.begin());
    for (std::size_t s = 0; s < sizes.size(); ++s) {
        const auto best =
            static_cast<std::size_t>(std::min_element(times[s].begin(), times[s].end()) - times[s].begin());
        if (times[s][best] < kFaster * times[s][present]) present = best;
        range.algorithm = algorithms[present];
        range.bytes_to = ChoiceTable::kMax;
        if (s + 1 < sizes.size())
            range.bytes_to = static_cast<int64_t>(
                std::sqrt(static_cast<double>(sizes[s]) * static_cast<double>(sizes[s + 1])));
        if (!lines.empty() && lines.back().algorithm == range.algorithm)
            lines.back().bytes_to = range.bytes_to;
        else
            lines.push_back(range);
    }
    return lines;
}

ChoiceTable ChoiceTable::parse(std::string_view text) {
    ChoiceTable table;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        line = line.substr(0, line.find('#'));
        if (line.find_first_not_of(" \t\r") != std::string::npos) table.rows_.push_back(row_of(line));
    }
    table.check_gaps();
    return table;
}

/// For each op and kind the lines must lead from 2 ranks to "max" and, for each range of ranks, by rising
/// bytes to "max".
void ChoiceTable::check_gaps() const {
    struct Next {
        int64_t ranks = 2, bytes = -1;  // what the next line must begin with, and be above
    };
    std::map<std::pair<CollectiveOp, bool>, Next> next;
    for (const Row& row : rows_) {
        Next& at = next[{row.op, row.shares_memory}];
        if (row.ranks_from != at.ranks || row.bytes_to <= at.bytes) refuse(line_of(row));
        at.bytes = row.bytes_to;
        if (at.bytes == kMax) at = {int64_t{row.ranks_to} + 1, -1};
    }
    for (int i = 0; i <= static_cast<int>(CollectiveOp::barrier); ++i)
        for (const bool shared : {true, false}) {
            const auto op = static_cast<CollectiveOp>(i);
            if (const Next at = next[{op, shared}]; algorithms_of(op).size() > 1 && at.ranks <= kMax)
                throw InvalidArgument(
                    {"comm.choice_gap", {{"op", std::string(name(op))}, {"ranks", at.ranks}}});
        }
}

const ChoiceTable& ChoiceTable::measured() {
    static const ChoiceTable table = parse(embedded::comm_choice("core/comm/choice/table.txt"));
    return table;
}

Algorithm ChoiceTable::choose(CollectiveOp op, bool shares_memory, int32_t ranks, int64_t bytes) const {
    for (const Row& row : rows_)
        if (row.op == op && row.shares_memory == shares_memory && ranks >= row.ranks_from &&
            ranks <= row.ranks_to && (bytes <= row.bytes_to || row.bytes_to == kMax))
            return row.algorithm;
    return algorithms_of(op).front();
}

}  // namespace meshscope::comm
