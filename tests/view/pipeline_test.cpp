// The grid of micro-batches over traces of real runs, held against the schedules' own arithmetic.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/gui/view/pipeline_blocks.h"
#include "app/gui/view/pipeline_view.h"
#include "backends/registry.h"
#include "core/parallel/pipeline/schedule.h"
#include "core/parallel/pipeline/simulate.h"
#include "core/run/run.h"
#include "core/run/simulated_pipeline.h"
#include "tests/test.h"
#include "tests/tree.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;
using parallel::pipeline::ActionKind;
using test::find;
using view::BlockKind;

namespace {

std::string scenario_text(const std::string& schedule, int ranks, int microbatches,
                          const std::string& more = "") {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = 8\nseed = 3\n[data]\nkind = "
           "\"regression\"\nsamples = 16\nseed = 1\n[train]\nsteps = 2\nglobal_batch = 16\n[optimizer]\nkind "
           "= "
           "\"sgd\"\nlr = 0.1\n[mesh]\nshape = [" +
           std::to_string(ranks) + "]\nnames = [\"pp\"]\n[parallel]\nschedule = \"" + schedule +
           "\"\nmicrobatches = " + std::to_string(microbatches) + "\n" + more;
}

/// A run and both of its clocks, ready for a view.
struct Ran {
    explicit Ran(const std::string& text) {
        const auto scenario = scenario::parse_scenario(text, "test.toml");
        const auto registry = backends::make_registry();
        trace = run::run_scenario(scenario, *registry).trace;
        clock = time::modelled(*trace, time::classroom());
    }
    view::Input at(int64_t t_ns, view::Size size = {980, 620},
                   view::Language language = view::Language::en) const {
        const view::Texts& words = language == view::Language::en ? english : chinese;
        return {*trace, clock, {t_ns}, selection, size, language, measure, words};
    }
    std::shared_ptr<const trace::Trace> trace;
    time::Clock clock;
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts english{view::Language::en}, chinese{view::Language::zh};
};

/// With DualPipeV's overlapped pairs one after the other, as a rank here runs them.
parallel::pipeline::Schedule without_pairs(parallel::pipeline::Schedule schedule) {
    for (auto& slots : schedule.order) {
        std::vector<parallel::pipeline::Slot> apart;
        for (const auto& slot : slots) {
            if (!slot || slot->parts.empty())
                apart.push_back(slot);
            else
                apart.insert(apart.end(), slot->parts.begin(), slot->parts.end());
        }
        slots = std::move(apart);
    }
    return schedule;
}

BlockKind kind_of(ActionKind kind) {
    switch (kind) {
        case ActionKind::forward:
            return BlockKind::forward;
        case ActionKind::input_grad:
            return BlockKind::input_grad;
        case ActionKind::weight_grad:
            return BlockKind::weight_grad;
        default:
            return BlockKind::backward;
    }
}

}  // namespace

TEST_CASE("the grid of every schedule holds its actions in their order, in slots as they are played") {
    for (const std::string_view word : parallel::pipeline::kScheduleNames) {
        CAPTURE(word);
        const auto kind = *parallel::pipeline::parse_schedule_kind(word);
        const parallel::pipeline::ScheduleShape shape{kind, 4,
                                                      parallel::pipeline::default_stages_per_rank(kind), 8};
        const auto schedule = without_pairs(parallel::pipeline::make_schedule(shape));
        const double part = 1.0 / shape.stages_per_rank;
        const auto played = parallel::pipeline::simulate(schedule, {part, part, part});
        const Ran ran(scenario_text(std::string(word), 4, 8));
        const auto grid = view::pipeline_grid(*ran.trace, ran.clock, 0, 1);
        REQUIRE(grid != nullptr);
        CHECK(grid->stages == shape.stages());
        CHECK(grid->microbatches == 8);
        REQUIRE(grid->lanes.size() == 4);
        CHECK(grid->slots == Approx(played.makespan));
        CHECK(grid->bubble() == Approx(played.bubble_share));
        for (std::size_t r = 0; r < 4; ++r) {
            CAPTURE(r);
            const auto& blocks = grid->lanes[r].blocks;
            const auto& spans = played.ranks[r];
            REQUIRE(blocks.size() == spans.size());
            for (std::size_t i = 0; i < spans.size(); ++i) {
                CAPTURE(i);
                CHECK(blocks[i].kind == kind_of(spans[i].action.kind));
                CHECK(blocks[i].stage == spans[i].action.stage);
                CHECK(blocks[i].microbatch == spans[i].action.microbatch);
                CHECK(blocks[i].begin == Approx(spans[i].begin).margin(1e-9));
                CHECK(blocks[i].end == Approx(spans[i].end).margin(1e-9));
            }
        }
    }
}

