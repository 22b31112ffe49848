// The engine alone, for Node: `run SCENARIO` as the command has it, on fibers, so that what a page computes can be held
// against what the command computes. It reads and writes the files of the machine it runs on.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/run_json.h"
#include "app/i18n/catalogue.h"
#include "app/i18n/error_text.h"
#include "backends/registry.h"
#include "core/base/replace_file.h"
#include "core/run/run.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/scenario.h"
#include "core/trace/query.h"
#include "core/trace/store.h"

using namespace meshscope;

namespace {

constexpr const char* kUsage =
    "usage: meshscope-engine run SCENARIO [--backend fibers] [--json FILE] [--save FILE] [--trace FILE] [--quiet]\n"
    "                        [--schedule S] [--lang en|zh]\n";

struct Arguments {
    std::string scenario, json, save, trace, schedule;
    std::string backend = "fibers";
    i18n::Language language = i18n::Language::en;
    bool quiet = false;
};

/// False where the words are not those of kUsage.
bool read_arguments(const std::vector<std::string>& words, Arguments& read) {
    if (words.size() < 2 || words[0] != "run") return false;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--quiet") {
            read.quiet = true;
        } else if (!word.starts_with("-") && read.scenario.empty()) {
            read.scenario = word;
        } else if (i + 1 < words.size()) {
            const std::string& value = words[++i];
            if (word == "--json")
                read.json = value;
            else if (word == "--save")
                read.save = value;
            else if (word == "--trace")
                read.trace = value;
            else if (word == "--backend")
                read.backend = value;
            else if (word == "--schedule")
                read.schedule = value;
            else if (word == "--lang" && (value == "en" || value == "zh"))
                read.language = value == "zh" ? i18n::Language::zh : i18n::Language::en;
            else
                return false;
        } else {
            return false;
        }
    }
    return !read.scenario.empty();
}

/// What the run is to leave. Failed checks are told, and make the exit code 1.
i18n::ExitCode write(const Arguments& arguments, const scenario::Scenario& scenario,
                     const run::RunResult& result) {
    if (!arguments.trace.empty()) trace::write_trace(*result.trace, arguments.trace);
    if (!arguments.save.empty()) cli::save_parameters(result, arguments.save);
    if (arguments.json == "-")
        std::cout << cli::run_json(result);
    else if (!arguments.json.empty())
        replace_file(arguments.json, cli::run_json(result));
    bool all = true;
    if (!scenario.checks.empty()) {
        for (const scenario::CheckResult& check :
             scenario::run_checks(scenario, trace::TraceDatabase(*result.trace))) {
            all &= check.passed;
            if (!check.passed || !arguments.quiet)
                std::cerr << (check.passed ? "ok      " : "FAILED  ") << check.id << '\n';
        }
    }
    return all ? i18n::ExitCode::ok : i18n::ExitCode::check_failed;
}

i18n::ExitCode work(const std::vector<std::string>& words) {
    Arguments arguments;
    if (!read_arguments(words, arguments)) {
        std::cerr << kUsage;
        return i18n::ExitCode::usage;
    }
    try {
        const scenario::Scenario scenario = scenario::read_scenario(arguments.scenario);
        run::RunOptions options;
        options.backend = arguments.backend;
        options.schedule = arguments.schedule;
        return write(arguments, scenario, run::run_scenario(scenario, *backends::make_registry(), options));
    } catch (const std::exception& error) {
        const i18n::Catalogue catalogue = i18n::Catalogue::embedded();
        const i18n::ErrorText told = i18n::describe_error(error, catalogue, arguments.language);
        for (const std::string& line : told.lines) std::cerr << "meshscope: " << line << '\n';
        return told.exit_code;
    }
}

}  // namespace

int main(int argc, char** argv) {
    // A main that fibers were switched in has returned to Node before: what it returns then is no exit code.
    std::exit(static_cast<int>(work(std::vector<std::string>(argv + 1, argv + argc))));
}
