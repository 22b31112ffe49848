#include "app/cli/trace_info.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include "core/base/message.h"
#include "core/base/rank_set.h"
#include "core/scenario/scenario.h"
#include "core/trace/ended.h"
#include "core/trace/excerpt.h"
#include "core/trace/recorded.h"
#include "core/trace/store.h"

namespace meshscope::cli {

using nlohmann::ordered_json;
using trace::Cell;
using trace::TraceDatabase;

ordered_json as_json(const Cell& cell) {
    if (const auto* integer = std::get_if<int64_t>(&cell)) return *integer;
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    return nullptr;
}

Table table_of(const trace::QueryResult& result, const std::vector<std::string>& heads,
               const std::string& nothing) {
    Table table;
    for (const std::string& column : heads.empty() ? result.columns : heads) table.header.push_back(column);
    table.right.assign(result.columns.size(), !result.rows.empty());
    for (const std::vector<Cell>& row : result.rows) {
        std::vector<std::string> shown;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool is_nothing = !nothing.empty() && std::holds_alternative<std::monostate>(row[i]);
            shown.push_back(is_nothing ? nothing : trace::to_text(row[i]));
            if (std::holds_alternative<std::string>(row[i])) table.right[i] = false;
        }
        table.rows.push_back(std::move(shown));
    }
    return table;
}

namespace {

constexpr const char* kByOp =
    "SELECT op, mesh_dim, count(*) AS calls, CASE WHEN max(algorithm = 'native' AND op NOT IN ('send', "
    "'recv')) "
    "THEN NULL ELSE sum(bytes) END AS bytes FROM collectives GROUP BY op, mesh_dim "
    "ORDER BY bytes DESC, op, mesh_dim";
constexpr const char* kByRank =
    "SELECT rank, coordinate, node, events, collectives, bytes, peak_bytes FROM ranks ORDER BY rank";
/// Of a rank with a library's own collectives nobody knows the sum.
constexpr const char* kByRankOfLibrary =
    "SELECT rank, coordinate, node, events, collectives, CASE WHEN rank IN (SELECT rank FROM collectives WHERE "
    "algorithm = 'native' AND op NOT IN ('send', 'recv')) THEN NULL ELSE bytes END AS bytes, peak_bytes FROM "
    "ranks ORDER BY rank";

ordered_json objects(const trace::QueryResult& result) {
    ordered_json list = ordered_json::array();
    for (const std::vector<Cell>& row : result.rows) {
        ordered_json object = ordered_json::object();
        for (std::size_t i = 0; i < row.size(); ++i) object[result.columns[i]] = as_json(row[i]);
        list.push_back(std::move(object));
    }
    return list;
}

/// How many steps the record's scenario asks for; -1 where it does not say, or trains nothing.
int32_t planned_steps(const trace::RunInfo& run) {
    if (run.scenario.empty()) return -1;
    try {
        const scenario::Scenario asked = scenario::parse_scenario(run.scenario, run.scenario_path);
        return asked.calls.empty() ? asked.steps : -1;
    } catch (const Error&) {
        return -1;  // what it recorded is shown all the same
    }
}

std::string numbers(const std::vector<int64_t>& list) {
    return to_text(MessageValue{list});
}

/// What `trace info` tells of a record. Unknown is not zero.
struct Summary {
    const trace::Trace& trace;
    const trace::RunInfo& run = trace.info;
    bool recorded = run.level != trace::Level::off, has_hops = run.level >= trace::Level::hops;
    trace::QueryResult by_op, by_rank;
    int64_t events = 0, hops = 0, first = trace::first_recorded_step(trace);
    int32_t planned = planned_steps(run);
    std::optional<Message> ended = trace::early_end(run, planned);
    std::vector<int32_t> missing = trace::unrecorded_ranks(trace);

