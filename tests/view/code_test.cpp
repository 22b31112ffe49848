// "Code and why": every place that a record names exists in the sources inside the program and still says
// what it is named for; every event has its words; the picture's texts fit.
#include <algorithm>
#include <set>

#include "app/gui/view/code_facts.h"
#include "app/gui/view/code_view.h"
#include "app/gui/view/source_location.h"
#include "backends/registry.h"
#include "core/run/dry.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;

namespace {

const std::string kToy = "[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 2\nglobal_batch = 8\n";
const std::string kMlp =
    "[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\nseed = 3\n[train]\nsteps = 1\n"
    "global_batch = 8\n";
const std::string kMlpNorm =
    "[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 1\nnorm = \"sync_batch\"\n[train]\nsteps = 2\n"
    "global_batch = 8\n";
const std::string kGpt =
    "[model]\nkind = \"gpt\"\nvocab = 8\nseq = 8\ndim = 8\nheads = 2\nhidden = 8\nlayers = 1\nseed = 3\n"
    "[train]\nsteps = 1\nglobal_batch = 4\n";
const std::string kLlama =
    "[model]\nkind = \"llama\"\nvocab = 8\nseq = 8\ndim = 8\nheads = 2\nhidden = 8\nlayers = 1\nseed = 3\n"
    "[train]\nsteps = 1\nglobal_batch = 4\nclip_norm = 0.5\n[optimizer]\nkind = \"adamw\"\nlr = 0.01\n";

std::string mesh(const std::string& shape, const std::string& names, const std::string& parallel) {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\n" + parallel;
}

const std::string kHsdp =
    kToy + mesh("2, 2", "\"replicate\", \"shard\"", "data = \"fsdp2\"\nunits = [[\"net1\"], [\"net2\"]]\n");

/// Its layers run a second time in backward, with what that gathers.
const std::string kAgain = kMlp + "recompute = \"full\"\n" + mesh("2", "\"shard\"", "data = \"fsdp2\"\n");

/// Plain calls, a message and work among them.
const std::string kCalls =
    "[mesh]\nshape = [2]\nnames = [\"replicate\"]\n[[call]]\nop = \"all_gather\"\nelements = 2\n"
    "[[call]]\nop = \"send_recv\"\nsrc = 0\ndst = 1\nelements = 2\n"
    "[[call]]\nwork = \"download\"\nbytes = 64\n[[call]]\nwork = \"read\"\nbytes = 64\n"
    "[[call]]\nwork = \"write\"\nbytes = 64\n";

/// Runs that between them make nearly all calls and kernels there are.
std::vector<std::string> many_runs() {
    return {kHsdp,
            kToy + mesh("4", "\"replicate\"", "data = \"ddp\"\n"),
            kMlpNorm + mesh("2", "\"replicate\"", "data = \"ddp\"\n"),
            kToy + mesh("4", "\"shard\"", "data = \"fsdp1\"\n"),
            kToy + mesh("4", "\"shard\"", "data = \"zero1\"\n"),
            kToy + mesh("4", "\"shard\"", "data = \"zero2\"\n"),
            kToy + mesh("4", "\"shard\"", "data = \"zero3\"\n"),
            kToy + mesh("2", "\"replicate\"", "data = \"dp\"\n"),
            kMlp + mesh("2", "\"pp\"", "data = \"none\"\nschedule = \"gpipe\"\nmicrobatches = 2\n"),
            kGpt + mesh("2, 2", "\"shard\", \"tp\"", "data = \"fsdp2\"\n"),
            kGpt + mesh("2", "\"tp\"", "sequence_parallel = true\nloss_parallel = true\n"),
            kLlama + mesh("2, 2", "\"shard\", \"cp\"", "data = \"fsdp2\"\ncp = \"alltoall\"\n"),
            kGpt + mesh("2", "\"cp\"", "cp = \"ulysses\"\n"),
            kCalls};
}

/// Run dry alone.
std::vector<std::string> eager_runs() {
    const std::string memory = "[memory]\nops = \"pytorch\"\n";
    return {
        kLlama + mesh("1", "\"shard\"", "data = \"fsdp2\"\nmixed_precision.param = \"bfloat16\"\n") + memory,
        kLlama + mesh("2", "\"tp\"", "loss_parallel = true\n") + memory};
}

std::shared_ptr<const trace::Trace> trace_of(const std::string& text) {
    const auto registry = backends::make_registry();
    return run::run_scenario(scenario::parse_scenario("format = 1\n" + text, "test.toml"), *registry).trace;
}

std::string statement(const view::SourceLocation& place) {
    const auto lines = view::source_lines(place.file);
    const auto range = view::statement_at(lines, place.line);
    std::string text;
    for (int32_t i = range.first; i <= range.last && !range.empty(); ++i)
        text += std::string(lines[static_cast<std::size_t>(i - 1)]) + "\n";
    return text;
}

/// A run under the lessons' clock with the program's words.
struct Stage {
    explicit Stage(std::shared_ptr<const trace::Trace> t, view::Language l = view::Language::en)
        : trace(std::move(t)),
          clock(time::modelled(*trace, time::classroom())),
          measure(l == view::Language::zh ? 1.6F : 1.45F),
          texts(l),
          language(l) {}
    view::Input at(view::EventRef ref, view::Size size = {1032, 900}) {
        selection.event_rank = selection.rank = ref.rank;
        selection.event = ref.event;
        return {*trace, clock, {0}, selection, size, language, measure, texts};
    }
    std::shared_ptr<const trace::Trace> trace;
    time::Clock clock;
    test::FakeMeasure measure;
    test::CatalogueTexts texts;
    view::Language language;
    view::Selection selection;
};

/// Code may hold braces, which the check of texts takes for placeholders that nobody filled.
view::Picture without_braces(view::Picture picture) {
    for (auto& s : picture.shapes)
        if (s.kind == view::ShapeKind::text && s.face == view::Face::mono_small)
            std::replace(s.text.begin(), s.text.end(), '{', '(');
    return picture;
}

int32_t first_of(const trace::Trace& trace, int32_t rank, const std::string& rule) {
    for (const auto& e : trace.ranks[static_cast<std::size_t>(rank)].events)
        if (trace.text(e.rule) == rule) return e.id;
    FAIL("no event of rule " << rule);
    return -1;
}

}  // namespace