TEST_CASE("stages of unlike numbers of layers are told apart, one or several on a rank") {
    struct Uneven {
        std::string_view schedule;
        std::vector<int> layers;  ///< by stage, 12 together
    };
    for (const auto& [word, layers] :
         {Uneven{"1F1B", {1, 5, 2, 4}}, Uneven{"GPipe", {6, 1, 1, 4}},
          Uneven{"Interleaved1F1B", {1, 2, 1, 3, 1, 2, 1, 1}},
          Uneven{"ZBVZeroBubble", {2, 1, 1, 1, 3, 1, 2, 1}}, Uneven{"DualPipeV", {1, 1, 2, 1, 3, 2, 1, 1}}}) {
        CAPTURE(word);
        const auto kind = *parallel::pipeline::parse_schedule_kind(word);
        const parallel::pipeline::ScheduleShape shape{kind, 4, static_cast<int32_t>(layers.size() / 4), 8};
        const auto schedule = without_pairs(parallel::pipeline::make_schedule(shape));
        std::string counts;
        for (const int n : layers) counts += (counts.empty() ? "" : ", ") + std::to_string(n);
        std::string text = scenario_text(std::string(word), 4, 8, "stage_layers = [" + counts + "]\n");
        text.replace(text.find("layers = 8"), 10, "layers = 12");
        const Ran ran(text);
        const auto grid = view::pipeline_grid(*ran.trace, ran.clock, 0, 1);
        REQUIRE(grid != nullptr);
        CHECK(grid->complete);
        CHECK(grid->stages == shape.stages());
        REQUIRE(grid->lanes.size() == 4);
        for (std::size_t r = 0; r < 4; ++r) {
            CAPTURE(r);
            // The stages and micro-batches of forwards, one after the other.
            std::vector<std::pair<int32_t, int32_t>> planned, found;
            for (const auto& slot : schedule.order[r])
                if (slot && slot->kind == ActionKind::forward)
                    planned.emplace_back(slot->stage, slot->microbatch);
            for (const view::PipelineBlock& block : grid->lanes[r].blocks)
                if (block.kind == BlockKind::forward) found.emplace_back(block.stage, block.microbatch);
            CHECK(found == planned);
        }
    }
}

TEST_CASE(
    "the grid of a simulated schedule is as long, and idles as much, as an independent simulator says") {
    const std::string folder = test::golden_folder() + "/pipeline/";
    std::ifstream in(folder + "expected.json");
    const auto expected = nlohmann::json::parse(in);
    int files = 0;
    for (const auto& [file, facts] : expected.at("files").items()) {
        if (!facts.at("valid").get<bool>()) continue;
        INFO(file);
        ++files;
        const trace::Trace trace = run::simulate_schedule_file(folder + file);
        const time::Clock clock = time::modelled(trace, time::classroom());
        CHECK(clock.profile == "simulated");
        const auto grid = view::pipeline_grid(trace, clock, 0, 0);
        REQUIRE(grid != nullptr);
        CHECK(grid->complete);
        CHECK(grid->stages == facts["stages"]);
        CHECK(grid->microbatches == facts["microbatches"]);
        const double units = double(grid->stages) / double(grid->lanes.size());  // a slot has so many
        CHECK(grid->slots * units == Approx(facts["unit_time"]["makespan"].get<double>()));
        CHECK(grid->bubble() == Approx(facts["unit_time"]["bubble_fraction"].get<double>()).margin(1e-6));
        // Each compute action is a block of its own kind, in the file's order.
        for (std::size_t r = 0; r < grid->lanes.size(); ++r) {
            std::string blocks, actions;
            for (const view::PipelineBlock& block : grid->lanes[r].blocks)
                blocks += std::to_string(block.stage) + "FBIW"[static_cast<std::size_t>(block.kind)] +
                          std::to_string(block.microbatch) + " ";
            const auto read = run::read_schedule_file(folder + file);
            for (const auto& slot : read.schedule.order[r])
                if (slot)
                    for (const auto& part : parallel::pipeline::parts_of(*slot))
                        if (parallel::pipeline::is_compute(part.kind))
                            actions += parallel::pipeline::to_text(part) + " ";
            CHECK(blocks == actions);
        }
    }
    CHECK(files == 8);
}

