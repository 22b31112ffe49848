#include "app/gui/view/fitting.h"

#include "app/gui/view/code_view.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/parameters_view.h"
#include "app/gui/view/timeline_view.h"
#include "app/gui/view/traffic_view.h"
#include "tests/test.h"
#include "tests/view/stage.h"
#include "tests/view/toy.h"

using namespace meshscope;
using test::Toy;

namespace {

/// Counts what it is asked.
class Counting final : public test::FakeMeasure {
  public:
    float width(const std::string& text, view::Face face) const override {
        ++calls;
        letters += text.size();
        return FakeMeasure::width(text, face);
    }
    mutable std::size_t calls = 0, letters = 0;
};

/// How many letters all views measure whose mesh has a dim with a name of so many.
std::size_t measured_with(std::size_t length) {
    Toy toy;
    const std::string old = toy.trace.info.mesh_names[1], name(length, 'x');
    toy.trace.info.mesh_names[1] = name;
    for (trace::Group& group : toy.trace.groups)
        if (group.mesh_dim == old) group.mesh_dim = name;
    const Counting measure;
    for (const int64_t t_ns : {int64_t{0}, toy.clock.end_ns / 2}) {
        const view::Input in{toy.trace,   toy.clock,          {t_ns},  toy.selection,
                             {1032, 560}, view::Language::en, measure, toy.texts};
        view::mesh_view(in);
        view::mesh_table(in);
        view::mesh_facts(in);
        view::collective_view(in);
        view::timeline_view(in);
        view::memory_view(in);
        view::parameters_view(in);
        view::traffic_view(in);
        view::code_view(in);
    }
    return measure.letters;
}

}  // namespace

TEST_CASE("a line ends where the next letter would not fit, between letters of any length") {
    const test::FakeMeasure measure;
    for (const std::string text : {"all_gather(float32, in 8, out 8)", "参数切开之后 rank 0", "ÄÖÜ→α", ""})
        for (std::size_t from = 0; from <= text.size();
             from = from < text.size() ? view::next_letter(text, from) : text.size() + 1)
            for (float room = 0; room < 200; room += 7) {
                std::size_t expected = from;  // letter by letter
                while (expected < text.size()) {
                    const std::size_t next = view::next_letter(text, expected);
                    if (measure.width(text.substr(from, next - from), view::Face::body) > room) break;
                    expected = next;
                }
                CHECK(view::line_end(measure, text, from, view::Face::body, room) == expected);
            }
    CHECK(view::elided(measure, "rank 0", view::Face::body, 1000) == "rank 0");
    const std::string cut = view::elided(measure, std::string(100, 'a'), view::Face::body, 100);
    CHECK(cut.ends_with("…"));
    CHECK(measure.width(cut, view::Face::body) <= 100);
    CHECK(view::elided(measure, "rank 0", view::Face::body, 3).empty());
}

TEST_CASE("where a text is cut is found in a few measurements of what fits, however long the text is") {
    for (const std::size_t length : {std::size_t{40000}, std::size_t{4000000}}) {
        const Counting measure;
        view::elided(measure, std::string(length, 'x'), view::Face::body, 400);  // some 45 letters
        CHECK(measure.calls < 40);
        CHECK(measure.letters < 2000);
    }
}

TEST_CASE("wrapping a word of 40,000 letters measures each of them a few times") {
    Toy toy;
    const Counting measure;
    const view::Input in{toy.trace,  toy.clock,          {0},     toy.selection,
                         {400, 560}, view::Language::en, measure, toy.texts};
    const view::Painter painter(in);
    const auto lines = painter.wrap("name: " + std::string(40000, 'x') + " end", view::Face::body, 400);
    std::string joined;
    for (const std::string& line : lines) {
        CHECK(test::FakeMeasure().width(line, view::Face::body) <= 400);
        joined += line;
    }
    CHECK(joined.size() >= 40000 + 8);
    CHECK(measure.letters < 40000 * 20);
}

TEST_CASE("no view measures a name of twice the length more than in proportion") {
    const std::size_t base = measured_with(10), once = measured_with(10000), twice = measured_with(20000);
    CHECK(twice - base < 5 * (once - base) / 2);
    CHECK(once < 10000 * 300);
}
