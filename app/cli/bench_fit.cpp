#include "app/cli/bench_fit.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "app/cli/estimate_figures.h"
#include "app/cli/outputs.h"
#include "app/cli/table.h"
#include "app/cli/usage.h"
#include "core/base/json_text.h"
#include "core/base/kinds.h"
#include "core/base/replace_file.h"
#include "core/base/same_file.h"
#include "core/base/text_file.h"
#include "core/estimate/fit_speed.h"
#include "core/time/fit_links.h"
#include "core/time/nccl_tests.h"
#include "core/time/read_profile.h"

namespace meshscope::cli {
namespace {

using estimate::PublishedRun;
using estimate::SpeedFit;
using nlohmann::ordered_json;
using time::FittedLink;
using time::NcclTests;

const char* word(const FittedLink& link) {
    return link.between ? "between" : "inside";
}

ordered_json json_of(const std::optional<time::LinkFit>& fit) {
    if (!fit) return {};
    return {{"alpha_us_per_step", fit->alpha_us}, {"bus_bw_GBps", fit->bytes_per_s / 1e9}};
}

/// A file's own fits: of both kinds of times, weighted both ways.
ordered_json fits_of(const NcclTests& file) {
    ordered_json fits;
    for (const bool in_place : {false, true})
        for (const bool relative : {false, true}) {
            const std::string name =
                std::string(in_place ? "in_place" : "out_of_place") + (relative ? "_relative" : "_absolute");
            fits[name] = json_of(time::fit_link(time::points_of(file, in_place), relative));
        }
    return fits;
}

ordered_json json_of(const FittedLink& link, const CommandContext& context) {
    ordered_json rows = ordered_json::array(), left_out = ordered_json::array();
    for (const time::FittedRow& row : link.rows)
        rows.push_back({{"file", row.file},
                        {"bytes", row.bytes},
                        {"measured_us", row.measured_us},
                        {"fitted_us", row.fitted_us},
                        {"error", row.error()}});
    for (const time::LeftOutRow& row : link.left_out)
        left_out.push_back({{"file", row.file}, {"bytes", row.bytes}, {"why", context.text(row.why)}});
    return {{"link", word(link)},
            {"alpha_us_per_step", link.fit.alpha_us},
            {"bus_bw_GBps", link.fit.bytes_per_s / 1e9},
            {"mean_error", link.mean_error()},
            {"worst_error", link.worst_error()},
            {"rows", std::move(rows)},
            {"left_out", std::move(left_out)}};
}

ordered_json json_of(const SpeedFit& fit, const CommandContext& context) {
    ordered_json runs = ordered_json::array(), left_out = ordered_json::array();
    for (const estimate::FittedRun& run : fit.runs)
        runs.push_back({{"id", run.id},
                        {"measured_ms", run.measured_ms},
                        {"fitted_ms", run.fitted_ms},
                        {"error", run.error()}});
    for (const estimate::LeftOutRun& run : fit.left_out)
        left_out.push_back({{"id", run.id}, {"why", context.text(run.why)}});
    return {{"speed", fit.speed},
            {"mean_error", fit.mean_error()},
            {"worst_error", fit.worst_error()},
            {"runs", std::move(runs)},
            {"left_out", std::move(left_out)}};
}

/// What the files hold, and what was fitted from it.
struct Fitted {
    std::vector<NcclTests> tests;
    std::vector<PublishedRun> runs;
    std::string base;  ///< the name of the profile whose other figures stay
    std::vector<FittedLink> links;
    std::optional<SpeedFit> speed;
    time::Profile profile;
};

void print_json(const Fitted& fitted, const std::string& profile, CommandContext& context) {
    ordered_json files = ordered_json::array(), links = ordered_json::array();
    for (const NcclTests& file : fitted.tests)
        files.push_back({{"file", file.file},
                         {"collective", name(file.op)},
                         {"ranks", file.ranks},
                         {"hosts", file.hosts},
                         {"rows", file.rows.size()},
                         {"fits", fits_of(file)}});
    for (const FittedLink& link : fitted.links) links.push_back(json_of(link, context));
    ordered_json all{{"base", fitted.base}, {"files", std::move(files)}, {"links", std::move(links)}};
    if (fitted.speed) all["products"] = json_of(*fitted.speed, context);
    all["profile"] = profile;
    context.out << json_text(all) << '\n';
}

std::string sentence_of(const FittedLink& link, const CommandContext& context) {
    return context.text(link.between ? "bench.fit.between" : "bench.fit.inside",
                        {{"alpha", fixed(link.fit.alpha_us, 2)},
                         {"bandwidth", fixed(link.fit.bytes_per_s / 1e9, 1)},
                         {"rows", static_cast<int64_t>(link.rows.size())},
                         {"mean", percent(link.mean_error())},
                         {"worst", percent(link.worst_error(), true)}});
}

std::string sentence_of(const SpeedFit& fit, const std::string& base, const CommandContext& context) {
    return context.text("bench.fit.products", {{"speed", percent(fit.speed)},
                                               {"base", base},
                                               {"runs", static_cast<int64_t>(fit.runs.size())},
                                               {"mean", percent(fit.mean_error())},
                                               {"worst", percent(fit.worst_error(), true)}});
}

/// What was fitted, a sentence each, and where the other figures are from.
std::string summary_of(const Fitted& fitted, const CommandContext& context) {
    std::string said;
    for (const FittedLink& link : fitted.links) said += sentence_of(link, context) + "\n";
    if (!fitted.links.empty()) said += context.text("bench.fit.as_ring") + "\n";
    if (fitted.speed) said += sentence_of(*fitted.speed, fitted.base, context) + "\n";
    return said + context.text("bench.fit.base", {{"base", fitted.base}});
}

void tell(const FittedLink& link, CommandContext& context) {
    context.err << sentence_of(link, context) << '\n';
    Table table;
    table.header = {context.text("bench.fit.bytes"), context.text("bench.fit.measured"),
                    context.text("bench.fit.fitted"), context.text("bench.fit.error")};
    table.right = {true, true, true, true};
    for (const time::FittedRow& row : link.rows)
        table.rows.push_back({std::to_string(row.bytes), fixed(row.measured_us, 2), fixed(row.fitted_us, 2),
                              percent(row.error(), true)});
    print_table(table, context.err);
    for (const time::LeftOutRow& row : link.left_out)
        context.err << context.text(
                           "bench.fit.left_out",
                           {{"file", row.file}, {"bytes", row.bytes}, {"why", context.text(row.why)}})
                    << '\n';
}

void tell(const SpeedFit& fit, const std::string& base, CommandContext& context) {
    context.err << sentence_of(fit, base, context) << '\n';
    Table table;
    table.header = {context.text("bench.fit.run"), context.text("bench.fit.measured_ms"),
                    context.text("bench.fit.fitted_ms"), context.text("bench.fit.error")};
    table.right = {false, true, true, true};
    for (const estimate::FittedRun& run : fit.runs)
        table.rows.push_back(
            {run.id, fixed(run.measured_ms, 1), fixed(run.fitted_ms, 1), percent(run.error(), true)});
    print_table(table, context.err);
    for (const estimate::LeftOutRun& run : fit.left_out)
        context.err << context.text("bench.fit.left_out_run",
                                    {{"run", run.id}, {"why", context.text(run.why)}})
                    << '\n';
}

void tell(const Fitted& fitted, CommandContext& context) {
    for (const FittedLink& link : fitted.links) tell(link, context);
    if (!fitted.links.empty()) context.err << context.text("bench.fit.as_ring") << '\n';
    if (fitted.speed) tell(*fitted.speed, fitted.base, context);
    context.err << context.text("bench.fit.base", {{"base", fitted.base}}) << '\n';
}

/// A JSON list holds training runs; what nccl-tests writes is an object or a table.
bool is_list_of_runs(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && text[first] == '[';
}

/// The profile that is fitted: the one that was asked for, else that of the runs' GPU, else h100. Throws
/// UsageError "bench.fit.several_gpus" where it would be several.
time::Profile base_of(const ProfileFit& asked, const std::vector<PublishedRun>& runs) {
    if (!asked.base.empty()) return profile_option(asked.base);
    std::string gpu;
    for (const PublishedRun& run : runs) {
        if (run.gpu.empty() || run.gpu == gpu) continue;
        if (!gpu.empty()) throw UsageError({"bench.fit.several_gpus", {{"first", gpu}, {"second", run.gpu}}});
        gpu = run.gpu;
    }
    return profile_option(gpu.empty() ? "h100" : gpu);
}

Fitted fit(const ProfileFit& asked) {
    Fitted made;
    for (const std::string& file : asked.files) {
        const std::string text = read_text_file(file);  // once: it may be a pipe
        if (!is_list_of_runs(text)) {
            made.tests.push_back(time::parse_nccl_tests(text, file));
            continue;
        }
        const std::vector<PublishedRun> runs = estimate::parse_published(text, file);
        made.runs.insert(made.runs.end(), runs.begin(), runs.end());
    }
    made.profile = base_of(asked, made.runs);
    made.base = made.profile.name;
    if (!made.tests.empty()) {
        made.links = time::fit_links(made.tests, asked.in_place);
        made.profile = time::with_links(std::move(made.profile), made.links, made.tests);
    }
    if (made.tests.size() < asked.files.size()) {
        for (PublishedRun& run : made.runs) run.profile = made.profile;
        made.speed = estimate::fit_speed(made.runs);
        made.profile = estimate::with_speed(std::move(made.profile), made.speed->speed);
    }
    made.profile.name = asked.name.empty() ? made.base + "-fitted" : asked.name;
    return made;
}

}  // namespace

void fit_profile(const ProfileFit& asked, CommandContext& context) {
    context.json_errors = asked.json;
    for (std::size_t i = 0; i < asked.files.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (is_same_file(asked.files[i], asked.files[k]))
                throw UsageError({"bench.fit.twice", {{"path", asked.files[i]}}});
    std::vector<std::string> inputs = asked.files;
    if (asked.base.ends_with(".toml")) inputs.push_back(asked.base);
    check_outputs({{asked.out, FileKind::profile}}, inputs, asked.force);
    const Fitted fitted = fit(asked);
    const std::string text = time::profile_text(fitted.profile, summary_of(fitted, context));
    if (!asked.out.empty()) replace_file(asked.out, text);
    if (asked.json) return print_json(fitted, text, context);
    tell(fitted, context);
    if (asked.out.empty())
        context.out << text;
    else
        context.err << context.text("cli.run.written", {{"path", asked.out}}) << '\n';
}

}  // namespace meshscope::cli
