// The views over traces of real runs: what hops bring is what the engine recorded, and every text finds its
// place.
#include "app/gui/view/collective_cells.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_columns.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_view.h"
#include "backends/registry.h"
#include "core/comm/choice.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;

namespace {

std::string scenario_text(const std::string& model, int steps, const std::string& mesh_and_parallel) {
    return "format = 1\n[model]\n" + model +
           "[data]\nkind = \"regression\"\nsamples = 24\nseed = 1\n[train]\nsteps = " +
           std::to_string(steps) + "\nglobal_batch = 24\n[optimizer]\nkind = \"adam\"\nlr = 0.01\n[mesh]\n" +
           mesh_and_parallel;
}

std::string tokens_text(int heads, const std::string& mesh_and_parallel) {
    return "format = 1\n[model]\nkind = \"gpt\"\nvocab = 8\nseq = 8\ndim = 4\nheads = " +
           std::to_string(heads) +
           "\nhidden = 4\nlayers = 1\nseed = 3\n[train]\nsteps = 1\nglobal_batch = 2\n[mesh]\n" +
           mesh_and_parallel;
}

const std::string kToyModel = "kind = \"toy\"\nseed = 1\n";
const std::string kMlpModel = "kind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 2\nseed = 3\n";

// The toy on HSDP (2,2), and an mlp on 4 shards: PyTorch's oracle pads net2's 33 and 66 (see pytorch's
// ToyModel).
const std::string kToy = scenario_text(kToyModel, 2,
                                       "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\n"
                                       "data = \"fsdp2\"\nunits = [[\"net1\"], [\"net2\"]]\n");
const std::string kMlp =
    scenario_text(kMlpModel, 1, "shape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n");

// Ring attention by permutes, under FSDP2 over the flattened dims; and Ulysses alone.
const std::string kRing = tokens_text(
    2, "shape = [2, 2]\nnames = [\"shard\", \"cp\"]\n[parallel]\ndata = \"fsdp2\"\ncp = \"alltoall\"\n");
const std::string kUlysses = tokens_text(4, "shape = [4]\nnames = [\"cp\"]\n[parallel]\ncp = \"ulysses\"\n");

// Two stages, four micro-batches: sends and recvs.
const std::string kPipeline = scenario_text(kMlpModel, 1,
                                            "shape = [2]\nnames = [\"pp\"]\n[parallel]\ndata = \"none\"\n"
                                            "schedule = \"gpipe\"\nmicrobatches = 4\n");

std::shared_ptr<const trace::Trace> trace_of(std::string text, const std::string& algorithm) {
    text += "algorithm = \"" + std::string(algorithm) + "\"\n";
    const auto scenario = scenario::parse_scenario(text, "test.toml");
    const auto registry = backends::make_registry();
    return run::run_scenario(scenario, *registry).trace;
}

// The recorded output of a member, and where it stands in the replayed buffer.
std::string compare(const trace::Trace& trace, const trace::CollectiveInstance& instance) {
    auto state = view::collective_after(trace, instance, 1 << 20);
    for (std::size_t m = 0; m < instance.ranks.size(); ++m) {
        const auto& rank = trace.ranks[static_cast<std::size_t>(instance.ranks[m])];
        for (const auto& snapshot : rank.snapshots) {
            if (snapshot.event != instance.events[m] || snapshot.kind != trace::SnapshotKind::output)
                continue;
            const auto& b = state.buffers[m];
            int64_t at = 0;
            if (snapshot.elements < b.elements)
                for (const auto& piece : b.pieces)
                    if (view::is_result(state, m, piece)) at = piece.offset;
            for (int64_t i = 0; i < snapshot.elements; ++i) {
                float ours = b.values.empty() ? -1 : b.values[static_cast<std::size_t>(at + i)];
                const float theirs = rank.values[static_cast<std::size_t>(snapshot.values + i)];
                // An average is divided once, after the last addition; in the second half of an all_reduce
                // what travels is divided already.
                if (ours != theirs && state.reduce_op == ReduceOp::avg)
                    ours /= static_cast<float>(instance.ranks.size());
                if (ours != theirs)
                    return std::string(name(state.op)) + " on rank " + std::to_string(instance.ranks[m]) +
                           ", element " + std::to_string(i) + ": replayed " + std::to_string(ours) +
                           ", recorded " + std::to_string(theirs);
            }
        }
    }
    return "";
}

}  // namespace

