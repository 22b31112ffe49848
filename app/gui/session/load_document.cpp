#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <tuple>

#include "app/gui/session/dropped.h"
#include "app/gui/session/lesson_document.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/session.h"
#include "backends/registry.h"
#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/base/text_file.h"
#include "core/run/run.h"
#include "core/run/simulated_pipeline.h"
#include "core/run/variant.h"
#include "core/scenario/compare.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"
#include "core/time/read_profile.h"
#include "core/trace/excerpt.h"
#include "core/trace/query.h"
#include "core/trace/store.h"

namespace meshscope::session {
namespace {

namespace fs = std::filesystem;

/// By its name, also where it is damaged or not there; else by what is in it.
bool is_trace_file(const std::string& path) {
    return fs::path(path).extension() == ".mscope" || is_database(path);
}

bool is_lesson(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "scenario.toml", ignored) && fs::exists(folder / "lesson.en.md", ignored);
}

/// The scenario file that `what` names: a file, a folder, or a lesson of the known folders ("63_hsdp",
/// "hsdp", "63").
std::string scenario_file(const std::string& what, const LessonFolders& folders) {
    std::error_code ignored;
    if (fs::is_regular_file(what, ignored)) return what;
    if (fs::exists(fs::path(what) / "scenario.toml", ignored))
        return (fs::path(what) / "scenario.toml").string();
    std::string known;
    for (const LessonCard& offer : find_lessons(folders)) {
        const std::string folder = folder_of(offer.id);
        if (scenario::names_lesson(what, folder)) return offer.id;
        known += (known.empty() ? "" : ", ") + folder;
    }
    if (fs::is_directory(what, ignored)) throw IoError({"file.is_a_folder", {{"path", what}}});
    // Opening a pipe would wait for a writer, for ever if need be.
    if (fs::exists(what, ignored)) throw IoError({"file.not_regular_input", {{"path", what}}});
    // Of a path only that is told: the names of all lessons would bury it.
    if (what.find('/') != what.npos || fs::path(what).has_extension())
        throw IoError({"file.cannot_read", {{"path", what}}});
    throw InvalidArgument({"app.lesson_unknown", {{"name", what}, {"known", known}}});
}

/// What the runs of a lesson's variants came to.
struct Variants {
    std::map<std::string, std::string> numbers;  ///< by variant and name, {{gpipe.bubble}}
    std::map<std::string, std::shared_ptr<const Document>> shown;  ///< by id: those that a step shows
};

/// The keys that a variant changes: "parallel.schedule = \"GPipe\"".
std::string changes_of(const scenario::Variant& variant) {
    return joined(variant.changes, [](const scenario::VariantChange& change) {
        return change.key + " = " + (change.value.empty() ? "–" : change.value);
    });
}

/// Runs the variants that the lesson's texts name a number of, or that a step shows.
Variants run_variants(const scenario::Scenario& scenario, const std::atomic<bool>* cancel) {
    Variants variants;
    if (scenario.variants.empty() || scenario.steps_of_lesson.empty()) return variants;
    std::set<std::string> shown;
    for (const auto& step : scenario.steps_of_lesson) {
        shown.insert(step.beside.begin(), step.beside.end());
        if (!step.run.empty()) shown.insert(step.run);
    }
    const scenario::LessonText en = scenario::read_lesson(scenario.folder, "en"),
                               zh = scenario::read_lesson(scenario.folder, "zh");
    run::RunOptions options;
    options.backend = backends::window_backend();
    options.cancel = cancel;
    const auto named = run::variants_named(scenario, en, zh);
    for (const scenario::Variant& variant : scenario.variants) {
        const bool is_shown = shown.contains(variant.id);
        if (!is_shown && std::ranges::find(named, &variant) == named.end()) continue;
        const run::VariantRun run = run::run_variant(scenario, variant, *backends::make_registry(), options);
        for (const auto& [name, answer] : run.numbers)
            if (!answer.error) variants.numbers[name] = answer.text;
        if (!is_shown || !run.trace) continue;
        // On the hardware of the run beside which it stands.
        const auto made = std::const_pointer_cast<Document>(
            make_document(run.trace, variant.id, nullptr, {}, &scenario.hardware));
        made->variant = variant.id;
        made->variant_changes = changes_of(variant);
        variants.shown[variant.id] = made;
    }
    return variants;
}

/// A run with its lesson, and to each step the variants that it shows.
std::shared_ptr<const Document> lesson_document(std::shared_ptr<const trace::Trace> trace,
                                                const std::string& name, const scenario::Scenario& scenario,
                                                const std::atomic<bool>* cancel) {
    const Variants variants = run_variants(scenario, cancel);
    auto document =
        std::const_pointer_cast<Document>(make_document(std::move(trace), name, &scenario, variants.numbers));
    const std::size_t own = document->steps.empty() ? 0 : scenario.steps_of_lesson.size();
    for (std::size_t i = 0; i < document->steps.size(); ++i) {
        const auto& from = scenario.steps_of_lesson[std::min(i, own - 1)];
        for (const std::string& id : from.beside)
            if (const auto found = variants.shown.find(id); found != variants.shown.end())
                document->steps[i].beside.push_back(found->second);
        if (const auto found = variants.shown.find(from.run); found != variants.shown.end())
            show_run(document->steps[i], from.at, found->second);
    }
    return document;
}

/// What the scenario is laid beside, and could be.
std::shared_ptr<const Document> with_comparison(const std::shared_ptr<const Document>& made,
                                                const std::string& what, const scenario::Scenario& scenario,
                                                bool compares) {
    // Just made and nobody else's yet: its clocks, the largest part of it, need not be copied.
    const auto document = std::const_pointer_cast<Document>(made);
    document->path = what;
    if (compares) document->compare = scenario.compare;
    document->strategies = scenario::other_strategies(scenario);
    return document;
}

/// Whether a record was made with the faults that its lesson has now. One with others (its exercise, a test)
/// is no run of the lesson: what ended it is not what the lesson's steps tell of.
bool has_lesson_faults(const scenario::Scenario& recorded) {
    const auto same = [](const comm::Fault& a, const comm::Fault& b) {
        return std::tie(a.kind, a.rank, a.step, a.phase, a.at, a.unit, a.rule, a.hop, a.ms, a.field, a.bit,
                        a.round) == std::tie(b.kind, b.rank, b.step, b.phase, b.at, b.unit, b.rule, b.hop,
                                             b.ms, b.field, b.bit, b.round);
    };
    const scenario::Scenario now = scenario::read_scenario(recorded.path);
    return std::equal(now.faults.begin(), now.faults.end(), recorded.faults.begin(), recorded.faults.end(),
                      same);
}

/// The scenario that a trace was made from.
scenario::Scenario scenario_of_trace(const std::string& path) {
    const trace::Trace trace = trace::read_trace(path);
    return scenario::parse_scenario(trace.info.scenario, trace.info.scenario_path);
}

/// Where the scenario of a record lies: where it lay when it was run, else in the lesson of that name whose
/// scenario is the same to the letter, since records are opened elsewhere, in a page too.
std::string scenario_path_of(const trace::RunInfo& info, const LessonFolders& folders) {
    const fs::path lay = info.scenario_path;
    if (is_lesson(lay.parent_path())) return lay.string();
    for (const std::string& place : folders.paths) {
        const fs::path lesson = fs::path(place) / lay.parent_path().filename();
        if (lay.has_parent_path() && is_lesson(lesson) &&
            read_text_file((lesson / "scenario.toml").string()) == info.scenario)
            return (lesson / "scenario.toml").string();
    }
    return lay.string();
}

/// A trace carries its scenario's text; the lesson's texts lie where the scenario does, if they still do.
std::shared_ptr<const Document> open_trace(const std::string& path, const LessonFolders& folders,
                                           const std::atomic<bool>* cancel) {
    auto trace = std::make_shared<const trace::Trace>(trace::read_trace(path));
    const std::string name = fs::path(path).filename().string();
    const trace::RunInfo& info = trace->info;
    const bool whole = !trace::excerpt_of(*trace);
    if (!info.scenario.empty()) {
        try {
            const std::string lies = scenario_path_of(info, folders);
            const scenario::Scenario scenario = scenario::parse_scenario(info.scenario, lies);
            // A lesson and its checks speak of a whole run.
            const bool lesson =
                whole && is_lesson(fs::path(lies).parent_path()) && has_lesson_faults(scenario);
            // A file is one run: what it compared with was others.
            const auto made = with_comparison(
                lesson ? lesson_document(trace, name, scenario, cancel) : make_document(trace, name, nullptr),
                path, scenario, false);
            if (!lesson && whole)
                std::const_pointer_cast<Document>(made)->failed_checks = failed_checks(scenario, *trace);
            return made;
        } catch (const InputError&) {
            // The lesson beside the trace is not the one that was run: show the run without it.
        } catch (const InvalidArgument&) {
        } catch (const IoError&) {  // the scenario that was run lies there no more
        }
    }
    return make_document(trace, name, nullptr);
}

/// A pipeline's schedule, simulated: nothing runs.
std::shared_ptr<const Document> open_schedule(const std::string& path) {
    auto trace = std::make_shared<const trace::Trace>(run::simulate_schedule_file(path));
    const std::string name = trace->info.title_en;
    const auto document = std::const_pointer_cast<Document>(make_document(std::move(trace), name, nullptr));
    document->path = path;
    return document;
}

}  // namespace

