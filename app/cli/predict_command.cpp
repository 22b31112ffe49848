#include "app/cli/predict_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>

#include "app/cli/divergence.h"
#include "app/cli/progress.h"
#include "app/cli/run_progress.h"
#include "app/cli/run_tell.h"
#include "app/cli/table.h"
#include "app/cli/usage.h"
#include "core/base/error.h"
#include "core/base/free_memory.h"
#include "core/base/json_text.h"
#include "core/base/units.h"
#include "core/run/dry.h"
#include "core/run/fit.h"
#include "core/run/summary.h"
#include "core/scenario/scenario.h"
#include "core/time/read_profile.h"
#include "core/time/step.h"

namespace meshscope::cli {
namespace {

using nlohmann::ordered_json;
using run::Summary;

struct PredictArguments {
    std::string scenario, ranks = "64";
    std::optional<std::string> profile;
    std::optional<int32_t> steps;
    bool json = false, measure = false;
};

/// Everything that is shown; `measured` only when it was really run.
struct Prediction {
    Summary predicted;
    std::optional<Summary> measured;
    int64_t measured_step_ns = 0;               ///< the last step on this machine's own clock
    std::optional<memory::ModelState> formula;  ///< none where nothing is trained
    std::optional<double> activations;          ///< by formula, of transformers
    int64_t device_bytes = 0;                   ///< memory of the profile's device; 0: not known
    int32_t world_size = 0;
    std::vector<int64_t> shape;  ///< of the mesh, whose ranks are row-major
    std::vector<std::string> names;
    int32_t steps_run = 0, steps = 0;  ///< the first ones, of the scenario's
    bool short_cycle = false;          ///< they are a whole cycle, shorter than the scenario's
};

int32_t all_up_to(const std::string& word) {
    if (word == "all") return INT32_MAX;
    int32_t number = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failure != std::errc() || end != word.data() + word.size() || number < 1)
        throw UsageError({"cli.predict.bad_ranks", {{"word", word}}});
    return number;
}

int64_t of(const Summary::Rank& rank, MemoryCategory category) {
    return rank.peak.by_category[static_cast<std::size_t>(category)];
}

/// The rank with the highest peak.
const Summary::Rank& fullest(const Summary& summary) {
    return *std::max_element(summary.ranks.begin(), summary.ranks.end(),
                             [](const auto& a, const auto& b) { return a.peak.bytes < b.peak.bytes; });
}

bool fits(const Prediction& answer) {
    return fullest(answer.predicted).peak.bytes <= answer.device_bytes;
}

/// By mesh dim the coordinates that a rank stands for, first and last: what lies between two coordinates that
/// were run does as the lower one does (run::distinct_ranks). Needs a rank of the mesh.
std::vector<std::pair<int64_t, int64_t>> stood_for(const Prediction& answer, int32_t rank) {
    const auto coordinate = [&](int32_t of, std::size_t dim) {
        int64_t inner = 1;
        for (std::size_t d = dim + 1; d < answer.shape.size(); ++d) inner *= answer.shape[d];
        return of / inner % answer.shape[dim];
    };
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (std::size_t d = 0; d < answer.shape.size(); ++d) {
        const int64_t here = coordinate(rank, d);
        int64_t next = answer.shape[d];
        for (const Summary::Rank& other : answer.predicted.ranks)
            if (const int64_t c = coordinate(other.rank, d); c > here) next = std::min(next, c);
        ranges.emplace_back(here, next - 1);
    }
    return ranges;
}

/// "pp 0 · replicate 0–6 · tp 0–3 (28 ranks)".
std::string role_text(const Prediction& answer, int32_t rank, const CommandContext& context) {
    std::string text;
    int64_t ranks = 1;
    const auto ranges = stood_for(answer, rank);
    for (std::size_t d = 0; d < ranges.size(); ++d) {
        const auto [first, last] = ranges[d];
        const std::string name = d < answer.names.size() ? answer.names[d] : std::to_string(d);
        text += (d > 0 ? " · " : "") + name + " " + std::to_string(first);
        if (last > first) text += "–" + std::to_string(last);
        ranks *= last - first + 1;
    }
    return context.text("cli.predict.role", {{"place", text}, {"n", ranks}});
}

/// Whether ranks stand for others.
bool has_roles(const Prediction& answer) {
    int64_t in_mesh = 1;
    for (const int64_t n : answer.shape) in_mesh *= n;
    return static_cast<int64_t>(answer.predicted.ranks.size()) < in_mesh;
}

ordered_json to_json(const Summary& summary) {
    ordered_json collectives = ordered_json::array(), ranks = ordered_json::array();
    for (const Summary::Collective& c : summary.collectives)
        collectives.push_back({{"op", c.op},
                               {"mesh_dim", c.mesh_dim},
                               {"group_size", c.group_size},
                               {"calls", c.calls},
                               {"in", c.in_elements},
                               {"out", c.out_elements},
                               {"bytes", c.sent_bytes},
                               {"least_bytes", c.least_sent_bytes}});
    for (const Summary::Rank& r : summary.ranks) {
        ordered_json categories = ordered_json::object();
        for (int c = 0; c < kMemoryCategories; ++c)
            categories[std::string(name(static_cast<MemoryCategory>(c)))] =
                of(r, static_cast<MemoryCategory>(c));
        ranks.push_back({{"rank", r.rank},
                         {"peak_bytes", r.peak.bytes},
                         {"peak_step", r.peak.step},
                         {"peak_cause", r.peak.cause},
                         {"by_category", categories},
                         {"bytes", r.sent_bytes},
                         {"flops", r.flops},
                         {"compute_ns", r.overlap.compute_ns},
                         {"communication_ns", r.overlap.communication_ns},
                         {"exposed_ns", r.overlap.exposed_ns},
                         {"bubble", r.bubble.share()}});
    }
    return {{"step", summary.step},
            {"collectives", collectives},
            {"ranks", ranks},
            {"profile", summary.profile},
            {"step_ns", summary.step_ns}};
}

void print_json(const Prediction& answer, CommandContext& context) {
    ordered_json out{{"world_size", answer.world_size}, {"predicted", to_json(answer.predicted)}};
    for (ordered_json& each : out["predicted"]["ranks"])
        if (has_roles(answer)) each["stands_for"] = stood_for(answer, each["rank"].get<int32_t>());
    if (answer.formula)
        out["formula"] = {{"source", "ZeRO, arXiv 1910.02054"},
                          {"parameters", answer.formula->parameters},
                          {"gradients", answer.formula->gradients},
                          {"optimizer_state", answer.formula->optimizer}};
    if (answer.activations) {
        out["formula"]["activations"] = *answer.activations;
        out["formula"]["activations_source"] = "Korthikanti et al., arXiv 2205.05198";
    }
    if (answer.device_bytes > 0)
        out["device"] = {{"profile", answer.predicted.profile},
                         {"memory_bytes", answer.device_bytes},
                         {"peak_bytes", fullest(answer.predicted).peak.bytes},
                         {"fits", fits(answer)}};
    out["steps"] = {{"run", answer.steps_run}, {"of", answer.steps}};
    if (answer.short_cycle) out["steps"]["short_cycle"] = true;
    if (answer.measured) {
        out["measured"] = to_json(*answer.measured);
        out["measured"]["measured_step_ns"] = answer.measured_step_ns;
    }
    context.out << json_text(out, 1) << '\n';
}

void print_collectives(const Prediction& answer, const CommandContext& context) {
    Table table;
    table.header = {context.text("cli.collectives.op"), context.text("cli.predict.dim"),
                    context.text("cli.predict.group_size"), context.text("cli.predict.calls"),
                    context.text("cli.collectives.bytes")};
    table.right = {false, false, true, true, true, true};
    if (answer.measured) table.header.push_back(context.text("cli.predict.measured"));
    for (const Summary::Collective& c : answer.predicted.collectives) {
        std::vector<std::string> row{c.op, c.mesh_dim, std::to_string(c.group_size), std::to_string(c.calls),
                                     std::to_string(c.sent_bytes)};
        if (answer.measured) {
            row.push_back("-");
            for (const Summary::Collective& m : answer.measured->collectives)
                if (m.op == c.op && m.mesh_dim == c.mesh_dim && m.group_size == c.group_size)
                    row.back() = std::to_string(m.sent_bytes);
        }
        table.rows.push_back(std::move(row));
    }
    print_table(table, context.out);
    for (const Summary::Collective& c : answer.predicted.collectives)
        if (c.least_sent_bytes < c.sent_bytes)
            context.out << context.text("cli.predict.uneven", {{"op", c.op},
                                                               {"dim", c.mesh_dim},
                                                               {"least", c.least_sent_bytes},
                                                               {"most", c.sent_bytes}})
                        << '\n';
}

/// The fullest rank's peak by category, with ZeRO's formula where it says something.
void print_memory(const Prediction& answer, const CommandContext& context) {
    const Summary::Rank& rank = fullest(answer.predicted);
    const Summary::Rank* measured = nullptr;
    if (answer.measured)
        for (const Summary::Rank& r : answer.measured->ranks)
            if (r.rank == rank.rank) measured = &r;
    Table table;
    table.header = {context.text("cli.predict.category"), context.text("cli.predict.predicted")};
    table.right = {false, true, true, true};
    if (measured != nullptr) table.header.push_back(context.text("cli.predict.measured"));
    if (answer.formula) table.header.push_back(context.text("cli.predict.formula"));
    const auto add = [&](const std::string& what, int64_t predicted, int64_t real, double formula) {
        std::vector<std::string> row{what, std::to_string(predicted)};
        if (measured != nullptr) row.push_back(std::to_string(real));
        if (formula >= 0) row.push_back(std::to_string(static_cast<int64_t>(formula)));
        table.rows.push_back(std::move(row));
    };
    const bool sharded = of(rank, MemoryCategory::sharded_parameters) > 0;
    for (int c = 0; c < kMemoryCategories; ++c) {
        const auto category = static_cast<MemoryCategory>(c);
        const int64_t real = measured == nullptr ? 0 : of(*measured, category);
        double formula = -1;
        if (answer.formula) {
            if (category == (sharded ? MemoryCategory::sharded_parameters : MemoryCategory::parameters))
                formula = answer.formula->parameters;
            if (category == MemoryCategory::gradients) formula = answer.formula->gradients;
            if (category == MemoryCategory::optimizer_state) formula = answer.formula->optimizer;
        }
        if (category == MemoryCategory::activations) formula = answer.activations.value_or(-1);
        if (of(rank, category) > 0 || real > 0)
            add(context.text("view.memory." + std::string(name(category))), of(rank, category), real,
                formula);
    }
    add(context.text("cli.predict.total"), rank.peak.bytes, measured == nullptr ? 0 : measured->peak.bytes,
        -1);
    context.out << '\n'
                << context.text("cli.predict.peak", {{"rank", int64_t{rank.rank}},
                                                     {"step", int64_t{rank.peak.step}},
                                                     {"cause", cause_words(rank.peak, context)}})
                << '\n';
    print_table(table, context.out);
    if (answer.formula)
        context.out << context.text("cli.predict.sources", {{"zero", std::string("arXiv 1910.02054")}})
                    << '\n';
    if (answer.activations)
        context.out << context.text("cli.predict.activations",
                                    {{"korthikanti", std::string("arXiv 2205.05198")}})
                    << '\n';
}

/// Whether the fullest rank's tensors fit into the profile's device.
void print_fit(const Prediction& answer, const CommandContext& context) {
    if (answer.device_bytes == 0) return;
    const int64_t peak = fullest(answer.predicted).peak.bytes;
    const bool fit = fits(answer);
    context.out << context.text(fit ? "cli.predict.fits" : "cli.predict.too_small",
                                {{"peak", bytes_text(peak)},
                                 {"profile", answer.predicted.profile},
                                 {"memory", bytes_text(answer.device_bytes)},
                                 {"difference", bytes_text(std::abs(answer.device_bytes - peak))}})
                << '\n';
}

void print_ranks(const Prediction& answer, const CommandContext& context) {
    Table table;
    table.header = {context.text("cli.memory.rank"),        context.text("cli.memory.peak"),
                    context.text("cli.collectives.bytes"),  context.text("cli.predict.gflop"),
                    context.text("cli.predict.compute_ms"), context.text("cli.predict.communication_ms"),
                    context.text("cli.predict.exposed_ms"), context.text("cli.predict.idle")};
    table.right = {true, true, true, true, true, true, true, true};
    const bool roles = has_roles(answer);
    if (roles) table.header.push_back(context.text("cli.predict.stands_for"));
    for (const Summary::Rank& r : answer.predicted.ranks) {
        std::ostringstream gflop, idle;
        gflop.precision(4);
        gflop << static_cast<double>(r.flops) / 1e9;
        idle.precision(3);
        idle << 100 * r.bubble.share() << " %";
        table.rows.push_back({std::to_string(r.rank), std::to_string(r.peak.bytes),
                              std::to_string(r.sent_bytes), gflop.str(), milliseconds(r.overlap.compute_ns),
                              milliseconds(r.overlap.communication_ns), milliseconds(r.overlap.exposed_ns),
                              idle.str()});
        if (roles) table.rows.back().push_back(role_text(answer, r.rank, context));
    }
    if (!roles) fold_rank_rows(table);
    context.out << '\n';
    print_table(table, context.out);
    context.out << context.text("cli.predict.time", {{"profile", answer.predicted.profile},
                                                     {"ms", milliseconds(answer.predicted.step_ns)}})
                << '\n';
    if (answer.measured)
        context.out << context.text("cli.predict.measured_time",
                                    {{"ms", milliseconds(answer.measured_step_ns)}})
                    << '\n';
}

/// The records of the ranks that are done say what those of the rest will take.
void refuse_large(const FreeMemory& before, int32_t done, int32_t ranks) {
    constexpr int64_t kNoise = int64_t{64} << 20;  // other programs come and go
    const std::optional<FreeMemory> now = free_memory(look_at_memory());
    const int64_t taken = now ? before.bytes - now->bytes : 0;
    if (taken < kNoise || taken / done * (ranks - done) <= now->bytes) return;
    throw InvalidArgument({"predict.does_not_fit",
                           {{"ranks", int64_t{ranks}},
                            {"need", bytes_text(taken / done * ranks)},
                            {"free", bytes_text(before.bytes)}}});
}

/// Ranks that synchronise too seldom for all steps in between to be run do so after fewer. Whether that was
/// needed.
bool shorten_cycle(scenario::Scenario& scenario) {
    const parallel::Declaration& strategy = parallel::declaration(scenario.parallel.data);
    if (strategy.short_cycle == nullptr) return false;
    const auto shorter = strategy.short_cycle(scenario.parallel, scenario.steps);
    if (shorter) static_cast<parallel::StrategyOptions&>(scenario.parallel) = *shorter;
    return shorter.has_value();
}

void predict(const PredictArguments& options, CommandContext& context) {
    context.json_errors = options.json;
    scenario::Scenario scenario = scenario::read_scenario(options.scenario);
    if (options.profile) scenario.hardware = profile_option(*options.profile);
    Prediction answer;
    answer.steps = scenario.steps;
    if (!options.steps) answer.short_cycle = shorten_cycle(scenario);
    answer.steps_run = std::min(scenario.steps, options.steps.value_or(run::telling_steps(scenario)));
    answer.world_size = scenario::world_size(scenario);
    answer.shape = scenario.mesh_shape;
    answer.names = scenario.mesh_names;
    {
        ProgressBar bar(context.other_err(), context.err_is_tty && !options.json);
        run::DryOptions dry;
        dry.steps = answer.steps_run;
        dry.all_up_to = all_up_to(options.ranks);
        dry.cancel = context.cancelled;
        const std::optional<FreeMemory> before = free_memory(look_at_memory());
        dry.progress = [&](int32_t done, int32_t ranks) {
            if (before) refuse_large(*before, done, ranks);
            bar.show(
                done, ranks,
                context.text("cli.predict.progress", {{"done", int64_t{done}}, {"ranks", int64_t{ranks}}}));
        };
        const run::DryResult result = run::run_dry(scenario, dry);
        if (context.cancelled != nullptr && context.cancelled->load()) {
            context.exit_code = ExitCode::interrupted;
            return;
        }
        answer.predicted = run::summarize(*result.trace, scenario.hardware, time::Absent::as_present);
        answer.device_bytes = scenario.hardware.memory_bytes;
    }
    if (scenario.calls.empty()) answer.formula = run::zero_formula(scenario);
    answer.activations = run::activation_formula(scenario);
    if (options.measure) {
        scenario::Scenario really = scenario;
        really.steps = answer.steps_run;
        // A measurement leaves nothing behind: what it saves lies in a folder of its own.
        really.checkpoint.temporary = really.checkpoint.temporary || !really.checkpoint.folder.empty();
        really.checkpoint.folder.clear();
        run::RunOptions run_options;
        run_options.level = trace::Level::collectives;
        run_options.checked = false;  // its time is measured
        const run::RunResult result = run_with_progress(really, context, run_options, options.json);
        if (result.not_finite) {
            context.err << "meshscope: " << not_finite_text(*result.not_finite, context) << '\n';
            if (!scenario.expects_divergence) context.exit_code = ExitCode::diverged;
        }
        answer.measured = run::summarize(*result.trace, scenario.hardware, time::Absent::refused);
        answer.measured_step_ns =
            time::step_ns(*result.trace, time::measured(*result.trace), answer.measured->step);
    }
    if (options.json) return print_json(answer, context);
    context.out << context.text("cli.predict.head",
                                {{"ranks", static_cast<int64_t>(answer.predicted.ranks.size())},
                                 {"world", int64_t{answer.world_size}},
                                 {"step", int64_t{answer.predicted.step}}})
                << '\n';
    if (!answer.predicted.collectives.empty()) print_collectives(answer, context);
    print_memory(answer, context);
    print_fit(answer, context);
    print_ranks(answer, context);
    if (answer.steps_run < answer.steps)
        context.out << context.text(
                           answer.short_cycle ? "cli.predict.short_cycle" : "cli.predict.first_steps",
                           {{"run", int64_t{answer.steps_run}}, {"steps", int64_t{answer.steps}}})
                    << '\n';
}

}  // namespace

void add_predict_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("predict", context.text("cli.predict.about"));
    command->footer(context.text("cli.predict.examples"));
    auto options = std::make_shared<PredictArguments>();
    command->add_option("SCENARIO", options->scenario, context.text("cli.run.help.scenario"))->required();
    command->add_option("--ranks", options->ranks, context.text("cli.predict.help.ranks"))
        ->type_name("all|N");
    command->add_option("--steps", options->steps, context.text("cli.predict.help.steps"))
        ->check(CLI::Range(1, 1000000))
        ->type_name("N");
    command->add_option("--profile", options->profile, context.text("cli.predict.help.profile"))
        ->type_name("NAME|FILE");
    command->add_flag("--measure", options->measure, context.text("cli.predict.help.measure"));
    command->add_flag("--json", options->json, context.text("cli.help.json"));
    command->callback([options, &context] { predict(*options, context); });
}

}  // namespace meshscope::cli
