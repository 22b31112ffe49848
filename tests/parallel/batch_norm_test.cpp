// Batch norm on one rank, under DDP, and shared over DDP's ranks, against what PyTorch 2.15 did
// (tests/golden/batch_norm) and against the single process that the shared one must equal.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "backends/registry.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport_group.h"
#include "core/data/safetensors.h"
#include "core/nn/optim/optimizer.h"
#include "core/parallel/accumulate.h"
#include "core/parallel/ddp/ddp.h"
#include "core/parallel/sync_batch_norm/sync_batch_norm.h"
#include "core/run/dry.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::test;
using nlohmann::json;

namespace {

const std::string kFolder = test::golden_folder() + "/batch_norm/";

json golden(const std::string& name) {
    std::ifstream file(kFolder + name + ".json");
    if (!file) throw std::runtime_error(name);
    return json::parse(file);
}

/// tests/golden/make/batch_norm_oracle.py's case.
std::string text(const std::string& norm, const std::string& train, const std::string& rest) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = 2\nnorm = \"" + norm +
           "\"\nweights = \"" + kFolder + "init.safetensors\"\n[data]\nfile = \"" + kFolder +
           "data.safetensors\"\n[train]\nsteps = 6\nglobal_batch = 16\n" + train +
           "[optimizer]\nkind = \"sgd\"\nlr = 0.05\nmomentum = 0.9\n" + rest;
}

std::string ddp(int ranks, const std::string& more = "") {
    return "[mesh]\nshape = [" + std::to_string(ranks) + "]\n[parallel]\ndata = \"ddp\"\n" + more;
}

void check_outcome(const run::RunResult& result, const std::string& name) {
    const json wanted = golden(name);
    REQUIRE(result.trace->info.losses.size() == wanted["losses"].size());
    for (std::size_t s = 0; s < result.trace->info.losses.size(); ++s)
        CHECK(result.trace->info.losses[s] == Approx(wanted["losses"][s].get<double>()).epsilon(2e-5));
    const data::SafetensorsFile final = data::read_safetensors(kFolder + name + ".final.safetensors");
    REQUIRE(result.parameters.size() == final.tensors.size());
    for (const run::NamedArray& parameter : result.parameters) {
        INFO(parameter.name);
        const data::NamedTensor* tensor = final.find(parameter.name);
        REQUIRE(tensor != nullptr);
        const std::vector<float> numbers = tensor->floats();
        REQUIRE(numbers.size() == parameter.numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            CHECK(parameter.numbers[i] == Approx(numbers[i]).margin(2e-5).epsilon(2e-4));
    }
}

/// What a collective of a step carried into it or out of it, one behind the other.
std::vector<float> carried(const trace::Trace& trace, int32_t rank, int32_t step, const std::string& rule,
                           trace::SnapshotKind kind) {
    const trace::RankTrace& record = trace.ranks[static_cast<std::size_t>(rank)];
    std::vector<float> numbers;
    for (const trace::Snapshot& snapshot : record.snapshots) {
        const trace::Event* event = nullptr;
        for (const trace::Event& e : record.events)
            if (e.id == snapshot.event) event = &e;
        REQUIRE(event != nullptr);
        if (event->step != step || trace.text(event->rule) != rule || snapshot.kind != kind) continue;
        const auto first = record.values.begin() + snapshot.values;
        numbers.insert(numbers.end(), first, first + snapshot.elements);
    }
    return numbers;
}

/// PyTorch's buffers of a rank before a step, as DDP sends them: floats first, then counts.
std::vector<float> buffers(const json& rank, std::size_t step) {
    std::vector<float> floats, counts;
    for (const int layer : {0, 1}) {
        const std::string name = "layers." + std::to_string(layer) + ".bn.";
        const json& of_step = rank["buffers"][step];
        for (const char* word : {"running_mean", "running_var"})
            for (const json& number : of_step[name + word]) floats.push_back(number.get<float>());
        counts.push_back(of_step[name + "num_batches_tracked"][0].get<float>());
    }
    floats.insert(floats.end(), counts.begin(), counts.end());
    return floats;
}

/// First values of a safetensors file.
class Weights final : public parallel::InitialValues {
  public:
    void read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const override {
        const std::vector<float> all = file_.find(parameter.name)->floats();
        std::copy_n(all.begin() + first, numbers.size(), numbers.begin());
    }

  private:
    data::SafetensorsFile file_ = data::read_safetensors(kFolder + "init.safetensors");
};

/// The buffers of two DDP ranks before each step, [rank][step], floats first: what a record does not hold of
/// the ranks that only receive.
std::vector<std::vector<std::vector<float>>> buffers_of_ranks(nn::Norm norm, int32_t microbatches) {
    const data::SafetensorsFile batches = data::read_safetensors(kFolder + "data.safetensors");
    std::vector<std::vector<std::vector<float>>> seen(2);
    const auto world = backends::make_registry()->open("threads", {2});
    world->run([&](comm::Transport& transport) {
        const auto device = tensor::make_cpu_device();
        tensor::Allocator memory(*device, nullptr);
        comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
        comm::TransportGroup group(executor, 0, "replicate", {GlobalRank{0}, GlobalRank{1}}, comm::Channel{0},
                                   nullptr);
        parallel::RankContext context;
        context.rank = transport.rank();
        context.groups = {&group};
        context.allocator = &memory;
        nn::ModelSpec spec{"mlp", 4, 6, 2};
        spec.norm = norm;
        const auto model = nn::make_model(spec);
        if (norm == nn::Norm::sync_batch) parallel::convert_sync_batch_norm(context, *model);
        parallel::Accumulate runner(context, *model,
                                    std::make_unique<parallel::Ddp>(context, *model, parallel::DdpOptions{}),
                                    microbatches);
        runner.load(Weights());
        std::vector<nn::Optimizer::Slot> slots;
        for (const parallel::LocalParameter& local : runner.local_parameters())
            slots.push_back({local.parameter->name, local.value});
        nn::OptimizerSpec sgd;
        sgd.lr = 0.05;
        sgd.momentum = 0.9;
        nn::Optimizer optimizer(sgd, std::move(slots), memory, nullptr);
        const auto rank = static_cast<std::size_t>(transport.rank().value);
        const auto part = [&](const std::string& name) {
            const std::vector<float> all = batches.find(name)->floats();
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank) * 32;
            return memory.of(std::vector<float>(first, first + 32), {8, 4}, MemoryCategory::inputs, name);
        };
        for (int32_t step = 0; step < 6; ++step) {
            std::vector<float>& now = seen[rank].emplace_back();
            for (const auto& buffer : model->buffers())
                if (buffer->dtype == DType::float32)
                    for (const float number : buffer->value.data<float>()) now.push_back(number);
            for (const auto& buffer : model->buffers())
                if (buffer->dtype == DType::int64)
                    now.push_back(static_cast<float>(buffer->value.data<int64_t>()[0]));
            runner.run(step, part("x" + std::to_string(step)), part("y" + std::to_string(step)));
            optimizer.step(runner.gradients());
            runner.after_step();
        }
        executor.finish();
    });
    return seen;
}

