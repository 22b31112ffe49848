// LocalSGD and DiLoCo against torchft's published weights, PyTorch's runs and what they should send and hold.
#include "core/parallel/diloco/diloco.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/registry.h"
#include "core/base/cause.h"
#include "core/base/text_file.h"
#include "core/comm/transport_group.h"
#include "core/data/safetensors.h"
#include "core/parallel/declaration.h"
#include "core/run/checkpoint/manifest.h"
#include "core/run/dry.h"
#include "core/run/summary.h"
#include "core/tensor/kernels.h"
#include "tests/parallel/train_helper.h"
#include "tests/run/checkpoint_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::test;
using nlohmann::json;
using Rows = std::vector<std::string>;

namespace {

json golden(const std::string& name) {
    std::ifstream in(golden_folder() + "/diloco/" + name + ".json");
    REQUIRE(in);
    return json::parse(in);
}

/// torchft's mocked model: two layers of one weight each, which starts at 1.
class TwoWeights final : public nn::Model {
  public:
    TwoWeights() : Model("") {
        add_parameter("layers.0.weight", {1, 1}, 1);
        add_parameter("layers.1.weight", {1, 1}, 1);
    }
    std::vector<std::string> default_units() const override { return {}; }
    nn::Variable embed(nn::Tape&, const tensor::Tensor&) override { return {}; }
    nn::Variable layer(nn::Tape&, int64_t, nn::Variable stream) override { return stream; }
    nn::Variable head(nn::Tape&, nn::Variable stream) override { return stream; }
    nn::Variable criterion(nn::Tape&, nn::Variable output, const tensor::Tensor&) override { return output; }
    nn::Shape input_shape(int64_t) const override { return {1}; }
    nn::Shape target_shape(int64_t) const override { return {1}; }
    nn::Shape stream_shape(int64_t) const override { return {1}; }
};

class Ones final : public parallel::InitialValues {
  public:
    void read(const nn::Parameter&, int64_t, std::span<float> numbers) const override {
        std::ranges::fill(numbers, 1.0F);
    }
};

/// The weights before each step, and the global ones after each synchronisation's step count.
struct History {
    std::vector<std::vector<float>> local, global;
};

History train_as_torchft(comm::Transport& transport, const parallel::DilocoOptions& options, int steps) {
    const auto device = tensor::make_cpu_device();
    tensor::Allocator memory(*device, nullptr);
    comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
    comm::TransportGroup group(executor, 0, "replicate", {GlobalRank{0}, GlobalRank{1}}, comm::Channel{0},
                               nullptr);
    parallel::RankContext context;
    context.rank = transport.rank();
    context.groups = {&group};
    context.allocator = &memory;
    TwoWeights model;
    parallel::Diloco diloco(context, model, options);
    diloco.load(Ones());
    const auto numbers = [&](const tensor::Tensor& tensor) {
        std::vector<float> read(1);
        device->kernels().download(read, tensor);
        return read[0];
    };
    History history;
    const tensor::Tensor two = memory.empty({1}, DType::float32, MemoryCategory::gradients, "gradient");
    device->kernels().fill(two, 2);
    for (int step = 0; step < steps; ++step) {
        std::vector<float>&local = history.local.emplace_back(), &global = history.global.emplace_back();
        for (const parallel::LocalParameter& each : diloco.local_parameters())
            local.push_back(numbers(each.value));
        const std::vector<parallel::KeptState> kept = diloco.kept();
        for (const tensor::Tensor& each : kept.at(0).arrays) global.push_back(numbers(each));
        // The mocked training: gradients of 2, an inner SGD of learning rate 1.
        for (const parallel::LocalParameter& each : diloco.local_parameters())
            device->kernels().axpy(each.value.flat(), -1, two);
        diloco.after_step();
    }
    executor.finish();
    return history;
}

std::string parallel_of(const std::string& name) {
    const json given = golden(name)["case"];
    std::string text =
        "[mesh]\nshape = [2]\n[parallel]\nsync_every = " + std::to_string(given["sync_every"].get<int>()) +
        "\n";
    if (!given.contains("outer")) return text + "data = \"local_sgd\"\n";
    text += "data = \"diloco\"\nouter_lr = " + given["outer"]["lr"].dump() + "\nouter_momentum = " +
            (given["outer"].contains("momentum") ? given["outer"]["momentum"].dump() : "0") + "\n";
    if (given.contains("fragments"))
        text += "fragments = " + std::to_string(given["fragments"].size()) +
                "\nfragment_sync_delay = " + given["delay"].dump() +
                "\nfragment_update_alpha = " + given["alpha"].dump() + "\n";
    return text;
}

std::string pytorch_case(const std::string& name) {
    const std::string folder = golden_folder() + "/diloco/";
    const json given = golden(name)["case"];
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = 3\nweights = \"" + folder +
           "init.safetensors\"\n[data]\nfile = \"" + folder +
           "data.safetensors\"\n[train]\nsteps = 14\nglobal_batch = 8\n" +
           (given.contains("clip") ? "clip_norm = " + given["clip"].dump() + "\n" : "") +
           "[optimizer]\nkind = \"adamw\"\nlr = 0.01\n" + parallel_of(name);
}

const std::string kAdamW = "kind = \"adamw\"\nlr = 0.003";
const std::string kTwo = "[mesh]\nshape = [2]\n[parallel]\n";
const std::string kStreaming =
    "data = \"diloco\"\nsync_every = 4\nfragments = 2\nfragment_sync_delay = 1\nfragment_update_alpha = "
    "0.5\n";

std::vector<std::string> refusals(const std::string& text) {
    std::vector<std::string> found;
    try {
        scenario::parse_scenario(text, "s.toml");
    } catch (const InputError& error) {
        for (const Diagnostic& each : error.diagnostics())
            found.push_back(each.message.id + " " + std::to_string(each.position.line));
    }
    return found;
}

}  // namespace