std::vector<LessonCard> find_lessons(const LessonFolders& folders) {
    std::vector<LessonCard> offers;
    for (const std::string& place : folders.paths) {
        std::error_code error;
        for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
            if (!is_lesson(entry.path())) continue;
            try {
                const scenario::Scenario scenario =
                    scenario::read_scenario((entry.path() / "scenario.toml").string());
                LessonCard offer;
                offer.id = scenario.path;
                const std::string folder = entry.path().filename().string();
                offer.chapter = scenario::chapter_of_folder(folder);
                if (offer.chapter > 0) offer.number = std::atoi(folder.c_str());
                offer.title = scenario.title;
                std::string shape;
                for (std::size_t d = 0; d < scenario.mesh_shape.size(); ++d) {
                    shape += (shape.empty() ? "" : ", ") + std::to_string(scenario.mesh_shape[d]);
                    const bool named = d < scenario.mesh_names.size() && !scenario.mesh_names[d].empty();
                    offer.mesh.push_back({named ? scenario.mesh_names[d] : "dim", scenario.mesh_shape[d]});
                }
                const std::string ranks = std::to_string(scenario::world_size(scenario));
                offer.subtitle = {ranks + (ranks == "1" ? " rank" : " ranks") + " · mesh (" + shape + ")",
                                  ranks + " 个 rank · mesh (" + shape + ")"};
                offers.push_back(std::move(offer));
            } catch (const Error&) {
                continue;  // a damaged lesson is told when it is opened, not while the others are listed
            }
        }
        if (!offers.empty()) break;  // the first place that has lessons is the program's own
    }
    std::ranges::sort(offers, scenario::lesson_before,
                      [](const LessonCard& offer) { return folder_of(offer.id); });
    return offers;
}