    explicit Summary(const trace::Trace& of) : trace(of) {
        const TraceDatabase database(trace);
        if (recorded) by_op = database.query(kByOp);
        by_rank = database.query(recorded ? kByRankOfLibrary : kByRank, trace::generous_limits());
        for (const trace::RankTrace& rank : trace.ranks) {
            events += static_cast<int64_t>(rank.events.size());
            // A library's own collectives leave no hops, and nobody knows how many there were.
            if (!std::ranges::all_of(rank.events, trace::tells_sent_bytes)) has_hops = false;
            hops += static_cast<int64_t>(rank.hops.size());
        }
    }
};

ordered_json json_of(const Summary& s, const CommandContext& context) {
    const trace::RunInfo& run = s.run;
    const auto known = [](bool is_known, auto&& value) {
        return is_known ? ordered_json(value) : ordered_json();
    };
    return {{"title", {{"en", run.title_en}, {"zh", run.title_zh}}},
            {"scenario_path", run.scenario_path},
            {"backend", run.backend},
            {"engine_version", run.engine_version},
            {"level", name(run.level)},
            {"world_size", run.world_size},
            {"mesh", {{"shape", run.mesh_shape}, {"names", run.mesh_names}, {"ranks", run.mesh_ranks}}},
            {"steps", run.steps},
            {"planned_steps", known(s.planned >= 0, s.planned)},
            {"ended",
             s.ended ? ordered_json{{"id", s.ended->id}, {"text", context.text(*s.ended)}} : ordered_json()},
            {"missing_ranks", s.missing},
            {"losses", run.losses},
            {"grad_norms", run.grad_norms},
            {"first_recorded_step", known(s.recorded, s.first)},
            {"groups", s.trace.groups.size()},
            {"events", known(s.recorded, s.events)},
            {"hops", known(s.has_hops, s.hops)},
            {"collectives", s.recorded ? objects(s.by_op) : ordered_json()},
            {"ranks", objects(s.by_rank)}};
}

/// "3", "2 of 5" or "steps 3 to 5 …": those of the run, and which of them were recorded.
std::string steps_text(const Summary& s, const CommandContext& context) {
    const int64_t steps = s.run.steps;
    if (const auto part = trace::excerpt_of(s.trace))
        return context.text(
            part->end == part->first + 1 ? "cli.trace.steps_excerpt_one" : "cli.trace.steps_excerpt",
            {{"steps", steps}, {"first", int64_t{part->first}}, {"last", int64_t{part->end} - 1}});
    if (s.recorded && s.first > 0 && s.first < steps)
        return context.text(
            "cli.trace.steps_resumed",
            {{"steps", steps}, {"recorded", steps - s.first}, {"first", s.first}, {"last", steps - 1}});
    if (s.planned > steps)
        return context.text("cli.trace.steps_of", {{"steps", steps}, {"planned", int64_t{s.planned}}});
    return std::to_string(steps);
}

void print_facts(const Summary& s, CommandContext& context) {
    const trace::RunInfo& run = s.run;
    Table table;
    const auto row = [&](const char* id, const std::string& value) {
        if (!value.empty()) table.rows.push_back({context.text(id), value});
    };
    std::string mesh_names;
    for (const std::string& name : run.mesh_names) mesh_names += (mesh_names.empty() ? "" : ", ") + name;
    const bool chinese = context.language == i18n::Language::zh;
    row("cli.trace.title", chinese && !run.title_zh.empty() ? run.title_zh : run.title_en);
    row("cli.trace.scenario", run.scenario_path);
    row("cli.trace.backend", run.backend);
    row("cli.trace.level", std::string(name(run.level)));
    row("cli.trace.world", std::to_string(run.world_size));
    if (!run.mesh_shape.empty()) row("cli.trace.mesh", numbers(run.mesh_shape) + " (" + mesh_names + ")");
    row("cli.trace.steps", steps_text(s, context));
    row("cli.trace.ended", s.ended ? context.text(*s.ended) : std::string());
    const std::string unknown = context.text("cli.trace.not_recorded");
    if (!s.missing.empty())
        row("cli.trace.missing", context.text("cli.trace.missing_ranks", {{"ranks", rank_list(s.missing)}}));
    if (!run.losses.empty())
        row("cli.trace.loss",
            trace::to_text(Cell{run.losses.front()}) + " → " + trace::to_text(Cell{run.losses.back()}));
    row("cli.trace.events", s.recorded ? std::to_string(s.events) : unknown);
    row("cli.trace.hops", s.has_hops ? std::to_string(s.hops) : unknown);
    print_table(table, context.out);
}

}  // namespace

void trace_info(const std::string& path, bool json, CommandContext& context) {
    const trace::Trace trace = trace::read_trace(path);
    const Summary summary(trace);
    if (json) {
        context.out << json_text(json_of(summary, context), 2) << '\n';
        return;
    }
    print_facts(summary, context);
    if (!summary.recorded) return;  // of the ranks nothing is known but where they stand
    if (!summary.by_op.rows.empty()) {
        context.out << '\n';
        print_table(table_of(summary.by_op,
                             {context.text("cli.collectives.op"), context.text("cli.predict.dim"),
                              context.text("cli.predict.calls"), context.text("cli.collectives.bytes")},
                             context.text("cli.trace.not_recorded")),
                    context.out);
    }
    context.out << '\n';
    Table ranks = table_of(
        summary.by_rank,
        {context.text("cli.memory.rank"), context.text("cli.mesh.coordinate"), context.text("cli.trace.node"),
         context.text("cli.trace.events"), context.text("cli.trace.collectives"),
         context.text("cli.collectives.bytes"), context.text("cli.memory.peak")},
        context.text("cli.trace.not_recorded"));
    constexpr std::size_t kCoordinate = 1;
    fold_rank_rows(ranks, {kCoordinate});
    print_table(ranks, context.out);
}

}  // namespace meshscope::cli
