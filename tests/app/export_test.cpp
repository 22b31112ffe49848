#include <imgui.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "app/gui/main/bench_app.h"
#include "app/gui/main/exporter.h"
#include "app/gui/main/options.h"
#include "app/gui/main/render_film.h"
#include "app/gui/panels/views.h"
#include "app/gui/session/lesson_document.h"
#include "app/gui/session/session.h"
#include "app/gui/window/headless_context.h"
#include "app/gui/window/imgui_compat.h"
#include "core/base/error.h"
#include "core/trace/excerpt.h"
#include "core/trace/store.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
namespace fs = std::filesystem;
using gui::Exporter;
using gui::ExportJob;
using gui::ExportKind;
using test::content;
using test::Folder;

namespace {

/// ffmpeg by PATH; the page of which scripts/web makes meshscope.html stands for it.
gui::ExportTools tools() {
    const char* value = std::getenv("PATH");
    return {value != nullptr ? value : "", test::source_root() + "/app/web/page.html", ""};
}

ExportJob job(const std::string& path, view::ViewKind view = view::ViewKind::collective) {
    ExportJob made;
    made.path = path;
    made.width = 960;
    made.height = 540;
    session::Effects ignored;
    session::apply(made.state, session::ShowDocument{test::lesson()}, ignored);
    session::apply(made.state, session::SetView{view}, ignored);
    made.to_ns = session::shown_clock(made.state)->end_ns;
    made.frames = 4;
    return made;
}

/// The whole export; what draws pixels has a context of its own.
void make(ExportJob wanted) {
    std::optional<window::HeadlessContext> context;
    const ExportKind kind = gui::export_kind(wanted.path);
    if (kind != ExportKind::svg && kind != ExportKind::html) context.emplace();
    Exporter exporter(std::move(wanted), test::catalogue(), tools());
    while (!exporter.step()) {
    }
}

/// How often `part` stands in `text`.
std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++found;
    return found;
}

/// While it lives no file of this process grows beyond so many bytes: as under `ulimit -f`.
class SmallDisk {
  public:
    explicit SmallDisk(rlim_t bytes) {
        before_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &limit_);
        const rlimit small{bytes, limit_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallDisk() {
        ::setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, before_);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

  private:
    rlimit limit_{};
    void (*before_)(int) = nullptr;
};

}  // namespace

TEST_CASE("the ending of the name tells the format, and others are refused by name") {
    CHECK(gui::export_kind("a/b.PNG") == ExportKind::png);
    CHECK(gui::export_kind("x.svg") == ExportKind::svg);
    CHECK(gui::export_kind("x.gif") == ExportKind::gif);
    CHECK(gui::export_kind("x.mp4") == ExportKind::mp4);
    CHECK(gui::export_kind("x.y.html") == ExportKind::html);
    CHECK_THROWS_AS(gui::export_kind("x.jpg"), InvalidArgument);
    CHECK_THROWS_AS(gui::export_kind("png"), InvalidArgument);
}

TEST_CASE("a picture is the frame that --render draws, pixel for pixel") {
    const Folder folder;
    gui::Options options;
    options.render = folder.file("frames");
    options.frames = 1;
    options.width = 960;
    options.height = 540;
    options.view = view::ViewKind::memory;
    options.language = view::Language::en;
    gui::render_film(test::lesson(), options, test::catalogue(), "", nullptr);
    ExportJob wanted = job(folder.file("a.png"), view::ViewKind::memory);
    session::Effects ignored;
    session::apply(wanted.state, session::SetCursor{0}, ignored);
    make(std::move(wanted));
    CHECK(content(folder.file("a.png")) == content(folder.path / "frames/frame_00000.png"));
}

TEST_CASE("vectors hold the view's words and shapes, in its language and theme") {
    const Folder folder;
    for (const auto view : view::kViewKinds) {
        if (panels::view_of(view).least_runs > 1) continue;
        make(job(folder.file("a.svg"), view));
        const std::string svg = content(folder.file("a.svg"));
        INFO(view::view_name(view));
        CHECK(svg.substr(0, 4) == "<svg");
        CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
        CHECK(count(svg, "<text") > 8);
        CHECK(count(svg, "<rect") + count(svg, "<circle") > 4);
        CHECK(svg.find("http://", 40) == std::string::npos);  // but for the name space nothing is elsewhere
    }
    make(job(folder.file("en.svg"), view::ViewKind::memory));
    ExportJob zh = job(folder.file("zh.svg"), view::ViewKind::memory);
    zh.state.language = view::Language::zh;
    zh.state.theme = window::ThemeKind::light;
    make(std::move(zh));
    const std::string dark = content(folder.file("en.svg")), light = content(folder.file("zh.svg"));
    CHECK(dark.find("#0D1117") != std::string::npos);
    CHECK(light.find("#0D1117") == std::string::npos);
    CHECK(light.find("峰值") != std::string::npos);
}

