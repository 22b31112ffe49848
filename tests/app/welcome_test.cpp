// The welcome page: chapters, search, what to go on with, a lesson's picture, a new mesh.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "app/gui/main/stage.h"
#include "app/gui/session/lesson_pictures.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/open_runs.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/session.h"
#include "harness.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using session::LessonCard;
using test::Harness;
using window::Key;

namespace {

/// The course's lessons, found once.
const std::vector<LessonCard>& course() {
    static const std::vector<LessonCard> found =
        session::with_search_words(session::find_lessons({{test::source_root() + "/scenarios"}}));
    return found;
}

/// The folders that a search finds.
std::vector<std::string> hits(const std::string& query) {
    std::vector<std::string> names;
    for (const std::size_t i : session::find_lessons_by(course(), query))
        names.push_back(session::folder_of(course()[i].id));
    return names;
}

std::string id_of(const std::string& name) {
    for (const LessonCard& card : course())
        if (session::folder_of(card.id) == name) return card.id;
    throw std::runtime_error("no lesson " + name);
}

/// The page with the course on it.
struct Page : Harness {
    Page() {
        stage().act(session::OfferLessons{course()});
        frames(3);
    }
};

}  // namespace

TEST_CASE("lessons are found by number, by words of their titles and texts in both languages") {
    CHECK(hits("63").front() == "63_hsdp");
    CHECK(hits("8").front() == "81_uneven");
    CHECK(hits("HSDP cut").front() == "63_hsdp");
    CHECK(hits("组内切分").front() == "63_hsdp");
    // A PyTorch name of the text, and an op as people write it.
    CHECK(std::ranges::count(hits("fully_shard"), "62_fsdp2") == 1);
    CHECK(std::ranges::count(hits("halving_doubling"), "23_algorithms") == 1);
    CHECK(hits("no lesson has these words together").empty());
    CHECK(hits("").size() == course().size());
    // Titles before texts.
    const auto ring = hits("ring");
    CHECK(ring.front() == "22_ring");
    CHECK(ring.size() > 5);
}

TEST_CASE("every lesson of the course stands in its chapter, under its number") {
    const auto chapters = session::chapters_of(course());
    REQUIRE(chapters.size() == 10);
    std::size_t all = 0;
    for (const session::Chapter& chapter : chapters)
        for (const std::size_t i : chapter.offers) {
            CHECK(session::folder_of(course()[i].id).starts_with(std::to_string(course()[i].number) + "_"));
            CHECK(course()[i].number / 10 == chapter.number);
            ++all;
        }
    CHECK(all == course().size());
}

TEST_CASE("it goes on with the latest lesson that is not done, else with the first that is not") {
    session::AppState s;
    CHECK_FALSE(session::go_on_with(s));
    s.offers = course();
    CHECK(session::go_on_with(s) == 0);
    s.remembered.progress["11_processes"] = {2, {"a", "b"}, {}};
    CHECK(session::reached(s, course()[0]) == session::Reached::done);
    CHECK(session::go_on_with(s) == 1);
    s.remembered.progress["63_hsdp"] = {7, {"a"}, {}};
    s.remembered.progress["72_tp"] = {7, {"a"}, {}};
    s.remembered.recent = {{id_of("11_processes"), ""}, {id_of("72_tp"), ""}, {id_of("63_hsdp"), ""}};
    CHECK(session::folder_of(course()[*session::go_on_with(s)].id) == "72_tp");
}

TEST_CASE("two or three sizes are a mesh, other words and larger ones are none") {
    const auto sizes = [](const std::string& query) {
        std::vector<int64_t> found;
        if (const auto dims = session::mesh_named(query))
            for (const session::MeshDim& dim : *dims) found.push_back(dim.size);
        return found;
    };
    CHECK(sizes("2,2,2") == std::vector<int64_t>{2, 2, 2});
    CHECK(sizes("(4, 2)") == std::vector<int64_t>{4, 2});
    CHECK(sizes("8 x 8") == std::vector<int64_t>{8, 8});
    for (const char* none :
         {"63", "2,2,2,2", "0,2", "65,1", "8,8,8", "2,two", "ring", "", "99999999999999999999,2"})
        CHECK(sizes(none).empty());
}