TEST_CASE("replaying the hops of real runs gives each recorded output, bit for bit") {
    const std::string text = GENERATE(values({kToy, kMlp, kRing, kUlysses}));
    const auto* algorithm = GENERATE("ring", "direct", "recursive_doubling", "bruck", "pairwise", "auto");
    const auto trace = trace_of(text, algorithm);
    const auto instances = trace::collectives(*trace);
    REQUIRE(instances.size() >= 6);
    for (const auto& instance : instances) {
        const auto& e = trace->event(instance.ranks[0], instance.events[0]);
        INFO(algorithm << " " << name(e.op) << " " << trace->text(e.unit) << " step " << e.step);
        CHECK(compare(*trace, instance) == "");
    }
    for (const auto& rank : trace->ranks)
        for (const auto& e : rank.events)
            if (const auto formula = view::byte_formula(*trace, e)) CHECK(formula->bytes == e.sent_bytes);
}

TEST_CASE(
    "every all_reduce algorithm replays bit for bit, and at its end every rank holds all ranks' numbers") {
    const std::string algorithm(name(GENERATE(from_range(comm::algorithms_of(CollectiveOp::all_reduce)))));
    const int32_t ranks = GENERATE(2, 3, 4, 6, 8);
    const auto trace = trace_of(scenario_text(kToyModel, 1,
                                              "shape = [" + std::to_string(ranks) +
                                                  "]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n"),
                                algorithm);
    int64_t reductions = 0;
    for (const auto& instance : trace::collectives(*trace)) {
        if (trace->event(instance.ranks[0], instance.events[0]).op != CollectiveOp::all_reduce) continue;
        ++reductions;
        INFO(algorithm << " on " << ranks);
        CHECK(compare(*trace, instance) == "");
        const auto state = view::collective_after(*trace, instance, 1 << 20);
        for (const auto& buffer : state.buffers)
            for (const auto& piece : buffer.pieces)
                if (piece.elements > 0) CHECK(piece.from_count == ranks);
        for (const int32_t r : instance.ranks)
            for (const auto& e : trace->ranks[static_cast<std::size_t>(r)].events)
                if (const auto formula = view::byte_formula(*trace, e)) CHECK(formula->bytes == e.sent_bytes);
    }
    CHECK(reductions == 1);
}

