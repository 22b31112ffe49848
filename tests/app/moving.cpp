#include "moving.h"

#include "app/gui/session/runner.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/pipeline_marks.h"
#include "tests/test.h"

namespace meshscope::test {

std::shared_ptr<const session::Document> pipeline_run() {
    return lesson("75_pipeline");
}

std::shared_ptr<const session::Document> run_changed(const std::vector<sandbox::Change>& changes) {
    const session::Document& run = *pipeline_run();
    session::RunRequest request;
    request.text = sandbox::changed_text(session::scenario_text(run), changes);
    request.path = run.trace->info.scenario_path;
    request.name = "changed";
    return session::run_text(request, {}, nullptr);
}

std::shared_ptr<const view::PipelineGrid> step_grid(const session::Document& run) {
    return view::pipeline_grid(*run.trace, run.modelled, 0, 1);
}

std::string order_of(const session::Document& run, std::size_t lane) {
    std::string text;
    const auto grid = step_grid(run);
    for (const view::PipelineBlock& block : grid->lanes[lane].blocks)
        text += (text.empty() ? "" : " ") + std::string(view::block_letter(block.kind)) +
                std::to_string(block.microbatch);
    return text;
}

std::shared_ptr<const session::Document> answer(Harness& app) {
    auto effects = app.stage().take_effects();
    REQUIRE(effects.run);
    const auto run = session::run_text(*effects.run, {}, nullptr);
    app.stage().act(session::ShowRunning{});
    app.stage().act(session::RunEnded{*effects.run, run});
    app.frames(3);
    return run;
}

std::shared_ptr<const session::Document> show_grid(Harness& app) {
    static const auto run = run_changed({});
    app.open(run);
    app.stage().act(session::SetView{view::ViewKind::timeline});
    app.stage().act(session::SetForm{view::Form::grid});
    app.stage().act(session::SetCursor{step_grid(*run)->lanes[0].blocks[0].at.begin_ns});
    app.frames(3);
    return run;
}

view::Point middle(const Harness& app, std::size_t lane, std::size_t block) {
    const auto grid = step_grid(*app.state().document);
    const view::PipelineLane& of = grid->lanes[lane];
    return app.shape("event", of.rank, of.blocks[block].first);
}

bool tells(Harness& app, const std::string& words) {
    std::vector<panels::Drawn> drawn;
    app.stage().note_pictures(&drawn);
    app.frames(1);
    app.stage().note_pictures(nullptr);
    for (const panels::Drawn& each : drawn)
        for (const view::Shape& shape : each.picture.shapes)
            if (shape.text.find(words) != std::string::npos) return true;
    return false;
}

}  // namespace meshscope::test
