#include "app/gui/session/live_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using session::LetGoHow;
using Stands = view::LiveRank::Stands;
using test::Harness;

namespace {

session::RunRequest request(const std::vector<sandbox::Change>& changes = {},
                            const std::string& name = "63_hsdp") {
    const auto& info = test::lesson(name)->trace->info;
    return {sandbox::changed_text(info.scenario, changes), info.scenario_path, "held", "", nullptr};
}

/// A held run and what it told last.
class Driven {
  public:
    explicit Driven(const session::RunRequest& asked) {
        live_.start(asked);
        wait();
    }
    const session::LiveState& let_go(int32_t rank, LetGoHow how) {
        live_.let_go({rank, how});
        return wait();
    }
    const session::LiveState& now() const { return state_; }
    const view::LiveRank& rank(int32_t r) const { return state_.world.ranks[static_cast<std::size_t>(r)]; }
    std::size_t events(int32_t r) const {
        return state_.document ? state_.document->trace->ranks[static_cast<std::size_t>(r)].events.size() : 0;
    }

  private:
    const session::LiveState& wait() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < until) {
            for (const session::Action& action : live_.news(test::catalogue(), i18n::Language::en))
                if (const auto* told = action.get_if<session::ShowLive>()) {
                    state_ = *told->live;
                    return state_;
                } else if (const auto* error = action.get_if<session::ShowError>()) {
                    FAIL(error->error.lines.front());
                }
            std::this_thread::yield();
        }
        throw std::runtime_error("the held run tells nothing");
    }
    session::LiveRun live_;
    session::LiveState state_;
};

}  // namespace

TEST_CASE("all ranks are held at their start, one that is let go runs to its call and waits for the others") {
    Driven live(request());
    REQUIRE(live.now().world.ranks.size() == 4);
    for (int32_t r = 0; r < 4; ++r) {
        CHECK(live.rank(r).stands == Stands::held);
        CHECK(live.rank(r).next == "start");
    }
    CHECK_FALSE(live.now().document);

    live.let_go(0, LetGoHow::collective);
    CHECK_FALSE(live.rank(0).call.op.empty());
    CHECK(live.events(0) > 0);
    CHECK(live.events(1) == 0);  // nobody else did anything
    // Alone it cannot end its call: sooner or later it waits for a rank of its group.
    for (int i = 0; i < 20 && live.rank(0).stands == Stands::held; ++i) live.let_go(0, LetGoHow::collective);
    REQUIRE(live.rank(0).stands == Stands::waiting);
    const int32_t peer = live.rank(0).peer;
    CHECK(peer > 0);
    CHECK(live.rank(peer).stands == Stands::held);
    CHECK(live.rank(peer).next == "start");
    const std::size_t before = live.events(0);
    // The one that it waits for comes to the same call and brings it on.
    for (int i = 0; i < 20 && live.rank(0).stands == Stands::waiting; ++i) live.let_go(peer, LetGoHow::hop);
    CHECK(live.rank(0).stands == Stands::held);
    CHECK(live.events(peer) > 0);
    CHECK(live.events(0) == before);
}

TEST_CASE("a hop is one message: the trace so far grows by at most one hop, and never shrinks") {
    Driven live(request());
    std::size_t hops = 0, acts = 0;
    for (int i = 0; i < 24; ++i) {
        int32_t next = -1;
        for (int32_t k = 0; k < 4 && next < 0; ++k)
            if (live.rank((i + k) % 4).stands == Stands::held) next = (i + k) % 4;
        REQUIRE(next >= 0);
        live.let_go(next, LetGoHow::hop);
        std::size_t now = 0;
        if (live.now().document)
            for (const auto& rank : live.now().document->trace->ranks) now += rank.hops.size();
        CHECK(now >= hops);
        CHECK(now <= hops + 1);
        CHECK(static_cast<std::size_t>(live.now().world.acts) > acts);
        hops = now;
        acts = static_cast<std::size_t>(live.now().world.acts);
    }
    CHECK(hops > 0);
    CHECK(live.now().document->trace->info.failure.find("live.left") != std::string::npos);
}

TEST_CASE("let go all together, a held run ends with the very numbers of a free one") {
    Driven live(request());
    live.let_go(2, LetGoHow::collective);
    live.let_go(1, LetGoHow::hop);
    live.let_go(0, LetGoHow::all);
    CHECK(live.now().world.ended);
    CHECK_FALSE(live.now().world.diagnosis);
    const trace::Trace& free = *test::lesson()->trace;
    const trace::Trace& held = *live.now().document->trace;
    CHECK(held.info.losses == free.info.losses);
    for (std::size_t r = 0; r < 4; ++r) CHECK(held.ranks[r].hops.size() == free.ranks[r].hops.size());
}