void check_buffers(const std::vector<std::vector<std::vector<float>>>& ours, const std::string& name) {
    const json wanted = golden(name);
    for (std::size_t rank = 0; rank < 2; ++rank)
        for (std::size_t step = 0; step < 6; ++step) {
            CAPTURE(rank, step);
            const std::vector<float> theirs = buffers(wanted["ranks"][rank], step);
            REQUIRE(ours[rank][step].size() == theirs.size());
            for (std::size_t i = 0; i < theirs.size(); ++i)
                CHECK(ours[rank][step][i] == Approx(theirs[i]).epsilon(2e-4).margin(2e-5));
        }
}

/// PyTorch's collectives of a step, or of set-up (-1), as collectives_of() writes ours.
std::vector<std::string> calls(const json& rank, int32_t step, int64_t ranks) {
    std::vector<std::string> rows;
    for (const json& call : step < 0 ? rank["setup"] : rank["steps"][static_cast<std::size_t>(step)]) {
        const int64_t in = call["in"];
        if (call["op"] == "allgather_")
            rows.push_back("AG " + std::to_string(in) + "->" + std::to_string(in * ranks));
        else
            rows.push_back((call["op"] == "allreduce_" ? "AR " : "broadcast ") + std::to_string(in));
    }
    return rows;
}

void check_calls(const run::RunResult& result, const std::string& name) {
    const json wanted = golden(name);
    for (int32_t rank = 0; rank < 2; ++rank)
        for (int32_t step = -1; step < 6; ++step) {
            CAPTURE(rank, step);
            CHECK(collectives_of(*result.trace, rank, step) ==
                  calls(wanted["ranks"][static_cast<std::size_t>(rank)], step, 2));
        }
}

}  // namespace

TEST_CASE("one process with a batch norm trains as PyTorch's BatchNorm1d") {
    check_outcome(run_text(text("batch", "", "")), "whole");
}

TEST_CASE("under DDP each rank has its own statistics, and rank 0's buffers before each forward: PyTorch's") {
    for (const std::string name : {"batch", "accumulate"}) {
        INFO(name);
        const auto result = run_text(text("batch", name == "batch" ? "" : "accumulate = 2\n", ddp(2)));
        check_outcome(result, name);
        check_calls(result, name);
        const auto noted = buffers_of_ranks(nn::Norm::batch, name == "batch" ? 1 : 2);
        check_buffers(noted, name);
        CHECK(noted[0][1] != noted[1][1]);  // their halves of the batch differ
        // All go on with rank 0's.
        for (const int32_t rank : {0, 1}) {
            const std::vector<float> kept =
                carried(*result.trace, rank, 1, "ddp.broadcast.buffers", trace::SnapshotKind::output);
            CHECK(kept == noted[0][1]);
        }
    }
}