TEST_CASE("DiLoCo's weights are torchft's, step by step, with and without delay and local share") {
    const double alphas[] = {0, 0.5, 1, 0, 0.5, 1};
    for (int c = 0; c < 6; ++c) {
        INFO("torchft_updates_" << c);
        const json replicas = golden("torchft_updates_" + std::to_string(c));
        const parallel::DilocoOptions options{.sync_every = 6,
                                              .outer_lr = 2,
                                              .outer_momentum = 0,
                                              .fragments = 2,
                                              .fragment_sync_delay = c < 3 ? 0 : 1,
                                              .fragment_update_alpha = alphas[c]};
        const auto steps = static_cast<int>(replicas[0][0]["history"].size());
        REQUIRE(steps > 10);
        std::vector<History> seen(2);
        backends::make_registry()->open("threads", {2})->run([&](comm::Transport& transport) {
            seen[static_cast<std::size_t>(transport.rank().value)] =
                train_as_torchft(transport, options, steps);
        });
        for (std::size_t rank = 0; rank < 2; ++rank) {
            const json& expected = replicas[rank][0];
            for (const auto& [step, weights] : expected["history"].items())
                for (std::size_t layer = 0; layer < 2; ++layer) {
                    INFO("rank " << rank << " step " << step << " layer " << layer);
                    CHECK(seen[rank].local[std::stoul(step)][layer] ==
                          weights["layers." + std::to_string(layer) + ".weight"][0][0].get<float>());
                }
            for (const auto& [step, weights] : expected["global_parameter_history"].items())
                for (std::size_t layer = 0; layer < 2; ++layer) {
                    INFO("global, rank " << rank << " step " << step << " layer " << layer);
                    CHECK(seen[rank].global[std::stoul(step)][layer] ==
                          weights["layers." + std::to_string(layer) + ".weight"][0][0].get<float>());
                }
        }
    }
}

TEST_CASE("losses, weights and all_reduces of LocalSGD and DiLoCo over AdamW are PyTorch's") {
    for (const char* name : {"local_sgd", "diloco", "plain", "streaming", "clipped"}) {
        INFO(name);
        const json expected = golden(name);
        const auto result = run_text(pytorch_case(name));
        REQUIRE(result.trace->info.losses.size() == expected["losses"].size());
        for (std::size_t step = 0; step < expected["losses"].size(); ++step) {
            INFO("step " << step);
            CHECK(result.trace->info.losses[step] ==
                  Approx(expected["losses"][step].get<double>()).epsilon(2e-5));
            Rows reduced;
            for (const json& elements : expected["reduced"][step])
                reduced.push_back("AR " + std::to_string(elements.get<int>()));
            for (const int32_t rank : {0, 1})
                CHECK(collectives_of(*result.trace, rank, static_cast<int32_t>(step)) == reduced);
        }
        const auto file = data::read_safetensors(golden_folder() + "/diloco/" + name + ".final.safetensors");
        for (const run::NamedArray& parameter : result.parameters) {
            INFO(parameter.name);
            const std::vector<float> numbers = file.find(parameter.name)->floats();
            REQUIRE(numbers.size() == parameter.numbers.size());
            for (std::size_t i = 0; i < numbers.size(); ++i)
                CHECK(parameter.numbers[i] == Approx(numbers[i]).margin(2e-5).epsilon(2e-4));
        }
    }
}

