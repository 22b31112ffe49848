#include "app/cli/trace_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <ostream>
#include <string_view>
#include <utility>

#include "app/cli/page_export.h"
#include "app/cli/table.h"
#include "app/cli/trace_info.h"
#include "app/cli/window_program.h"
#include "core/base/file_kind.h"
#include "core/base/json_text.h"
#include "core/base/same_file.h"
#include "core/base/text.h"
#include "core/base/view_words.h"
#include "core/run/recover.h"
#include "core/scenario/words.h"
#include "core/trace/export.h"
#include "core/trace/part_file.h"
#include "core/trace/query.h"
#include "core/trace/recorded.h"
#include "core/trace/store.h"

namespace meshscope::cli {
namespace {

using nlohmann::ordered_json;
using trace::Cell;
using trace::TraceDatabase;

void query(const std::string& path, const std::string& sql, bool json, bool csv, CommandContext& context) {
    const TraceDatabase database = TraceDatabase::open(path);
    const Polling polling(context);
    const trace::QueryLimits limits = trace::generous_limits(context.cancelled);
    if (!json && !csv) {
        print_table(table_of(database.query(sql, limits)), context.out);
        return;
    }
    std::vector<std::string> fields;
    bool first = true;
    database.query(
        sql, limits,
        [&](const std::vector<std::string>& columns) {
            if (csv)
                context.out << trace::csv_line(columns);
            else
                context.out << "{\"columns\":" << json_text(ordered_json(columns)) << ",\"rows\":[";
        },
        [&](const std::vector<Cell>& row) {
            if (csv) {
                fields.clear();
                for (const Cell& cell : row) fields.push_back(trace::to_text(cell));
                context.out << trace::csv_line(fields);
                return;
            }
            ordered_json list = ordered_json::array();
            for (const Cell& cell : row) list.push_back(as_json(cell));
            context.out << (first ? "\n" : ",\n") << json_text(list);
            first = false;
        });
    if (json) context.out << (first ? "]}\n" : "\n]}\n");
}

/// Refuses to write over what is read, and over another kind of file unless told.
void check_export(const std::string& path, const std::string& out, FileKind kind, bool force) {
    refuse_to_overwrite(out, std::vector{path});
    if (!force) refuse_other_kind(out, kind);
}

void export_to(const std::string& format, const std::string& path, const std::string& out,
               const std::string& what, CommandContext& context) {
    const auto go_on = [&] {
        if (context.cancelled && *context.cancelled) throw Cancelled({"cli.trace.export_cancelled", {}});
    };
    const trace::TextSink to_stdout = [&](std::string_view text) {
        go_on();
        context.out << text;
    };
    if (format == "perfetto") {
        const trace::Trace trace = read_with_events(path);
        const Polling polling(context);
        if (out == "-")
            write_perfetto(trace, to_stdout);
        else
            export_perfetto(trace, out, go_on);
    } else {
        const TraceDatabase database = TraceDatabase::open(path);
        const Polling polling(context);
        if (out == "-")
            write_csv(database, what, to_stdout);
        else
            export_csv(database, what, out, go_on);
    }
    if (out != "-") context.err << context.text("cli.trace.written", {{"path", out}}) << '\n';
}

void recover(const std::string& path, const std::string& asked, bool force, CommandContext& context) {
    const std::string out = asked.empty() ? path : asked;
    if (asked.empty() && std::filesystem::exists(path))
        throw UsageError({"cli.trace.recover_exists", {{"path", path}}});
    if (!force) refuse_other_kind(out, FileKind::trace);
    const run::Recovered recovered = run::recover(path);
    trace::write_trace(recovered.trace, out);
    const trace::Trace& trace = recovered.trace;
    context.err << context.text("cli.trace.recovered",
                                {{"path", out},
                                 {"steps", int64_t{trace.info.steps}},
                                 {"ranks", static_cast<int64_t>(trace.info.mesh_ranks.size()) -
                                               static_cast<int64_t>(recovered.missing.size())}})
                << '\n';
    if (!recovered.missing.empty())
        context.err << context.text("cli.trace.recover_missing", {{"ranks", rank_list(recovered.missing)}})
                    << '\n';
    if (!recovered.cut.empty())
        context.err << context.text("cli.trace.recover_cut", {{"ranks", rank_list(recovered.cut)}}) << '\n';
    context.err << context.text("cli.trace.recover_parts_stay", {{"path", trace::part_path(path, 0)}})
                << '\n';
}

void add_recover(CLI::App& parent, CommandContext& context) {
    CLI::App* command = parent.add_subcommand("recover", context.text("cli.trace.recover.about"));
    command->footer(context.text("cli.trace.recover.examples"));
    auto file = std::make_shared<std::string>(), out = std::make_shared<std::string>();
    command->add_option("FILE", *file, context.text("cli.trace.recover.file"))->required();
    command->add_option("-o,--out", *out, context.text("cli.trace.recover.out"))->type_name("OUT");
    auto force = std::make_shared<bool>(false);
    command->add_flag("--force", *force, context.text("cli.help.force"));
    command->callback([=, &context] { recover(*file, *out, *force, context); });
}

/// Options of what is drawn, handed on to the program that draws; the first of them say what a page shows
/// when it is opened.
constexpr const char* kDrawing[] = {"--view", "--rank",   "--at",      "--clock", "--form",
                                    "--step", "--theme",  "--scale",   "--size",  "--from",
                                    "--to",   "--frames", "--seconds", "--fps"};
constexpr std::size_t kOfPages = 8;

void draw_to(const std::string& format, const std::string& path, const std::string& out,
             std::vector<std::string> words, CommandContext& context) {
    if (out == "-") throw UsageError(Message{"cli.trace.picture_to_file", {{"format", format}}});
    if (!out.ends_with("." + format))
        throw UsageError(Message{"cli.trace.wrong_ending", {{"format", format}, {"path", out}}});
    words.insert(words.begin(), {path, "--export", out, "--lang", std::string(i18n::name(context.language))});
    run_window_program(words, format, context);
}

void add_info(CLI::App& parent, CommandContext& context) {
    CLI::App* command = parent.add_subcommand("info", context.text("cli.trace.info.about"));
    command->footer(context.text("cli.trace.info.examples"));
    auto file = std::make_shared<std::string>();
    auto json = std::make_shared<bool>(false);
    command->add_option("FILE", *file, context.text("cli.trace.file"))->required();
    command->add_flag("--json", *json, context.text("cli.help.json"));
    command->callback([=, &context] {
        context.json_errors = *json;
        trace_info(*file, *json, context);
    });
}

void add_query(CLI::App& parent, CommandContext& context) {
    CLI::App* command = parent.add_subcommand("query", context.text("cli.trace.query.about"));
    command->footer(context.text("cli.trace.query.examples"));
    struct Options {
        std::string file, sql;
        bool json = false, csv = false;
    };
    auto options = std::make_shared<Options>();
    command->add_option("FILE", options->file, context.text("cli.trace.file"))->required();
    command->add_option("SQL", options->sql, context.text("cli.trace.sql"))->required();
    CLI::Option* json = command->add_flag("--json", options->json, context.text("cli.trace.query.json"));
    command->add_flag("--csv", options->csv, context.text("cli.trace.query.csv"))->excludes(json);
    command->callback([=, &context] {
        context.json_errors = options->json;
        query(options->file, options->sql, options->json, options->csv, context);
    });
}

void add_export(CLI::App& parent, CommandContext& context) {
    CLI::App* command = parent.add_subcommand("export", context.text("cli.trace.export.about"));
    command->footer(context.text("cli.trace.export.examples"));
    struct Options {
        std::string format, file, out, steps, what = "collectives";
        bool force = false;
        std::vector<std::pair<CLI::Option*, std::string>> drawing;  ///< by kDrawing
    };
    auto options = std::make_shared<Options>();
    command->add_option("FORMAT", options->format, context.text("cli.trace.export.format"))
        ->required()
        ->check(CLI::IsMember({"perfetto", "csv", "html", "svg", "png", "gif", "mp4"}));
    command->add_option("FILE", options->file, context.text("cli.trace.file"))->required();
    command->add_option("-o,--out", options->out, context.text("cli.trace.export.out"))
        ->required()
        ->type_name("OUT");
    command->add_flag("--force", options->force, context.text("cli.help.force"));
    CLI::Option* what = command->add_option("--what", options->what, context.text("cli.trace.export.what"));
    what->check(CLI::IsMember({"collectives", "hops", "memory", "compute", "parameters"}));
    CLI::Option* steps =
        command->add_option("--steps", options->steps, context.text("cli.trace.export.steps"))
            ->type_name("FIRST:END");
    options->drawing.resize(std::size(kDrawing));
    std::string views, forms;
    for (const std::string_view view : scenario::views()) {
        views += (views.empty() ? "" : ", ") + std::string(view);
        if (const std::string words = form_words(view, ", "); !words.empty())
            forms += (forms.empty() ? "" : "; ") + std::string(view) + ": " + words;
    }
    for (std::size_t i = 0; i < std::size(kDrawing); ++i)
        options->drawing[i].first =
            command->add_option(kDrawing[i], options->drawing[i].second,
                                context.text(std::string("cli.trace.export.") + (kDrawing[i] + 2),
                                             {{"views", views}, {"forms", forms}}));
    command->callback([=, &context] {
        const std::string& format = options->format;
        if (format != "csv" && what->count() > 0) throw UsageError(Message{"cli.trace.what_is_for_csv", {}});
        if (format != "html" && steps->count() > 0)
            throw UsageError(Message{"cli.trace.steps_are_for_html", {}});
        std::vector<std::string> words;
        for (std::size_t i = 0; i < std::size(kDrawing); ++i)
            if (options->drawing[i].first->count() > 0)
                words.insert(words.end(), {kDrawing[i], options->drawing[i].second});
        const bool drawn = format == "svg" || format == "png" || format == "gif" || format == "mp4";
        for (std::size_t i = 0; !drawn && i < words.size(); i += 2)
            if (format != "html" || std::find(kDrawing, kDrawing + kOfPages, words[i]) == kDrawing + kOfPages)
                throw UsageError(
                    Message{"cli.trace.drawing_option", {{"option", words[i]}, {"format", format}}});
        if (drawn) {
            if (options->force) words.emplace_back("--force");
            return draw_to(format, options->file, options->out, words, context);
        }
        const FileKind kind = format == "html"  ? FileKind::html
                              : format == "csv" ? FileKind::csv
                                                : FileKind::json;
        check_export(options->file, options->out, kind, options->force);
        if (format == "html")
            return export_page({options->file, options->out, options->steps, words}, context);
        export_to(options->format, options->file, options->out, options->what, context);
    });
}

}  // namespace

void add_trace_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("trace", context.text("cli.trace.about"));
    command->footer(context.text("cli.trace.examples"));
    command->require_subcommand(1);
    add_info(*command, context);
    add_query(*command, context);
    add_export(*command, context);
    add_recover(*command, context);
}

}  // namespace meshscope::cli