TEST_CASE(
    "every line that a record names is in the program, and its statement makes the call or names the rule") {
    std::set<std::string> seen, ops;
    const auto check = [&](const trace::Trace& trace) {
        for (const auto& rank : trace.ranks)
            for (const auto& e : rank.events) {
                const std::string rule(trace.text(e.rule)), source(trace.text(e.source));
                if (e.kind == trace::EventKind::compute) {
                    ops.insert(std::string(trace.text(e.name)));
                    continue;
                }
                if (!seen.insert(source + " " + rule).second) continue;
                INFO(rule << " at " << source);
                const auto place = view::parse_location(source);
                REQUIRE(place);
                const std::string text = statement(*place), op(name(e.op));
                // The process group's methods carry the op's name; send and recv begin with i.
                CHECK((text.find(op + "(") != std::string::npos ||
                       text.find("i" + op + "(") != std::string::npos ||
                       // All that a scenario calls itself, rule_of() naming it.
                       (rule.starts_with("call.") && text.find(".cause = {rule_of(") != std::string::npos) ||
                       text.find('"' + rule + '"') != std::string::npos));
                CHECK(view::still_says_at(*place, op, rule) == true);
            }
    };
    for (const std::string& text : many_runs()) check(*trace_of(text));
    CHECK(seen.size() > 30);
    // And each kernel's name stands in a statement that records it.
    CHECK(ops.size() > 30);
    for (const std::string& op : ops) {
        INFO(op);
        const auto places = view::locations_of_op(op);
        REQUIRE_FALSE(places.empty());
        for (const auto& place : places) {
            const std::string text = statement(place);
            CHECK(text.find("ComputeEvent event(") != std::string::npos);
        }
    }
}