TEST_CASE("a film and a moving picture are made by ffmpeg, frame by frame, without it that is told") {
    REQUIRE_FALSE(tools().path.empty());
    const Folder folder;
    make(job(folder.file("a.mp4")));
    make(job(folder.file("a.gif")));
    CHECK(content(folder.file("a.mp4")).substr(4, 4) == "ftyp");
    CHECK(content(folder.file("a.gif")).substr(0, 6) == "GIF89a");
    CHECK(folder.files() == 2);
    try {
        Exporter(job(folder.file("b.mp4")), test::catalogue(), gui::ExportTools{"/nowhere", "", ""});
        FAIL("a film without ffmpeg");
    } catch (const InvalidArgument& error) {
        CHECK(error.message().id == "export.no_ffmpeg");
    }
    ExportJob odd = job(folder.file("b.mp4"));
    odd.width = 961;
    CHECK_THROWS_AS(Exporter(std::move(odd), test::catalogue(), tools()), InvalidArgument);
    CHECK(folder.files() == 2);
}

TEST_CASE("a cancelled export leaves nothing, and the file that was there as it was") {
    const Folder folder;
    folder.write("a.mp4", "mine");
    {
        const window::HeadlessContext context;
        Exporter exporter(job(folder.file("a.mp4")), test::catalogue(), tools());
        CHECK(exporter.all() == 4);
        CHECK_FALSE(exporter.step());
        CHECK(exporter.done() == 1);
        CHECK(folder.files() == 2);  // what is being written stands beside
    }
    CHECK(content(folder.file("a.mp4")) == "mine");
    CHECK(folder.files() == 1);
}

TEST_CASE("a file that may grow no further ends an export with its reason and nothing half written") {
    const Folder folder;
    const window::HeadlessContext context;
    const auto told = [&](const std::string& name) -> std::string {
        const SmallDisk disk(2000);
        try {
            Exporter exporter(job(folder.file(name)), test::catalogue(), tools());
            while (!exporter.step()) {
            }
        } catch (const IoError& error) {
            return error.message().id;
        }
        return "";
    };
    for (const char* name : {"a.png", "a.svg", "a.html", "a.mp4", "a.gif"}) {
        INFO(name);
        folder.write(name, "mine");
        CHECK(told(name) == "file.too_large");
        CHECK(content(folder.file(name)) == "mine");
    }
    CHECK(folder.files() == 5);
}

TEST_CASE("a page holds the record of the run in front and opens as the window shows it") {
    const Folder folder;
    ExportJob wanted = job(folder.file("a.html"));
    session::Effects ignored;
    for (const session::Action& action :
         {session::Action{session::SetLanguage{view::Language::zh}}, {session::GoToLessonStep{2}},
          {session::SetView{view::ViewKind::memory}}, {session::SetTheme{window::ThemeKind::light}}})
        session::apply(wanted.state, action, ignored);
    make(std::move(wanted));
    const std::string page = content(folder.file("a.html"));
    CHECK(page.find("default-src 'none'") != std::string::npos);
    const std::size_t begin = page.find("data-name=\"63_hsdp.mscope\" data-place=\"step=3&amp;view=memory&amp;");
    REQUIRE(begin != std::string::npos);
    const std::string tag = page.substr(begin, page.find('>', begin) - begin);
    INFO(tag);
    CHECK(tag.find("&amp;lang=zh") != std::string::npos);
    CHECK(tag.find("&amp;theme=light") != std::string::npos);
    // Of some steps alone the place in the lesson means nothing.
    ExportJob part = job(folder.file("b.html"));
    part.steps = trace::StepRange{1, 2};
    make(std::move(part));
    CHECK(content(folder.file("b.html")).find("data-place=\"lang=en&amp;theme=dark\">") != std::string::npos);
    // Without meshscope.html it is said before anything is written.
    gui::ExportTools none = tools();
    none.page.clear();
    none.program_folder = folder.path.string();
    try {
        Exporter exporter(job(folder.file("c.html")), test::catalogue(), none);
        FAIL("made without a page");
    } catch (const InvalidArgument& error) {
        CHECK(error.message().id == "html.no_page");
    }
    CHECK(folder.files() == 2);
}

