#include <thread>

#include "app/gui/session/lesson_document.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/sandbox_actions.h"
#include "core/memory/ledger.h"
#include "core/run/dry.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
using test::Harness;

namespace {

/// High enough that no field is scrolled away.
constexpr int kHigh = 2600;

const sandbox::Draft& draft(const Harness& app) {
    REQUIRE(app.state().sandbox);
    return app.state().sandbox->draft;
}

/// What the window's loop does with a request, here and now.
std::shared_ptr<const session::Document> run_now(Harness& app) {
    const session::Effects effects = app.stage().take_effects();
    REQUIRE(effects.run.has_value());
    auto document = session::run_text(*effects.run, nullptr, nullptr);
    app.stage().act(session::ShowRunning{});
    app.stage().act(session::RunEnded{*effects.run, document});
    app.frames(3);
    return document;
}

void focus(Harness& app, const std::string& id) {
    for (int i = 0; i < 400 && app.stage().memory().focus != id; ++i) app.key(window::Key::tab);
    REQUIRE(app.stage().memory().focus == id);
}

}  // namespace

TEST_CASE("the sandbox: a field typed in, run, and the new record stands beside the old one") {
    Harness app(1280, kHigh);
    app.open(test::lesson());
    app.key(window::Key::e);
    REQUIRE(app.has_widget("sandbox.at.run"));
    CHECK(draft(app).text() == test::lesson()->trace->info.scenario);

    app.click(app.widget("sandbox.at.train.steps"));
    app.type("1");
    app.click(app.widget("sandbox.at.run"));
    REQUIRE(app.state().running);
    CHECK(draft(app).reading().value("train.steps") == "31");
    const auto made = run_now(app);
    REQUIRE(app.state().runs.size() == 2);
    CHECK(app.state().document == made);
    CHECK(app.state().runs[0] == test::lesson());
    CHECK(made->name == "63_hsdp · steps");
    CHECK(made->trace->info.steps == 31);
    // It began as the old one did, to the bit.
    const auto& before = test::lesson()->trace->info.losses;
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(made->trace->info.losses[i] == before[i]);
    // The sandbox goes on from where it was, also beside its own run.
    CHECK(app.state().sandbox->open);
    CHECK(draft(app).can_undo());
}

TEST_CASE("the sandbox marks a mistake at its field, offers no run, and takes every edit back") {
    Harness app(1280, kHigh);
    app.open(test::lesson());
    app.key(window::Key::e);
    const std::string before = draft(app).text();
    app.click(app.widget("sandbox.at.parallel.algorithm=tree"));
    app.click(app.widget("sandbox.at.mesh.shape"));
    app.type("2");
    CHECK(draft(app).reading().value("mesh.shape") == "[2, 22]");
    REQUIRE_FALSE(draft(app).mistakes().empty());
    CHECK(draft(app).mistakes()[0].diagnostic.message.id == "scenario.batch_does_not_divide");
    app.frames(2);
    CHECK_FALSE(app.has_widget("sandbox.at.run"));  // no widget: it is not to be pressed
    CHECK(app.has_widget("sandbox.at.mistakes"));
    app.key(window::Key::enter, false, true);
    CHECK_FALSE(app.state().running);

    app.click(app.widget("sandbox.at.undo"));
    CHECK(draft(app).mistakes().empty());
    CHECK(draft(app).reading().value("parallel.algorithm") == "\"tree\"");
    app.key(window::Key::z, false, true);
    CHECK(draft(app).text() == before);
    app.key(window::Key::z, true, true);
    CHECK(draft(app).reading().value("parallel.algorithm") == "\"tree\"");
    // A press on what is chosen gives it back to its default.
    app.click(app.widget("sandbox.at.parallel.algorithm=tree"));
    CHECK(draft(app).text() == before);
    app.key(window::Key::escape);
    CHECK_FALSE(app.state().sandbox->open);
    app.key(window::Key::e);
    CHECK(draft(app).can_undo());
}

TEST_CASE("a mistake that is scrolled away comes into sight") {
    Harness app(1280, 720);
    app.open(test::lesson());
    app.key(window::Key::e);
    app.stage().act(session::EditSandbox{{{"train.global_batch", "7"}}});
    app.frames(3);
    CHECK(app.widget("sandbox.at.train.global_batch").y > 500);
    app.click(app.widget("sandbox.at.mistakes"));
    app.frames(3);
    CHECK(app.widget("sandbox.at.train.global_batch").y < 480);
    CHECK(app.widget("sandbox.at.train.global_batch").y > 52);
}

TEST_CASE("the sandbox by keyboard alone: Tab to a choice, Enter, Ctrl Enter runs") {
    Harness app(1280, kHigh);
    app.open(test::lesson());
    app.key(window::Key::e);
    focus(app, "sandbox.at.parallel.cpu_offload=true");
    app.key(window::Key::enter);
    CHECK(draft(app).reading().value("parallel.cpu_offload") == "true");
    app.key(window::Key::escape);  // out of the focus
    app.key(window::Key::enter, false, true);
    CHECK(app.state().running);
    CHECK(run_now(app)->name == "63_hsdp · cpu_offload");
}

