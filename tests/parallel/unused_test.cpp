// DDP and parameters that a rank's forward does not use: a model that goes another way on each rank.
#include "backends/registry.h"
#include "core/base/error.h"
#include "core/comm/transport_group.h"
#include "core/nn/layers/linear.h"
#include "core/nn/layers/loss.h"
#include "core/parallel/accumulate.h"
#include "core/parallel/ddp/ddp.h"
#include "tests/parallel/drawn.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

/// One of three Linear(3, 2), left, right or never, whichever this rank takes.
class Crossroads final : public nn::Model {
  public:
    explicit Crossroads(std::size_t way)
        : Model(""),
          ways_{add_linear("left", 3, 2, false), add_linear("right", 3, 2, false),
                add_linear("never", 3, 2, false)},
          way_(way) {
        children_ = {ways_[0], ways_[1], ways_[2]};
        layer_modules_ = {{ways_[0], ways_[1], ways_[2]}};
    }
    std::vector<std::string> default_units() const override { return {}; }
    nn::Variable embed(nn::Tape& tape, const tensor::Tensor& x) override { return tape.input(x); }
    nn::Variable layer(nn::Tape& tape, int64_t, nn::Variable stream) override {
        return ways_[way_]->forward(tape, stream);
    }
    nn::Variable head(nn::Tape&, nn::Variable stream) override { return stream; }
    nn::Variable criterion(nn::Tape& tape, nn::Variable output, const tensor::Tensor& target) override {
        return nn::mse(tape, output, target);
    }
    tensor::Shape input_shape(int64_t batch) const override { return {batch, 3}; }
    tensor::Shape target_shape(int64_t batch) const override { return {batch, 2}; }
    tensor::Shape stream_shape(int64_t batch) const override { return {batch, 2}; }

  private:
    std::vector<nn::Linear*> ways_;
    std::size_t way_;
};

using Gradients = std::vector<std::vector<float>>;  ///< empty: none

/// Every rank's gradients after `steps` steps on the same data, rank r going ways[r].
std::vector<Gradients> train(const std::vector<std::size_t>& ways, const parallel::DdpOptions& options,
                             int32_t steps) {
    std::vector<Gradients> found(ways.size());
    const auto world = backends::make_registry()->open("threads", {static_cast<int32_t>(ways.size())});
    world->run([&](comm::Transport& transport) {
        const auto device = tensor::make_cpu_device();
        tensor::Allocator memory(*device, nullptr);
        comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
        std::vector<GlobalRank> members;
        for (int32_t r = 0; r < transport.world_size(); ++r) members.push_back({r});
        comm::TransportGroup group(executor, 0, "replicate", members, comm::Channel{0}, nullptr);
        parallel::RankContext context;
        context.rank = transport.rank();
        context.groups = {&group};
        context.allocator = &memory;
        const auto rank = static_cast<std::size_t>(transport.rank().value);
        Crossroads model(ways[rank]);
        parallel::Accumulate runner(context, model, std::make_unique<parallel::Ddp>(context, model, options),
                                    1);
        runner.load(test::Drawn(3));
        const auto x =
            memory.of(std::vector<float>{1, -2, 3, 0.5F, 1, 2}, {2, 3}, MemoryCategory::inputs, "x");
        const auto y = memory.of(std::vector<float>{1, 2, 3, 4}, {2, 2}, MemoryCategory::inputs, "y");
        for (int32_t step = 0; step < steps; ++step) {
            if (step > 0) runner.after_step();
            runner.run(step, x, y);
        }
        for (const tensor::Tensor& gradient : runner.gradients()) {
            std::vector<float>& numbers = found[rank].emplace_back();
            if (!gradient.defined()) continue;
            const auto data = gradient.data<float>();
            numbers.assign(data.begin(), data.end());
        }
        executor.finish();
    });
    return found;
}

std::vector<float> halved(std::vector<float> numbers) {
    for (float& x : numbers) x /= 2;
    return numbers;
}

}  // namespace

TEST_CASE(
    "a parameter that one rank used counts as zeros on the other, one that nobody used has no gradient") {
    parallel::DdpOptions alone;
    alone.find_unused_parameters = true;
    const Gradients left = train({0}, alone, 1)[0], right = train({1}, alone, 1)[0];
    REQUIRE(left[0].size() == 6);
    REQUIRE(right[1].size() == 6);
    CHECK(left[1].empty());
    for (const int32_t steps : {1, 3})
        for (const bool fixed : {false, true})
            for (const bool views : {false, true}) {
                parallel::DdpOptions options;
                options.bucket_cap_mb = 0.00002;  // 20 bytes: a bucket a parameter
                options.find_unused_parameters = !fixed;
                options.static_graph = fixed;
                options.gradient_as_bucket_view = views;
                for (const Gradients& found : train({0, 1}, options, steps)) {
                    CHECK(found[0] == halved(left[0]));
                    CHECK(found[1] == halved(right[1]));
                    CHECK(found[2].empty());
                }
            }
}

TEST_CASE("without the flag a bucket that never fills is an error, not a wait for ever") {
    try {
        train({0, 1}, {}, 1);
        FAIL("nothing was thrown");
    } catch (const InvalidArgument& error) {
        CHECK(error.message().id == "ddp.bucket_incomplete");
    }
}
