#include "app/cli/schedule_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>

#include "app/cli/integer_option.h"
#include "app/cli/outputs.h"
#include "app/cli/schedule_picture.h"
#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/nearest.h"
#include "core/base/shell_word.h"
#include "core/parallel/pipeline/csv.h"
#include "core/parallel/pipeline/lower.h"
#include "core/parallel/pipeline/read_schedule.h"
#include "core/run/simulated_pipeline.h"
#include "core/trace/store.h"

namespace meshscope::cli {
namespace {

using namespace parallel::pipeline;
using nlohmann::ordered_json;

/// More actions than anyone reads: about 50 MB of text.
constexpr int64_t kMostActions = int64_t{1} << 22;

struct Words {
    std::string kind;
    int64_t ranks = 1;
    std::optional<int64_t> stages_per_rank;
    int64_t microbatches = 1;
    std::string file, trace;
    bool json = false, csv = false, comms = false, force = false;
};

ScheduleKind kind_of(const std::string& text) {
    if (const auto kind = parse_schedule_kind(text)) return *kind;
    std::vector<std::string> known;
    std::string list;
    for (const std::string_view word : kScheduleNames) {
        known.emplace_back(word);
        list += (list.empty() ? "" : ", ") + std::string(word);
    }
    const std::string guess = nearest(text, known);
    if (!guess.empty())
        throw UsageError({"cli.schedule.unknown_meant", {{"kind", text}, {"guess", guess}, {"known", list}}});
    throw UsageError({"cli.schedule.unknown", {{"kind", text}, {"known", list}}});
}

ScheduleShape shape_of(const Words& words) {
    const ScheduleKind kind = kind_of(words.kind);
    const int64_t stages = words.stages_per_rank.value_or(default_stages_per_rank(kind));
    const auto too_large = [](int64_t n) { return n > kMostActions; };
    // Each alone is bounded first, so the product of three cannot overflow.
    if (too_large(words.ranks) || too_large(stages) || too_large(words.microbatches) ||
        (words.ranks > 0 && stages > 0 && words.microbatches > 0 &&
         words.ranks * stages > kMostActions / words.microbatches))
        throw UsageError({"cli.schedule.too_much",
                          {{"ranks", words.ranks},
                           {"stages_per_rank", stages},
                           {"microbatches", words.microbatches},
                           {"most", kMostActions}}});
    // Numbers that no ranks are counted in are told as they were typed.
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
    if (std::min({words.ranks, stages, words.microbatches}) < kLeast)
        throw InvalidArgument(
            {"pipeline.sizes",
             {{"ranks", words.ranks}, {"stages_per_rank", stages}, {"microbatches", words.microbatches}}});
    return {kind, static_cast<int32_t>(words.ranks), static_cast<int32_t>(stages),
            static_cast<int32_t>(words.microbatches)};
}

/// With communication there are no time slots: a rank works through its list.
std::vector<std::vector<Slot>> rows_of(const Schedule& schedule, bool comms) {
    if (!comms) return schedule.order;
    std::vector<std::vector<Slot>> rows;
    for (Actions& actions : lower(schedule)) rows.emplace_back(actions.begin(), actions.end());
    return rows;
}

/// What was asked for: PyTorch's, or somebody's own.
struct Asked {
    Schedule schedule;
    std::string name;
    bool is_pytorchs = true;
};

Asked asked_for(const Words& words, const CommandContext& context) {
    if (words.file.empty()) {
        if (words.kind.empty()) throw UsageError({"cli.schedule.nothing_asked", {}});
        Schedule schedule = make_schedule(shape_of(words));
        std::string known(name(schedule.shape.kind));
        return {std::move(schedule), std::move(known), true};
    }
    ReadSchedule read = run::read_schedule_file(words.file);
    std::string called = read.kind ? std::string(name(*read.kind)) : context.text("cli.schedule.own");
    return {std::move(read.schedule), std::move(called), read.kind.has_value()};
}

void print_json(const Asked& asked, const Timeline& timeline, const std::vector<std::vector<Slot>>& rows,
                CommandContext& context) {
    const Schedule& schedule = asked.schedule;
    ordered_json order = ordered_json::object();
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        ordered_json row = ordered_json::array();
        for (const Slot& slot : rows[rank])
            row.push_back(slot ? ordered_json(to_text(*slot)) : ordered_json());
        order[std::to_string(rank)] = std::move(row);
    }
    const ordered_json json{{"schedule", asked.is_pytorchs ? ordered_json(asked.name) : ordered_json()},
                            {"pp", schedule.shape.ranks},
                            {"stages_per_rank", schedule.shape.stages_per_rank},
                            {"microbatches", schedule.shape.microbatches},
                            {"rank_of_stage", schedule.rank_of_stage},
                            {"makespan", timeline.makespan},
                            {"bubble_share", timeline.bubble_share},
                            {"order", std::move(order)}};
    context.out << json_text(json) << '\n';
}

void run(const Words& words, CommandContext& context) {
    context.json_errors = words.json;
    if (words.comms && !words.json && !words.csv) throw UsageError({"cli.schedule.comms_alone", {}});
    if (!words.trace.empty()) check_outputs({{words.trace, FileKind::trace}}, {words.file}, words.force);
    const Asked asked = asked_for(words, context);
    const Schedule& schedule = asked.schedule;
    if (!words.trace.empty()) {
        trace::write_trace(run::simulated_trace(schedule, asked.name), words.trace);
        if (!words.json && !words.csv)
            context.out << context.text("cli.schedule.written", {{"path", shell_word(words.trace)}}) << '\n';
    }
    if (words.csv) {
        context.out << to_csv(rows_of(schedule, words.comms));
        return;
    }
    const Timeline timeline = simulate(pairs_apart(schedule));
    if (words.json) {
        print_json(asked, timeline, rows_of(schedule, words.comms), context);
        return;
    }
    draw_schedule(schedule, asked.name, timeline, context);
    if (!words.file.empty()) return;
    if (schedule.shape.kind == ScheduleKind::gpipe)
        context.out << context.text("cli.schedule.note.gpipe") << '\n';
    if (schedule.shape.kind == ScheduleKind::one_f_one_b)
        context.out << context.text("cli.schedule.note.1f1b",
                                    {{"rank", int64_t{schedule.shape.ranks - 1}},
                                     {"last", int64_t{schedule.shape.microbatches}}})
                    << '\n';
}

}  // namespace