TEST_CASE("with one replica LocalSGD is plain training, and so is DiLoCo with an outer step of 1") {
    const auto plain = run_text(mlp_scenario(one_rank(), kAdamW));
    const std::string one = "[mesh]\nshape = [1]\n[parallel]\nsync_every = 3\n";
    check_equal(run_text(mlp_scenario(one + "data = \"local_sgd\"\n", kAdamW)), plain);
    check_equal(run_text(mlp_scenario(one + "data = \"diloco\"\nouter_lr = 1\nouter_momentum = 0\n", kAdamW)),
                plain);
}

TEST_CASE("averaging after each step of plain SGD is data-parallel training") {
    const std::string sgd = "kind = \"sgd\"\nlr = 0.05";
    check_equal(run_text(mlp_scenario(kTwo + "data = \"local_sgd\"\nsync_every = 1\n", sgd)),
                run_text(mlp_scenario(kTwo + "data = \"ddp\"\n", sgd)));
}

TEST_CASE("beside tensor parallelism and in a pipeline the numbers are those of the replicas alone") {
    const auto alone = run_text(mlp_scenario(kTwo + kStreaming, kAdamW));
    check_equal(
        run_text(mlp_scenario(
            "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"tp\"]\n[parallel]\n" + kStreaming, kAdamW)),
        alone);
    const std::string whole = "data = \"diloco\"\nsync_every = 3\n";
    const auto one_fragment = run_text(mlp_scenario(kTwo + whole, kAdamW));
    check_equal(run_text(mlp_scenario("[mesh]\nshape = [3, 2]\nnames = [\"pp\", \"replicate\"]\n[parallel]\n"
                                      "schedule = \"1F1B\"\nmicrobatches = 4\n" +
                                          whole,
                                      kAdamW)),
                one_fragment);
}

TEST_CASE("what it holds: 4 bytes a parameter for the global model, 4 for the outer momentum, 8 of AdamW's") {
    const auto elements = [](const run::RunResult& result) {
        int64_t n = 0;
        for (const run::NamedArray& parameter : result.parameters)
            n += static_cast<int64_t>(parameter.numbers.size());
        return n;
    };
    const auto state = [](const run::RunResult& result) {
        return held(*result.trace, 1, MemoryCategory::optimizer_state).peak;
    };
    const auto local = run_text(mlp_scenario(kTwo + "data = \"local_sgd\"\nsync_every = 5\n", kAdamW));
    CHECK(state(local) == 8 * elements(local));
    CHECK(held(*local.trace, 1, MemoryCategory::communication).peak == 4 * elements(local));
    const std::string text = mlp_scenario(kTwo + "data = \"diloco\"\nsync_every = 5\n", kAdamW);
    const auto diloco = run_text(text);
    CHECK(state(diloco) == 16 * elements(diloco));
    const std::string plain = "data = \"diloco\"\nsync_every = 5\nouter_momentum = 0\n";
    CHECK(state(run_text(mlp_scenario(kTwo + plain, kAdamW))) == 12 * elements(diloco));
    const memory::ModelState formula = run::zero_formula(scenario::parse_scenario(text, "s.toml"));
    CHECK(formula.optimizer == 16.0 * static_cast<double>(elements(diloco)));
}

TEST_CASE("a dry run sends and holds what the run does, and tells of a whole cycle") {
    for (const std::string& keys : {std::string("data = \"local_sgd\"\nsync_every = 5\n"),
                                    std::string("data = \"diloco\"\nsync_every = 5\n"), kStreaming}) {
        INFO(keys);
        const std::string text = mlp_scenario(kTwo + keys, kAdamW);
        const auto scenario = scenario::parse_scenario(text, "s.toml");
        CHECK(run::telling_steps(scenario) >= 4);
        const auto result = run_text(text);
        const auto dry = run::run_dry(scenario, {});
        for (int32_t step = 0; step < 10; ++step)
            CHECK(collectives_of(*dry.trace, 1, step) == collectives_of(*result.trace, 1, step));
        CHECK(memory::peak(*dry.trace, 1).bytes == memory::peak(*result.trace, 1).bytes);
    }
}