TEST_CASE("activations are held from the forward to the end of the backward, as 1F1B bounds them") {
    const Ran ran(scenario_text("1F1B", 4, 8));
    const auto grid = view::pipeline_grid(*ran.trace, ran.clock, 0, 0);
    REQUIRE(grid != nullptr);
    for (std::size_t r = 0; r < 4; ++r) {
        const view::PipelineLane& lane = grid->lanes[r];
        CHECK(view::most_held(lane) == static_cast<int32_t>(4 - r));
        CHECK(view::held_at(lane, lane.blocks.front().at.begin_ns) == std::vector<int32_t>{0});
        CHECK(view::held_at(lane, lane.blocks.front().at.end_ns - 1) == std::vector<int32_t>{0});
        CHECK(view::held_at(lane, lane.blocks.back().at.end_ns).empty());
        CHECK(view::slot_at(lane, lane.blocks.back().at.end_ns) == Approx(lane.blocks.back().end));
    }
    const Ran gpipe(scenario_text("GPipe", 4, 8));
    const auto all = view::pipeline_grid(*gpipe.trace, gpipe.clock, 0, 0);
    for (const view::PipelineLane& lane : all->lanes) CHECK(view::most_held(lane) == 8);
}

TEST_CASE("the grid's picture has each block at its place, and every text its room in both languages") {
    const Ran ran(scenario_text("1F1B", 4, 8)), zero(scenario_text("InterleavedZeroBubble", 4, 8));
    const int64_t middle = ran.clock.end_ns / 3;
    const auto grid = view::pipeline_grid(*ran.trace, ran.clock, 0, 0);
    for (const bool slots : {true, false}) {
        view::PipelineOptions options;
        options.slots = slots;
        options.name = "1F1B";
        options.beside.push_back({"zero bubble", *zero.trace, zero.clock});
        const auto picture = view::pipeline_view(ran.at(middle), options);
        float right = 0;
        for (const view::PipelineBlock& block : grid->lanes[1].blocks) {
            const auto found = find(picture, "event", 1, block.first);
            REQUIRE(!found.empty());
            CHECK(found[0]->box.x > right - 1);
            right = found[0]->box.x + found[0]->box.w;
        }
        CHECK(find(picture, "cursor").size() == 2);
        CHECK(!find(picture, "block").empty());
        CHECK_FALSE(test::says(picture, "0 ns"));  // the ruler has one unit, told once
        CHECK(test::says(picture, slots ? "0" : "0 µs"));
        CHECK(
            test::says(picture, slots ? "33 slots, 24 of work on each rank, 9 idle: bubble 27.3 %" : "1F1B"));
        for (const view::Size size : {view::Size{640, 400}, view::Size{980, 620}, view::Size{1600, 900}})
            for (const auto language : {view::Language::en, view::Language::zh})
                CHECK(test::text_problems(view::pipeline_view(ran.at(middle, size, language), options),
                                          ran.measure)
                          .empty());
    }
}

TEST_CASE("the cursor runs through no word of the grid, wherever it stands") {
    const Ran ran(scenario_text("1F1B", 4, 8));
    std::size_t words = 0;
    for (int64_t part = 1; part < 40; ++part)
        for (const bool slots : {true, false}) {
            view::PipelineOptions options;
            options.slots = slots;
            const auto picture =
                view::pipeline_view(ran.at(ran.clock.end_ns * part / 80, {900, 500}), options);
            const auto cursor = find(picture, "cursor");
            REQUIRE_FALSE(cursor.empty());
            for (const auto& shape : picture.shapes) {
                if (shape.kind != view::ShapeKind::text || shape.face != view::Face::mono_small) continue;
                // Two points a lane, its upper and its lower end.
                for (std::size_t i = 0; i + 1 < cursor[0]->points.size(); i += 2) {
                    const view::Point top = cursor[0]->points[i], low = cursor[0]->points[i + 1];
                    if (shape.box.y + shape.box.h < top.y || shape.box.y > low.y) continue;
                    ++words;
                    const float wide = ran.measure.width(shape.text, shape.face),
                                left = shape.box.x + (shape.box.w - wide) / 2;
                    INFO(shape.text << " at " << left << ", cursor at " << top.x);
                    CHECK((top.x <= left || top.x >= left + wide));
                }
            }
        }
    CHECK(words > 1000);
}

TEST_CASE("data parallelism inside the stages adds no blocks, and a run without pp has no grid") {
    const Ran both(
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = 8\nseed = 3\n[data]\nkind = "
        "\"regression\"\nsamples = 16\nseed = 1\n[train]\nsteps = 1\nglobal_batch = 16\nclip_norm = "
        "1.0\n[optimizer]\nkind "
        "= \"sgd\"\nlr = 0.1\n[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n"
        "[parallel]\ndata = \"fsdp2\"\nschedule = \"1F1B\"\nmicrobatches = 4\n");
    for (const int32_t rank : {0, 1}) {
        const auto grid = view::pipeline_grid(*both.trace, both.clock, rank, 0);
        REQUIRE(grid != nullptr);
        REQUIRE(grid->lanes.size() == 2);
        CHECK(grid->lanes[0].rank == rank);
        for (const view::PipelineLane& lane : grid->lanes) CHECK(lane.blocks.size() == 8);
    }
    const test::Toy toy;
    CHECK_FALSE(view::has_pipeline(toy.trace));
    CHECK(view::pipeline_grid(toy.trace, toy.clock, 0, 0) == nullptr);
    CHECK(test::text_problems(view::pipeline_view(toy.at(0)), toy.measure).empty());
}