TEST_CASE("a mesh that is typed into the search is really run, each dim adds up once") {
    Page app;
    app.type("/");
    app.frames(3);
    REQUIRE(app.stage().typing());
    app.type("2,3");
    app.frames(2);
    app.enter();
    app.frames(2);
    const session::Effects effects = app.stage().take_effects();
    REQUIRE(effects.open_text);
    const auto document = session::run_text(*effects.open_text, {}, nullptr);
    const trace::Trace& trace = *document->trace;
    CHECK(trace.info.mesh_shape == std::vector<int64_t>{2, 3});
    CHECK(trace.ranks.size() == 6);
    CHECK(document->title.en == "Mesh 2 × 3");
    for (const trace::RankTrace& rank : trace.ranks) {
        std::vector<std::string> dims;
        for (const trace::Event& event : rank.events)
            if (event.op == CollectiveOp::all_reduce)
                dims.push_back(trace.groups[static_cast<std::size_t>(event.group)].mesh_dim);
        CHECK(dims == std::vector<std::string>{"replicate", "shard"});
    }
}

TEST_CASE("the search takes the keyboard by a slash, and Enter opens the first that it finds") {
    Page app;
    app.type("/");
    app.frames(3);
    app.type("hsdp");
    app.frames(3);
    CHECK(app.has_widget("offer" + std::to_string(session::find_lessons_by(course(), "hsdp").front())));
    CHECK_FALSE(app.has_widget("chapter1"));
    app.enter();
    app.frames(2);
    CHECK(app.stage().take_effects().open == std::vector<std::string>{id_of("63_hsdp")});
}

TEST_CASE("chapters fold and open, cards are reached by arrows, Enter opens the one in focus") {
    Page app;
    CHECK(app.has_widget("offer0"));
    CHECK_FALSE(app.has_widget("offer" + std::to_string(course().size() - 1)));
    app.click(app.widget("chapter1"));
    app.frames(2);
    CHECK_FALSE(app.has_widget("offer0"));
    app.click(app.widget("chapter1"));
    app.frames(2);
    REQUIRE(app.has_widget("offer0"));
    // Down from the chapter's line to its lessons, right along them.
    for (int i = 0; i < 40 && app.stage().memory().focus != "chapter1"; ++i) {
        app.key(Key::tab);
        app.frames(1);
    }
    REQUIRE(app.stage().memory().focus == "chapter1");
    app.key(Key::down);
    app.frames(2);
    const std::string at = app.stage().memory().focus;
    REQUIRE(at.starts_with("offer"));
    REQUIRE(at != "offer5");  // the last of its row
    app.key(Key::right);
    app.frames(2);
    const std::string next = app.stage().memory().focus;
    CHECK(next == "offer" + std::to_string(std::stoi(at.substr(5)) + 1));
    app.key(Key::left);
    app.frames(2);
    CHECK(app.stage().memory().focus == at);
    app.key(Key::up);
    app.frames(2);
    CHECK(app.stage().memory().focus == "chapter1");
    app.key(Key::down);
    app.frames(2);
    app.key(Key::right);
    app.frames(2);
    REQUIRE(app.stage().memory().focus == next);
    app.key(Key::enter);
    app.frames(2);
    const auto index = static_cast<std::size_t>(std::stoi(next.substr(5)));
    CHECK(app.stage().take_effects().open == std::vector<std::string>{course()[index].id});
}

TEST_CASE("what to go on with opens by a press and by Enter") {
    Page app;
    app.click(app.widget("continue"));
    CHECK(app.stage().take_effects().open == std::vector<std::string>{course()[0].id});
    session::Remembered remembered;
    remembered.progress["63_hsdp"] = {7, {"a"}, {}};
    remembered.recent = {{id_of("63_hsdp"), "63_hsdp"}};
    app.stage().act(session::Remember{remembered});
    app.frames(2);
    app.key(Key::enter);
    CHECK(app.stage().take_effects().open == std::vector<std::string>{id_of("63_hsdp")});
}

TEST_CASE("pictures are wanted of the lessons that are seen, once") {
    Page app;
    const session::Effects effects = app.stage().take_effects();
    REQUIRE(effects.pictures);
    CHECK(effects.pictures->size() >= 6);
    CHECK(effects.pictures->size() < 20);
    CHECK(effects.pictures->front() == course()[0].id);
    app.frames(3);
    CHECK_FALSE(app.stage().take_effects().pictures);
}

TEST_CASE("pictures that make room for something that was asked for are made later") {
    session::LessonPictures pictures;
    const auto made = [&](bool busy) {
        std::vector<std::string> ids;
        for (int i = 0; i < 400 && ids.empty(); ++i) {
            for (const session::Action& action : pictures.news(busy)) {
                const auto* shown = action.get_if<session::ShowLessonPicture>();
                REQUIRE(shown != nullptr);
                REQUIRE(shown->picture != nullptr);
                ids.push_back(shown->id);
            }
            if (!busy) std::this_thread::sleep_for(std::chrono::milliseconds(25));
            if (busy && i > 3) break;
        }
        return ids;
    };
    pictures.want({id_of("21_collectives")});
    CHECK(pictures.news(false).empty());  // begun
    pictures.pause();
    pictures.pause();
    static_cast<void>(made(true));
    pictures.want({id_of("21_collectives")});
    CHECK(made(false) == std::vector<std::string>{id_of("21_collectives")});
}