TEST_CASE("a record from elsewhere opens with its lesson where this program has the same one, an excerpt without") {
    const Folder folder;
    const auto& whole = *test::lesson()->trace;
    trace::Trace moved = whole;
    moved.info.scenario_path = "/somewhere/else/63_hsdp/scenario.toml";
    trace::write_trace(moved, folder.file("moved.mscope"));
    const session::LessonFolders folders{{test::source_root() + "/scenarios"}};
    const auto steps = [&](const std::string& name) {
        return session::load_document(folder.file(name), folders, nullptr)->steps.size();
    };
    CHECK(steps("moved.mscope") == test::lesson()->steps.size());
    moved.info.scenario += "\n# another\n";
    trace::write_trace(moved, folder.file("other.mscope"));
    CHECK(steps("other.mscope") == 0);
    trace::write_trace(trace::excerpt(whole, {1, 2}), folder.file("part.mscope"));
    CHECK(steps("part.mscope") == 0);
}

namespace {

/// 4 ranks that do 200 steps: 192,800 events.
std::shared_ptr<const session::Document> long_run() {
    static const auto made = session::make_document(
        std::make_shared<const trace::Trace>(gui::made_trace(4, int64_t{4} * 241 * 200)), "long", nullptr);
    return made;
}

}  // namespace

TEST_CASE(
    "a run of 192,800 events is drawn and exported from every view, as vectors, as pixels and as frames") {
    const Folder folder;
    REQUIRE(long_run()->trace->ranks.size() == 4);
    for (const auto kind : view::kViewKinds) {
        const std::string_view name = view::view_name(kind);
        INFO(name);
        for (const std::string ending : {".svg", ".png"}) {
            ExportJob wanted = job(folder.file(std::string(name) + ending), kind);
            session::Effects ignored;
            session::apply(wanted.state, session::ShowDocument{long_run()}, ignored);
            session::apply(wanted.state, session::SetView{kind}, ignored);
            make(std::move(wanted));
            CHECK(fs::file_size(folder.file(std::string(name) + ending)) > 300);
        }
        gui::Options options;
        options.render = folder.file("frames_" + std::string(name));
        options.frames = 1;
        options.width = 960;
        options.height = 540;
        options.view = kind;
        gui::render_film(long_run(), options, test::catalogue(), "", nullptr);
        CHECK(fs::exists(folder.path / ("frames_" + std::string(name)) / "frame_00000.png"));
    }
}

TEST_CASE(
    "what is narrower than a few pixels is drawn as one: a long run's frame stays below 50,000 corners") {
    for (const auto kind : view::kViewKinds) {
        window::ImGuiHost host;
        gui::Stage stage(host, test::catalogue());
        stage.act(session::ShowDocument{long_run()});
        stage.act(session::SetView{kind});
        ImDrawData* data = nullptr;
        for (int i = 0; i < 3; ++i) data = stage.frame(1280, 720, 1.0);
        INFO(view::view_name(kind));
        CHECK(data->TotalVtxCount < 50000);
    }
}

TEST_CASE("a list of more corners than 16 bits count is cut into draws, one line of 100,000 points too") {
    const window::HeadlessContext context;
    window::GlHost gl(nullptr);
    gl.prepare(window::theme(window::ThemeKind::dark), 1, "");
    gl.begin(400, 300, 0.1F);
    std::vector<ImVec2> line;
    for (int i = 0; i < 100000; ++i)
        line.push_back({static_cast<float>(i % 400), static_cast<float>(i / 400)});
    ImDrawList& list = *ImGui::GetForegroundDrawList();
    compat::polyline(list, line.data(), static_cast<int>(line.size()), IM_COL32_WHITE, true, 2);
    for (int i = 0; i < 50000; ++i) list.AddRectFilled({0, 0}, {9, 9}, IM_COL32_WHITE);
    const ImDrawData* data = gl.end();
    CHECK(data->TotalVtxCount > 300000);
    for (int l = 0; l < data->CmdListsCount; ++l)
        for (const ImDrawCmd& cmd : data->CmdLists[l]->CmdBuffer)
            for (unsigned i = 0; i < cmd.ElemCount; ++i)
                REQUIRE(data->CmdLists[l]->IdxBuffer[static_cast<int>(cmd.IdxOffset + i)] + cmd.VtxOffset <
                        static_cast<unsigned>(data->CmdLists[l]->VtxBuffer.Size));
}