Preview preview(const std::string& what, const LessonFolders& folders) {
    if (is_trace_file(what) || run::is_schedule_file(what) || opens_as_plan(what)) return {{what}, {}};
    const scenario::Scenario scenario = scenario::read_scenario(scenario_file(what, folders));
    const std::string folder = scenario.folder.empty() ? "." : scenario.folder;
    auto steps = static_cast<int32_t>(scenario.steps_of_lesson.size());
    if (steps > 0)
        steps += steps_after(scenario::read_lesson(folder, "en"), scenario::read_lesson(folder, "zh"));
    return {{scenario.path, scenario.model_config, scenario.weights, scenario.data_file,
             folder + "/lesson.en.md", folder + "/lesson.zh.md"},
            steps};
}

std::shared_ptr<const Document> load_document(const std::string& what, const LessonFolders& folders,
                                              const std::function<void(int32_t, int32_t)>& progress,
                                              const std::atomic<bool>* cancel, const std::string& strategy,
                                              const std::string& resume) {
    const bool is_trace = is_trace_file(what);
    if (is_trace && strategy.empty() && resume.empty()) return open_trace(what, folders, cancel);
    if (!is_trace && run::is_schedule_file(what)) return open_schedule(what);
    if (!is_trace && opens_as_plan(what)) throw InvalidArgument({"app.plan_alone", {{"path", what}}});
    scenario::Scenario scenario =
        is_trace ? scenario_of_trace(what) : scenario::read_scenario(scenario_file(what, folders));
    if (!strategy.empty()) scenario = scenario::with_strategy(scenario, strategy);
    run::RunOptions options;
    options.backend = backends::window_backend();
    options.level = trace::Level::values;  // the window shows what travels
    options.cancel = cancel;
    options.resume = resume;
    if (progress) options.progress = [&](int32_t done, int32_t steps, double) { progress(done, steps); };
    // A lesson's faults may end its run: what was recorded up to there is what the lesson shows.
    const run::RunResult result = run::run_up_to_failure(scenario, *backends::make_registry(), options);
    // "hsdp" for a lesson's folder or for hsdp.toml.
    const fs::path file = scenario.path;
    std::string name = file.filename() == "scenario.toml" ? folder_of(file.string()) : file.stem().string();
    if (name.empty()) name = file.filename().string();
    if (!strategy.empty()) name = strategy;
    if (!resume.empty()) name += " · " + fs::path(resume).filename().string();
    const bool own = strategy.empty() && resume.empty();
    const auto document =
        with_comparison(lesson_document(result.trace, name, scenario, cancel), what, scenario, own);
    // The checks speak of the scenario's own run, from its first step on.
    if (!own) std::const_pointer_cast<Document>(document)->failed_checks.clear();
    return document;
}

std::shared_ptr<const Document> retimed(const Document& front, const std::string& profile) {
    const time::Profile hardware = time::read_profile(profile);
    const auto again = [&](const Document& document) {
        auto made = std::make_shared<Document>(document);
        made->hardware = hardware;
        set_clocks(*made);
        return made;
    };
    // A variant's run is in front for a step alone: the lesson is what stands beside.
    const Document& document = front.lesson ? *front.lesson : front;
    const auto made = again(document);
    for (LessonStep& step : made->steps) {
        for (std::shared_ptr<const Document>& beside : step.beside) beside = again(*beside);
        if (step.run) step.run = again(*step.run);
    }
    made->name = document.name + " · " + hardware.name;
    made->path.clear();  // no file opens it
    made->compare.clear();
    return made;
}

}  // namespace meshscope::session