namespace {

bool same(const view::Rect& a, const view::Rect& b) {
    return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

// The elements of the cells that a picture of one buffer outlines: whole for what comes, dashed for what
// leaves.
int64_t outlined(const view::Picture& picture, const view::BufferState& buffer, view::Stroke style) {
    int64_t elements = 0;
    for (const auto& edge : picture.shapes) {
        if (edge.kind != view::ShapeKind::rect || edge.fill != view::Token::none ||
            edge.stroke_style != style)
            continue;
        for (const auto& piece : buffer.pieces)
            for (const auto* cell : test::find(picture, "chunk", buffer.rank, piece.chunk))
                if (cell->fill == view::Token::ghost && same(cell->box, edge.box)) elements += piece.elements;
    }
    return elements;
}

trace::CollectiveInstance first_all_reduce(const trace::Trace& trace) {
    for (auto& instance : trace::collectives(trace))
        if (trace.event(instance.ranks[0], instance.events[0]).op == CollectiveOp::all_reduce)
            return instance;
    throw std::runtime_error("no all_reduce");
}

std::shared_ptr<const trace::Trace> ddp_trace(int32_t ranks, const char* algorithm) {
    return trace_of(scenario_text(kToyModel, 1,
                                  "shape = [" + std::to_string(ranks) +
                                      "]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n"),
                    algorithm);
}

}  // namespace

TEST_CASE("a hop is shown over all it carries: dashed at its receiver, outlined at its sender") {
    const int32_t ranks = GENERATE(4, 3);
    const auto trace = ddp_trace(ranks, "halving_doubling");
    const auto instance = first_all_reduce(*trace);
    const auto clock = time::modelled(*trace, time::classroom());
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    int64_t hops = 0, wide = 0;
    for (const auto& hop : view::collective_state(*trace, clock, instance, 0).hops) {
        const int64_t t = hop.when.begin_ns + (hop.when.end_ns - hop.when.begin_ns) / 2;
        const auto state = view::collective_state(*trace, clock, instance, t);
        const view::Input in{*trace, clock, {t}, {}, {1032, 560}, view::Language::en, measure, texts};
        const auto drawn = [&](int32_t member) {
            view::Painter painter(in);
            view::draw_buffer(painter, state, static_cast<std::size_t>(member), {10, 10, 800, 60}, true);
            return painter.take();
        };
        const auto& to = state.buffers[static_cast<std::size_t>(hop.receiver)];
        const auto& from = state.buffers[static_cast<std::size_t>(hop.sender)];
        INFO(ranks << " ranks, round " << hop.hop.round << ", " << from.rank << " to " << to.rank);
        CHECK(outlined(drawn(hop.receiver), to, view::Stroke::dashed) == hop.hop.elements);
        CHECK(outlined(drawn(hop.sender), from, view::Stroke::solid) == hop.hop.elements);
        ++hops;
        wide += std::count_if(to.pieces.begin(), to.pieces.end(),
                              [&](const auto& p) { return view::covers(hop, p); }) > 1;
    }
    CHECK(hops == (ranks == 4 ? 16 : 6));  // 2·log2(4) rounds of 4; on 3: one folds in, two exchange, one out
    CHECK(wide > 0);
}

TEST_CASE("title and facts count the same hops, and a rank has sent what has arrived") {
    const auto trace = ddp_trace(3, "star");
    const auto instance = first_all_reduce(*trace);
    const auto clock = time::modelled(*trace, time::classroom());
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    for (std::size_t m = 0; m < instance.ranks.size(); ++m) {
        view::Selection selection;
        selection.rank = selection.event_rank = instance.ranks[m];
        selection.event = instance.events[m];
        for (const auto& hop : view::collective_state(*trace, clock, instance, 0).hops) {
            const int64_t t = hop.when.begin_ns + (hop.when.end_ns - hop.when.begin_ns) / 2;
            const view::Input in{*trace,  clock, {t}, selection, {1032, 560}, view::Language::en,
                                 measure, texts};
            const auto state = view::collective_state(*trace, clock, instance, t);
            CHECK(state.rounds == 2);  // all to the middle, and back
            // What the receivers do with what comes is said, too.
            CHECK(test::says_part(view::collective_view(in),
                                  hop.hop.reduces ? " of 2: adding" : " of 2: copying"));
            const auto facts = view::describe_event(in, {instance.ranks[m], instance.events[m]});
            CHECK(std::any_of(facts.rows.begin(), facts.rows.end(),
                              [](const auto& row) { return row.value == "star, hops: 2"; }));
            const int64_t all = trace->event(instance.ranks[m], instance.events[m]).sent_bytes;
            for (const auto& h : state.hops)
                if (h.flying && h.sender == static_cast<int32_t>(m)) CHECK(state.buffers[m].sent_bytes < all);
        }
        CHECK(view::collective_state(*trace, clock, instance, clock.end_ns).buffers[m].sent_bytes ==
              trace->event(instance.ranks[m], instance.events[m]).sent_bytes);
    }
}

TEST_CASE("memory that lies in the host stands in words below the sum, which does not count it") {
    const auto trace = trace_of(
        scenario_text(kMlpModel, 1,
                      "shape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\ncpu_offload = true\n"),
        "ring");
    const auto clock = time::modelled(*trace, time::classroom());
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    const view::Input in{*trace, clock, {0}, {}, {400, 900}, view::Language::en, measure, texts};
    const auto columns = view::memory_columns(*trace, 0, 0);
    const auto now = view::event_at(*trace, clock, {0}, 0);
    REQUIRE(!columns.empty());
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&](const auto& c) { return now && c.event == now->event; });
    const auto& shown = column == columns.end() ? columns[view::highest(columns)] : *column;
    const int64_t away = shown.bytes[static_cast<std::size_t>(MemoryCategory::offloaded)];
    REQUIRE(away > 0);
    const auto lines = view::memory_facts(in).text_lines;
    CHECK(std::count(lines.begin(), lines.end(),
                     "offloaded to the host  " + view::format_exact_bytes(away)) == 1);
    CHECK(std::count(lines.begin(), lines.end(), "sum  " + view::format_exact_bytes(shown.total)) == 1);
}