TEST_CASE("a delayed pseudo-gradient leaves before the steps that compute while it travels") {
    const auto result = run_text(mlp_scenario(kTwo + kStreaming, kAdamW));
    const auto& events = result.trace->ranks[0].events;
    const auto sent = std::ranges::find_if(events, [&](const trace::Event& event) {
        return event.kind == trace::EventKind::collective && event.step == 0;
    });
    REQUIRE(sent != events.end());
    CHECK(result.trace->text(sent->rule) == "diloco.all_reduce.pseudogradient");
    CHECK(result.trace->text(sent->unit) == "fragment 0");
    const auto outer = std::ranges::find_if(events, [&](const trace::Event& event) {
        return result.trace->text(event.name) == "diloco.outer_step";
    });
    REQUIRE(outer != events.end());
    CHECK(outer->step == 1);
}

TEST_CASE("a run that resumes goes on bit for bit, from any step, also with a pseudo-gradient under way") {
    test::Sample sample(4);
    using checkpoint_test::run_at;
    const std::string mesh = "[mesh]\nshape = [3]\n[parallel]\n";
    const std::string tp = "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"tp\"]\n[parallel]\n";
    const std::string pp =
        "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"replicate\"]\n[parallel]\n"
        "schedule = \"1F1B\"\nmicrobatches = 4\n";
    for (const std::string& parallel :
         {mesh + "data = \"local_sgd\"\nsync_every = 3\n", mesh + "data = \"diloco\"\nsync_every = 3\n",
          mesh + kStreaming, tp + kStreaming, pp + "data = \"diloco\"\nsync_every = 3\n"})
        for (const std::string kind : {"sharded", "rank0"})
            for (const int saved : {3, 5, 6}) {
                if (!sample.takes()) continue;
                INFO(parallel << kind << " after " << saved);
                const Folder folder;
                const auto whole = run_at(checkpoint_test::text(10, parallel), folder);
                run_at(checkpoint_test::text(saved, parallel, "folder = \"c\"\nkind = \"" + kind + "\"\n"),
                       folder);
                run::RunOptions options;
                options.resume = folder.file("c");
                const auto resumed = run_at(checkpoint_test::text(10, parallel), folder, options);
                CHECK(resumed.trace->info.losses == whole.trace->info.losses);
                REQUIRE(resumed.parameters.size() == whole.parameters.size());
                for (std::size_t p = 0; p < whole.parameters.size(); ++p)
                    CHECK(resumed.parameters[p].numbers == whole.parameters[p].numbers);
            }
}

TEST_CASE("a checkpoint whose state is not LocalSGD's one number is refused, not passed over") {
    using checkpoint_test::run_at;
    const std::string parallel = "[mesh]\nshape = [3]\n[parallel]\ndata = \"local_sgd\"\nsync_every = 3\n";
    const Folder folder;
    run_at(checkpoint_test::text(4, parallel, "folder = \"c\"\n"), folder);
    const std::string path = folder.file("c/step_000004/manifest.json");
    run::checkpoint::Manifest manifest = run::checkpoint::parse_manifest(read_text_file(path), path);
    REQUIRE(manifest.strategy_state == std::vector<int64_t>{4});
    for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{}, {4, 4}, {-1}}) {
        INFO(wrong.size());
        manifest.strategy_state = wrong;
        std::ofstream(path) << to_json(manifest);
        run::RunOptions options;
        options.resume = folder.file("c");
        std::string id;
        try {
            run_at(checkpoint_test::text(6, parallel), folder, options);
        } catch (const Error& error) {
            id = cause_in(error.message()).value_or(error.message()).id;
        }
        CHECK(id == "local_sgd.state");
    }
}

TEST_CASE("from its checkpoint another strategy goes on with replica 0's weights, and it with another's") {
    using checkpoint_test::run_at;
    const std::string diloco = "[mesh]\nshape = [3]\n[parallel]\n" + kStreaming;
    for (const auto& [first, second] :
         {std::pair{diloco, checkpoint_test::kFsdp4}, std::pair{checkpoint_test::kDdp3, diloco}}) {
        const Folder folder;
        const auto before = run_at(checkpoint_test::text(5, first, "folder = \"c\"\n"), folder);
        run::RunOptions options;
        options.resume = folder.file("c");
        const auto after = run_at(checkpoint_test::text(6, second), folder, options);
        CHECK(after.resumed_after == 5);
        CHECK(after.trace->info.losses.size() == 6);
        const auto saved = checkpoint_test::open(folder.file("c"), checkpoint_test::text(6, second));
        for (const run::NamedArray& parameter : before.parameters)
            CHECK(saved.whole("model." + parameter.name) == parameter.numbers);
    }
}

