#include "app/gui/main/options.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/scenario/scenario.h"
#include "core/scenario/words.h"
#include "tests/test.h"

using namespace meshscope;
using gui::parse_options;

namespace {

std::string refused(const std::vector<std::string>& arguments) {
    try {
        parse_options(arguments);
    } catch (const InvalidArgument& error) {
        return error.message().id;
    }
    return "";
}

}  // namespace

TEST_CASE("the contract's options are read, with a space or with =") {
    const gui::Options o = parse_options(
        {"run.mscope", "--lang", "zh",     "--theme=light", "--scale",   "1.5",    "--view",    "memory",
         "--render",   "out",    "--from", "0.25",          "--to=0.75", "--size", "1920x1080", "--frames",
         "12",         "--fps",  "25",     "--mp4",         "f.mp4",     "--plain"});
    CHECK(o.plain);
    CHECK(o.open == "run.mscope");
    CHECK(o.language == view::Language::zh);
    CHECK(o.theme == window::ThemeKind::light);
    CHECK(o.scale == 1.5F);
    CHECK(o.view == view::ViewKind::memory);
    CHECK(o.render == "out");
    CHECK(o.from == 0.25);
    CHECK(o.to == 0.75);
    CHECK(o.width == 1920);
    CHECK(o.height == 1080);
    CHECK(o.frames == 12);
    CHECK(o.frames_per_s == 25);
    CHECK(o.mp4 == "f.mp4");
}

TEST_CASE("steps are taken into a page alone") {
    CHECK(parse_options({"run.mscope", "--export", "part.html", "--steps", "10:20"}).steps.has_value());
    CHECK(refused({"run.mscope", "--export", "part.mp4", "--steps", "10:20"}) == "app.steps_need_page");
    CHECK(refused({"run.mscope", "--render", "out", "--steps", "10:20"}) == "app.steps_need_page");
}

TEST_CASE("every view can be asked for by its name, and no other") {
    for (const view::ViewKind kind : view::kViewKinds) {
        const std::string name(view::view_name(kind));
        CHECK(parse_options({"run.mscope", "--view", name}).view == kind);
        // A lesson may ask for it, too.
        const auto known = scenario::views();
        CHECK(std::find(known.begin(), known.end(), name) != known.end());
        for (const auto language : {i18n::Language::en, i18n::Language::zh})
            CHECK(gui::help_text(language).find(name) != std::string::npos);
    }
    for (const auto language : {i18n::Language::en, i18n::Language::zh})
        for (const std::string_view form : kFormNames)
            CHECK(gui::help_text(language).find(form) != std::string::npos);
    CHECK(scenario::views().size() == view::kViewKinds.size());
    CHECK(refused({"run.mscope", "--view", "graph"}) == "app.bad_value");
}

TEST_CASE("the old name of Tensors is still taken, for the form that it was") {
    const auto old = parse_options({"run.mscope", "--view", "parameters"});
    CHECK(old.view == view::ViewKind::tensors);
    CHECK(old.form == view::Form::rows);
    CHECK(parse_options({"run.mscope", "--form", "matrices", "--view", "parameters"}).form ==
          view::Form::matrices);
    // A lesson of an earlier version, too.
    const auto scenario = scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"toy\"\n[data]\nkind = \"regression\"\nsamples = 4\n[train]\nsteps = "
        "1\n"
        "global_batch = 4\n[optimizer]\nkind = \"sgd\"\nlr = 0.1\n[lesson]\nchapter = 1\n[[lesson.step]]\n"
        "id = \"a\"\nview = \"parameters\"\n[[lesson.step]]\nid = \"b\"\nview = \"tensors\"\n",
        "old.toml");
    REQUIRE(scenario.steps_of_lesson.size() == 2);
    CHECK(scenario.steps_of_lesson[0].view == "tensors");
    CHECK(scenario.steps_of_lesson[0].form == "rows");
    CHECK(scenario.steps_of_lesson[1].form.empty());
}

TEST_CASE("what cannot be is refused by name") {
    CHECK(refused({"--colour", "red"}) == "app.unknown_option");
    CHECK(refused({"--lang", "fr"}) == "app.bad_value");
    CHECK(refused({"--lang"}) == "app.missing_value");
    CHECK(refused({"--from", "2"}) == "app.bad_value");
    CHECK(refused({"--from", "nan"}) == "app.bad_value");
    CHECK(refused({"a.mscope", "--view", "collective", "--form", "grid"}) == "app.form_of_other_view");
    CHECK(refused({"a.mscope", "--form", "grid", "--view", "mesh"}) == "app.view_without_forms");
    CHECK(parse_options({"a.mscope", "--view", "timeline", "--form", "grid"}).form == view::Form::grid);
    CHECK(refused({"a.mscope", "--from", "0.9", "--to", "0.1"}) == "app.empty_range");
    CHECK(refused({"a.mscope", "--from", "0.5", "--to", "0.5"}) == "app.empty_range");
    CHECK(refused({"a.mscope", "--to", "0"}) == "app.empty_range");
    CHECK(refused({"--frames", "1.5"}) == "app.bad_value");
    CHECK(refused({"--size", "1280"}) == "app.bad_value");
    CHECK(refused({"--size", "99999x2"}) == "app.bad_value");
    CHECK(refused({"--scale", "9"}) == "app.bad_value");
    CHECK(refused({"a.mscope", "b.mscope", "c.mscope", "d.mscope"}).empty());
    CHECK(refused({"1", "2", "3", "4", "5"}) == "app.too_many_files");
    CHECK(refused({"a.mscope", "--mp4", "f.mp4"}) == "app.mp4_needs_render");
    CHECK(refused({"a.mscope", "--render", "o", "--size", "1281x720", "--mp4", "f.mp4"}) == "app.odd_size");
    CHECK(refused({"--render", "o"}) == "app.render_needs_file");
    CHECK(refused({"--lesson-pages", "o"}) == "app.pages_need_lesson");
    CHECK(refused({"--bench", "5"}) == "app.bench_needs_file");
    CHECK(refused({}) == "");
}
