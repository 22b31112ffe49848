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
#include "core/time/fit_links.h"
#include "core/time/nccl_tests.h"
#include "core/time/read_profile.h"

namespace meshscope::cli {
namespace {

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

void print_json(const std::vector<NcclTests>& files, const std::vector<FittedLink>& links,
                const std::string& base, const std::string& profile, CommandContext& context) {
    ordered_json all_files = ordered_json::array(), all_links = ordered_json::array();
    for (const NcclTests& file : files)
        all_files.push_back({{"file", file.file},
                             {"collective", name(file.op)},
                             {"ranks", file.ranks},
                             {"hosts", file.hosts},
                             {"rows", file.rows.size()},
                             {"fits", fits_of(file)}});
    for (const FittedLink& link : links) {
        ordered_json rows = ordered_json::array(), left_out = ordered_json::array();
        for (const time::FittedRow& row : link.rows)
            rows.push_back({{"file", row.file},
                            {"bytes", row.bytes},
                            {"measured_us", row.measured_us},
                            {"fitted_us", row.fitted_us},
                            {"error", row.error()}});
        for (const time::LeftOutRow& row : link.left_out)
            left_out.push_back({{"file", row.file}, {"bytes", row.bytes}, {"why", context.text(row.why)}});
        all_links.push_back({{"link", word(link)},
                             {"alpha_us_per_step", link.fit.alpha_us},
                             {"bus_bw_GBps", link.fit.bytes_per_s / 1e9},
                             {"mean_error", link.mean_error()},
                             {"worst_error", link.worst_error()},
                             {"rows", std::move(rows)},
                             {"left_out", std::move(left_out)}});
    }
    const ordered_json all{{"base", base},
                           {"files", std::move(all_files)},
                           {"links", std::move(all_links)},
                           {"profile", profile}};
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

void tell(const std::vector<FittedLink>& links, const std::string& base, CommandContext& context) {
    for (const FittedLink& link : links) {
        context.err << sentence_of(link, context) << '\n';
        Table table;
        table.header = {context.text("bench.fit.bytes"), context.text("bench.fit.measured"),
                        context.text("bench.fit.fitted"), context.text("bench.fit.error")};
        table.right = {true, true, true, true};
        for (const time::FittedRow& row : link.rows)
            table.rows.push_back({std::to_string(row.bytes), fixed(row.measured_us, 2),
                                  fixed(row.fitted_us, 2), percent(row.error(), true)});
        print_table(table, context.err);
        for (const time::LeftOutRow& row : link.left_out)
            context.err << context.text(
                               "bench.fit.left_out",
                               {{"file", row.file}, {"bytes", row.bytes}, {"why", context.text(row.why)}})
                        << '\n';
    }
    context.err << context.text("bench.fit.base", {{"base", base}}) << '\n';
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
    time::Profile profile = profile_option(asked.base);
    const std::string base = profile.name;
    std::vector<NcclTests> files;
    for (const std::string& file : asked.files) files.push_back(time::read_nccl_tests(file));
    const std::vector<FittedLink> links = time::fit_links(files, asked.in_place);
    profile = time::with_links(std::move(profile), links, files);
    profile.name = asked.name.empty() ? base + "-fitted" : asked.name;
    std::string comment;
    for (const FittedLink& link : links) comment += sentence_of(link, context) + "\n";
    comment += context.text("bench.fit.base", {{"base", base}});
    const std::string text = time::profile_text(profile, comment);
    if (!asked.out.empty()) replace_file(asked.out, text);
    if (asked.json) return print_json(files, links, base, text, context);
    tell(links, base, context);
    if (asked.out.empty())
        context.out << text;
    else
        context.err << context.text("cli.run.written", {{"path", asked.out}}) << '\n';
}

}  // namespace meshscope::cli
