#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using test::Harness;

namespace {

/// Draws the present state in both languages at these text sizes and reports every text wider than its room.
void check_everywhere(Harness& app, const std::string& what,
                      const std::vector<float>& scales = {1.0F, 1.25F, 1.5F, 2.0F}) {
    for (const view::Language language : {view::Language::en, view::Language::zh}) {
        app.stage().act(session::SetLanguage{language});
        for (const float scale : scales) {
            app.stage().act(session::SetScale{scale});
            app.frames(3);
            for (const panels::Overflow& o : app.stage().overflows()) {
                INFO(what << ", " << (language == view::Language::zh ? "zh" : "en") << " at " << scale
                          << ", panel " << o.where << ": \"" << o.text << "\" needs " << o.measured << " of "
                          << o.available);
                CHECK(o.measured <= o.available);
            }
        }
    }
}

void check_lesson(const std::string& name, int width, int height) {
    Harness app(width, height);
    app.open(test::lesson(name));
    const auto count = static_cast<int32_t>(test::lesson(name)->steps.size());
    for (int32_t step = 0; step < count; ++step) {
        app.stage().act(session::GoToLessonStep{step});
        check_everywhere(app, name + " step " + std::to_string(step + 1));
    }
}

}  // namespace

TEST_CASE("no text of the HSDP lesson overflows at 1280x720, in both languages, up to 200 %") {
    check_lesson("63_hsdp", 1280, 720);
}

TEST_CASE("no text of the DeviceMesh lesson overflows at 1920x1080, in both languages, up to 200 %") {
    check_lesson("12_device_mesh", 1920, 1080);
}

TEST_CASE("no text of any view overflows anywhere in the run") {
    Harness app(1280, 720);
    app.open(test::lesson());
    const int64_t end = app.state().document->modelled.end_ns;
    for (const auto kind : view::kViewKinds) {
        app.stage().act(session::SetView{kind});
        for (int i = 0; i <= 4; ++i) {
            app.stage().act(session::SetCursor{end * i / 4});
            check_everywhere(
                app, "view " + std::string(view::view_name(kind)) + " at " + std::to_string(i) + "/4");
        }
    }
}

TEST_CASE("no text of quizzes, revealed or not, overflows") {
    Harness app(1280, 720);
    app.open(test::lesson());
    for (const auto& quiz : test::lesson()->quizzes) {
        app.stage().act(session::Guess{quiz.id, quiz.kind == "choice" ? "0" : "22"});
        app.stage().act(session::ShowHint{quiz.id});
    }
    for (const int32_t step : {0, 2, 4}) {
        app.stage().act(session::GoToLessonStep{step});
        check_everywhere(app, "hint at step " + std::to_string(step + 1));
    }
    for (const auto& quiz : test::lesson()->quizzes) app.stage().act(session::Reveal{quiz.id});
    for (const int32_t step : {0, 2, 4}) {
        app.stage().act(session::GoToLessonStep{step});
        check_everywhere(app, "answer at step " + std::to_string(step + 1));
    }
}

TEST_CASE("no text of welcome page, key sheet, error, loading, toast and drawer overflows") {
    for (const int width : {1280, 700}) {
        Harness app(width, 720);
        session::LessonCard offer;
        offer.title = test::lesson()->title;
        offer.subtitle = {"4 rank · mesh (2, 2)", "4 rank · mesh (2, 2)"};
        app.stage().act(session::OfferLessons{{offer, offer, offer}});
        check_everywhere(app, "welcome");
        app.stage().act(session::ShowLoading{session::Loading{"63_hsdp", 1, 3}});
        check_everywhere(app, "loading");
        app.stage().act(session::ShowLoading{std::nullopt});
        app.open(test::lesson());
        app.stage().act(session::ToggleKeySheet{});
        check_everywhere(app, "key sheet");
        app.stage().act(session::ToggleKeySheet{});
        app.stage().act(
            session::ShowError{{{"/a/very/long/path/without/any/space/that/must/be/broken/somewhere/because/"
                                 "it/is/wider/than/the/box.toml:3:14: "
                                 "mesh (2, 2) needs 4 ranks, but the world has 3"}}});
        check_everywhere(app, "error");
        app.stage().act(session::DismissError{});
        app.stage().act(session::ShowToast{
            "DejaVu Sans Mono was not found (install fonts-dejavu-core); another font is used"});
        check_everywhere(app, "toast");
        app.stage().act(session::ToggleDrawer{});
        check_everywhere(app, "drawer");
        app.stage().act(session::ToggleDrawer{});
        app.stage().act(session::TogglePalette{});
        check_everywhere(app, "palette");
        app.stage().act(session::TogglePalette{});
        for (const char* path : {"a.png", "a.svg", "a.gif", "a.mp4", "a.html", "a.jpg"}) {
            app.stage().act(session::AskReplace{path});
            check_everywhere(app, std::string("export to ") + path);
        }
        app.stage().act(session::ShowExporting{session::Exporting{
            "/somewhere/a_picture_with_a_long_name_without_any_space_in_it_at_all.mp4", 12, 300}});
        check_everywhere(app, "exporting");
    }
}

TEST_CASE("no text of a welcome page that remembers overflows") {
    for (const int width : {1280, 700}) {
        Harness app(width, 720);
        session::LessonCard offer;
        offer.id = "/lessons/63_hsdp/scenario.toml";
        offer.title = test::lesson()->title;
        offer.subtitle = {"4 rank · mesh (2, 2)", "4 rank · mesh (2, 2)"};
        app.stage().act(session::OfferLessons{{offer, offer}});
        session::Remembered remembered;
        remembered.recent = {{"/a/b.mscope", "b.mscope"},
                             {"/a/a_record_with_a_name_much_longer_than_the_column_it_stands_in.mscope",
                              "a_record_with_a_name_much_longer_than_the_column_it_stands_in.mscope"}};
        remembered.progress["63_hsdp"] = {7, {"a", "b"}, {{"q", "1"}}};
        app.stage().act(session::Remember{remembered});
        check_everywhere(app, "welcome that remembers");
    }
}

TEST_CASE("no text overflows from 80 to 250 %, and none while presenting") {
    Harness app(1280, 720);
    app.open(test::lesson());
    for (const auto kind : view::kViewKinds) {
        app.stage().act(session::SetView{kind});
        check_everywhere(app, "view " + std::string(view::view_name(kind)), {0.8F, 2.5F});
    }
    app.stage().act(session::TogglePresenter{});
    for (const int32_t step : {0, 2}) {
        app.stage().act(session::GoToLessonStep{step});
        check_everywhere(app, "presenting step " + std::to_string(step), {1.0F, 1.5F});
        app.stage().act(session::ToggleNotes{});
        check_everywhere(app, "with its text", {1.0F, 1.5F});
        app.stage().act(session::ToggleNotes{});
    }
}

TEST_CASE("no text of the comparison overflows with two and with four runs side by side") {
    for (const int width : {1280, 1920}) {
        Harness app(width, width == 1280 ? 720 : 1080);
        app.open(test::lesson());
        app.stage().act(session::AddDocument{test::lesson()});
        check_everywhere(app, "two runs");
        app.stage().act(session::AddDocument{test::lesson()});
        app.stage().act(session::AddDocument{test::lesson()});
        check_everywhere(app, "four runs");
    }
}