TEST_CASE("every rule of the catalogue is named in the program's sources, and every kernel there has words") {
    const auto catalogue = i18n::Catalogue::embedded();
    int rules = 0;
    for (const std::string& id : catalogue.ids(i18n::Language::en)) {
        if (!id.starts_with("rule.") || !id.ends_with(".sentence")) continue;
        const std::string rule = id.substr(5, id.size() - 5 - 9);
        // What a user calls by hand is issued outside; what is computed again is named by the recorder.
        if (rule == "user.call" || rule == "recompute.forward") continue;
        INFO(rule);
        CHECK_FALSE(view::locations_of_rule(rule).empty());
        ++rules;
    }
    CHECK(rules > 60);
    for (const auto& text : many_runs()) {
        const auto trace = trace_of(text);
        for (const auto& e : trace->ranks[0].events) {
            if (e.kind != trace::EventKind::compute) continue;
            const std::string op(trace->text(e.name));
            for (const auto language : {i18n::Language::en, i18n::Language::zh}) {
                INFO(op);
                CHECK(catalogue.find("op." + op + ".sentence", language) != nullptr);
                CHECK(catalogue.find("op." + op + ".pytorch", language) != nullptr);
            }
        }
    }
}

TEST_CASE("each kernel of eager PyTorch that a dry run records has words, and a place in the sources") {
    const auto catalogue = i18n::Catalogue::embedded();
    std::set<std::string> ops;
    for (const std::string& text : eager_runs()) {
        const auto trace = run::run_dry(scenario::parse_scenario("format = 1\n" + text, "test.toml")).trace;
        for (const trace::Event& e : trace->ranks[0].events)
            if (e.kind == trace::EventKind::compute) ops.insert(std::string(trace->text(e.name)));
    }
    CHECK(std::ranges::count_if(ops, [](const std::string& op) { return op.starts_with("aten::"); }) > 15);
    for (const std::string& op : ops) {
        INFO(op);
        CHECK_FALSE(view::locations_of_op(op).empty());
        for (const auto language : {i18n::Language::en, i18n::Language::zh})
            CHECK(catalogue.find("op." + op + ".sentence", language) != nullptr);
    }
}

TEST_CASE("the facts of an event have its rule's words, also of what is done a second time in backward") {
    const auto trace = trace_of(kAgain);
    for (const auto language : {view::Language::en, view::Language::zh}) {
        Stage stage(trace, language);
        int again = 0;
        for (const trace::Event& e : trace->ranks[0].events) {
            const auto facts = view::describe_event(stage.at({0, e.id}), {0, e.id});
            INFO(facts.rule);
            if (facts.rule.empty()) continue;
            CHECK(!facts.words.sentence.empty());
            CHECK(!facts.words.pytorch.empty());
            again += facts.rule.starts_with("recompute.");
        }
        CHECK(again > 0);
    }
}

TEST_CASE("words of kernels name kernels that exist") {
    const auto catalogue = i18n::Catalogue::embedded();
    int ops = 0;
    for (const std::string& id : catalogue.ids(i18n::Language::en)) {
        if (!id.starts_with("op.") || !id.ends_with(".sentence")) continue;
        INFO(id);
        CHECK_FALSE(view::locations_of_op(id.substr(3, id.size() - 3 - 9)).empty());
        ++ops;
    }
    CHECK(ops > 60);
}