TEST_CASE("the sandbox saves, and never over a file without asking") {
    const test::Folder folder;
    Harness app(1280, kHigh);
    app.open(test::lesson());
    app.key(window::Key::e);
    app.click(app.widget("sandbox.at.parallel.algorithm=tree"));
    app.click(app.widget("sandbox.at.save"));
    REQUIRE(app.state().sandbox->saving);
    const std::string there = folder.write("there.toml", "mine");
    app.stage().act(session::AskSave{session::SaveForm{there}});
    app.frames(3);
    const auto press = [&](const std::string& widget) {
        app.click(app.widget(widget));
        const session::Effects effects = app.stage().take_effects();
        REQUIRE(effects.save.has_value());
        for (const session::Action& action :
             session::save(*effects.save, test::catalogue(), i18n::Language::en))
            app.stage().act(action);
        app.frames(3);
    };
    press("sandbox.at.save.now");
    CHECK(test::content(there) == "mine");
    REQUIRE(app.state().sandbox->saving);
    CHECK(app.state().sandbox->saving->exists);
    press("sandbox.at.replace");
    CHECK_FALSE(app.state().sandbox->saving);
    const auto saved = sandbox::read_text(test::content(there), there);
    REQUIRE(saved.scenario);
    CHECK(saved.value("parallel.algorithm") == "\"tree\"");
    CHECK(app.state().toast->text.find(there) != std::string::npos);
}

TEST_CASE("a run that finds a mistake marks it, one that breaks shows what it recorded") {
    Harness app(1280, kHigh);
    app.open(test::lesson());
    app.key(window::Key::e);
    app.stage().act(session::EditSandbox{
        {{"faults.kind", "\"kill\""}, {"faults.rank", "2"}, {"faults.step", "1"}, {"faults.at", "999"}}});
    app.frames(2);
    app.click(app.widget("sandbox.at.run"));
    const session::Effects effects = app.stage().take_effects();
    REQUIRE(effects.run.has_value());
    session::Runner runner;
    runner.start(*effects.run);
    std::vector<session::Action> all;
    while (app.state().running) {
        for (const session::Action& action : runner.news(test::catalogue(), i18n::Language::en)) {
            all.push_back(action);
            app.stage().act(action);
        }
        std::this_thread::yield();
    }
    // That call never comes: the fault's own line is marked.
    REQUIRE_FALSE(draft(app).mistakes().empty());
    CHECK(app.state().runs.size() == 1);

    app.stage().act(session::EditSandbox{{{"faults.at", ""}}});
    app.frames(2);
    app.click(app.widget("sandbox.at.run"));
    const auto made = run_now(app);
    CHECK(made->trace->info.failure.find("diagnosis.lost") != std::string::npos);
    CHECK(app.state().document == made);
}

TEST_CASE("a run that is stopped ends after its step, and nothing comes of it") {
    session::Runner runner;
    session::RunRequest request;
    request.text = sandbox::changed_text(test::lesson()->trace->info.scenario, {{"train.steps", "120000"}});
    request.path = test::lesson()->trace->info.scenario_path;
    request.name = "long";
    runner.start(request);
    bool told = false, over = false;
    while (!over) {
        for (const session::Action& action : runner.news(test::catalogue(), i18n::Language::en)) {
            if (const auto* now = action.get_if<session::ShowRunning>()) {
                if (now->running && now->running->steps_done > 0 && !told) {
                    told = true;
                    CHECK(now->running->steps == 120000);
                    runner.stop();
                }
                over = !now->running;
            }
            CHECK_FALSE(action.get_if<session::RunEnded>());
            CHECK_FALSE(action.get_if<session::ShowError>());
        }
        std::this_thread::yield();
    }
    CHECK(told);
    runner.start(request);  // the end of the window in the middle of a run waits for one step only
}

TEST_CASE("what-if buttons run the variant and tell the difference of peaks, which is that of the records") {
    Harness app(1280, 1400);
    app.open(test::lesson());
    app.stage().act(session::SetView{view::ViewKind::memory});
    app.frames(3);
    for (const char* id : {"keep", "no_prefetch", "offload"}) {
        INFO(id);
        const std::string widget = std::string("what_if.") + id;
        REQUIRE(app.has_widget(widget));
        app.click(app.widget(widget));
        const auto made = run_now(app);
        CHECK(app.state().document == test::lesson());  // beside, not in front
        CHECK(app.state().view == view::ViewKind::memory);
        const session::WhatIfRun* answer = session::answer_to(app.state(), id);
        REQUIRE(answer != nullptr);
        CHECK(answer->answer == made);
        const int64_t now = memory::peak(*test::lesson()->trace, 0).bytes,
                      then = memory::peak(*made->trace, 0).bytes;
        if (std::string(id) == "offload") CHECK(then < now);
        if (std::string(id) == "keep") CHECK(then >= now);
        CHECK(made->trace->info.losses == test::lesson()->trace->info.losses);
    }
    CHECK(app.state().runs.size() == 4);
    // A fifth makes room: an answer goes, the run that is asked of stays.
    app.click(app.widget("what_if.recompute"));
    run_now(app);
    CHECK(app.state().runs.size() == 4);
    CHECK(app.state().runs[0] == test::lesson());
    CHECK(session::answer_to(app.state(), "recompute") != nullptr);
    CHECK(session::answer_to(app.state(), "keep") == nullptr);
    // Closed runs are no answers.
    app.stage().act(session::CloseRun{3});
    CHECK(session::answer_to(app.state(), "recompute") == nullptr);
}