void add_schedule_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("schedule", context.text("cli.schedule.about"));
    command->footer(context.text("cli.schedule.examples"));
    auto words = std::make_shared<Words>();
    CLI::Option* file = command->add_option("FILE", words->file, context.text("cli.schedule.help.file"));
    CLI::Option* kind = command->add_option("--kind", words->kind, context.text("cli.schedule.help.kind"))
                            ->type_name("1F1B")
                            ->excludes(file);
    CLI::Option* ranks = add_integer(*command, "--ranks", words->ranks,
                                     context.text("cli.schedule.help.ranks"), {1, kMostActions})
                             ->type_name("P")
                             ->excludes(file);
    add_integer(*command, "--stages-per-rank", words->stages_per_rank,
                context.text("cli.schedule.help.stages"), {1, kMostActions})
        ->type_name("V")
        ->excludes(file);
    CLI::Option* microbatches = add_integer(*command, "--microbatches", words->microbatches,
                                            context.text("cli.schedule.help.microbatches"), {1, kMostActions})
                                    ->type_name("M")
                                    ->excludes(file);
    kind->needs(ranks)->needs(microbatches);
    command->add_option("--trace", words->trace, context.text("cli.schedule.help.trace"))
        ->type_name("FILE.mscope");
    command->add_flag("--force", words->force, context.text("cli.schedule.help.force"));
    command->add_flag("--comms", words->comms, context.text("cli.schedule.help.comms"));
    CLI::Option* csv = command->add_flag("--csv", words->csv, context.text("cli.schedule.help.csv"));
    command->add_flag("--json", words->json, context.text("cli.help.json"))->excludes(csv);
    command->callback([words, &context] { run(*words, context); });
}

}  // namespace meshscope::cli
