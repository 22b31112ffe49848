#include "app/cli/launch_command.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <memory>

#include "app/cli/finish_writing.h"
#include "app/cli/outputs.h"
#include "app/cli/usage.h"
#include "app/launch/agent.h"
#include "app/launch/writer.h"
#include "core/base/same_file.h"

namespace meshscope::cli {
namespace {

struct LaunchArguments {
    int32_t workers = 1, node_rank = -1, max_restarts = 0;
    double last_call_s = 2, timeout_s = 600;
    std::string nodes = "1", endpoint, run_id, bind = "127.0.0.1", log_dir, report;
    bool no_prefix = false, force = false;
    std::vector<std::string> command;
};

/// Seconds, a day's at most; CLI::Range would let "nan" pass. In words that describe_usage_error() knows.
std::string is_wait(const std::string& word) {
    constexpr double kDay = 86400;
    double seconds = -1;
    const bool read = CLI::detail::lexical_cast(word, seconds);
    return read && seconds >= 0 && seconds <= kDay ? "" : "Number " + word + " not in range 0 to 86400";
}

/// "2" or "1:4".
std::pair<int32_t, int32_t> read_nodes(const std::string& text) {
    const auto number = [&](std::string_view digits) {
        int32_t n = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
        if (error != std::errc() || end != digits.data() + digits.size() || n < 1)
            throw UsageError({"launch.nodes", {{"nodes", text}}});
        return n;
    };
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) return {number(text), number(text)};
    const auto least = number(std::string_view(text).substr(0, colon)),
               most = number(std::string_view(text).substr(colon + 1));
    if (least > most) throw UsageError({"launch.nodes", {{"nodes", text}}});
    return {least, most};
}

void launch_command(const LaunchArguments& options, CommandContext& context) {
    const auto [least, most] = read_nodes(options.nodes);
    // Another node than 0 joins a job elsewhere, of however many it thinks.
    if ((most > 1 || options.node_rank > 0) && options.endpoint.empty())
        throw UsageError({"launch.endpoint_missing", {}});
    if (most > 1 && options.node_rank < 0) throw UsageError({"launch.node_rank_missing", {}});
    check_outputs({{options.report, FileKind::json}}, {}, options.force);
    launch::LaunchOptions job;
    job.command = options.command;
    const auto milliseconds = [](double seconds) {
        return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
    };
    job.meeting = {.leads = options.node_rank <= 0,
                   .node_rank = options.node_rank,
                   .workers = options.workers,
                   .min_nodes = least,
                   .max_nodes = most,
                   .max_restarts = options.max_restarts,
                   .last_call = milliseconds(options.last_call_s),
                   .timeout = milliseconds(options.timeout_s)};
    job.endpoint = options.endpoint;
    job.bind = options.bind;
    job.run_id = options.run_id;
    job.log_dir = options.log_dir;
    job.force = options.force;
    job.report = options.report;
    job.prefixes = !options.no_prefix;
    job.signal = [&] { return context.stop_signal(); };
    // Who reads one of two files does not hold up the other; of one file there is one order.
    // A Writer's thread could not tell of a failed write by an exception.
    context.out.exceptions(std::ios::goodbit);
    context.other_out().exceptions(std::ios::goodbit);
    launch::Writer out(context.other_out()), err(context.other_err());
    launch::Writer& talk = is_same_file("/dev/stdout", "/dev/stderr") ? out : err;
    job.tell = [&](const Message& message) { talk.add("meshscope: " + context.text(message) + '\n'); };
    const auto finish = [&] {
        finish_writing(out, context);
        finish_writing(err, context);
    };
    const Polling polling(context);
    try {
        const launch::LaunchResult result = launch::launch_workers(job, out, talk);
        context.exit_code = static_cast<ExitCode>(result.exit_code);
    } catch (...) {
        finish();
        throw;
    }
    finish();
    // As a program ends that writes where nobody reads, and no other: nothing can be told there.
    if (out.reader_has_gone()) {
        std::signal(SIGPIPE, SIG_DFL);
        std::raise(SIGPIPE);
    }
}

}  // namespace

void add_launch_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("launch", context.text("cli.launch.about"));
    command->footer(context.text("cli.launch.examples"));
    auto options = std::make_shared<LaunchArguments>();
    const auto help = [&](const char* name) { return context.text(std::string("cli.launch.help.") + name); };
    command->add_option("-n,--nproc-per-node", options->workers, help("workers"))
        ->check(CLI::Range(1, 4096))
        ->type_name("N");
    command->add_option("--nodes,--nnodes", options->nodes, help("nodes"))->type_name("A:B");
    command->add_option("--node-rank", options->node_rank, help("node_rank"))
        ->check(CLI::Range(0, 65535))
        ->type_name("N");
    command->add_option("--rdzv-endpoint", options->endpoint, help("endpoint"))->type_name("HOST:PORT");
    command->add_option("--rdzv-id", options->run_id, help("run_id"))->type_name("ID");
    command->add_option("--bind", options->bind, help("bind"))->type_name("ADDRESS");
    command->add_option("--max-restarts", options->max_restarts, help("max_restarts"))
        ->check(CLI::Range(0, 1000000))
        ->type_name("K");
    command->add_option("--last-call", options->last_call_s, help("last_call"))
        ->check(is_wait)
        ->type_name("SECONDS");
    command->add_option("--rdzv-timeout", options->timeout_s, help("timeout"))
        ->check(is_wait)
        ->type_name("SECONDS");
    command->add_option("--log-dir", options->log_dir, help("log_dir"))->type_name("FOLDER");
    command->add_option("--report", options->report, help("report"))->type_name("FILE");
    command->add_flag("--force", options->force, context.text("cli.help.force"));
    command->add_flag("--no-prefix", options->no_prefix, help("no_prefix"));
    command->add_option("COMMAND", options->command, help("command"))->required()->expected(-1);
    command->callback([options, command, &context] {
        refuse_empty_values(*command);
        if (options->command.front().empty())  // its own arguments may be
            throw UsageError({"cli.empty_argument", {{"name", std::string("COMMAND")}}});
        launch_command(*options, context);
    });
}

}  // namespace meshscope::cli
