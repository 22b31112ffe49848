// [data] sampler = "distributed": the batches of a run are PyTorch's, and what cannot be dealt evenly is
// refused.
#include "core/run/made_batches.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/run/checkpoint_helper.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace checkpoint_test;
using nlohmann::json;

namespace {

std::string toy(const std::string& data, int64_t ranks, int64_t global_batch, int64_t steps = 4,
                const std::string& train = "") {
    return "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[data]\nsampler = \"distributed\"\n" + data +
           "[train]\nsteps = " + std::to_string(steps) + "\nglobal_batch = " + std::to_string(global_batch) +
           "\n" + train + "[mesh]\nshape = [" + std::to_string(ranks) + "]\n[parallel]\ndata = \"ddp\"\n";
}

run::SampledBatches batches_of(const std::string& toml) {
    const scenario::Scenario scenario = scenario::parse_scenario(toml, "s.toml");
    return run::SampledBatches(scenario, *nn::make_model(scenario.model),
                               scenario::data_parallel_size(scenario));
}

std::string refusal(const std::string& toml) {
    try {
        scenario::parse_scenario(toml, "s.toml");
    } catch (const InputError& error) {
        return error.diagnostics().at(0).message.id;
    }
    return "";
}

}  // namespace

TEST_CASE("the batches of each step are those of golden/misc.json, epoch after epoch") {
    std::ifstream in(meshscope::test::golden_folder() + "/misc.json");
    const json golden = json::parse(in);
    int compared = 0;
    for (const json& row : golden.at("distributed_sampler")) {
        const auto world = row.at("world").get<int64_t>(), rows = row.at("batch_size").get<int64_t>();
        const bool drop_last = row.at("drop_last").get<bool>();
        const json& first = row.at("ranks").at(0);
        const std::string toml =
            toy("samples = " + row.at("n").dump() + "\ndrop_last = " + (drop_last ? "true" : "false") + "\n",
                world, world * rows);
        INFO(toml);
        const bool even = first.at("batches") == first.at("batches_drop_last");
        const auto steps = static_cast<int64_t>(first.at("batches_drop_last").size());
        if (steps == 0 || (!even && !drop_last)) {
            CHECK(refusal(toml) == "scenario.sampler_short_batch");
            continue;
        }
        const run::SampledBatches batches = batches_of(toml);
        for (int64_t step = 0; step < 2 * steps; ++step)
            for (int64_t r = 0; r < world * rows; ++r) {
                const json& rank = row.at("ranks").at(static_cast<std::size_t>(r / rows));
                const json& batch = rank.at("batches_drop_last").at(static_cast<std::size_t>(step % steps));
                CHECK(batches.sample(static_cast<int32_t>(step), r) ==
                      batch.at(static_cast<std::size_t>(r % rows)).get<int64_t>());
            }
        ++compared;
    }
    CHECK(compared == 17);
}

TEST_CASE("every epoch of a shuffled run has its own order, whatever was read before") {
    const std::string toml = toy("samples = 12\nshuffle = true\nseed = 3\n", 2, 4);
    const run::SampledBatches forward = batches_of(toml), backward = batches_of(toml);
    std::vector<std::vector<int64_t>> seen(12), seen_backward(12);
    for (int32_t step = 0; step < 12; ++step)
        for (int64_t row = 0; row < 4; ++row)
            seen[static_cast<std::size_t>(step)].push_back(forward.sample(step, row));
    for (int32_t step = 11; step >= 0; --step)
        for (int64_t row = 0; row < 4; ++row)
            seen_backward[static_cast<std::size_t>(step)].push_back(backward.sample(step, row));
    CHECK(seen == seen_backward);
    for (std::size_t epoch = 0; epoch < 4; ++epoch) {
        const std::vector<int64_t> order = data::randperm(12, 3 + epoch);
        for (std::size_t step = 0; step < 3; ++step)
            for (std::size_t row = 0; row < 4; ++row)  // rank row / 2 takes every second sample
                CHECK(seen[epoch * 3 + step][row] == order[(step * 2 + row % 2) * 2 + row / 2]);
    }
}

TEST_CASE("a rank reads the numbers of its own samples") {
    const run::SampledBatches batches = batches_of(toy("samples = 12\nshuffle = true\nseed = 3\n", 2, 4));
    const auto device = tensor::make_cpu_device();
    tensor::Allocator memory(*device);
    const tensor::Tensor x = memory.empty({2, 10}, DType::float32, MemoryCategory::inputs, "x");
    const tensor::Tensor y = memory.empty({2, 5}, DType::float32, MemoryCategory::inputs, "y");
    batches.read(4, 2, x, y);  // rank 1's two rows
    std::vector<float> wanted_x(20), wanted_y(10);
    const data::MadeData made{"regression", 3, 12, 10, 5};
    const std::vector<int64_t> samples{batches.sample(4, 2), batches.sample(4, 3)};
    data::make_samples(made, samples, std::span(wanted_x), std::span(wanted_y));
    CHECK(std::ranges::equal(x.data<float>(), wanted_x));
    CHECK(std::ranges::equal(y.data<float>(), wanted_y));
}

TEST_CASE("a shuffled run resumed in the middle of an epoch meets the samples it would have met") {
    const test::Folder folder;
    const std::string data = "samples = 13\nshuffle = true\nseed = 3\ndrop_last = true\n";
    const auto whole = run_at(toy(data, 2, 4, 8), folder);
    run_at(toy(data, 2, 4, 4) + "[checkpoint]\nfolder = \"c\"\n", folder);
    const auto resumed = run_at(toy(data, 2, 4, 8) + "[checkpoint]\nresume = \"c\"\n", folder);
    CHECK(resumed.trace->info.losses == whole.trace->info.losses);
    CHECK(resumed.parameters.at(0).numbers == whole.parameters.at(0).numbers);
}

TEST_CASE("global batch, micro-batch, accumulation and ranks must agree") {
    const std::string data = "samples = 48\n";
    CHECK(refusal(toy(data, 2, 24, 4, "accumulate = 3\nmicro_batch = 4\n")).empty());
    CHECK(refusal(toy(data, 2, 24, 4, "accumulate = 3\nmicro_batch = 5\n")) == "scenario.micro_batch");
    CHECK(refusal(toy(data, 2, 24, 4, "micro_batch = 12\n")).empty());
    CHECK(refusal(toy(data, 2, 24, 4, "micro_batch = 0\n")) == "scenario.out_of_range");
    CHECK(refusal(toy(data, 2, 20)) == "scenario.sampler_short_batch");
    CHECK(refusal(toy("samples = 48\ndrop_last = true\n", 2, 20)).empty());
    CHECK(refusal(toy("samples = 0\n", 2, 20)) == "scenario.sampler_needs_samples");
    CHECK(refusal(toy("", 2, 20)) == "scenario.missing_key");
    std::string contiguous = toy("samples = 48\nshuffle = true\n", 2, 24);
    contiguous.erase(contiguous.find("sampler"), std::string("sampler = \"distributed\"\n").size());
    CHECK(refusal(contiguous) == "scenario.needs_sampler");
}