TEST_CASE("a lesson's picture is of its own run, has no words, and moves when it is pointed at") {
    const auto found = std::ranges::find(course(), 21, &LessonCard::number);
    REQUIRE(found != course().end());
    const auto picture = session::lesson_picture(found->id);
    CHECK(picture->run->trace->info.scenario_path == found->id);
    CHECK(picture->run->steps[static_cast<std::size_t>(picture->step)].view == view::ViewKind::collective);
    Page app;
    app.stage().act(session::ShowLessonPicture{found->id, picture});
    std::vector<panels::Drawn> drawn;
    app.stage().note_pictures(&drawn);
    app.frames(2);
    const auto shapes = [&] {
        std::vector<float> at;
        REQUIRE_FALSE(drawn.empty());
        for (const view::Shape& shape : drawn.back().picture.shapes) {
            CHECK(shape.kind != view::ShapeKind::text);
            at.push_back(shape.box.x + shape.box.w + (shape.points.empty() ? 0 : shape.points[0].x));
        }
        return at;
    };
    const auto still = shapes();
    CHECK(still.size() > 8);
    app.frames(2);
    CHECK(shapes() == still);
    app.click(app.widget("offer" + std::to_string(found - course().begin())));
    app.frames(10, 0.1);
    const auto moved = shapes();
    CHECK(moved != still);
    app.frames(5, 0.1);
    CHECK(shapes() != moved);
    app.stage().note_pictures(nullptr);
}

TEST_CASE("which view a lesson's picture shows follows from its steps") {
    const auto view_of = [](const char* name) {
        const auto picture = session::lesson_picture(id_of(name));
        return picture->run->steps[static_cast<std::size_t>(picture->step)].view;
    };
    CHECK(view_of("12_device_mesh") == view::ViewKind::mesh);
    CHECK(view_of("51_adam_memory") == view::ViewKind::memory);
    CHECK(view_of("72_tp") == view::ViewKind::tensors);
    CHECK(view_of("25_zero_first") == view::ViewKind::timeline);
}

TEST_CASE("the field for a path gets the keyboard by Ctrl+O, and Enter opens what it holds") {
    Page app;
    app.key(Key::o, false, true);
    app.frames(3);
    REQUIRE(app.stage().typing());
    app.type("a.mscope");
    app.frames(2);
    app.enter();
    app.frames(2);
    CHECK(app.stage().take_effects().open == std::vector<std::string>{"a.mscope"});
}

TEST_CASE("a new mesh takes whole sizes of at most 64 ranks") {
    Page app;
    app.click(app.widget("new_mesh"));
    app.frames(2);
    const session::Effects effects = app.stage().take_effects();
    REQUIRE(effects.open_text);
    CHECK(effects.open_text->name == "2 × 2 × 2");
    app.click(app.widget("mesh1"));
    app.type("99");
    app.frames(2);
    CHECK_FALSE(app.has_widget("new_mesh"));  // a disabled button is none that Tab reaches
}

TEST_CASE("a lesson is the same whichever of its names opened it") {
    session::AppState state;
    session::LessonCard card;
    card.id = id_of("63_hsdp");
    state.offers = {card};
    for (const std::string& name : {std::string("hsdp"), std::string("63"), card.id})
        session::remember_opened(state, name, "63_hsdp");
    CHECK(state.remembered.recent == std::vector<session::Recent>{{card.id, "63_hsdp"}});
    session::remember_opened(state, "/somewhere/hsdp", "hsdp");
    CHECK(state.remembered.recent.front().path == "/somewhere/hsdp");
}

TEST_CASE("in a page, where paths name no file, a dialog chooses them, also while a run is open") {
    Page app;
    CHECK(app.has_widget("open_path"));
    app.stage().act(session::OfferPicking{});
    app.frames(3);
    CHECK_FALSE(app.has_widget("open_path"));
    app.click(app.widget("pick_file"));
    CHECK(app.stage().take_effects().pick_files);
    app.open(test::lesson());
    app.key(Key::o, false, true);
    CHECK(app.stage().take_effects().pick_files);
    CHECK_FALSE(app.state().palette);
}
