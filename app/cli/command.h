#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "app/i18n/catalogue.h"
#include "app/i18n/error_text.h"
#include "core/run/run.h"

namespace CLI {
class App;
}

namespace meshscope::cli {

using i18n::ExitCode;

/// What every command is handed: where to write, in which language, and what a run may use. Made once by
/// main.
struct CommandContext {
    std::ostream& out;  ///< data
    std::ostream& err;  ///< talk: warnings, errors
    const i18n::Catalogue& catalogue;
    i18n::Language language = i18n::Language::en;
    bool in_is_tty = false;
    bool out_is_tty = false;
    bool err_is_tty = false;
    /// Standard output and error themselves, past TerminalBuffer: for the output of other programs, which is
    /// passed on as it is, and for what this one draws in place. Null: `out` and `err`.
    std::ostream* raw_out = nullptr;
    std::ostream* raw_err = nullptr;
    std::string terminal_key{};            ///< of this program's own colours; see TerminalBuffer
    bool colour = false;                   ///< out may be coloured: a terminal, no NO_COLOR, no --no-color
    std::vector<std::string> arguments{};  ///< of the command line, without the program
    std::string program_folder{};          ///< where the executable lies; data may lie beside it
    std::function<std::string(const char* name)> environment{};  ///< "" when unset; the only way to getenv
    std::function<std::unique_ptr<run::Backends>()> make_backends{};  ///< the registry
    const std::atomic<bool>* cancelled = nullptr;                     ///< set by Ctrl-C, SIGTERM, SIGHUP
    const std::atomic<int>* signal = nullptr;                         ///< which of them, 0 for neither
    std::atomic<bool>* polled = nullptr;                              ///< see Polling

    /// How many mistakes of one input file are listed (--max-errors); 0: all.
    std::size_t most_mistakes = i18n::kMostMistakes;

    /// Set by a command's callback; main returns it.
    ExitCode exit_code = ExitCode::ok;
    /// Set by a callback whose data is JSON on stdout: then an exception is told there as JSON too.
    bool json_errors = false;
    /// Set when its JSON goes to a file: then an exception is told on stderr, in words and as JSON.
    bool json_errors_aside = false;

    /// SIGINT, SIGTERM or SIGHUP where this process was told to stop, else 0.
    int stop_signal() const { return signal ? signal->load() : 0; }
    std::string text(const Message& message) const { return catalogue.text(message, language); }
    std::string text(const std::string& id, std::vector<MessageArg> args = {}) const {
        return catalogue.text(Message{id, std::move(args)}, language);
    }
    std::ostream& other_out() const { return raw_out ? *raw_out : out; }
    std::ostream& other_err() const { return raw_err ? *raw_err : err; }
    /// An error in words, with as many of a file's mistakes as were asked for.
    i18n::ErrorText describe(const std::exception& error) const {
        return i18n::describe_error(error, catalogue, language, most_mistakes);
    }
    /// The phase's word, the pictures' own: "forward".
    std::string phase(Phase phase) const { return text("view.phase." + std::string(name(phase))); }
    /// `words` in bold, or in a colour, when colour is on. Codes: "1" bold, "2" dim, "31" red, "32" green,
    /// "33" yellow.
    std::string styled(const std::string& words, const char* code) const {
        if (!colour) return words;
        const std::string begin = "\x1b[" + terminal_key;
        return begin + code + "m" + words + begin + "0m";
    }
};

/// While one lives, the first Ctrl-C (or SIGTERM) only sets context.cancelled, and whoever holds it looks
/// there and ends in order; a second one ends the process. Without one the first ends the process at once.
/// One that an exception ends stays in force: a program that fails is on its way out, and a launcher that
/// stops it there must not cut its last words.
class Polling {
  public:
    explicit Polling(const CommandContext& context) : polled_(context.polled) {
        if (polled_) before_ = polled_->exchange(true);
    }
    ~Polling() {
        if (polled_ && std::uncaught_exceptions() == thrown_) polled_->store(before_);
    }
    Polling(const Polling&) = delete;
    Polling& operator=(const Polling&) = delete;

  private:
    std::atomic<bool>* polled_;
    bool before_ = false;
    int thrown_ = std::uncaught_exceptions();
};

/// How a command is made. Each has a file pair app/cli/X_command.{h,cpp} with one function
///
///     void add_X_command(CLI::App& app, CommandContext& context);
///
/// that adds its subcommand, with the description, the options' help and the examples (footer) from the
/// catalogue
/// ("cli.X.about", "cli.X.examples"), keeps its option values in a shared_ptr that the callback holds, and
/// gives subcommand->callback(…) a function that does the work and sets context.exit_code. Mistakes are
/// thrown (InputError, InvalidArgument, IoError, CommError …): main turns them into words and the exit code.
/// UsageError is for combinations of options that CLI11 cannot check. The command is entered in the table of
/// commands.cpp.
class UsageError : public Error {
    using Error::Error;
};

/// Every command of this program, in the order of the help.
void add_commands(CLI::App& app, CommandContext& context);

}  // namespace meshscope::cli
