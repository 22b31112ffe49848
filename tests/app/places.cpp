#include "places.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "app/gui/sandbox/what_if.h"
#include "app/gui/session/lesson_pictures.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/live_run.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/session/session.h"
#include "harness.h"
#include "tests/tree.h"

namespace meshscope::test {
namespace {

using session::AppState;
using view::ViewKind;

/// A state on its way to a place: actions are applied as the window does, requests are fulfilled at once.
class Way {
  public:
    Way() = default;
    explicit Way(const std::string& lesson_folder) { act(session::ShowDocument{lesson(lesson_folder)}); }

    Way& act(const session::Action& action) {
        session::Effects effects;
        session::apply(state_, action, effects);
        if (effects.run) {
            auto document = session::run_text(*effects.run, nullptr, nullptr);
            act(session::ShowRunning{});
            act(session::RunEnded{*effects.run, document});
        }
        return *this;
    }
    Way& step(int32_t index) { return act(session::GoToLessonStep{index}).settled(); }
    Way& view(ViewKind kind) { return act(session::SetView{kind}); }
    Way& at(double part) {
        const auto end = static_cast<double>(session::shown_clock(state_)->end_ns);
        return act(session::SetCursor{static_cast<int64_t>(end * part)});
    }
    /// Into the how manyth event of that kernel or rule of a rank in the last step.
    Way& within(int32_t rank, std::string_view name_or_rule, int which, double part) {
        const trace::Trace& trace = *state_.document->trace;
        for (const trace::Event& e : trace.ranks[static_cast<size_t>(rank)].events) {
            if (e.step + 1 != trace.info.steps) continue;
            if ((trace.text(e.name) != name_or_rule && trace.text(e.rule) != name_or_rule) || which-- > 0)
                continue;
            const time::Interval& t =
                session::shown_clock(state_)->events[static_cast<size_t>(rank)][static_cast<size_t>(e.id)];
            act(session::SelectRank{rank});
            return act(session::SetCursor{
                t.begin_ns + static_cast<int64_t>(static_cast<double>(t.end_ns - t.begin_ns) * part)});
        }
        throw std::runtime_error("no event " + std::string(name_or_rule));
    }
    /// Nothing moves any more.
    Way& settled() {
        for (int i = 0; i < 100 && session::in_motion(state_); ++i) act(session::Tick{0.1});
        return *this;
    }
    /// Answers a question about memory by really running it.
    Way& what_if(const std::string& id) {
        const auto& document = *state_.document;
        for (const sandbox::WhatIf& what :
             sandbox::what_ifs(session::scenario_text(document), document.trace->info.scenario_path))
            if (what.id == id) {
                act(session::AskWhatIf{id, what.changes});
                // The answer stands below the facts of the run that was asked of.
                return act(session::BringToFront{0});
            }
        throw std::runtime_error("no question " + id);
    }
    /// Every question of the lesson guessed and revealed, so that none hides what a place is for.
    Way& answered(const std::string& guess = "0") {
        const auto document = state_.document;
        for (const auto& quiz : document->quizzes)
            act(session::Guess{quiz.id, guess}).act(session::Reveal{quiz.id});
        if (session::open_question(state_) != nullptr) throw std::runtime_error("a question is open still");
        return *this;
    }
    const AppState& state() const { return state_; }
    AppState& state() { return state_; }