TEST_CASE("a plain call is shown where it is made, where its rule is named stands beside it") {
    Stage stage(trace_of(kCalls));
    const int32_t event = first_of(*stage.trace, 0, "call.all_gather");
    const auto facts = view::explain_event(stage.at({0, event}), {0, event});
    CHECK_FALSE(facts.moved);
    REQUIRE(facts.place);
    CHECK(view::location_text(*facts.place) == facts.recorded);
    REQUIRE(facts.named);
    CHECK(statement(*facts.named).find("\"call.all_gather\"") != std::string::npos);
    // The same line under a rule of training is one that moved.
    CHECK_FALSE(view::still_says_at(*facts.place, "all_gather", "fsdp2.unshard.forward"));
}

TEST_CASE("a place that moved is told, and the rule's own place is shown instead") {
    auto moved = std::make_shared<trace::Trace>(*trace_of(kHsdp));
    for (std::string& text : moved->strings)
        if (text.starts_with("core/parallel/fsdp2/unit_reduce.cpp:")) text = "core/parallel/fsdp2/gone.cpp:7";
    Stage stage(moved);
    const int32_t event = first_of(*moved, 1, "hsdp.all_reduce.replicas");
    const auto facts = view::explain_event(stage.at({1, event}), {1, event});
    CHECK(facts.moved);
    REQUIRE(facts.place);
    CHECK(statement(*facts.place).find("\"hsdp.all_reduce.replicas\"") != std::string::npos);
    const auto picture = view::code_view(stage.at({1, event}));
    CHECK(test::says_part(picture, "core/parallel/fsdp2/gone.cpp:7"));
    // A record without places, as others write them, still has its rule's sentence.
    for (std::string& text : moved->strings)
        if (text.starts_with("core/")) text.clear();
    const auto bare = view::explain_event(stage.at({1, event}), {1, event});
    CHECK(bare.recorded.empty());
    CHECK_FALSE(bare.moved);
    REQUIRE(bare.place);
    CHECK_FALSE(bare.words.sentence.empty());
}

TEST_CASE("the facts of HSDP's second gather are PyTorch's: prefetched in backward, for net1, after net2's") {
    Stage stage(trace_of(kHsdp));
    const auto& trace = *stage.trace;
    const int32_t event = first_of(trace, 0, "fsdp2.prefetch.backward");
    const auto f = view::explain_event(stage.at({0, event}), {0, event});
    CHECK(f.words.pytorch.find("set_modules_to_backward_prefetch") != std::string::npos);
    CHECK(f.subject == "fsdp2.prefetch.backward");
    // pytorch_rules 1.2: a step of the toy is AG, AG | AG, AG, RS, AR, RS, AR: one of them a prefetch.
    CHECK(f.same.size() == 1);
    CHECK(f.same_everywhere == 4);
    const int32_t scatter = first_of(trace, 0, "fsdp2.reduce_scatter.gradients");
    const auto s = view::explain_event(stage.at({0, scatter}), {0, scatter});
    CHECK(s.same.size() == 2);
    CHECK(s.same_everywhere == 8);
    // Its input is laid out by chunk_cat on the compute stream: the record says it waited for that.
    REQUIRE_FALSE(s.waited.empty());
    const auto& on = trace.event(0, s.waited[0].on.event);
    CHECK(trace.text(on.name) == "fsdp2.chunk_cat");
    CHECK_FALSE(s.waited[0].stream);
    // Each wait had ended when it began.
    for (const auto& w : s.waited)
        CHECK(stage.clock.events[0][static_cast<std::size_t>(w.on.event)].end_ns <= s.began_ns);
}

TEST_CASE("the excerpt holds the recorded line itself, word for word, and the copied text holds it too") {
    Stage stage(trace_of(kHsdp));
    const int32_t event = first_of(*stage.trace, 0, "fsdp2.reduce_scatter.gradients");
    const auto place = view::parse_location(stage.trace->text(stage.trace->event(0, event).source));
    REQUIRE(place);
    const auto picture = view::code_view(stage.at({0, event}));
    const auto lines = view::source_lines(place->file);
    const auto range = view::statement_at(lines, place->line);
    CHECK(range.contains(place->line));
    for (int32_t i = range.first; i <= range.last; ++i) {
        CHECK_FALSE(test::find(picture, "line", i).empty());
        const std::string told =
            "> " + std::to_string(i) + "  " + std::string(lines[static_cast<std::size_t>(i - 1)]);
        CHECK(std::count(picture.text_lines.begin(), picture.text_lines.end(), told) == 1);
    }
    CHECK(test::says(picture, view::location_text(*place)));
    CHECK(view::code_location(stage.at({0, event})) == view::location_text(*place));
}

