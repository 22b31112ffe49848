#include "app/cli/bench_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "app/cli/bench_collectives.h"
#include "app/cli/bench_fit.h"
#include "app/cli/bench_profile.h"
#include "app/cli/bench_step.h"
#include "app/cli/bench_table.h"
#include "app/cli/machine.h"
#include "app/cli/outputs.h"
#include "app/cli/self_start.h"
#include "app/cli/usage.h"
#include "app/cli/window_program.h"
#include "backends/registry.h"
#include "core/base/cores.h"
#include "core/base/json_text.h"
#include "core/base/replace_file.h"
#include "core/launch/placement.h"
#include "core/scenario/words.h"
#include "core/time/read_profile.h"

namespace meshscope::cli {
namespace {

using nlohmann::ordered_json;

/// The options as they were written.
struct CollectivesWords {
    bool force = false;
    std::string backend = "threads";
    int32_t ranks = 4;
    std::string sizes = "1K,64K,1M,16M";
    std::vector<std::string> ops;
    std::string algorithm = "direct";
    std::string record = "off";
    std::string table;
    bool sizes_named = false, ranks_named = false;
    std::string pin = "auto";
    int32_t repeats = CollectivesBench{}.repeats;
};

/// Three decimals are more than a clock of nanoseconds can promise here.
double rounded(double x) {
    return std::round(x * 1000) / 1000;
}

trace::Level parse_level(const std::string& word) {
    if (word == "off") return trace::Level::off;
    if (word == "collectives") return trace::Level::collectives;
    if (word == "hops") return trace::Level::hops;
    if (word == "values") return trace::Level::values;
    throw UsageError({"bench.level", {{"word", word}}});
}

/// "ring, direct, …"
std::string algorithm_words() {
    std::string words;
    for (const std::string_view word : scenario::algorithms())
        words += (words.empty() ? "" : ", ") + std::string(word);
    return words;
}

Algorithm parse_algorithm_word(const std::string& word) {
    const auto algorithm = parse_algorithm(word);
    if (!algorithm || *algorithm == Algorithm::none || *algorithm == Algorithm::own)
        throw UsageError({"bench.algorithm", {{"word", word}, {"known", algorithm_words()}}});
    return *algorithm;
}

CollectivesBench read(const CollectivesWords& words) {
    CollectivesBench bench;
    bench.backend = words.backend;
    bench.ranks = words.ranks;
    bench.sizes = parse_sizes(words.sizes);
    bench.level = parse_level(words.record);
    bench.algorithm = parse_algorithm_word(words.algorithm);
    bench.repeats = words.repeats;
    bench.pin = words.pin == "on" || (words.pin == "auto" && words.ranks <= usable_cores());
    if (!words.ops.empty()) bench.ops.clear();
    for (const std::string& word : words.ops) {
        const auto op = parse_collective_op(word);
        if (!op) throw UsageError({"bench.collectives.op", {{"op", word}}});
        bench.ops.push_back(*op);
    }
    return bench;
}

ordered_json json_of(const CollectivesBenchRow& row) {
    return {{"op", name(row.op)},
            {"bytes", row.bytes},
            {"ranks", row.ranks},
            {"backend", row.backend},
            {"algorithm", name(row.algorithm)},
            {"us", rounded(row.us)},
            {"algbw_GBps", rounded(row.algbw_GBps)},
            {"busbw_GBps", rounded(row.busbw_GBps)},
            {"memcpy_share", rounded(row.memcpy_share)}};
}

void write_table(const CollectivesWords& words, CommandContext& context) {
    check_outputs({{words.table, FileKind::choices}}, {}, words.force);
    TableBench bench;
    bench.backend = words.backend;
    if (words.sizes_named) bench.sizes = parse_sizes(words.sizes);
    std::sort(bench.sizes.begin(), bench.sizes.end());
    if (words.ranks_named)
        std::erase_if(bench.ranks, [&](int32_t ranks) { return ranks > std::max(words.ranks, 2); });
    const bool processes = backends::has_processes(bench.backend);
    const std::unique_ptr<run::Backends> backends = context.make_backends();
    const std::string text = measure_table(bench, !processes, [&](const CollectivesBench& one) {
        std::vector<CollectivesBenchRow> rows;
        const auto keep = [&](const CollectivesBenchRow& row) {
            rows.push_back(row);
            context.out << json_text(json_of(row)) << std::endl;
        };
        if (processes)
            bench_in_processes(one, context, keep);
        else
            run_collectives_bench(one, *backends, keep);
        return rows;
    });
    replace_file(words.table, text);
    context.err << context.text("cli.run.written", {{"path", words.table}}) << '\n';
}

void run(const CollectivesWords& words, CommandContext& context) {
    const launch::Placement placement = launch::find_placement(context.environment);
    const bool launched = placement.launcher != launch::Launcher::none;
    if (!words.table.empty()) {
        if (launched) throw UsageError({"bench.collectives.table_in_launcher", {}});
        return write_table(words, context);
    }
    refuse_threads_in_launcher(words.backend, words.ranks, placement);
    const CollectivesBench bench = read(words);
    if (backends::has_processes(bench.backend) && !launched) {
        backends::require_built(bench.backend, context.environment);
        require_room(bench);
        return run_in_own_processes(bench.backend, bench.ranks, 0, "", false, false, context);
    }
    if (placement.rank == 0)
        for (const int64_t bytes : bench.sizes)
            if (const int64_t measured = measured_bytes(bytes, bench.ranks); measured != bytes)
                context.err << context.text("bench.collectives.rounded", {{"bytes", bytes},
                                                                          {"measured", measured},
                                                                          {"ranks", int64_t{bench.ranks}}})
                            << '\n';
    run_collectives_bench(bench, *context.make_backends(), [&](const CollectivesBenchRow& row) {
        context.out << json_text(json_of(row)) << std::endl;  // at once: a large size takes a while
    });
}

void add_collectives(CLI::App& bench, CommandContext& context) {
    CLI::App* command = bench.add_subcommand("collectives", context.text("bench.collectives.about"));
    command->footer(context.text("bench.collectives.examples"));
    auto words = std::make_shared<CollectivesWords>();
    command->add_option("--backend", words->backend, context.text("bench.collectives.help.backend"))
        ->capture_default_str()
        ->type_name("B");
    command->add_option("--ranks", words->ranks, context.text("bench.collectives.help.ranks"))
        ->capture_default_str()
        ->type_name("N")
        ->check(CLI::Range(1, 1024))
        ->each([words](const std::string&) { words->ranks_named = true; });
    command->add_option("--sizes", words->sizes, context.text("bench.collectives.help.sizes"))
        ->capture_default_str()
        ->type_name("1K,64K")
        ->each([words](const std::string&) { words->sizes_named = true; });
    command->add_option("--ops", words->ops, context.text("bench.collectives.help.ops"))
        ->type_name("all_reduce,…")
        ->delimiter(',');
    command
        ->add_option("--algorithm", words->algorithm,
                     context.text("bench.collectives.help.algorithm", {{"known", algorithm_words()}}))
        ->capture_default_str()
        ->type_name("NAME");
    command->add_option("--record", words->record, context.text("bench.collectives.help.record"))
        ->capture_default_str()
        ->type_name("off|collectives|hops|values");
    command->add_flag("--force", words->force, context.text("cli.help.force"));
    command->add_option("--table", words->table, context.text("bench.collectives.help.table"))
        ->type_name("FILE");
    command->add_option("--pin", words->pin, context.text("bench.collectives.help.pin"))
        ->capture_default_str()
        ->type_name("auto|on|off")
        ->check(CLI::IsMember({"auto", "on", "off"}));
    command->add_option("--repeats", words->repeats, context.text("bench.collectives.help.repeats"))
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command->callback([words, command, &context] {
        refuse_empty_values(*command);
        run(*words, context);
    });
}

struct StepWords {
    StepBench bench;
    std::string backend = "threads";
    std::string algorithm = "direct";
    std::string record = "collectives";
    std::string profile;
};

void run(const StepWords& words, CommandContext& context) {
    refuse_threads_in_launcher(words.backend, words.bench.ranks, launch::find_placement(context.environment));
    StepBench bench = words.bench;
    bench.algorithm = parse_algorithm_word(words.algorithm);
    bench.level = parse_level(words.record);
    if (!words.profile.empty()) bench.profile = profile_option(words.profile);
    const StepBenchResult result = run_step_bench(bench, *context.make_backends(), words.backend);
    const bool recorded = bench.level != trace::Level::off;
    ordered_json line{{"strategy", bench.strategy},
                      {"ranks", bench.ranks},
                      {"ms", rounded(result.ms)},
                      {"ms_unrecorded", rounded(result.ms_unrecorded)},
                      {"record_percent", rounded(result.record_percent)},
                      {"event_ns", rounded(result.event_ns)},
                      {"tokens_per_s", rounded(result.tokens_per_s)},
                      {"product_ms", rounded(result.product_ms)},
                      {"peak_bytes", recorded ? ordered_json(result.peak_bytes) : ordered_json()},
                      {"process_peak_bytes", result.process_peak_bytes}};
    if (bench.profile && recorded) {
        line["profile"] = bench.profile->name;
        line["modelled_ms"] = rounded(result.modelled_ms);
        line["measured_over_modelled"] = rounded(result.ms / result.modelled_ms);
    }
    context.out << json_text(line) << std::endl;
}

void add_step(CLI::App& bench, CommandContext& context) {
    CLI::App* command = bench.add_subcommand("step", context.text("bench.step.about"));
    command->footer(context.text("bench.step.examples"));
    auto words = std::make_shared<StepWords>();
    StepBench& b = words->bench;
    const auto help = [&](const char* id) { return context.text(id); };
    command->add_option("--strategy", b.strategy, help("bench.step.help.strategy"))
        ->capture_default_str()
        ->type_name(step_strategies("|"));
    command->add_option("--ranks", b.ranks, help("bench.collectives.help.ranks"))
        ->capture_default_str()
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
    command->add_option("--backend", words->backend, help("bench.collectives.help.backend"))
        ->capture_default_str()
        ->type_name("B");
    command->add_option("--model", b.model.kind, help("bench.step.help.model"))
        ->capture_default_str()
        ->type_name("gpt|llama|mlp|toy");
    const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 20);
    command->add_option("--dim", b.model.dim, help("bench.step.help.dim"))
        ->capture_default_str()
        ->check(positive);
    command->add_option("--hidden", b.model.hidden, help("bench.step.help.hidden"))
        ->capture_default_str()
        ->check(positive);
    command->add_option("--layers", b.model.layers, help("bench.step.help.layers"))
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command->add_option("--heads", b.model.heads, help("bench.step.help.heads"))
        ->capture_default_str()
        ->check(positive);
    command->add_option("--kv-heads", b.model.kv_heads, help("bench.step.help.kv_heads"))
        ->capture_default_str()
        ->check(positive);
    command->add_option("--seq", b.model.seq, help("bench.step.help.seq"))
        ->capture_default_str()
        ->check(positive);
    command->add_option("--vocab", b.model.vocab, help("bench.step.help.vocab"))
        ->capture_default_str()
        ->check(positive);
    command->add_option("--batch", b.batch, help("bench.step.help.batch"))
        ->capture_default_str()
        ->check(positive);
    command->add_option("--optimizer", b.optimizer, help("bench.step.help.optimizer"))
        ->capture_default_str()
        ->type_name("sgd|adam|adamw");
    command->add_option("--steps", b.steps, help("bench.step.help.steps"))
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    command->add_option("--repeats", b.repeats, help("bench.step.help.repeats"))
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command
        ->add_option("--algorithm", words->algorithm,
                     context.text("bench.collectives.help.algorithm", {{"known", algorithm_words()}}))
        ->capture_default_str()
        ->type_name("NAME");
    command->add_option("--record", words->record, help("bench.collectives.help.record"))
        ->capture_default_str()
        ->type_name("collectives|hops|values");
    command->add_option("--profile", words->profile, help("bench.step.help.profile"))->type_name("NAME|FILE");
    command->callback([words, command, &context] {
        refuse_empty_values(*command);
        run(*words, context);
    });
}

struct ProfileWords {
    ProfileBench bench;
    ProfileFit fit;
    std::string out, name;
    bool force = false;
};

void run(ProfileWords words, CommandContext& context) {
    if (!words.fit.files.empty()) {
        words.fit.out = words.out;
        words.fit.name = words.name;
        words.fit.force = words.force;
        return fit_profile(words.fit, context);
    }
    if (!words.name.empty()) words.bench.name = words.name;
    refuse_threads_in_launcher(words.bench.backend, 2, launch::find_placement(context.environment));
    check_outputs({{words.out, FileKind::profile}}, {}, words.force);
    const time::Profile profile = measure_profile(words.bench, *context.make_backends());
    const std::string text = time::profile_text(profile, context.text("bench.profile.comment"));
    if (words.out.empty()) {
        context.out << text;
        return;
    }
    replace_file(words.out, text);
    context.err << context.text("cli.run.written", {{"path", words.out}}) << '\n';
}

void add_profile(CLI::App& bench, CommandContext& context) {
    CLI::App* command = bench.add_subcommand("profile", context.text("bench.profile.about"));
    command->footer(context.text("bench.profile.examples"));
    auto words = std::make_shared<ProfileWords>();
    command->add_flag("--force", words->force, context.text("cli.help.force"));
    command->add_option("--out", words->out, context.text("bench.profile.help.out"))->type_name("FILE.toml");
    command->add_option("--name", words->name, context.text("bench.profile.help.name"))->type_name("NAME");
    CLI::Option* backend =
        command->add_option("--backend", words->bench.backend, context.text("bench.collectives.help.backend"))
            ->type_name("B");
    CLI::Option* repeats =
        command->add_option("--repeats", words->bench.repeats, context.text("bench.profile.help.repeats"))
            ->check(CLI::Range(1, 1000));
    CLI::Option* fit = command->add_option("--fit", words->fit.files, context.text("bench.profile.help.fit"))
                           ->type_name("FILE")
                           ->excludes(backend)
                           ->excludes(repeats);
    command->add_option("--base", words->fit.base, context.text("bench.profile.help.base"))
        ->type_name("NAME|FILE")
        ->needs(fit);
    command->add_flag("--in-place", words->fit.in_place, context.text("bench.profile.help.in_place"))
        ->needs(fit);
    command->add_flag("--json", words->fit.json, context.text("cli.help.json"))->needs(fit);
    command->callback([words, command, &context] {
        refuse_empty_values(*command);
        run(*words, context);
    });
}

}  // namespace

namespace {

/// Drawing is measured by the program that draws.
void add_app(CLI::App& bench, CommandContext& context) {
    CLI::App* command = bench.add_subcommand("app", context.text("bench.app.about"));
    command->footer(context.text("bench.app.examples"));
    auto size = std::make_shared<std::string>("1280x720");
    command->add_option("--size", *size, context.text("bench.app.help.size"))
        ->capture_default_str()
        ->type_name("1280x720");
    command->callback([size, &context] {
        run_window_program({"--bench-app", "--size", *size}, "bench app", context);
    });
}

}  // namespace

void add_bench_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("bench", context.text("bench.about"));
    command->footer(context.text("bench.examples"));
    command->require_subcommand(1);
    add_collectives(*command, context);
    add_step(*command, context);
    add_profile(*command, context);
    add_app(*command, context);
}

}  // namespace meshscope::cli