  private:
    AppState state_;
};

/// The lesson's run, changed, with all ranks held; `turns` times one of them is let go, in turn. It ends
/// sooner where nobody can go on.
AppState held(const std::string& folder, const std::vector<sandbox::Change>& changes, int turns) {
    AppState state = Way(folder).act(session::ToggleSandbox{}).state();
    session::LiveRun live;
    const auto act = [&](const session::Action& action) {
        session::Effects effects;
        session::apply(state, action, effects);
        if (effects.start_live) live.start(*effects.start_live);
        if (effects.let_go) live.let_go(*effects.let_go);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        while (state.live && state.live->world.going) {
            if (std::chrono::steady_clock::now() > until)
                throw std::runtime_error("the held run tells nothing");
            session::Effects none;
            for (const session::Action& news : live.news(catalogue(), i18n::Language::en))
                session::apply(state, news, none);
            std::this_thread::yield();
        }
    };
    if (!changes.empty()) act(session::EditSandbox{changes});
    act(session::StartLive{});
    for (int i = 0; i < turns && !state.live->world.ended; ++i) {
        const auto& ranks = state.live->world.ranks;
        int32_t next = -1;
        for (int32_t k = 0; k < 4 && next < 0; ++k)
            if (ranks.at(static_cast<std::size_t>((i + k) % 4)).stands == view::LiveRank::Stands::held)
                next = (i + k) % 4;
        if (next < 0) break;
        act(session::LetGo{next, i < 6 ? session::LetGoHow::collective : session::LetGoHow::all});
    }
    return state;
}

std::vector<WindowPlace> make_places() {
    std::vector<WindowPlace> out;
    const auto add = [&](const std::string& name, const Way& way) { out.push_back({name, way.state()}); };

    Way welcome;
    welcome.act(session::OfferLessons{
        session::with_search_words(session::find_lessons({{test::source_root() + "/scenarios"}}))});
    // What the first chapters' lessons show, and the one that is gone on with.
    for (const session::LessonCard& card : welcome.state().offers)
        if (card.chapter <= 2 || card.number == 63)
            welcome.act(session::ShowLessonPicture{card.id, session::lesson_picture(card.id)});
    add("welcome", welcome);
    session::Remembered remembered;
    remembered.recent = {{"/a/b.mscope", "b.mscope"},
                         {"/a/a_record_with_a_name_much_longer_than_the_column_it_stands_in.mscope",
                          "a_record_with_a_name_much_longer_than_the_column_it_stands_in.mscope"}};
    remembered.progress["63_hsdp"] = {7, {"a", "b"}, {{"q", "1"}}};
    remembered.progress["11_processes"] = {2, {"a", "b"}, {}};
    remembered.recent.insert(remembered.recent.begin(),
                             {test::source_root() + "/scenarios/63_hsdp/scenario.toml", "63_hsdp"});
    add("welcome_again", Way(welcome).act(session::Remember{remembered}));
    add("loading", Way(welcome).act(session::ShowLoading{session::Loading{"63_hsdp", 1, 3}}));

    // Every view, in the middle of the HSDP lesson's run.
    const Way hsdp = Way("63_hsdp");
    for (const ViewKind kind : view::kViewKinds)
        add(std::string(view::view_name(kind)), Way(hsdp).at(0.37).view(kind));
    // … and with a step of a lesson about something else.
    add("tensors_rows", Way(hsdp).at(0.37).view(ViewKind::tensors).act(session::SetForm{view::Form::rows}));
    add("matrices_columns", Way("72_tp").step(1));
    add("matrices_sum", Way("72_tp").step(2));
    add("matrices_scatter", Way("74_sp").step(3));
    // What FSDP's ranks have of a weight while it is gathered: cut by rows, and as one FlatParameter.
    add("matrices_gathered", Way("62_fsdp2")
                                 .view(ViewKind::tensors)
                                 .act(session::SetForm{view::Form::matrices})
                                 .within(0, "fsdp2.unshard.forward", 0, 0.5));
    add("rows_flat", Way("61_fsdp1")
                         .view(ViewKind::tensors)
                         .act(session::SetForm{view::Form::rows})
                         .within(1, "fsdp1.unshard.forward", 1, 0.5));
    // Ring attention in the midst of a turn, on the way back, and the other ways.
    const Way ring =
        Way("77_cp").step(2).view(ViewKind::tensors).act(session::SetForm{view::Form::attention});
    const auto other_way = [&](const char* way) {
        return Way(ring).act(session::with_attention(way)).act(session::BringToFront{1});
    };
    add("attention", Way(ring).within(3, "attention", 1, 0.3));
    Way causal("77_cp");
    causal.step(3);
    add("attention_asked", Way(causal).within(3, "attention", 1, 0.5));
    add("attention_beside", causal.answered().within(3, "attention", 1, 0.5));
    add("attention_merge", Way(ring));
    add("attention_back", Way(ring).within(0, "attention.backward", 2, 0.5));
    add("attention_neighbours", other_way("neighbours").within(3, "attention", 2, 0.35));
    add("attention_gather", other_way("gather").within(0, "cp.all_gather.kv", 0, 0.5));
    add("attention_heads", other_way("heads").within(0, "cp.all_to_all.k", 0, 0.5));
    add("attention_output", other_way("heads").within(0, "cp.all_to_all.o", 0, 0.6));
    add("matrices_back", Way("78_three_d").at(0.6).view(ViewKind::tensors));
    add("gather", Way(hsdp).step(1));
    add("groups", Way("12_device_mesh").step(3));
    Way slice("78_three_d");
    slice.answered()
        .view(ViewKind::mesh)
        .act(session::SetSlice{"replicate,shard"})
        .act(session::SelectRank{1})
        .act(session::BeRank{1})
        .settled();
    add("mesh_slice", slice);
    add("mesh_rank", Way("12_device_mesh").act(session::BeRank{5}).settled());
    add("mesh_illegal", Way("12_device_mesh").act(session::SetSlice{"tp,replicate"}).settled());
    add("collective_ring", Way("22_ring").step(2));
    // Playing rests there: what has just happened is told, in the column and at the foot.
    const auto after_a_hop = [](Way way) { return way.act(session::StepHop{1}).settled(); };
    add("beat_ring", after_a_hop(Way("22_ring").step(2)));
    add("beat_gather", after_a_hop(Way(hsdp).step(1)));
    add("beat_computed", Way(hsdp).at(0.2).act(session::StepEvent{1}).settled());
    add("beat_foot", after_a_hop(Way("22_ring").step(2).act(session::ToggleLesson{})));
    add("pipeline", Way("75_pipeline").view(ViewKind::timeline).at(0.4));
    add("pipeline_grid", Way("75_pipeline").step(1).at(0.75));
    add("pipeline_beside", Way("75_pipeline").step(6));
    add("pipeline_timed", Way("75_pipeline").step(5).act(session::SetForm{view::Form::timed_grid}));
    add("three_d", Way("78_three_d").view(ViewKind::mesh).at(0.5));
    add("peak", Way("66_true_peak").step(2));
    add("algorithms", Way("23_algorithms").step(1));
    Way five("23_algorithms");
    five.answered("1");
    add("algorithms_asked", Way("23_algorithms").step(4));
    add("algorithms_five", five.step(4).act(session::SelectChunk{0, 2}));
    add("algorithms_two", Way(five).step(2));
    add("algorithms_alone", Way("22_ring").step(2).act(session::SetForm{view::Form::side_by_side}));
    add("algorithms_one", Way("22_ring").step(2));

    // Questions: asked, wrongly answered, revealed.
    Way asked(hsdp), told(hsdp);
    for (const auto& quiz : hsdp.state().document->quizzes) {
        asked.act(session::Guess{quiz.id, quiz.kind == "choice" ? "0" : "22"})
            .act(session::ShowHint{quiz.id});
        told.act(session::Guess{quiz.id, "22"}).act(session::Reveal{quiz.id});
    }
    add("quiz_hint", asked.step(2));
    add("quiz_told", told.step(2));
    Way missed(hsdp);
    for (const auto& quiz : hsdp.state().document->quizzes)
        missed.act(session::Guess{quiz.id, quiz.kind == "choice" ? "0" : "22"}).act(session::Check{quiz.id});
    add("quiz_missed", missed.step(2));

    // The steps at a lesson's end.
    const auto last = static_cast<int32_t>(hsdp.state().document->steps.size()) - 1;
    add("step_break", told.step(last - 2));
    add("step_summary", told.step(last));

    // Over the window.
    add("keys", Way(hsdp).act(session::ToggleKeySheet{}));
    add("palette", Way(hsdp).act(session::TogglePalette{}));
    add("error",
        Way(hsdp).act(session::ShowError{
            {{"/a/very/long/path/without/any/space/that/must/be/broken/somewhere/because/it/is/wider/"
              "than/the/box.toml:3:14: mesh (2, 2) needs 4 ranks, but the world has 3"}}}));
    add("toast", Way(hsdp).act(session::ShowToast{"/somewhere/hsdp.png"}));
    add("export", Way(hsdp).act(session::ToggleExport{}));
    add("export_replace", Way(hsdp).act(session::AskReplace{"/somewhere/hsdp.mp4"}));
    add("exporting",
        Way(hsdp).act(session::ShowExporting{session::Exporting{"/somewhere/hsdp.mp4", 12, 300}}));

    // Side by side.
    const auto under = [](const std::string& strategy) {
        return session::load_document(test::source_root() + "/scenarios/63_hsdp", {}, nullptr, nullptr,
                                      strategy);
    };
    Way two(hsdp);
    two.act(session::AddDocument{under("ddp")});
    add("compare_two", Way(two).at(0.5));
    two.act(session::AddDocument{under("fsdp2")}).act(session::AddDocument{lesson("52_zero")});
    add("compare_variants", Way("68_fsdp_options").step(6));
    add("compare_four", Way(two).at(0.5));

    // Touched.
    Way sandbox(hsdp);
    sandbox.act(session::ToggleSandbox{});
    add("sandbox", sandbox);
    add("sandbox_mistake", Way(sandbox).act(session::EditSandbox{{{"mesh.names", "[\"replicate\"]"}}}));
    add("sandbox_saving",
        Way(sandbox).act(session::AskSave{session::SaveForm{"/somewhere/hsdp.toml", {}, true}}));
    Way running(sandbox);
    running.act(session::ShowRunning{session::Running{"63_hsdp · steps", "", 1, 3, false}});
    add("sandbox_running", running);
    add("sandbox_ran",
        Way(sandbox).act(session::EditSandbox{{{"train.steps", "2"}}}).act(session::RunSandbox{}));
    add("what_if", Way(hsdp).view(ViewKind::memory));
    add("what_if_answer",
        Way(hsdp).view(ViewKind::memory).what_if("keep").what_if("offload").view(ViewKind::memory));
    AppState live = held("63_hsdp", {}, 4);
    live.view = ViewKind::timeline;
    out.push_back({"held", live});
    live.view = ViewKind::collective;
    out.push_back({"held_collective", live});
    out.push_back({"held_start", held("63_hsdp", {}, 0)});
    const std::vector<sandbox::Change> skip = {
        {"faults.kind", "\"skip\""}, {"faults.rank", "1"}, {"faults.step", "1"}};
    out.push_back({"mismatch", held("63_hsdp", skip, 4000)});
    out.push_back({"deadlock", held("82_skipped", {}, 4000)});

    // Ended early: a lesson's exercise, in the view it opens in and beside the lesson, and a lesson of its
    // own.
    Way broken(hsdp);
    broken.step(7)
        .act(session::StartExercise{sandbox::variant_changes(session::scenario_text(*hsdp.state().document),
                                                             hsdp.state().document->trace->info.scenario_path,
                                                             "break")})
        .act(session::RunSandbox{})
        .act(session::ToggleSandbox{});
    add("ended", broken);
    add("ended_memory", Way(broken).view(ViewKind::memory));
    add("ended_folded", Way(broken).act(session::ToggleEnd{}).view(ViewKind::mesh));
    add("ended_compare", Way(broken).view(ViewKind::compare));
    add("lesson84_asks", Way("84_dead_rank").step(0));
    Way dead("84_dead_rank");
    for (const auto& quiz : dead.state().document->quizzes)
        dead.act(session::Guess{quiz.id, quiz.answer}).act(session::Reveal{quiz.id});
    add("ended_lesson", dead.step(2));
    // How each kind of failure looks: the lesson's run with a fault, opened as it opens.
    const auto failing = [](const std::string& folder, const std::vector<sandbox::Change>& faults) {
        Way way(folder);
        way.act(session::StartExercise{faults}).act(session::RunSandbox{}).act(session::ToggleSandbox{});
        return way;
    };
    const std::string scatter = "\"fsdp2.reduce_scatter.gradients\"", reduce = "\"ddp.bucket.all_reduce\"";
    Way killed = failing("63_hsdp", {{"faults.kind", "\"kill\""},
                                     {"faults.rank", "3"},
                                     {"faults.step", "1"},
                                     {"faults.rule", scatter},
                                     {"faults.unit", "\"net2\""}});
    add("failure", killed);
    add("failure_timeline", Way(killed).view(ViewKind::timeline));
    add("failure_collective", Way(killed).view(ViewKind::collective));
    add("failure_measured", Way(killed)
                                .act(session::SetClock{time::ClockKind::measured})
                                .act(session::GoToEnd{})
                                .view(ViewKind::timeline));
    add("failure_matrices", Way(killed).view(ViewKind::tensors));
    add("failure_matrices_drawer", Way(killed).view(ViewKind::tensors).act(session::ToggleDrawer{}));
    const Way many = failing("63_hsdp", {{"mesh.shape", "[8, 8]"},
                                         {"data.samples", "64"},
                                         {"train.global_batch", "64"},
                                         {"faults.kind", "\"kill\""},
                                         {"faults.rank", "19"},
                                         {"faults.step", "1"},
                                         {"faults.rule", scatter},
                                         {"faults.unit", "\"net2\""}});
    add("failure_many", many);
    add("failure_many_timeline", Way(many).view(ViewKind::timeline));
    add("failure_compared", Way(killed).act(session::ask_without_faults()));
    const Way stalled = failing("84_dead_rank", {{"faults", "[{ kind = \"stall\", rank = 2, step = 1 }]"}});
    add("failure_stalled", stalled);
    const Way odd = failing(
        "84_dead_rank", {{"faults", "[{ kind = \"mismatch\", field = \"count\", rank = 1, step = 1, rule = " +
                                        reduce + " }]"}});
    add("failure_mismatch", odd);
    add("failure_mismatch_collective", Way(odd).view(ViewKind::collective));
    const Way skipped = failing(
        "84_dead_rank", {{"faults", "[{ kind = \"skip\", rank = 2, step = 1, rule = " + reduce + " }]"}});
    add("failure_missing", skipped);
    add("failure_missing_collective", Way(skipped).view(ViewKind::collective));

    Way presenting(hsdp);
    presenting.step(3).act(session::TogglePresenter{});
    add("presenter", presenting);
    add("presenter_notes", presenting.act(session::ToggleNotes{}));
    return out;
}

}  // namespace

const std::vector<WindowPlace>& window_places() {
    static const std::vector<WindowPlace> made = make_places();
    return made;
}

}  // namespace meshscope::test
