#include "app/gui/view/parameters.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace meshscope::view {

std::vector<ParameterUnit> parameter_units(const trace::Trace& trace) {
    std::vector<ParameterUnit> units;
    std::map<std::pair<trace::StringId, std::string>, std::size_t> place;
    std::unordered_set<trace::StringId> seen, trained;
    for (const auto& rank : trace.ranks)
        for (const auto& run : rank.parameters)
            if (run.padding == 0 && (run.updated != 0 || trace.text(run.unit).starts_with("bucket ")))
                trained.insert(run.parameter);
    for (const auto& rank : trace.ranks)
        for (const auto& run : rank.parameters) {
            if (run.parameter == 0 || !seen.insert(run.parameter).second) continue;
            std::string name(trace.text(run.parameter));
            ShownParameter shown{name,     run.parameter, run.unit,
                                 run.rows, run.columns,   !trained.contains(run.parameter)};
            // Those without a unit stand with the others of their module.
            const std::string unit =
                run.unit != 0 ? std::string(trace.text(run.unit)) : name.substr(0, name.rfind('.'));
            const auto [at, is_new] = place.try_emplace({run.unit, unit}, units.size());
            if (is_new) units.push_back({unit, run.unit, {}});
            units[at->second].parameters.push_back(std::move(shown));
        }
    return units;
}

int32_t shown_unit(const trace::Trace& trace, const std::vector<ParameterUnit>& units, const Selection& s) {
    const auto holds = [](const ParameterUnit& unit, const std::string& name) {
        return std::any_of(unit.parameters.begin(), unit.parameters.end(),
                           [&](const ShownParameter& p) { return p.name == name; });
    };
    for (std::size_t i = 0; i < units.size() && !s.parameter.empty(); ++i)
        if (units[i].name == s.parameter || holds(units[i], s.parameter)) return static_cast<int32_t>(i);
    if (s.event_rank && s.event && *s.event_rank >= 0 &&
        static_cast<std::size_t>(*s.event_rank) < trace.ranks.size()) {
        const auto& events = trace.ranks[static_cast<std::size_t>(*s.event_rank)].events;
        if (*s.event >= 0 && static_cast<std::size_t>(*s.event) < events.size()) {
            const std::string_view unit = trace.text(events[static_cast<std::size_t>(*s.event)].unit);
            // A kernel names its module: "net1" holds "net1.weight".
            const std::string module = std::string(unit) + ".";
            for (std::size_t i = 0; i < units.size() && !unit.empty(); ++i)
                if (units[i].name == unit ||
                    std::any_of(units[i].parameters.begin(), units[i].parameters.end(),
                                [&](const ShownParameter& p) { return p.name.starts_with(module); }))
                    return static_cast<int32_t>(i);
        }
    }
    return units.empty() ? -1 : 0;
}

std::vector<char> units_about(const trace::Trace& trace, const std::string& parameter) {
    if (parameter.empty()) return {};
    std::vector<char> about(trace.strings.size(), 0);
    for (std::size_t i = 1; i < about.size(); ++i) {
        const std::string& s = trace.strings[i];
        about[i] = parameter == s ||
                   (parameter.size() > s.size() && parameter.starts_with(s) && parameter[s.size()] == '.');
    }
    for (const auto& rank : trace.ranks)
        for (const auto& run : rank.parameters)
            if (run.parameter != 0 && run.unit != 0 && trace.text(run.parameter) == parameter)
                about[run.unit] = 1;
    return about;
}

std::vector<Block> blocks_of(const trace::ParameterRun& run, int64_t first, int64_t elements) {
    std::vector<Block> out;
    const int64_t wide = run.n_columns;
    if (wide <= 0) return out;
    while (elements > 0) {
        const int64_t row = first / wide, column = first % wide;
        // The rest of a row that was begun; else as many whole rows as there are; else the beginning of one.
        const int64_t rows = column == 0 && elements >= wide ? elements / wide : 1;
        const int64_t columns = column == 0 && elements >= wide ? wide : std::min(wide - column, elements);
        out.push_back({run.first_row + row, run.first_column + column, rows, columns});
        first += rows * columns;
        elements -= rows * columns;
    }
    return out;
}

std::vector<Block> blocks_of(const trace::ParameterRun& run) {
    return run.padding != 0 ? std::vector<Block>{} : blocks_of(run, run.first, run.elements);
}