TEST_CASE("every view of a real run keeps its texts apart and its bytes true") {
    const auto trace = trace_of(GENERATE(values({kToy, kMlp, kRing, kUlysses})), "ring");
    const auto clock = time::modelled(*trace, time::classroom());
    view::Selection selection;
    selection.rank = 1;
    for (const auto language : {view::Language::en, view::Language::zh}) {
        const test::FakeMeasure measure(language == view::Language::zh ? 1.6F : 1.45F);
        const test::CatalogueTexts texts(language);
        for (const view::Size size : {view::Size{656, 344}, view::Size{1032, 560}})
            for (const int64_t part : {1, 4, 7}) {
                const view::Input in{*trace,  clock, {clock.end_ns * part / 9}, selection, size, language,
                                     measure, texts};
                for (const auto& picture :
                     {view::timeline_view(in), view::collective_view(in), view::memory_view(in),
                      view::memory_facts(in), view::mesh_view(in), view::mesh_table(in),
                      view::mesh_facts(in)}) {
                    const auto problems = test::text_problems(picture, measure);
                    CHECK((problems.empty() ? "" : problems[0]) == "");
                    CHECK_FALSE(picture.shapes.empty());
                    CHECK_FALSE(picture.text_lines.empty());
                }
            }
    }
    for (int32_t r = 0; r < 4; ++r)
        for (int32_t step = 0; step < trace->info.steps; ++step) {
            const auto columns = view::memory_columns(*trace, r, step);
            REQUIRE(!columns.empty());
            CHECK(columns[view::highest(columns)].total == memory::peak(*trace, r, step).bytes);
        }
}

TEST_CASE("a permute on four ranks: nobody holds anything at first, then each what the rank before it sent") {
    std::string text = kRing;
    text.replace(text.find("[2, 2]"), 6, "[1, 4]");
    const auto trace = trace_of(text, "ring");
    int64_t permutes = 0;
    for (const auto& instance : trace::collectives(*trace)) {
        if (trace->event(instance.ranks[0], instance.events[0]).op != CollectiveOp::all_to_all) continue;
        ++permutes;
        const auto formula = view::byte_formula(*trace, trace->event(instance.ranks[0], instance.events[0]));
        REQUIRE(formula);
        CHECK(formula->text == "S");  // the figure stands beside it
        const auto before = view::collective_after(*trace, instance, 0),
                   after = view::collective_after(*trace, instance, 1000);
        for (std::size_t m = 0; m < 4; ++m)
            for (const auto& piece : after.buffers[m].pieces) {
                const bool comes = piece.chunk == static_cast<int32_t>((m + 3) % 4);
                CHECK(piece.elements == (comes ? after.buffers[m].elements : 0));
                if (comes) CHECK(piece.from_count == 1);
            }
        for (std::size_t m = 0; m < 4; ++m)
            for (const auto& piece : before.buffers[m].pieces)
                if (piece.elements > 0) CHECK(piece.from_count == 0);
    }
    CHECK(permutes == 3 + 3 + 4);  // K and V forward, again backward, and their gradients
}

TEST_CASE(
    "a transfer between stages: the receiver holds nothing before the hop has landed, then what was sent") {
    const auto trace = trace_of(kPipeline, "ring");
    const auto clock = time::modelled(*trace, time::classroom());
    int64_t transfers = 0;
    for (const auto& instance : trace::collectives(*trace)) {
        const auto& first = trace->event(instance.ranks[0], instance.events[0]);
        if (first.op != CollectiveOp::send && first.op != CollectiveOp::recv) continue;
        if (instance.ranks.size() != 2) continue;
        ++transfers;
        const auto before = view::collective_state(*trace, clock, instance, -1),
                   after = view::collective_state(*trace, clock, instance, clock.end_ns);
        for (std::size_t m = 0; m < 2; ++m) {
            const bool sends = trace->event(instance.ranks[m], instance.events[m]).op == CollectiveOp::send;
            REQUIRE(before.buffers[m].pieces.size() == 1);
            CHECK(before.buffers[m].pieces[0].from_count == (sends ? 1 : 0));
            CHECK(after.buffers[m].pieces[0].from_count == 1);
        }
        CHECK(after.buffers[0].values == after.buffers[1].values);
    }
    CHECK(transfers == 8);  // four activations forward, four gradients back
    // Which micro-batch it is stands in the title and in the facts.
    view::Selection selection;
    const auto& events = trace->ranks[0].events;
    const auto last = std::find_if(events.rbegin(), events.rend(),
                                   [](const auto& e) { return e.op == CollectiveOp::send; });
    REQUIRE(last != events.rend());
    selection.event_rank = 0;
    selection.event = last->id;
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    const view::Input input{*trace, clock, {0}, selection, {1032, 560}, view::Language::en, measure, texts};
    CHECK(last->microbatch == 3);
    CHECK(test::says_part(view::collective_view(input), "micro-batch 3"));
    const auto facts = view::describe_event(input, {0, last->id});
    CHECK(std::any_of(facts.rows.begin(), facts.rows.end(),
                      [](const auto& r) { return r.label == "micro-batch" && r.value == "3"; }));
}
