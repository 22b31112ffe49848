#pragma once

#include <exception>
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
    io = 74,
    peer_lost = 75,
    timeout = 124,
    interrupted = 130  ///< Ctrl-C: 128 + SIGINT, as shells count it
};

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

/// The one place that maps exceptions to words and exit codes: InputError and InvalidArgument → 65 (unknown
/// or unbuilt backends → 69), IoError → 74, CommError → 75 (time-outs → 124), but a DiagnosedError by its
/// kind (and its sentence alone likewise, also as the cause of "comm.aborted"): mismatch, deadlock and
/// missing → 1, timeout → 124, others → 75; DeviceError and everything unforeseen → 70; Cancelled → 130; an
/// output that is an input ("file.output_is_input") → 2.
ErrorText describe_error(const std::exception& error, const Catalogue& catalogue, Language language);

/// "file:line:col" with only the parts that are known ("file:byte N" for binary files).
std::string place(const SourcePosition& position);

}  // namespace meshscope::i18n