std::vector<int32_t> keepers(const trace::Trace& trace, trace::StringId parameter, int64_t row) {
    std::vector<int32_t> out;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (const auto& run : trace.ranks[r].parameters) {
            if (run.parameter != parameter || run.padding != 0) continue;
            const auto blocks = blocks_of(run);
            if (std::none_of(blocks.begin(), blocks.end(),
                             [&](const Block& b) { return row >= b.row && row < b.row + b.rows; }))
                continue;
            if (out.empty() || out.back() != static_cast<int32_t>(r)) out.push_back(static_cast<int32_t>(r));
        }
    return out;
}

std::vector<OwnedRows> owned_rows(const trace::Trace& trace, const std::vector<int32_t>& ranks,
                                  trace::StringId parameter) {
    std::vector<OwnedRows> owned;
    for (const int32_t rank : ranks)
        for (const auto& run : trace.ranks[static_cast<std::size_t>(rank)].parameters) {
            if (run.parameter != parameter || run.padding != 0 || run.elements == 0) continue;
            const auto columns = static_cast<float>(std::max<int64_t>(1, run.n_columns)),
                       first = static_cast<float>(run.first_row);
            owned.push_back({rank, first + static_cast<float>(run.first) / columns,
                             first + static_cast<float>(run.first + run.elements) / columns});
        }
    return owned;
}

std::vector<Arrived> arrived(const trace::Trace& trace, const time::Clock& clock, int64_t cursor_ns,
                             int32_t rank, const trace::Event& gather) {
    std::vector<Arrived> out;
    const int64_t shard = gather.in_elements;  // the result is the members' shards in group order
    if (gather.group < 0 || shard <= 0) return out;
    const auto& members = trace.groups[static_cast<std::size_t>(gather.group)].ranks;
    const auto& record = trace.ranks[static_cast<std::size_t>(rank)];
    const auto& times = clock.hops[static_cast<std::size_t>(rank)];
    const auto first = std::lower_bound(record.hops.begin(), record.hops.end(), gather.id,
                                        [](const trace::Hop& hop, int32_t id) { return hop.event < id; });
    for (auto hop = first; hop != record.hops.end() && hop->event == gather.id; ++hop) {
        if (times[static_cast<std::size_t>(hop - record.hops.begin())].end_ns > cursor_ns) continue;
        for (int64_t at = hop->offset; at < hop->offset + hop->elements;) {
            const int64_t member = at / shard, inside = at % shard;
            const int64_t piece = std::min(hop->offset + hop->elements - at, shard - inside);
            at += piece;
            if (member < 0 || static_cast<std::size_t>(member) >= members.size()) continue;
            const auto owner = static_cast<std::size_t>(members[static_cast<std::size_t>(member)]);
            for (const auto& run : trace.ranks[owner].parameters) {
                if (run.unit != gather.unit || run.padding != 0) continue;
                const int64_t from = std::max(inside, run.first_in_shard),
                              to = std::min(inside + piece, run.first_in_shard + run.elements);
                if (from >= to) continue;
                for (const Block& block : blocks_of(run, run.first + from - run.first_in_shard, to - from))
                    out.push_back({run.parameter, block});
            }
        }
    }
    return out;
}

std::optional<ParameterRow> next_row(const trace::Trace& trace, const Selection& selection, int32_t rows,
                                     int32_t columns) {
    const auto units = parameter_units(trace);
    const int32_t unit = shown_unit(trace, units, selection);
    if (unit < 0) return std::nullopt;
    std::vector<ShownParameter> all;
    std::size_t at = 0;
    for (std::size_t u = 0; u < units.size(); ++u)
        for (const auto& parameter : units[u].parameters) {
            if (parameter.name == selection.parameter ||
                (at == 0 && selection.parameter.empty() && u == static_cast<std::size_t>(unit) &&
                 &parameter == &units[u].parameters.front()))
                at = all.size();
            all.push_back(parameter);
        }
    if (selection.parameter.empty()) return ParameterRow{all[at].name, 0};
    const auto last = static_cast<int64_t>(all.size()) - 1;
    const auto next =
        static_cast<std::size_t>(std::clamp<int64_t>(static_cast<int64_t>(at) + columns, 0, last));
    const int64_t most = std::max<int64_t>(0, all[next].rows - 1);
    const int64_t row = selection.row < 0 ? 0 : std::clamp<int64_t>(selection.row + rows, 0, most);
    return ParameterRow{all[next].name, row};
}

}  // namespace meshscope::view
