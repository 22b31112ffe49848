#include "core/parallel/pipeline/csv.h"

#include "core/base/error.h"

namespace meshscope::parallel::pipeline {

std::string to_csv(const std::vector<std::vector<Slot>>& order) {
    std::string text;
    for (const std::vector<Slot>& rank : order) {
        for (std::size_t i = 0; i < rank.size(); ++i) text += (i > 0 ? "," : "") + to_text(rank[i]);
        text += "\r\n";
    }
    return text;
}

std::vector<std::vector<Slot>> from_csv(std::string_view text, const std::string& file) {
    std::vector<std::vector<Slot>> order;
    std::vector<Diagnostic> wrong;
    int line = 0;
    while (!text.empty()) {
        ++line;
        const std::size_t newline = text.find('\n');
        std::string_view row = text.substr(0, newline);
        text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
        if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
        std::vector<Slot>& rank = order.emplace_back();
        if (row.empty()) continue;
        int column = 1;
        while (true) {
            const std::size_t comma = row.find(',');
            const std::string_view field = row.substr(0, comma);
            try {
                rank.push_back(parse_action(field));
            } catch (const InvalidArgument& refusal) {
                wrong.push_back({refusal.message(), {file, line, column, -1}, {}});
            }
            if (comma == std::string_view::npos) break;
            row.remove_prefix(comma + 1);
            column += static_cast<int>(comma) + 1;
        }
    }
    if (!wrong.empty()) throw InputError(std::move(wrong));
    return order;
}

}  // namespace meshscope::parallel::pipeline