TEST_CASE("a deadlock that is made rank by rank is named by the engine, with what was recorded up to it") {
    // Rank 1 leaves out a call of the second step: the others come to it and wait.
    Driven live(request({{"faults.kind", "\"skip\""}, {"faults.rank", "1"}, {"faults.step", "1"}}));
    for (int i = 0; i < 4000 && !live.now().world.ended; ++i) {
        int32_t next = -1;
        for (int32_t k = 0; k < 4 && next < 0; ++k)
            if (live.rank((i + k) % 4).stands == Stands::held) next = (i + k) % 4;
        REQUIRE(next >= 0);
        live.let_go(next, i < 8 ? LetGoHow::collective : LetGoHow::all);
    }
    REQUIRE(live.now().world.ended);
    REQUIRE(live.now().world.diagnosis);
    CHECK_FALSE(live.now().world.diagnosis->ranks.empty());
    CHECK(live.now().document->trace->info.losses.size() == 1);
    CHECK_FALSE(live.now().document->trace->info.failure.empty());
    // Nobody came to an end, and nobody is said to have.
    for (int32_t r = 0; r < 4; ++r) CHECK(live.rank(r).stands != Stands::gone);
    CHECK(view::broke_off(live.now().world) ==
          std::any_of(live.now().world.ranks.begin(), live.now().world.ranks.end(),
                      [](const view::LiveRank& rank) {
                          return rank.stands == Stands::failed || rank.stands == Stands::stopped;
                      }));
}

TEST_CASE("of a run in which a rank dies that one has failed, and the others are not said to have finished") {
    Driven live(request({{"faults.kind", "\"kill\""}, {"faults.rank", "3"}, {"faults.step", "1"}}));
    live.let_go(0, LetGoHow::all);
    REQUIRE(live.now().world.ended);
    REQUIRE(live.now().world.diagnosis);
    CHECK(view::live_sentence(live.rank(3)).id == "live.failed");
    for (int32_t r = 0; r < 3; ++r) {
        INFO(r << ": " << view::live_sentence(live.rank(r)).id);
        CHECK(live.rank(r).stands != Stands::gone);
        CHECK(live.rank(r).stands != Stands::failed);
    }
    CHECK(view::broke_off(live.now().world));
    Driven whole(request());
    whole.let_go(0, LetGoHow::all);
    REQUIRE(whole.now().world.ended);
    for (int32_t r = 0; r < 4; ++r) CHECK(view::live_sentence(whole.rank(r)).id == "live.gone");
    CHECK_FALSE(view::broke_off(whole.now().world));
}

TEST_CASE("a message that carries no tensor is told apart from one that does") {
    Driven live(request());
    live.let_go(0, LetGoHow::collective);
    REQUIRE(live.rank(0).stands == Stands::held);
    // Before a call its members compare what they call: 560 bytes (core/comm/compare_calls.h).
    CHECK(live.rank(0).bytes == 560);
    CHECK(live.rank(0).carries == view::LiveRank::Carries::fingerprint);
    CHECK(view::live_sentence(live.rank(0)).id == "live.post.fingerprint");
    // Before each message of a tensor its checksum travels.
    bool checksum = false;
    for (int i = 0; i < 60 && !live.now().world.ended; ++i)
        for (int32_t r = 0; r < 4 && !live.now().world.ended; ++r) {
            if (live.rank(r).stands != Stands::held) continue;
            live.let_go(r, LetGoHow::hop);
            for (const view::LiveRank& rank : live.now().world.ranks) {
                if (rank.stands != Stands::held || (rank.next != "post" && rank.next != "receive")) continue;
                const std::string what = rank.bytes == 560 ? ".fingerprint" : ".checksum";
                CHECK(view::live_sentence(rank).id == "live." + rank.next + what);
                checksum = checksum || rank.bytes == 4;
            }
        }
    CHECK(checksum);
    view::LiveRank tensor = live.rank(0);
    tensor.stands = Stands::held;
    tensor.next = "post";
    tensor.carries = view::LiveRank::Carries::tensor;
    CHECK(view::live_sentence(tensor).id == "live.post");
}

