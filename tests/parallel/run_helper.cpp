#include "tests/parallel/run_helper.h"

#include <algorithm>

#include "backends/registry.h"

namespace meshscope::test {

run::RunResult run_text(const std::string& toml) {
    return run::run_scenario(scenario::parse_scenario(toml, "test.toml"), *backends::make_registry());
}

std::vector<std::string> collectives_of(const trace::Trace& trace, int32_t rank, int32_t step) {
    std::vector<std::string> rows;
    for (const trace::Event& event : trace.ranks[static_cast<std::size_t>(rank)].events) {
        if (event.kind != trace::EventKind::collective || event.step != step) continue;
        const std::string in = std::to_string(event.in_elements), out = std::to_string(event.out_elements);
        switch (event.op) {
            case CollectiveOp::all_gather:
                rows.push_back("AG " + in + "->" + out);
                break;
            case CollectiveOp::reduce_scatter:
                rows.push_back("RS " + in + "->" + out);
                break;
            case CollectiveOp::all_reduce:
                rows.push_back("AR " + in);
                break;
            default:
                rows.push_back(std::string(name(event.op)) + " " + in);
        }
    }
    return rows;
}

int64_t count_of(const std::vector<std::string>& rows, const std::string& word) {
    return std::ranges::count_if(rows, [&](const std::string& row) { return row.starts_with(word); });
}

Held held(const trace::Trace& trace, int32_t rank, MemoryCategory category) {
    const trace::RankTrace& record = trace.ranks[static_cast<std::size_t>(rank)];
    int32_t optimizer = -1;
    for (const trace::Event& event : record.events)
        if (trace.text(event.name) == "adam") optimizer = event.id;
    Held found;
    int64_t now = 0;
    for (const trace::MemoryChange& change : record.memory) {
        if (change.category != category) continue;
        now += change.delta_bytes;
        found.peak = std::max(found.peak, now);
        if (change.after_event < optimizer) found.last = now;
    }
    return found;
}

int64_t sent_bytes(const trace::Trace& trace, int32_t rank, int32_t step, std::optional<CollectiveOp> op) {
    int64_t bytes = 0;
    for (const trace::Event& event : trace.ranks[static_cast<std::size_t>(rank)].events)
        if (event.kind == trace::EventKind::collective && event.step == step && (!op || event.op == *op))
            bytes += event.sent_bytes;
    return bytes;
}

}  // namespace meshscope::test