TEST_CASE("what does not go together is refused at its line") {
    const std::string model =
        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 12\nglobal_batch = 8\n[mesh]\nshape = [2]\n"
        "[parallel]\n";
    const auto of = [&](const std::string& keys) { return refusals(model + keys); };
    CHECK(of("data = \"diloco\"\nsync_every = 6\nfragments = 2\nfragment_sync_delay = 2\n").empty());
    CHECK(of("data = \"diloco\"\n") == Rows{"scenario.missing_key 9"});
    CHECK(of("data = \"local_sgd\"\nsync_every = 0\n") == Rows{"scenario.out_of_range 11"});
    CHECK(of("data = \"local_sgd\"\nsync_every = 2\nouter_lr = 0.1\n") ==
          Rows{"scenario.key_needs_strategy 12"});
    CHECK(of("data = \"ddp\"\nsync_every = 2\n") == Rows{"scenario.key_needs_strategy 11"});
    CHECK(of("data = \"diloco\"\nsync_every = 5\nfragments = 2\n") == Rows{"scenario.diloco_fragments 12"});
    CHECK(of("data = \"diloco\"\nsync_every = 6\nfragments = 3\n") == Rows{"scenario.diloco_modules 12"});
    CHECK(of("data = \"diloco\"\nsync_every = 6\nfragments = 2\nfragment_sync_delay = 3\n") ==
          Rows{"scenario.diloco_delay 13"});
    const std::string eval = "[eval]\nsamples = 4\nevery = ";
    CHECK(of("data = \"diloco\"\nsync_every = 3\n" + eval + "6\n").empty());
    CHECK(of("data = \"diloco\"\nsync_every = 3\n" + eval + "4\n") == Rows{"scenario.eval_between 14"});
    CHECK(of("data = \"diloco\"\nsync_every = 4\nfragments = 2\n" + eval + "4\n") ==
          Rows{"scenario.eval_apart 15"});
    std::string sharded = model + "data = \"diloco\"\nsync_every = 3\n";
    sharded.replace(sharded.find("shape = [2]"), 11, "shape = [2]\nnames = [\"shard\"]");
    CHECK(refusals(sharded) == Rows{"scenario.mesh_dims 9"});
    const std::string cp =
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 8\nlayers = 2\nvocab = 8\nseq = 8\nheads = "
        "2\n"
        "[train]\nsteps = 4\nglobal_batch = 4\n[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"cp\"]\n"
        "[parallel]\ndata = \"diloco\"\nsync_every = 2\n";
    CHECK(refusals(cp) == Rows{"scenario.local_steps_cp 17"});
}

TEST_CASE("fragments are runs of whole modules of about equal size") {
    const auto sizes = [](const nn::ModelSpec& spec, int64_t fragments) {
        std::vector<int64_t> counted;
        const auto model = nn::make_model(spec);
        for (const auto& fragment : parallel::cut_into_fragments(*model, fragments)) {
            int64_t n = 0;
            for (const nn::Parameter* parameter : fragment) n += tensor::count(parameter->shape);
            counted.push_back(n);
        }
        return counted;
    };
    const nn::ModelSpec mlp{"mlp", 4, 6, 3};  // up 30, down 28, three times
    CHECK(sizes(mlp, 1) == std::vector<int64_t>{174});
    CHECK(sizes(mlp, 2) == std::vector<int64_t>{88, 86});
    CHECK(sizes(mlp, 3) == std::vector<int64_t>{58, 58, 58});
    CHECK(sizes(mlp, 6) == std::vector<int64_t>{30, 28, 30, 28, 30, 28});
    CHECK(sizes(mlp, 9).size() == 6);
    CHECK(sizes({"toy"}, 2) == std::vector<int64_t>{110, 55});
}

TEST_CASE("the data-parallel strategies are listed in their enum's order, each word once") {
    std::set<std::string_view> words;
    for (std::size_t i = 0; i < parallel::strategies().size(); ++i) {
        CHECK(parallel::strategies()[i]->id == static_cast<parallel::DataStrategy>(i));
        CHECK(words.insert(parallel::strategies()[i]->word).second);
    }
}
