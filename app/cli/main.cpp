#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>

#include "app/cli/command.h"
#include "app/cli/help_formatter.h"
#include "app/cli/self_start.h"
#include "app/cli/terminal.h"
#include "app/cli/usage.h"
#include "app/cli/version.h"
#include "app/launch/failure.h"
#include "backends/registry.h"
#include "core/base/address_space.h"
#include "core/base/clock.h"
#include "core/base/open_parts.h"
#include "core/base/text.h"
#include "core/tensor/device.h"

namespace meshscope::cli {
namespace {

// A signal handler can reach nothing else.
std::atomic<bool> g_cancelled{false};  ///< it was asked to stop
std::atomic<int> g_signal{0};          ///< by this signal
std::atomic<bool> g_polled{false};     ///< what runs looks at g_cancelled

extern "C" void on_interrupt(int signal) {
    int none = 0;
    g_signal.compare_exchange_strong(none, signal);
    // A terminal that is closed says so twice, by the shell and by the system: that is one wish, not two.
    if (signal == SIGHUP && g_cancelled && g_polled) return;
    // A second Ctrl-C means it, and where nobody looks at the flag the first does: the default action ends
    // the process at once.
    if (g_cancelled.exchange(true) || !g_polled) {
        remove_open_parts();
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// The language must be known before the help is written, so it is read ahead of everything else.
i18n::Language choose_language(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--lang" && i + 1 < argc) return i18n::language_from({argv[i + 1]});
        if (word.starts_with("--lang=")) return i18n::language_from({word.substr(7)});
    }
    return i18n::language_from({environment("LC_ALL"), environment("LC_MESSAGES"), environment("LANG")});
}

bool has_word(int argc, char** argv, const std::string& word) {
    for (int i = 1; i < argc; ++i)
        if (word == argv[i]) return true;
    return false;
}

std::string program_folder() {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string() : self.parent_path().string();
}

/// A standard stream that the caller closed would be the first file that this program opens. What stands in
/// for it gives nothing and takes nothing: writing to it fails as before.
void fill_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
}

void set_up(CLI::App& app, CommandContext& context) {
    app.name("meshscope");
    app.description(context.text("cli.about"));
    std::string codes;
    for (const i18n::ExitCodeText& each : i18n::exit_codes()) {
        const std::string number = std::to_string(static_cast<int>(each.code));
        codes += (codes.empty() ? "" : "\n") + std::string(5 - number.size(), ' ') + number + "  " +
                 context.text(each.id);
    }
    app.footer(context.text("cli.examples", {{"codes", codes}}));
    const std::string options = context.text("cli.help.options");
    app.option_defaults()->group(options);
    app.formatter(std::make_shared<HelpFormatter>(context));  // before any command: they inherit it
    app.set_help_flag("-h,--help", context.text("cli.help.help"));
    app.set_version_flag("--version", version_text(context), context.text("cli.help.version"))
        ->group(options);
    const std::string about_lang = context.text("cli.help.lang");
    app.add_option("--lang", about_lang)->check(CLI::IsMember({"en", "zh"}))->type_name("en|zh");
    const std::string about_no_color = context.text("cli.help.no_color");
    app.add_flag("--no-color", about_no_color);  // read by has_word: colour is decided before parsing
    app.add_option("--max-errors", context.most_mistakes, context.text("cli.help.max_errors"))
        ->check(CLI::Range(0, 1000000))
        ->type_name("N");
    app.fallthrough();
    app.require_subcommand(1);
}

/// CLI11 makes help flags and groups with English headings; this gives all of them ours.
void translate_headings(CLI::App& app, const CommandContext& context) {
    if (app.get_help_ptr()) app.get_help_ptr()->group(context.text("cli.help.options"));
    for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
        sub->group(context.text("cli.help.subcommands"));
        translate_headings(*sub, context);
    }
}

/// Of work that a signal stopped: 128 + the signal, as shells count it.
int exit_number(ExitCode code) {
    const int signal = g_signal;
    return code == ExitCode::interrupted && signal != 0 ? 128 + signal : static_cast<int>(code);
}

/// For a launcher that wants to know why, in the file that it named (torchrun's way).
void leave_last_words(const std::exception& error, const i18n::ErrorText& text) {
    const std::string path = environment("TORCHELASTIC_ERROR_FILE");
    // Who was told to stop did not fail.
    if (path.empty() || dynamic_cast<const Cancelled*>(&error) != nullptr) return;
    launch::Failure failure;
    failure.exit_code = exit_number(text.exit_code);
    failure.time_ns = wall_ns();
    for (const std::string& line : text.lines) failure.text += (failure.text.empty() ? "" : "\n") + line;
    failure.json = text.json;
    failure.id = "error";
    if (const auto* ours = dynamic_cast<const Error*>(&error)) failure.id = ours->message().id;
    if (const auto* comm = dynamic_cast<const CommError*>(&error)) failure.secondary = comm->secondary();
    launch::write_error_file(path, failure);
}

/// Standard output could not be written. Where its reader has enough (`| head`) that is no failure: the
/// program ends in silence, as one that SIGPIPE ends.
int stdout_failed(const CommandContext& context) {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    if (poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0)
        return static_cast<int>(ExitCode::reader_gone);
    context.err << "meshscope: " << context.text("error.stdout") << '\n';
    return static_cast<int>(ExitCode::io);
}

int run_program(int argc, char** argv) {
    fill_standard_streams();
    const i18n::Catalogue catalogue = i18n::Catalogue::embedded();
    const std::string key = make_terminal_key();
    TerminalBuffer shown_out(*std::cout.rdbuf(), key), shown_err(*std::cerr.rdbuf(), key);
    std::ostream out(&shown_out), err(&shown_err);
    err << std::unitbuf;
    CommandContext context{.out = out, .err = err, .catalogue = catalogue};
    context.raw_out = &std::cout;
    context.raw_err = &std::cerr;
    context.terminal_key = key;
    context.language = choose_language(argc, argv);
    context.in_is_tty = isatty(STDIN_FILENO) == 1;
    context.out_is_tty = isatty(STDOUT_FILENO) == 1;
    context.err_is_tty = isatty(STDERR_FILENO) == 1;
    context.colour =
        context.out_is_tty && environment("NO_COLOR").empty() && !has_word(argc, argv, "--no-color");
    context.program_folder = program_folder();
    context.environment = environment;
    context.arguments.assign(argv + 1, argv + argc);
    context.make_backends = [] {
        // Who computes may load OpenBLAS, whose threads nobody uses here: where there is no memory for them,
        // it would try to start them for ever.
        setenv("OPENBLAS_NUM_THREADS", "1", 0);
        return backends::make_registry(environment, [] { return g_cancelled.load(); });
    };
    context.cancelled = &g_cancelled;
    context.signal = &g_signal;
    context.polled = &g_polled;
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    // A closed terminal ends a run as SIGTERM does; under nohup, which ignores it, it goes on.
    if (std::signal(SIGHUP, on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write: what was begun is cleaned up
    std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that may not grow any more
    // What nobody reads need not be computed to its end.
    context.out.exceptions(std::ios::badbit);

    CLI::App app;
    set_up(app, context);
    add_commands(app, context);
    translate_headings(app, context);
    const auto tell = [&](const std::vector<std::string>& lines) {
        for (const std::string& line : lines) context.err << "meshscope: " << line << '\n';
    };
    try {
        const std::string blas = environment("MESHSCOPE_BLAS");
        if (!blas.empty()) tensor::use_mat_mul_library(blas);
        app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        std::ostringstream text;
        app.exit(success, text, context.err);
        context.out.exceptions(std::ios::goodbit);
        context.out << text.str();
    } catch (const CLI::ParseError& error) {
        tell(describe_usage_error(app, error.get_exit_code(), error.what(), context));
        return static_cast<int>(ExitCode::usage);
    } catch (const UsageError& error) {
        tell({context.text(error.message())});
        return static_cast<int>(ExitCode::usage);
    } catch (const std::exception& error) {
        context.out.exceptions(std::ios::goodbit);
        if (!context.out) return stdout_failed(context);
        const i18n::ErrorText text = context.describe(error);
        leave_last_words(error, text);
        if (environment(kQuietErrorsVariable).empty()) {
            tell(text.lines);
            if (context.json_errors) context.out << text.json << '\n';
            if (context.json_errors_aside) context.err << text.json << '\n';
        }
        context.out.flush();
        return exit_number(text.exit_code);
    }
    context.out.exceptions(std::ios::goodbit);
    context.out.flush();
    if (!context.out || !context.other_out()) return stdout_failed(context);
    return exit_number(context.exit_code);
}

}  // namespace
}  // namespace meshscope::cli

int main(int argc, char** argv) {
    try {
        meshscope::spare_address_space();
        return meshscope::cli::run_program(argc, argv);
    } catch (const std::bad_alloc&) {  // too little even for the texts
        std::fputs("meshscope: out of memory / 内存不足\n", stderr);
        return static_cast<int>(meshscope::cli::ExitCode::out_of_memory);
    } catch (const std::exception& error) {
        std::cerr << "meshscope: " << meshscope::printable(error.what(), "\n\t") << '\n';
        return static_cast<int>(meshscope::cli::ExitCode::internal);
    }
}