TEST_CASE("a group that is named by its ranks has them told once, folded") {
    CallReport call;
    call.op = "barrier";
    call.sequence = 3;
    call.group_ranks.resize(60);
    std::iota(call.group_ranks.begin(), call.group_ranks.end(), 0);
    call.group = to_text(std::vector<int64_t>(call.group_ranks.begin(), call.group_ranks.end()));
    const auto told = [&](i18n::Language language) {
        return view::live_call(call, [&](const std::string& id, std::vector<MessageArg> args) {
            return test::catalogue().text({id, std::move(args)}, language);
        });
    };
    CHECK(told(i18n::Language::en) == signature(call) + " #3 of [0–59]");
    CHECK(told(i18n::Language::zh) == "[0–59] 的 " + signature(call) + " #3");
    call.group = "dp";
    CHECK(told(i18n::Language::en) == signature(call) + " #3 of dp [0–59]");
}

TEST_CASE("the members that have not come to a call stand in its picture, marked as not there") {
    Driven live(request());
    for (int i = 0; i < 20 && live.rank(0).stands != Stands::waiting; ++i)
        live.let_go(0, LetGoHow::collective);
    REQUIRE(live.rank(0).stands == Stands::waiting);
    const trace::Trace& trace = *live.now().document->trace;
    int32_t call = -1;
    for (const trace::Event& e : trace.ranks[0].events)
        if (e.kind == trace::EventKind::collective) call = e.id;
    REQUIRE(call >= 0);
    Harness app(1600, 1000);
    app.open(live.now().document);
    app.stage().act(session::SetView{view::ViewKind::collective});
    app.stage().act(session::SelectEvent{{0, call}, true});
    app.frames(3);
    const auto& group = trace.groups[static_cast<std::size_t>(trace.event(0, call).group)].ranks;
    REQUIRE(group.size() > 1);
    for (const int32_t rank : group) CHECK_NOTHROW(app.shape("rank", rank));
    for (const panels::Overflow& o : app.stage().overflows()) CHECK(o.measured <= o.available);
}

TEST_CASE("a held run is given up at once, wherever its ranks stand") {
    for (int given = 0; given < 3; ++given) {
        Driven live(request({{"train.steps", "100000"}}));
        for (int i = 0; i < given; ++i) live.let_go(i, LetGoHow::collective);
        const auto began = std::chrono::steady_clock::now();
        // Its destructor waits for it.
        {
            Driven gone = Driven(request({{"train.steps", "100000"}}));
            gone.let_go(0, LetGoHow::hop);
        }
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
    }
}

TEST_CASE("the panel: ranks are let go with the pointer, and the views show the trace so far") {
    Harness app(1280, 1400);
    app.open(test::lesson());
    app.key(window::Key::e);
    app.click(app.widget("sandbox.at.live"));
    session::Effects effects = app.stage().take_effects();
    REQUIRE(effects.start_live.has_value());
    session::LiveRun live;
    live.start(*effects.start_live);
    const auto settle = [&] {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (app.state().live && app.state().live->world.going &&
               std::chrono::steady_clock::now() < until) {
            for (const session::Action& action : live.news(test::catalogue(), i18n::Language::en))
                app.stage().act(action);
            std::this_thread::yield();
        }
        app.frames(3);
    };
    settle();
    REQUIRE(app.has_widget("live.at.call.1"));
    CHECK(app.state().runs.size() == 1);
    app.click(app.widget("live.at.call.1"));
    effects = app.stage().take_effects();
    REQUIRE(effects.let_go.has_value());
    live.let_go(*effects.let_go);
    settle();
    CHECK(app.state().runs.size() == 2);
    CHECK(app.state().document == app.state().live->document);
    for (const auto kind : view::kViewKinds) {
        app.stage().act(session::SetView{kind});
        for (const view::Language language : {view::Language::en, view::Language::zh}) {
            app.stage().act(session::SetLanguage{language});
            app.frames(3);
            for (const panels::Overflow& o : app.stage().overflows()) {
                INFO(o.where << ": " << o.text);
                CHECK(o.measured <= o.available);
            }
        }
    }
    app.click(app.shape("live_rank", 2));
    CHECK(app.state().selection.rank == 2);
    app.click(app.widget("live.at.all"));
    effects = app.stage().take_effects();
    REQUIRE(effects.let_go.has_value());
    live.let_go(*effects.let_go);
    settle();
    CHECK(app.state().live->world.ended);
    CHECK(app.state().runs.size() == 2);
    app.click(app.widget("live.at.stop"));
    CHECK_FALSE(app.state().live);
    CHECK(app.state().document->trace->info.losses == test::lesson()->trace->info.losses);
}
