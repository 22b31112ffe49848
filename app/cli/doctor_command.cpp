#include "app/cli/doctor_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "app/cli/machine.h"
#include "app/cli/table.h"
#include "app/cli/version.h"
#include "backends/registry.h"
#include "core/tensor/device.h"

namespace meshscope::cli {
namespace {

using nlohmann::ordered_json;

std::string gibibytes(int64_t bytes) {
    const int64_t tenths = (bytes * 10 + (int64_t{1} << 29)) >> 30;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

ordered_json as_json(const Machine& machine, const std::vector<std::string>& backends,
                     const std::vector<backends::BackendState>& states) {
    ordered_json libraries = ordered_json::object();
    for (const backends::BackendState& state : states)
        if (!state.detail.empty()) libraries[state.name] = state.detail;

    const auto or_null = [](const std::string& text) {
        return text.empty() ? ordered_json() : ordered_json(text);
    };
    return {{"version", version_number()},
            {"git", or_null(version_git_hash())},
            {"compiler", version_compiler()},
            {"build_type", version_build_type()},
            {"cpu", or_null(machine.cpu)},
            {"cores", machine.cores},
            {"memory_bytes", machine.memory_bytes},
            {"memory_available_bytes", machine.memory_available_bytes},
            {"backends", backends},
            {"backend_libraries", libraries},
            {"blas", tensor::mat_mul_library()},
            {"chinese_fonts", machine.chinese_fonts},
            {"display", or_null(machine.display)},
            {"egl", machine.egl},
            {"opengl", machine.opengl},
            {"ffmpeg", or_null(machine.ffmpeg)},
            {"limits",
             {{"open_files", machine.open_files_limit},
              {"address_space_bytes", machine.address_space_limit_bytes}}}};
}

std::string limit_text(int64_t value, const CommandContext& context) {
    return value < 0 ? context.text("cli.doctor.unlimited") : std::to_string(value);
}

void print(const Machine& machine, const std::vector<std::string>& backends,
           const std::vector<backends::BackendState>& states, CommandContext& context) {
    const std::string none = context.text("cli.doctor.none");
    const auto word = [&](bool yes) { return context.text(yes ? "cli.doctor.yes" : "cli.doctor.no"); };
    const std::string hash = version_git_hash();
    Table table;
    const auto row = [&](const char* id, const std::string& value) {
        table.rows.push_back({context.text(id), value});
    };
    row("cli.doctor.version", version_number() + (hash.empty() ? "" : " (" + hash + ")"));
    row("cli.doctor.compiler", version_compiler() + ", " + version_build_type());
    row("cli.doctor.cpu", (machine.cpu.empty() ? none : machine.cpu));
    row("cli.doctor.cores", std::to_string(machine.cores));
    row("cli.doctor.memory",
        context.text("cli.doctor.memory_value", {{"total", gibibytes(machine.memory_bytes)},
                                                 {"available", gibibytes(machine.memory_available_bytes)}}));
    row("cli.doctor.backends", joined(backends));
    for (const backends::BackendState& state : states)
        if (state.built && !state.detail.empty()) table.rows.push_back({"  " + state.name, state.detail});
    row("cli.doctor.blas", std::string(tensor::mat_mul_library()));
    row("cli.doctor.fonts", machine.chinese_fonts.empty() ? none : joined(machine.chinese_fonts));
    row("cli.doctor.display", machine.display.empty() ? none : machine.display);
    row("cli.doctor.opengl", word(machine.opengl));
    row("cli.doctor.egl", word(machine.egl));
    row("cli.doctor.ffmpeg", machine.ffmpeg.empty() ? none : machine.ffmpeg);
    row("cli.doctor.open_files", limit_text(machine.open_files_limit, context));
    row("cli.doctor.address_space", limit_text(machine.address_space_limit_bytes, context));
    print_table(table, context.out);

    // What is missing is said with what it means, because most of it is no fault.
    for (const backends::BackendState& state : states)
        if (!state.built)
            context.err << (state.detail.empty()
                                ? context.text("cli.doctor.no_backend",
                                               {{"name", state.name}, {"package", state.package}})
                                : context.text("cli.doctor.bad_backend",
                                               {{"name", state.name}, {"reason", state.detail}}))
                        << '\n';
    if (machine.chinese_fonts.empty()) context.err << context.text("cli.doctor.no_fonts") << '\n';
    if (machine.display.empty()) context.err << context.text("cli.doctor.no_display") << '\n';
    if (!machine.egl) context.err << context.text("cli.doctor.no_egl") << '\n';
    if (machine.ffmpeg.empty()) context.err << context.text("cli.doctor.no_ffmpeg") << '\n';
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("doctor", context.text("cli.doctor.about"));
    command->footer(context.text("cli.doctor.examples"));
    auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, context.text("cli.help.json"));
    command->callback([json, &context] {
        context.json_errors = *json;
        const Machine machine = look_at_machine(context.environment);
        const std::vector<std::string> backends = context.make_backends()->names();
        const std::vector<backends::BackendState> states = backends::backend_states();
        if (*json) {
            context.out << as_json(machine, backends, states)
                               .dump(2, ' ', false, ordered_json::error_handler_t::replace)
                        << '\n';
        } else {
            print(machine, backends, states, context);
        }
    });
}

}  // namespace meshscope::cli
