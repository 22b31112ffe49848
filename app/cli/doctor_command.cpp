#include "app/cli/doctor_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "app/cli/machine.h"
#include "app/cli/table.h"
#include "app/cli/version.h"
#include "backends/nccl_doctor.h"
#include "backends/registry.h"
#include "core/base/cause.h"
#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/base/json_text.h"
#include "core/tensor/device.h"

namespace meshscope::cli {
namespace {

using nlohmann::ordered_json;

struct DoctorArguments {
    bool json = false, nccl = false;
    int32_t ranks = 0;  ///< 0: one a GPU
};

std::string gibibytes(int64_t bytes) {
    const int64_t tenths = (bytes * 10 + (int64_t{1} << 29)) >> 30;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

ordered_json or_null(const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
}

ordered_json missing_json(const std::optional<Message>& missing, const CommandContext& context) {
    return missing ? ordered_json(context.text(*missing)) : ordered_json();
}

ordered_json gpu_json(const backends::GpuState& state, const CommandContext& context) {
    ordered_json devices = ordered_json::array();
    for (const backends::GpuFacts& gpu : state.devices)
        devices.push_back({{"name", gpu.name},
                           {"pci", gpu.pci},
                           {"compute_capability", gpu.compute_capability},
                           {"memory_bytes", gpu.memory_bytes}});
    return {{"module", or_null(state.module)},
            {"library", or_null(state.library)},
            {"driver", or_null(state.driver)},
            {"wanted", or_null(state.wanted)},
            {"stand_in", state.stand_in},
            {"devices", devices},
            {"missing", missing_json(state.missing, context)}};
}

ordered_json nccl_json(const backends::GpuState& state, const CommandContext& context) {
    return {{"module", or_null(state.nccl_module)},
            {"file", or_null(state.nccl_file)},
            {"version", or_null(state.nccl_version)},
            {"stand_in", state.nccl_stand_in},
            {"missing", missing_json(state.nccl_missing, context)}};
}

ordered_json as_json(const Machine& machine, const std::vector<std::string>& backends,
                     const std::vector<backends::BackendState>& states, const backends::GpuState& gpus,
                     const CommandContext& context) {
    ordered_json libraries = ordered_json::object();
    for (const backends::BackendState& state : states)
        if (!state.library.empty()) libraries[state.name] = state.library;
    ordered_json faults = ordered_json::object();
    for (const backends::BackendState& state : states)
        if (state.fault) faults[state.name] = context.text(*state.fault);

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
            {"backend_faults", faults},
            {"gpu", gpu_json(gpus, context)},
            {"nccl", nccl_json(gpus, context)},
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

/// The rows of what computes beside the processor, and of what joins it.
template <class Row>
void print_gpus(const backends::GpuState& state, const std::string& none, const Row& row,
                const CommandContext& context) {
    if (state.devices.empty()) row("cli.doctor.gpu", none);
    for (const backends::GpuFacts& gpu : state.devices)
        row("cli.doctor.gpu",
            context.text(state.stand_in ? "cli.doctor.gpu_stand_in" : "cli.doctor.gpu_value",
                         {{"name", gpu.name},
                          {"memory", gibibytes(gpu.memory_bytes)},
                          {"capability", gpu.compute_capability}}));
    const std::string& driver = state.driver.empty() ? none : state.driver;
    if (!state.library.empty())
        row("cli.doctor.cuda",
            context.text("cli.doctor.cuda_value", {{"library", state.library}, {"driver", driver}}));
    std::string nccl = none;
    if (!state.nccl_version.empty())
        nccl = context.text(state.nccl_stand_in ? "cli.doctor.nccl_stand_in" : "cli.doctor.nccl_value",
                            {{"version", state.nccl_version}, {"file", state.nccl_file}});
    row("cli.doctor.nccl", nccl);
}

/// Each collective over NCCL, on all GPUs of this machine.
void check_nccl(const DoctorArguments& options, CommandContext& context) {
    const backends::NcclCheck check = backends::check_nccl(context.environment, options.ranks);
    bool good = true;
    ordered_json rows = ordered_json::array();
    Table table;
    for (const char* id : {"cli.doctor.nccl_op", "cli.doctor.nccl_dtype", "cli.doctor.nccl_elements",
                           "cli.doctor.nccl_time", "cli.doctor.nccl_result"})
        table.header.push_back(context.text(id));
    for (const backends::nccl::CheckedCollective& one : check.collectives) {
        good = good && one.wrong == 0;
        std::string op(name(one.op));
        if (one.reduce_op != ReduceOp::none) op += " " + std::string(name(one.reduce_op));
        ordered_json reduce_op;
        if (one.reduce_op != ReduceOp::none) reduce_op = name(one.reduce_op);
        rows.push_back({{"op", name(one.op)},
                        {"reduce_op", reduce_op},
                        {"dtype", name(one.dtype)},
                        {"elements", one.elements},
                        {"wrong", one.wrong},
                        {"ns", one.ns}});
        std::string result = context.text("cli.doctor.nccl_right");
        if (one.wrong != 0) result = context.text("cli.doctor.nccl_wrong", {{"wrong", one.wrong}});
        table.rows.push_back({op, std::string(name(one.dtype)), std::to_string(one.elements),
                              std::to_string(one.ns / 1000) + " µs", result});
    }
    if (options.json) {
        context.out << json_text(ordered_json{{"nccl_check",
                                               {{"ranks", check.ranks},
                                                {"stand_in", check.stand_in},
                                                {"collectives", rows}}}},
                                 2)
                    << '\n';
    } else {
        context.out << context.text(
                           check.stand_in ? "cli.doctor.nccl_ranks_stand_in" : "cli.doctor.nccl_ranks",
                           {{"ranks", int64_t{check.ranks}}})
                    << '\n';
        print_table(table, context.out);
    }
    if (!good) context.exit_code = ExitCode::check_failed;
}

void print(const Machine& machine, const std::vector<std::string>& backends,
           const std::vector<backends::BackendState>& states, const backends::GpuState& gpus,
           CommandContext& context) {
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
        if (!state.library.empty()) table.rows.push_back({"  " + state.name, state.library});
    print_gpus(gpus, none, row, context);
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
    for (const backends::BackendState& state : states) {
        if (!state.built)
            context.err << context.text("cli.doctor.no_backend",
                                        {{"name", state.name}, {"package", state.package}})
                        << '\n';
        if (state.fault)
            context.err << context.text(
                               with_cause({"cli.doctor.bad_backend", {{"name", state.name}}}, *state.fault))
                        << '\n';
    }
    if (gpus.missing)
        context.err << context.text("cli.doctor.no_gpu", {{"reason", context.text(*gpus.missing)}}) << '\n';
    if (gpus.nccl_missing)
        context.err << context.text("cli.doctor.no_nccl", {{"reason", context.text(*gpus.nccl_missing)}})
                    << '\n';
    if (machine.chinese_fonts.empty()) context.err << context.text("cli.doctor.no_fonts") << '\n';
    if (machine.display.empty() && machine.egl && machine.opengl)
        context.err << context.text("cli.doctor.no_display") << '\n';
    if (!machine.egl) context.err << context.text("cli.doctor.no_egl") << '\n';
    if (!machine.opengl) context.err << context.text("cli.doctor.no_opengl") << '\n';
    if (machine.ffmpeg.empty()) context.err << context.text("cli.doctor.no_ffmpeg") << '\n';
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("doctor", context.text("cli.doctor.about"));
    command->footer(context.text("cli.doctor.examples"));
    auto options = std::make_shared<DoctorArguments>();
    command->add_flag("--json", options->json, context.text("cli.help.json"));
    CLI::Option* const nccl =
        command->add_flag("--nccl", options->nccl, context.text("cli.doctor.help_nccl"));
    command->add_option("--ranks", options->ranks, context.text("cli.doctor.help_ranks"))
        ->check(CLI::Range(1, 1024))
        ->needs(nccl);
    command->callback([options, &context] {
        context.json_errors = options->json;
        if (options->nccl) return check_nccl(*options, context);
        const Machine machine = look_at_machine(context.environment);
        const std::vector<std::string> backends = context.make_backends()->names();
        const std::vector<backends::BackendState> states = backends::backend_states();
        const backends::GpuState gpus = backends::gpu_state(context.environment);
        if (options->json) {
            context.out << json_text(as_json(machine, backends, states, gpus, context), 2) << '\n';
        } else {
            print(machine, backends, states, gpus, context);
        }
    });
}

}  // namespace meshscope::cli