TEST_CASE("no text of the sandbox overflows: fields, mistakes, a run under way, saving, what-if answers") {
    for (const auto& [width, height] : {std::pair{1280, 720}, {1920, 1080}, {700, 500}})
        for (const char* name : {"63_hsdp", "21_collectives", "75_pipeline"}) {
            Harness app(width, height);
            app.open(test::lesson(name));
            app.stage().act(session::ToggleSandbox{});
            const auto check = [&](const char* what) {
                for (const view::Language language : {view::Language::en, view::Language::zh})
                    for (const float scale : {1.0F, 1.5F, 2.0F}) {
                        app.stage().act(session::SetLanguage{language});
                        app.stage().act(session::SetScale{scale});
                        app.frames(3);
                        for (const panels::Overflow& o : app.stage().overflows()) {
                            INFO(name << " " << width << ", " << what << ", "
                                      << (language == view::Language::zh ? "zh" : "en") << " at " << scale
                                      << ", panel " << o.where << ": \"" << o.text << "\" needs "
                                      << o.measured << " of " << o.available);
                            CHECK(o.measured <= o.available);
                        }
                    }
            };
            check("fields");
            app.stage().act(session::EditSandbox{{{"mesh.shape", "[2, 3, 5]"},
                                                  {"faults.kind", "\"nothing\""},
                                                  {"parallel.algorithm", "\"rings\""}}});
            check("mistakes");
            app.stage().act(session::ShowRunning{session::Running{"63_hsdp · steps", "", 1, 3, false}});
            check("running");
            app.stage().act(session::ShowRunning{});
            app.stage().act(session::AskSave{session::SaveForm{"a/long/folder/name/63_hsdp_changed.toml"}});
            check("saving");
            app.stage().act(session::AskSave{session::SaveForm{"a.toml", sandbox::SaveForm::whole, true}});
            check("replacing");
            app.stage().act(session::SetView{view::ViewKind::memory});
            check("memory");
        }
}

namespace {

/// A prediction of a pipeline with a cp dim, as a plan's page shows one; `memory` is its [memory].
std::shared_ptr<const session::Document> modelled_run(const std::string& memory) {
    run::DryOptions options;
    options.all_up_to = 4;
    const auto scenario = scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 16\nlayers = 2\nvocab = 16\nseq = 8\n"
        "heads = 2\n[train]\nsteps = 2\nglobal_batch = 4\n[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"cp\"]\n"
        "[parallel]\nschedule = \"1F1B\"\nmicrobatches = 2\n" +
            memory,
        "s.toml");
    return session::make_document(run::run_dry(scenario, options).trace, "modelled", nullptr);
}

const std::string kEager = "[memory]\nops = \"pytorch\"\n";

}  // namespace

TEST_CASE("of a modelled run with eager PyTorch's kernels nothing is offered that would really be run") {
    for (const std::string& memory : {std::string(), kEager}) {
        INFO(memory);
        const bool runs = memory.empty();
        session::AppState state;
        session::Effects effects;
        const auto act = [&](const session::Action& action) { session::apply(state, action, effects); };
        act(session::ShowDocument{modelled_run(memory)});
        CHECK(session::can_run_otherwise(*state.document) == runs);
        CHECK(session::algorithms_to_ask(state, CollectiveOp::all_reduce).empty() != runs);
        CHECK(session::attention_to_ask(state).empty() != runs);
        CHECK(session::movable_grid(state).has_value() == runs);
        act(session::with_attention("heads"));
        CHECK(effects.run.has_value() == runs);
        effects.run.reset();
        act(session::ShowRunning{});
        act(session::ToggleSandbox{});
        REQUIRE(state.sandbox);
        CHECK(session::sandbox_request(state).has_value() == runs);
        CHECK(state.sandbox->draft.mistakes_at("memory.ops").empty() == runs);
    }
}

TEST_CASE("the sandbox marks kernels that only predictions have, and saves what it cannot run") {
    Harness app(1280, kHigh);
    app.open(modelled_run(kEager));
    app.key(window::Key::e);
    app.frames(2);
    CHECK_FALSE(app.has_widget("sandbox.at.run"));
    CHECK(app.has_widget("sandbox.at.mistakes"));
    CHECK(app.has_widget("sandbox.at.save"));
    app.stage().act(session::EditSandbox{{{"train.steps", "0"}}});
    app.frames(2);
    CHECK_FALSE(app.has_widget("sandbox.at.save"));
    app.stage().act(session::UndoEdit{});
    app.stage().act(session::EditSandbox{{{"memory.ops", "\"fused\""}}});
    app.frames(2);
    CHECK(app.has_widget("sandbox.at.run"));
}
