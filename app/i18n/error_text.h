#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "app/i18n/catalogue.h"
#include "core/base/error.h"

namespace meshscope::i18n {

/// What the process ends with; the numbers are a contract (sysexits.h where it has one).
enum class ExitCode : int {
    ok = 0,
    check_failed = 1,
    usage = 2,
    bad_input = 65,
    backend_missing = 69,
    internal = 70,
    out_of_memory = 71,
    io = 74,
    peer_lost = 75,
    diverged = 79,  ///< the training came to NaN or Inf
    timeout = 124,
    hung_up = 129,      ///< its terminal was closed: 128 + SIGHUP
    interrupted = 130,  ///< Ctrl-C: 128 + SIGINT, as shells count it
    reader_gone = 141,  ///< whoever read standard output has enough: 128 + SIGPIPE
    terminated = 143    ///< 128 + SIGTERM
};

/// One exit code of `meshscope`, for its help and its documents.
struct ExitCodeText {
    ExitCode code;
    const char* id;  ///< what it means, a message without arguments
};
/// All there are, ascending.
std::span<const ExitCodeText> exit_codes();

/// An exception, told to a person or to a program.
struct ErrorText {
    ExitCode exit_code = ExitCode::internal;
    /// One a line, ready to print: "file:line:col: what is wrong", each followed by its hint where there is
    /// one. What files and other programs have their say in cannot steer a terminal.
    std::vector<std::string> lines;
    /// {"errors":[{"id","args":{…},"text","file","line","column","byte","hint_id","hint"}…]}: the same for
    /// programs. A DiagnosedError's entry holds "diagnosis" (core/base/diagnosis.h) too.
    std::string json;
};

/// How many mistakes of one file are listed when nobody asks for more.
inline constexpr std::size_t kMostMistakes = 20;

/// The one place that maps exceptions to words and exit codes: InputError and InvalidArgument → 65 (unknown
/// or unbuilt backends → 69), IoError → 74, CommError → 75 (time-outs → 124), but a DiagnosedError by its
/// kind (and its sentence alone likewise, also as the cause of "comm.aborted"): mismatch, deadlock and
/// missing → 1, timeout → 124, others → 75; DeviceError and everything unforeseen → 70; Cancelled → 130; an
/// output that is an input, or would take another kind of file's place ("file.output_is_input",
/// "file.other_kind") → 2; memory, threads or processes that do not suffice, by prediction or by failure →
/// 71; numbers that are not finite ("run.not_finite" …) → 79. Of more than `most` mistakes of a file the
/// first are listed, in the words and in the JSON, and the others counted: by a last line, and as "more"
/// beside "errors". 0: all are listed.
ErrorText describe_error(const std::exception& error, const Catalogue& catalogue, Language language,
                         std::size_t most = kMostMistakes);

/// "file:line:col" with only the parts that are known ("file:byte N" for binary files).
std::string place(const SourcePosition& position);

}  // namespace meshscope::i18n