TEST_CASE("texts of Code and why fit at every size in both languages, for every kind of event") {
    const auto trace = trace_of(GENERATE(values({kHsdp, many_runs()[8]})));
    for (const auto language : {view::Language::en, view::Language::zh}) {
        Stage stage(trace, language);
        for (const view::Size size : {view::Size{480, 300}, view::Size{656, 668}, view::Size{1500, 1028}})
            for (std::size_t e = 0; e < trace->ranks[1].events.size(); e += 3) {
                const view::EventRef ref{1, static_cast<int32_t>(e)};
                for (const auto& picture :
                     {view::code_view(stage.at(ref, size)),
                      view::code_facts(stage.at(ref, {std::min(size.width, 460.F), size.height}))}) {
                    const auto problems = test::text_problems(without_braces(picture), stage.measure);
                    INFO(trace->text(trace->ranks[1].events[e].name)
                         << trace->text(trace->ranks[1].events[e].rule) << " at " << size.width);
                    CHECK((problems.empty() ? "" : problems[0]) == "");
                    CHECK(picture.text_lines.size() > 3);
                }
            }
    }
}

TEST_CASE("what is done during set-up is told so, not as of step -1") {
    const auto trace = trace_of(many_runs()[1]);
    const auto& events = trace->ranks[0].events;
    const auto first = std::find_if(events.begin(), events.end(), [](const auto& e) { return e.step < 0; });
    REQUIRE(first != events.end());
    Stage stage(trace, view::Language::en);
    const view::EventRef ref{0, first->id};
    for (const auto& picture :
         {view::code_view(stage.at(ref, {656, 668})), view::code_facts(stage.at(ref, {460, 668}))})
        for (const std::string& line : picture.text_lines) CHECK(line.find("step -1") == std::string::npos);
    CHECK_FALSE(test::says_part(view::code_facts(stage.at(ref, {460, 668})), "step"));
}

TEST_CASE("a record too large to be counted in every frame tells its own rank's events") {
    auto large = std::make_shared<trace::Trace>(*trace_of(kHsdp));
    const trace::Event last = large->ranks[3].events.back();
    for (std::size_t i = 0; i < view::kMostCountedEvents; ++i) {
        large->ranks[3].events.push_back(last);
        large->ranks[3].events.back().id = last.id + 1 + static_cast<int32_t>(i);
    }
    Stage stage(large);
    const int32_t event = first_of(*large, 0, "fsdp2.reduce_scatter.gradients");
    const auto f = view::explain_event(stage.at({0, event}), {0, event});
    CHECK_FALSE(f.same_everywhere);
    CHECK(f.same.size() == 2);
    CHECK(test::says_part(view::code_facts(stage.at({0, event}, {420, 900})), "2 on rank 0."));
}

TEST_CASE("before the first event the view says so") {
    Stage stage(trace_of(kHsdp));
    view::Selection nothing;
    auto bare = std::make_shared<trace::Trace>(*stage.trace);
    bare->ranks.assign(4, {});
    const auto clock = time::measured(*bare);
    const view::Input input{*bare,         clock,      {0}, nothing, {656, 600}, view::Language::en,
                            stage.measure, stage.texts};
    CHECK(test::says_part(view::code_view(input), "Nothing has begun"));
    CHECK(test::says_part(view::code_facts(input), "Nothing has begun"));
    CHECK(view::code_location(input).empty());
}
