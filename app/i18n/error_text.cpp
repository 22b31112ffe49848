#include "app/i18n/error_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/base/cause.h"
#include "core/base/diagnosis.h"
#include "core/base/json_text.h"
#include "core/base/text.h"

namespace meshscope::i18n {
namespace {

using nlohmann::json;

json to_json(const MessageValue& value) {
    return std::visit([](const auto& v) { return json(v); }, value);
}

json to_json(const Message& message, const Catalogue& catalogue, Language language) {
    json args = json::object();
    for (const MessageArg& arg : message.args) args[arg.name] = to_json(arg.value);
    return {{"id", message.id}, {"args", args}, {"text", catalogue.text(message, language)}};
}

ErrorText one(ExitCode code, const Message& message, const Catalogue& catalogue, Language language) {
    const json entry = to_json(message, catalogue, language);
    return {code, {catalogue.text(message, language)}, json_text(json{{"errors", json::array({entry})}})};
}

/// A retry may help when a rank was lost or a wire is bad; when the ranks' calls do not fit together it
/// cannot: that is a check that failed.
ExitCode exit_code_of(DiagnosisKind kind) {
    switch (kind) {
        case DiagnosisKind::mismatch:
        case DiagnosisKind::deadlock:
        case DiagnosisKind::missing:
            return ExitCode::check_failed;
        case DiagnosisKind::timeout:
            return ExitCode::timeout;
        default:
            return ExitCode::peer_lost;
    }
}

/// The same by the sentence alone: what a rank in another process was told of a diagnosis, or of why another
/// failed first.
ExitCode exit_code_of(const std::string& id) {
    if (id.ends_with("timeout")) return ExitCode::timeout;
    const bool calls_do_not_fit =
        id.starts_with("diagnosis.mismatch") || id == "comm.deadlock" || tells_of_missing(id);
    return calls_do_not_fit ? ExitCode::check_failed : ExitCode::peer_lost;
}

ErrorText diagnosed(const DiagnosedError& error, const Catalogue& catalogue, Language language) {
    json entry = to_json(error.message(), catalogue, language);
    entry["diagnosis"] = parse_json<json>(meshscope::to_json(error.diagnosis()));
    return {exit_code_of(error.diagnosis().kind),
            {catalogue.text(error.message(), language)},
            json_text(json{{"errors", json::array({entry})}})};
}

/// As place(), a byte in words.
std::string place(const SourcePosition& position, const Catalogue& catalogue, Language language) {
    if (position.line > 0 || position.byte < 1) return i18n::place(position);
    return catalogue.text({"error.at_byte", {{"file", position.file}, {"byte", position.byte}}}, language);
}

ErrorText all(const InputError& error, const Catalogue& catalogue, Language language, std::size_t most) {
    ErrorText result{ExitCode::bad_input, {}, {}};
    json entries = json::array();
    const std::size_t found = error.diagnostics().size(), listed = most == 0 ? found : std::min(most, found);
    for (std::size_t i = 0; i < listed; ++i) {
        const Diagnostic& diagnostic = error.diagnostics()[i];
        const std::string where = place(diagnostic.position, catalogue, language);
        result.lines.push_back((where.empty() ? "" : where + ": ") +
                               catalogue.text(diagnostic.message, language));
        json entry = to_json(diagnostic.message, catalogue, language);
        if (!diagnostic.position.file.empty()) entry["file"] = diagnostic.position.file;
        if (diagnostic.position.line > 0) entry["line"] = diagnostic.position.line;
        if (diagnostic.position.column > 0) entry["column"] = diagnostic.position.column;
        if (diagnostic.position.byte >= 0) entry["byte"] = diagnostic.position.byte;
        if (!diagnostic.hint.id.empty()) {
            const std::string hint = catalogue.text(diagnostic.hint, language);
            result.lines.push_back("    " + hint);
            entry["hint_id"] = diagnostic.hint.id;
            entry["hint"] = hint;
        }
        entries.push_back(std::move(entry));
    }
    if (error.diagnostics().empty()) return one(ExitCode::bad_input, error.message(), catalogue, language);
    json told{{"errors", entries}};
    if (const std::size_t more = found - listed; more > 0) {
        told["more"] = more;
        result.lines.push_back(
            catalogue.text({"error.more_mistakes", {{"more", static_cast<int64_t>(more)}}}, language));
    }
    result.json = json_text(told);
    return result;
}

/// What this build or machine lacks for a backend; nothing is wrong with what was asked.
bool is_missing_backend(std::string_view id) {
    constexpr std::array<std::string_view, 15> kIds{
        "backend.unknown",    "backend.not_built",  "gpu.not_built",     "gpu.cannot_load",
        "gpu.no_driver",      "gpu.driver_too_old", "gpu.no_device",     "nccl.not_built",
        "nccl.cannot_load",   "nccl.no_library",    "gpu.other_version", "gpu.cannot_start",
        "nccl.other_version", "nccl.other_memory",  "html.no_page"};
    return std::ranges::find(kIds, id) != kIds.end();
}

/// What has an exit code of its own whatever kind of error it is.
std::optional<ExitCode> own_code(std::string_view id) {
    if (id == "file.output_is_input" || id == "file.other_kind" || id == "launch.log_not_ours")
        return ExitCode::usage;
    if (id.starts_with("device.out_of_memory") || id.starts_with("run.does_not_fit") ||
        id == "predict.does_not_fit" || id == "bench.collectives.does_not_fit" ||
        id == "error.out_of_memory" || id.starts_with("error.no_thread") || id == "error.too_few_threads" ||
        id == "window.no_room")
        return ExitCode::out_of_memory;
    if (id.starts_with("run.not_finite") || id == "checkpoint.restart_not_finite") return ExitCode::diverged;
    return std::nullopt;
}

ErrorText text_of(const std::exception& error, const Catalogue& catalogue, Language language,
                  std::size_t most) {
    if (const auto* input = dynamic_cast<const InputError*>(&error))
        return all(*input, catalogue, language, most);
    if (const auto* found = dynamic_cast<const DiagnosedError*>(&error))
        return diagnosed(*found, catalogue, language);
    if (const auto* ours = dynamic_cast<const Error*>(&error)) {
        const Message& message = ours->message();
        ExitCode code = ExitCode::internal;
        if (const auto own = own_code(message.id)) {
            code = *own;
        } else if (is_missing_backend(message.id)) {
            code = ExitCode::backend_missing;
        } else if (dynamic_cast<const InvalidArgument*>(&error)) {
            code = ExitCode::bad_input;
        } else if (dynamic_cast<const Cancelled*>(&error)) {
            code = ExitCode::interrupted;
        } else if (dynamic_cast<const IoError*>(&error)) {
            code = ExitCode::io;
        } else if (dynamic_cast<const CommError*>(&error)) {
            code = exit_code_of(cause_in(message).value_or(message).id);
        }
        return one(code, message, catalogue, language);
    }
    const Message message = message_of(error);
    return one(own_code(message.id).value_or(ExitCode::internal), message, catalogue, language);
}

}  // namespace

std::span<const ExitCodeText> exit_codes() {
    using enum ExitCode;
    static constexpr std::array kCodes{ExitCodeText{ok, "exit.ok"},
                                       ExitCodeText{check_failed, "exit.check_failed"},
                                       ExitCodeText{usage, "exit.usage"},
                                       ExitCodeText{bad_input, "exit.bad_input"},
                                       ExitCodeText{backend_missing, "exit.backend_missing"},
                                       ExitCodeText{internal, "exit.internal"},
                                       ExitCodeText{out_of_memory, "exit.out_of_memory"},
                                       ExitCodeText{io, "exit.io"},
                                       ExitCodeText{peer_lost, "exit.peer_lost"},
                                       ExitCodeText{diverged, "exit.diverged"},
                                       ExitCodeText{timeout, "exit.timeout"},
                                       ExitCodeText{hung_up, "exit.hung_up"},
                                       ExitCodeText{interrupted, "exit.interrupted"},
                                       ExitCodeText{reader_gone, "exit.reader_gone"},
                                       ExitCodeText{terminated, "exit.terminated"}};
    return kCodes;
}

std::string place(const SourcePosition& position) {
    std::string text = position.file;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ":") + part; };
    if (position.line > 0) {
        add(std::to_string(position.line));
        if (position.column > 0) add(std::to_string(position.column));
    } else if (position.byte > 0) {  // at the beginning the file says enough
        add("byte " + std::to_string(position.byte));
    }
    return text;
}

ErrorText describe_error(const std::exception& error, const Catalogue& catalogue, Language language,
                         std::size_t most) {
    ErrorText text = text_of(error, catalogue, language, most);
    for (std::string& line : text.lines) line = printable(line, "\n\t");
    return text;
}

}  // namespace meshscope::i18n