TEST_CASE("SyncBatchNorm: losses, weights, running statistics and collectives are PyTorch's") {
    const auto result = run_text(text("sync_batch", "", ddp(2)));
    check_outcome(result, "sync");
    check_outcome(result, "whole");                                     // one process with the whole batch
    check_outcome(run_text(text("sync_batch", "", ddp(16))), "whole");  // one row a rank is enough
    check_calls(result, "sync");
    const auto noted = buffers_of_ranks(nn::Norm::sync_batch, 1);
    check_buffers(noted, "sync");
    CHECK(noted[0] == noted[1]);
}

TEST_CASE("shared over two and four ranks, batch norm trains as on one, not shared it does not") {
    const auto scenario = [](const std::string& norm, const std::string& rest, const std::string& train) {
        std::string made = mlp_scenario(rest, kMomentumSgd, train);
        return made.insert(made.find("\nseed = 7"), "\nnorm = \"" + norm + "\"");
    };
    const auto one = run_text(scenario("batch", one_rank(), ""));
    check_equal(run_text(scenario("sync_batch", ddp(2), "")), one);
    check_equal(run_text(scenario("sync_batch", ddp(4, "algorithm = \"direct\"\n"), "")), one);
    check_equal(run_text(scenario("sync_batch", ddp(2, "find_unused_parameters = true\n"), "")), one);
    const auto alone = run_text(scenario("batch", ddp(4), ""));
    CHECK(alone.trace->info.losses[0] != Approx(one.trace->info.losses[0]).epsilon(1e-3));
    // A group of one shares nothing and is the same run.
    const auto group_of_one = run_text(scenario("sync_batch", ddp(1), ""));
    check_equal(group_of_one, one);
    CHECK(count_of(collectives_of(*group_of_one.trace, 0, 1), "AG") == 0);
}

TEST_CASE("each micro-batch shares its own statistics, buffers travel before the first one only") {
    const std::string train = "accumulate = 3\nclip_norm = 0.1";
    const auto scenario = [&](const std::string& norm, const std::string& rest) {
        std::string made = mlp_scenario(rest, kMomentumSgd, train);
        return made.insert(made.find("\nseed = 7"), "\nnorm = \"" + norm + "\"");
    };
    const auto result = run_text(scenario("sync_batch", ddp(2)));
    const auto step = collectives_of(*result.trace, 1, 3);
    CHECK(count_of(step, "AG 21->42") == 3 * 3);  // layers × micro-batches, 2·10 + 1 numbers
    CHECK(count_of(step, "AR 20") == 3 * 3);
    CHECK(count_of(step, "broadcast") == 2);  // the buffers, before the first micro-batch only
}

TEST_CASE("a dry run of shared batch norm records the same calls and the same memory") {
    const std::string scenario = text("sync_batch", "", ddp(2));
    const auto real = run_text(scenario);
    const auto dry = run::run_dry(scenario::parse_scenario(scenario, "test.toml"), {});
    for (int32_t rank = 0; rank < 2; ++rank) {
        for (int32_t step = -1; step < 6; ++step)
            CHECK(collectives_of(*dry.trace, rank, step) == collectives_of(*real.trace, rank, step));
        for (const auto category :
             {MemoryCategory::parameters, MemoryCategory::activations, MemoryCategory::communication})
            CHECK(held(*dry.trace, rank, category).peak == held(*real.trace, rank, category).peak);
    }
    // Parameters and buffers: 4 layers' weights and biases, scale and shift, then 2·6 floats and a count
    // each.
    CHECK(held(*real.trace, 0, MemoryCategory::parameters).peak == 4 * (140 + 24) + 8 * 2);
}

TEST_CASE("a run with a batch norm cannot be resumed: no checkpoint holds its running statistics") {
    run::RunOptions options;
    options.resume = "somewhere";
    CHECK(thrown_id([&] {
              run::run_scenario(scenario::parse_scenario(text("batch", "", ddp(2)), "test.toml"),
                                *backends::make_registry(), options);
          }) == "scenario.norm_checkpoint");
}

TEST_CASE("why the calls are there, and that compute waits for them") {
    const auto result = run_text(text("sync_batch", "", ddp(2)));
    const trace::RankTrace& rank = result.trace->ranks[1];
    int forward = 0, backward = 0;
    for (const trace::Event& event : rank.events) {
        if (event.step != 2 || event.kind != trace::EventKind::collective) continue;
        const std::string rule(result.trace->text(event.rule));
        if (rule == "sync_batch_norm.statistics") {
            ++forward;
            CHECK(event.phase == Phase::forward);
            CHECK(event.stream == Stream::all_gather);
        } else if (rule == "sync_batch_norm.gradient_sums") {
            ++backward;
            CHECK(event.phase == Phase::backward);
            CHECK(event.stream == Stream::all_reduce);
        } else {
            continue;
        }
        CHECK(result.trace->text(event.unit).ends_with(".bn"));
        const bool waits = std::ranges::any_of(rank.dependencies, [&](const trace::Dependency& d) {
            return d.on == event.id && std::ranges::any_of(rank.events, [&](const trace::Event& e) {
                       return e.id == d.event && e.kind == trace::EventKind::compute;
                   });
        });
        CHECK(waits);
    }
    CHECK(forward == 2);
    CHECK(backward == 2);
}