TEST_CASE(
    "transformers, and what data and tensor parallelism add, have the same blocks as the schedule alone") {
    const std::string mlp =
        "kind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = 4\nseed = 3\n[data]\nkind = "
        "\"regression\"\nsamples = 16\nseed = 1\n";
    const std::string gpt =
        "kind = \"gpt\"\nvocab = 8\nseq = 4\ndim = 4\nheads = 2\nhidden = 8\nlayers = 4\nseed = 3\n";
    const auto run = [](const std::string& model, const std::string& schedule, const std::string& mesh) {
        return Ran("format = 1\n[model]\n" + model +
                   "[train]\nsteps = 1\nglobal_batch = 16\n[optimizer]\nkind = "
                   "\"sgd\"\nlr = 0.1\n[mesh]\n" +
                   mesh + "schedule = \"" + schedule + "\"\nmicrobatches = 4\n");
    };
    const std::string alone = "shape = [2]\nnames = [\"pp\"]\n[parallel]\n";
    const auto with = [](const std::string& dim, const std::string& keys) {
        return "shape = [2, 2]\nnames = [\"pp\", \"" + dim + "\"]\n[parallel]\n" + keys;
    };
    for (const char* schedule : {"LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"}) {
        const Ran plain = run(mlp, schedule, alone);
        const auto wanted = view::pipeline_grid(*plain.trace, plain.clock, 0, 0);
        REQUIRE(wanted != nullptr);
        for (const Ran& other :
             {run(gpt, schedule, alone), run(mlp, schedule, with("replicate", "data = \"ddp\"\n")),
              run(mlp, schedule, with("shard", "data = \"fsdp2\"\n")),
              run(mlp, schedule, with("shard", "data = \"zero1\"\n")), run(mlp, schedule, with("tp", ""))}) {
            const auto grid = view::pipeline_grid(*other.trace, other.clock, 0, 0);
            REQUIRE(grid != nullptr);
            INFO(schedule << "\n" << other.trace->info.scenario);
            CHECK(grid->complete);
            CHECK(grid->slots == Approx(wanted->slots));
            for (std::size_t l = 0; l < 2; ++l) {
                REQUIRE(grid->lanes[l].blocks.size() == wanted->lanes[l].blocks.size());
                CHECK(grid->lanes[l].work == Approx(12));
                CHECK(view::most_held(grid->lanes[l]) == view::most_held(wanted->lanes[l]));
            }
        }
    }
    // A first stage of one layer needs no input gradient: its backward is whole all the same.
    const Ran toy(
        "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[data]\nkind = \"regression\"\nsamples = 16\nseed = "
        "1\n"
        "[train]\nsteps = 1\nglobal_batch = 16\n[mesh]\n" +
        alone + "schedule = \"1F1B\"\nmicrobatches = 4\n");
    const auto grid = view::pipeline_grid(*toy.trace, toy.clock, 0, 0);
    REQUIRE(grid != nullptr);
    for (const view::PipelineLane& lane : grid->lanes)
        for (const view::PipelineBlock& block : lane.blocks)
            CHECK((block.kind == BlockKind::forward || block.kind == BlockKind::backward));
}

TEST_CASE("a run that broke off is said to be cut off, and what follows its end is not counted as idle") {
    const auto scenario = scenario::parse_scenario(
        scenario_text("1F1B", 4, 8,
                      "[[faults]]\nkind = \"kill\"\nrank = 2\nstep = 0\nphase = \"backward\"\n"),
        "test.toml");
    const auto registry = backends::make_registry();
    const auto result = run::run_up_to_failure(scenario, *registry, {});
    REQUIRE(result.failure);
    const auto clock = time::modelled(*result.trace, time::classroom());
    const auto grid = view::pipeline_grid(*result.trace, clock, 0, 0);
    REQUIRE(grid != nullptr);
    CHECK_FALSE(grid->complete);
    const test::FakeMeasure measure;
    const test::CatalogueTexts english(view::Language::en);
    const view::Selection selection;
    const auto picture = view::pipeline_view(
        {*result.trace, clock, {clock.end_ns}, selection, {980, 620}, view::Language::en, measure, english});
    CHECK(test::says_part(picture, "was not recorded to its end"));
    CHECK_FALSE(test::says_part(picture, "bubble"));
    for (const std::string& line : picture.text_lines) {
        INFO(line);
        CHECK_FALSE(line.ends_with(")"));
    }
    CHECK(test::text_problems(picture, measure).empty());
}
