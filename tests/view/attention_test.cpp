// Attention over a cut sequence, over traces of real runs.
#include "app/gui/view/attention/scene.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/attention/picture.h"
#include "app/gui/view/attention/softmax.h"
#include "app/gui/view/attention/view.h"
#include "app/gui/view/operands.h"
#include "app/gui/view/paint.h"
#include "tests/view/layer_run.h"
#include "tests/view/picture_check.h"

using namespace meshscope;
using test::find;
using view::AttentionScene;
using view::AttentionWay;
using Doing = view::AttentionNow::Doing;

namespace {

const std::string kGpt =
    "kind = \"gpt\"\nvocab = 32\nseq = 16\ndim = 16\nheads = 4\nhidden = 32\nlayers = 1\nseed = 1\n";

/// A gpt of one block, 16 tokens, 4 heads of 4 numbers, on a mesh.
struct Run : test::LayerRun {
    explicit Run(const std::string& mesh_and_parallel, const std::string& rest = "",
                 const std::string& model = kGpt, const std::string& faults = "")
        : LayerRun("format = 1\n[model]\n" + model +
                   "[data]\nkind = \"tokens\"\nsamples = 2\nseed = 1\n[train]\nsteps = 1\nglobal_batch = 2\n"
                   "[optimizer]\nkind = \"sgd\"\nlr = 0.1\n" +
                   rest + "[mesh]\n" + mesh_and_parallel + faults) {}
    const trace::Event& event(int32_t rank, std::string_view name_or_rule, int which = 0) const {
        for (const trace::Event& e : trace.ranks[static_cast<std::size_t>(rank)].events)
            if ((trace.text(e.name) == name_or_rule || trace.text(e.rule) == name_or_rule) && which-- == 0)
                return e;
        FAIL("no " << name_or_rule);
        return trace.ranks.front().events.front();
    }
    view::Input at(int32_t rank, int64_t t_ns, view::Size size = {1232, 596}) {
        return LayerRun::at(rank, t_ns, size);
    }
    view::Input within(int32_t rank, const trace::Event& e, double part = 0.5,
                       view::Size size = {1232, 596}) {
        return into(rank, e.id, part, size);
    }
};

const std::string kFour = "shape = [4]\nnames = [\"cp\"]\n[parallel]\n";
const std::string kNeighbours = kFour + "cp = \"alltoall\"\ncp_load_balance = false\n";
const std::string kHeadTail = kFour + "cp = \"alltoall\"\n";

std::vector<int64_t> flops_of(const AttentionScene& scene) {
    std::vector<int64_t> flops;
    for (const auto& rank : scene.ranks) flops.push_back(rank.flops());
    return flops;
}

int64_t filled(const view::Picture& picture, int64_t rank, int64_t event) {
    return std::ranges::count_if(find(picture, "kernel", rank, event), [](const view::Shape* s) {
        return s->kind == view::ShapeKind::rect && s->fill >= view::Token::sky &&
               s->fill <= view::Token::grey;
    });
}

bool told(const view::Picture& picture, const std::string& part) {
    return std::ranges::any_of(picture.text_lines,
                               [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("ring attention: who has which tokens, computes which blocks, with whose keys") {
    Run run(kNeighbours);
    const auto scene = attention_scene(run.within(2, run.event(2, "attention")));
    CHECK(scene.way == AttentionWay::ring);
    CHECK(scene.word() == "neighbours");
    CHECK(scene.unit == "blocks.0.attn");
    CHECK((scene.batch == 2 && scene.heads == 4 && scene.head_dim == 4 && scene.tokens == 16));
    REQUIRE(scene.n() == 4);
    // 4 · (pairs) · 4 numbers · 2 samples · 4 heads: 10 pairs on the diagonal, 16 left of it.
    CHECK(flops_of(scene) == std::vector<int64_t>{1280, 3328, 5376, 7424});
    for (std::size_t q = 0; q < 4; ++q) {
        const auto first = static_cast<int64_t>(4 * q);
        CHECK(scene.ranks[q].tokens == std::vector<int64_t>{first, first + 1, first + 2, first + 3});
        for (std::size_t k = 0; k < 4; ++k) {
            const auto& block = scene.ranks[q].blocks[k];
            CHECK(scene.ranks[q].blocks[k].cells_known);
            CHECK((block.event >= 0) == (k <= q));
            if (k > q) continue;
            CHECK(block.pairs == (k == q ? 10 : 16));
            CHECK(block.turn == static_cast<int32_t>(q - k));
            CHECK((block.merge >= 0) == (k < q));
        }
        // With call i come the keys of the rank i + 1 places before.
        for (std::size_t i = 0; i < 3; ++i)
            CHECK(scene.ranks[q].comes[i] == static_cast<int32_t>((q + 3 - i) % 4));
    }
    Run again(kHeadTail);
    const auto even = attention_scene(again.within(0, again.event(0, "attention")));
    CHECK(even.word() == "head_tail");
    CHECK(even.ranks[1].tokens == std::vector<int64_t>{2, 3, 12, 13});
    CHECK(flops_of(even) == std::vector<int64_t>{4352, 4352, 4352, 4352});
}

TEST_CASE("at the cursor each rank computes, waits or is done, and works with keys that have come") {
    Run run(kNeighbours);
    const auto& second = run.event(3, "attention", 1);  // rank 3's queries with rank 2's keys
    const auto input = run.within(3, second);
    const auto scene = attention_scene(input);
    const auto now = [&](std::size_t place) { return attention_now(input, scene, place); };
    CHECK(now(3).doing == Doing::computes);
    CHECK(now(3).block == 2);
    CHECK(now(3).here == 2);
    CHECK(now(3).share == Approx(0.5).margin(0.01));
    CHECK(now(3).flops == 1280 + 1024);
    CHECK(now(0).doing == Doing::waits);  // only later keys come to it
    CHECK(now(0).flops == 1280);
    const auto end = run.at(3, attention_span(run.clock, scene).end_ns);
    for (std::size_t place = 0; place < 4; ++place) {
        CHECK(attention_now(end, scene, place).doing == Doing::done);
        CHECK(attention_now(end, scene, place).here == static_cast<int32_t>((place + 1) % 4));
    }
    const auto start = run.at(3, attention_span(run.clock, scene).begin_ns - 1);
    CHECK(attention_now(start, scene, 3).doing == Doing::before);
    CHECK(attention_now(start, scene, 3).here == 3);
}

TEST_CASE("keys and values on their way go to the next rank of the ring, and rest until they are used") {
    Run run(kNeighbours);
    const auto& second = run.event(0, "cp.permute.kv", 1);
    const auto input = run.within(0, second);
    const auto flights = attention_flights(input, attention_scene(input));
    // Rank 3 still computes its first block with its own, others have gone on: all that is under way is a
    // ring's.
    REQUIRE_FALSE(flights.empty());
    for (const auto& flight : flights) {
        CHECK(flight.to == (flight.from + 1) % 4);
        CHECK_FALSE(flight.gradient);
        CHECK((flight.share >= 0 && flight.share <= 1));
    }
    const auto to_zero =
        std::ranges::find_if(flights, [](const auto& f) { return f.to == 0 && f.share < 1; });
    REQUIRE(to_zero != flights.end());
    CHECK(to_zero->origin == 2);  // the second call brings what rank 3 got with the first
    // Each call moves: its capsule stands lower in the picture later on.
    const auto y = [&](double part) {
        const auto picture = attention_view(run.within(0, second, part));
        float at = 0;
        for (const view::Shape* shape : find(picture, "flight", 1)) at = std::max(at, shape->box.y);
        return at;
    };
    CHECK(y(0.2) < y(0.5));
    CHECK(y(0.5) < y(0.8));
}

TEST_CASE("the pairs of a block fill as its kernel's time passes") {
    Run run(kNeighbours);
    const auto& diagonal = run.event(3, "attention");
    for (const auto& [part, cells] : {std::pair{0.01, 0}, {0.5, 5}, {1.0, 10}})
        CHECK(filled(attention_view(run.within(3, diagonal, part)), 3, diagonal.id) >= cells);
    CHECK(filled(attention_view(run.within(3, diagonal, 0.5)), 3, diagonal.id) == 5);
    CHECK(filled(attention_view(run.within(3, diagonal, 1.0)), 3, diagonal.id) == 10);
    // Blocks of later keys alone are hatched.
    const auto picture = attention_view(run.within(3, diagonal));
    const auto hatched = std::ranges::count_if(
        find(picture, "rank", 0), [](const view::Shape* s) { return s->pattern == view::Fill::hatch; });
    CHECK(hatched == 3);
    CHECK(test::says(picture, "7,424 FLOP"));
    CHECK(test::says(picture, "1,280 FLOP"));
}

TEST_CASE("the running softmax ends as one softmax over all keys") {
    for (const std::string& cut : {kNeighbours, kHeadTail}) {
        Run run(cut);
        const auto scene = attention_scene(run.within(0, run.event(0, "attention")));
        for (std::size_t place = 0; place < 4; ++place)
            for (int64_t query = 0; query < 4; ++query)
                for (int64_t head = 0; head < 4; ++head) {
                    const auto lines = softmax_lines(run.trace, scene, {place, query, head, 1});
                    REQUIRE_FALSE(lines.empty());
                    // The same from all recorded queries and keys, at once.
                    const auto& rank = scene.ranks[place];
                    std::vector<double> scores;
                    for (std::size_t keys = 0; keys < 4; ++keys) {
                        const auto q = view::operand_of(run.trace, rank.rank, rank.blocks[place].event, "q",
                                                        trace::SnapshotKind::input);
                        const auto k = view::operand_of(run.trace, scene.ranks[keys].rank,
                                                        scene.ranks[keys].blocks[keys].event, "k",
                                                        trace::SnapshotKind::input);
                        for (int64_t key = 0; key < 4; ++key) {
                            if (scene.ranks[keys].tokens[static_cast<std::size_t>(key)] >
                                rank.tokens[static_cast<std::size_t>(query)])
                                continue;
                            double score = 0;
                            for (int64_t i = 0; i < 4; ++i)
                                score +=
                                    0.5 *
                                    static_cast<double>(q.numbers[static_cast<std::size_t>((4 + query) * 16 +
                                                                                           head * 4 + i)]) *
                                    static_cast<double>(
                                        k.numbers[static_cast<std::size_t>((4 + key) * 16 + head * 4 + i)]);
                            scores.push_back(score);
                        }
                    }
                    const double m = *std::ranges::max_element(scores);
                    double l = 0;
                    for (const double score : scores) l += std::exp(score - m);
                    const auto last = std::ranges::find_if(
                        lines.rbegin(), lines.rend(), [](const auto& line) { return line.m.has_value(); });
                    REQUIRE(last != lines.rend());
                    CHECK(*last->m == Approx(m).margin(1e-4));
                    CHECK(*last->l == Approx(l).epsilon(1e-4));
                    CHECK(lines.back().lse == Approx(m + std::log(l)).margin(1e-4));
                }
    }
}

TEST_CASE("on the way back gradients of keys and values go round and come home") {
    Run run(kHeadTail);
    const auto input = run.within(1, run.event(1, "attention.backward", 2));
    const auto scene = attention_scene(input);
    CHECK(scene.backward);
    CHECK(scene.word() == "head_tail");
    for (std::size_t place = 0; place < 4; ++place) {
        REQUIRE(scene.ranks[place].gradients.size() == 4);
        CHECK(scene.ranks[place].gradients.back() == static_cast<int32_t>(place));
    }
    const auto moving = run.within(1, run.event(1, "cp.permute.dkv", 1));
    const auto flights = attention_flights(moving, attention_scene(moving));
    CHECK(std::ranges::any_of(flights, [](const auto& f) { return f.gradient; }));
    const auto end = attention_view(run.at(1, attention_span(run.clock, scene).end_ns));
    CHECK(test::says(end, "dK, dV of rank 1"));
    CHECK(test::says(end, "4 of 4 blocks computed"));
    CHECK(softmax_lines(run.trace, scene, {0, 0, 0, 0}).empty());
}

TEST_CASE("a gather brings keys hop by hop, Ulysses swaps tokens for heads") {
    Run gathers(kFour + "cp = \"allgather\"\n");
    const auto& call = gathers.event(0, "cp.all_gather.kv");
    const auto held = [&](double part) {
        const auto input = gathers.within(0, call, part);
        return attention_held(input, attention_scene(input), 0).size();
    };
    CHECK(held(0.05) == 1);
    CHECK(held(0.5) >= 2);
    CHECK(held(0.5) < 4);
    CHECK(held(1.0) == 4);
    CHECK(attention_scene(gathers.within(0, call)).word() == "gather");

    Run swaps(kFour + "cp = \"ulysses\"\n");
    const auto& swap = swaps.event(1, "cp.all_to_all.k");
    const auto scene = attention_scene(swaps.within(1, swap));
    CHECK(scene.word() == "heads");
    CHECK((scene.heads == 1 && scene.tokens == 16));
    CHECK(flops_of(scene) == std::vector<int64_t>{4352, 4352, 4352, 4352});
    const auto picture = attention_view(swaps.within(1, swap, 0.3));
    CHECK(find(picture, "flight").size() >= 4);
    const auto output = attention_view(swaps.within(1, swaps.event(1, "cp.all_to_all.o"), 0.3));
    CHECK(find(output, "flight").size() >= 4);
}

TEST_CASE("attention without a cp dim is one rank's, and what a record lacks is said") {
    Run alone("shape = [1]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n");
    const auto scene = attention_scene(alone.within(0, alone.event(0, "attention")));
    CHECK(scene.word() == "alone");
    CHECK(scene.ranks[0].blocks[0].cells_known);
    const auto picture = attention_view(alone.within(0, alone.event(0, "attention")));
    CHECK(test::says_part(picture, "on this rank alone"));
    CHECK(find(picture, "attention_offer").empty());

    Run without(kHeadTail, "[record]\nlevel = \"hops\"\n");
    const auto told = attention_view(without.within(0, without.event(0, "attention")));
    CHECK(test::says_part(told, "only the level values tells"));
    CHECK_FALSE(
        attention_scene(without.within(0, without.event(0, "attention"))).ranks[0].blocks[0].cells_known);

    test::Toy toy;
    CHECK(find(attention_view(toy.at(1000)), "empty").size() == 1);
    CHECK_FALSE(attention_facts(toy.at(1000)).shapes.empty());
}

TEST_CASE("what a rank computes is the same whatever the record tells of whose keys they are") {
    for (const std::string& way : {kNeighbours, kHeadTail, kFour + "cp = \"allgather\"\n"}) {
        Run whole(way);
        const auto flops = flops_of(attention_scene(whole.within(0, whole.event(0, "attention"))));
        for (const char* level : {"hops", "collectives"}) {
            Run less(way, std::string("[record]\nlevel = \"") + level + "\"\n");
            const auto input = less.within(0, less.event(0, "attention"));
            const auto scene = attention_scene(input);
            INFO(way << level);
            CHECK(flops_of(scene) == flops);
            CHECK(view::attention_events(scene.own()).size() ==
                  view::attention_events(attention_scene(whole.within(0, whole.event(0, "attention"))).own())
                      .size());
            CHECK(test::text_problems(attention_view(input), less.measure) == std::vector<std::string>{});
        }
    }
}

TEST_CASE("where the run broke off nobody is done, and no time is told") {
    Run run(kNeighbours, "", kGpt,
            "[[faults]]\nkind = \"kill\"\nrank = 2\nstep = 0\nrule = \"cp.permute.kv\"\n"
            "hop = 0\n");
    const auto scene = attention_scene(run.within(0, run.event(0, "attention")));
    CHECK(scene.broke_off);
    const auto end = run.at(0, run.clock.end_ns);
    for (std::size_t place = 0; place < scene.n(); ++place)
        CHECK(attention_now(end, attention_scene(end), place).doing == Doing::waits);
    CHECK(attention_now(end, attention_scene(end), 0).here == 0);  // what has come is not in use
    const auto picture = attention_view(end);
    CHECK(test::says_part(picture, "broke off"));
    CHECK_FALSE(test::says_part(picture, "last rank done"));
}

TEST_CASE("a question about ranks hides which tokens they have and how much they compute") {
    Run run(kNeighbours);
    const auto input = run.within(3, run.event(3, "attention", 1));
    view::AttentionOptions options;
    options.sums = false;
    const auto covered = attention_view(input, options);
    for (const char* answer : {"7,424 FLOP", "1,280 FLOP", "15", "12"}) {
        CHECK(test::says(attention_view(input), answer));
        CHECK_FALSE(test::says(covered, answer));
    }
    for (const std::string& line : covered.text_lines) CHECK(line.find("FLOP") == std::string::npos);
    const auto facts = attention_facts(input, options);
    CHECK_FALSE(test::says_part(facts, "FLOP"));
    options.sums = true;
    options.senders_covered = "covered";
    CHECK(find(attention_view(input, options), "flight").empty());
}

TEST_CASE("runs beside are compared, and ways that are not among them are offered") {
    Run front(kNeighbours), other(kHeadTail);
    view::AttentionOptions options;
    options.offers = {{"neighbours"}, {"head_tail"}, {"gather"}, {"heads", true}};
    const auto input = front.within(3, front.event(3, "attention", 1));
    CHECK(find(attention_view(input, options), "attention_offer", 0).empty());
    CHECK_FALSE(find(attention_view(input, options), "attention_offer", 1).empty());
    options.beside.push_back({"balanced", other.trace, other.clock});
    const auto picture = attention_view(input, options);
    CHECK(find(picture, "attention_offer", 1).empty());
    CHECK_FALSE(find(picture, "attention_offer", 2).empty());
    CHECK(told(picture, "Equal sums (17,408 FLOP)"));
    CHECK(told(picture, "balanced ends 36 % sooner"));
}

TEST_CASE("runs of other shapes are not compared, and ways that would be refused are not offered") {
    Run front(kHeadTail);
    Run longer(
        kHeadTail, "",
        "kind = \"gpt\"\nvocab = 32\nseq = 32\ndim = 16\nheads = 4\nhidden = 32\nlayers = 1\nseed = 1\n");
    view::AttentionOptions options;
    options.beside.push_back({"longer", longer.trace, longer.clock});
    const auto picture = attention_view(front.within(0, front.event(0, "attention")), options);
    CHECK(told(picture, "not compared"));
    CHECK_FALSE(told(picture, "sooner"));

    Run eight("shape = [8]\nnames = [\"cp\"]\n[parallel]\ncp = \"alltoall\"\n");  // of 4 heads
    view::AttentionOptions offers;
    offers.offers = {{"neighbours"}, {"head_tail"}, {"gather"}, {"heads"}};
    const auto eight_ranks = attention_view(eight.within(0, eight.event(0, "attention")), offers);
    CHECK_FALSE(find(eight_ranks, "attention_offer", 0).empty());
    CHECK(find(eight_ranks, "attention_offer", 3).empty());
}

TEST_CASE("many ranks are one matrix, and texts fit at every size in both languages") {
    Run many("shape = [24]\nnames = [\"cp\"]\n[parallel]\ncp = \"alltoall\"\n", "",
             "kind = \"gpt\"\nvocab = 8\nseq = 48\ndim = 8\nheads = 2\nhidden = 8\nlayers = 1\nseed = 1\n");
    const auto picture = attention_view(many.within(5, many.event(5, "attention", 12)));
    CHECK(test::says_part(picture, "Ranks × ranks"));
    CHECK(find(picture, "rank").size() >= 24 * 24);
    for (const std::string& cut :
         {kNeighbours, kHeadTail, kFour + "cp = \"allgather\"\n", kFour + "cp = \"ulysses\"\n",
          std::string("shape = [8]\nnames = [\"cp\"]\n[parallel]\ncp = \"alltoall\"\n"),
          std::string("shape = [2]\nnames = [\"cp\"]\n[parallel]\ncp = \"alltoall\"\n")}) {
        Run run(cut);
        for (const char* kernel : {"attention", "attention.backward"})
            for (const view::Size size : {view::Size{640, 560}, {932, 596}, {1232, 596}, {1520, 980}})
                for (const view::Language language : {view::Language::en, view::Language::zh}) {
                    view::Input input = run.within(0, run.event(0, kernel), 0.6, size);
                    const test::CatalogueTexts texts(language);
                    const view::Input other{input.trace, input.clock, input.cursor,  input.selection,
                                            size,        language,    input.measure, texts};
                    INFO(cut << kernel << size.width);
                    const auto shown = attention_view(other);
                    CHECK(test::text_problems(shown, run.measure) == std::vector<std::string>{});
                    CHECK(test::text_problems(attention_facts(other), run.measure) ==
                          std::vector<std::string>{});
                }
    }
}

TEST_CASE("sixteen ranks have sixteen marks, and a small block is as full as the mask leaves it") {
    Run run("shape = [16]\nnames = [\"cp\"]\n[parallel]\ncp = \"alltoall\"\ncp_load_balance = false\n", "",
            "kind = \"gpt\"\nvocab = 8\nseq = 128\ndim = 8\nheads = 2\nhidden = 8\nlayers = 1\nseed = 1\n");
    const auto input = run.at(0, 0);
    std::set<std::string> marks;
    for (int64_t origin = 0; origin < 16; ++origin) {
        view::Painter painter(input);
        painter.symbol({50, 50}, 6, origin);
        std::string mark;
        for (const view::Shape& shape : painter.take(100).shapes)
            mark += std::to_string(static_cast<int>(shape.kind)) + "," + std::to_string(shape.points.size()) +
                    "," + std::to_string(static_cast<int>(shape.fill)) + "," +
                    std::to_string(static_cast<int>(shape.stroke)) + ";";
        marks.insert(mark);
    }
    CHECK(marks.size() == 16);

    // Rank 3 has tokens 24 to 31: of its own 8 × 8 pairs the mask leaves 36, of those with rank 2's keys all.
    const auto& last = run.event(3, "attention", 3);
    const auto picture = attention_view(run.within(3, last, 1.0));
    const auto share = [&](int which) {
        double all = 0, full = 0;
        for (const view::Shape* shape : find(picture, "kernel", 3, run.event(3, "attention", which).id)) {
            if (shape->kind != view::ShapeKind::rect || shape->stroke != view::Token::none) continue;
            const double area = double(shape->box.w) * double(shape->box.h);
            if (shape->fill == view::Token::inset) all = area;
            if (shape->fill >= view::Token::sky && shape->fill <= view::Token::grey)
                full += area * double(shape->fill_alpha);
        }
        return full / all;
    };
    CHECK(share(0) == Approx(36.0 / 64).margin(0.02));
    CHECK(share(1) == Approx(1).margin(0.02));
}
