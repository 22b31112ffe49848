// What PyTorch 2.15's fully_shard leaves on a (2,2) mesh (shard, tp) for Linear(10,12), ReLU, Linear(12,6)
// whose layers parallelize_module cut, element for element: AG 54→108, AR (4,6), RS 108→54.
#include "backends/registry.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport_group.h"
#include "core/nn/layers/activation.h"
#include "core/nn/layers/linear.h"
#include "core/nn/layers/loss.h"
#include "core/nn/model.h"
#include "core/parallel/fsdp2/fsdp2.h"
#include "core/parallel/tensor/placement.h"
#include "core/parallel/tensor/tensor_parallel.h"
#include "core/tensor/kernels.h"
#include "tests/parallel/drawn.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

class TwoLayers final : public nn::Model {
  public:
    TwoLayers() : Model(""), net1_(add_linear("net1", 10, 12)), net2_(add_linear("net2", 12, 6)) {
        children_ = {net1_, net2_};
        layer_modules_ = {{net1_, net2_}};
    }
    std::vector<std::string> default_units() const override { return {}; }
    nn::Variable embed(nn::Tape& tape, const tensor::Tensor& x) override { return tape.input(x); }
    nn::Variable layer(nn::Tape& tape, int64_t, nn::Variable x) override {
        return net2_->forward(tape, nn::relu(tape, net1_->forward(tape, x)));
    }
    nn::Variable head(nn::Tape&, nn::Variable x) override { return x; }
    nn::Variable criterion(nn::Tape& tape, nn::Variable output, const tensor::Tensor& target) override {
        return nn::mse(tape, output, target);
    }
    nn::Shape input_shape(int64_t batch) const override { return {batch, 10}; }
    nn::Shape target_shape(int64_t batch) const override { return {batch, 6}; }
    nn::Shape stream_shape(int64_t batch) const override { return {batch, 10}; }

  private:
    nn::Linear* net1_;
    nn::Linear* net2_;
};

struct Seen {
    std::vector<std::string> collectives;
    std::vector<nn::Shape> local_shapes;  ///< what the optimizer updates
};

Seen train_once(comm::Transport& transport) {
    const int32_t rank = transport.rank().value, row = rank / 2, column = rank % 2;
    trace::Recorder recorder({rank}, trace::Level::collectives, 0);
    const auto device = tensor::make_cpu_device();
    tensor::Allocator allocator(*device, &recorder);
    comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
    comm::TransportGroup shard(executor, 1 + column, "shard", {GlobalRank{column}, GlobalRank{column + 2}},
                               comm::Channel{1 + column}, &recorder);
    comm::TransportGroup tp(executor, 3 + row, "tp", {GlobalRank{2 * row}, GlobalRank{2 * row + 1}},
                            comm::Channel{3 + row}, &recorder);
    parallel::RankContext context;
    context.rank = {rank};
    context.groups = {&shard};
    context.by_role[mesh::Role::tp] = &tp;
    context.allocator = &allocator;
    context.recorder = &recorder;

    Seen seen;
    {
        TwoLayers model;
        parallel::TensorParallel tensor_parallel(context, {});
        tensor_parallel.apply(model);
        parallel::Fsdp2Options options;
        options.keep_root = true;  // fully_shard(model): the root stays whole between forward and backward
        parallel::Fsdp2 fsdp(context, model, options);
        const test::Drawn drawn(1);
        fsdp.load(parallel::PartValues(drawn));
        const parallel::Pass pass{};
        fsdp.before_forward(pass);
        nn::Tape tape(allocator, &recorder);
        fsdp.attach(tape);
        const auto data = [&](nn::Shape shape) {
            return allocator.zeros(std::move(shape), DType::float32, MemoryCategory::inputs, "data");
        };
        tape.backward(model.loss(tape, data(model.input_shape(4)), data(model.target_shape(4))));
        fsdp.after_backward(pass);
        for (const parallel::LocalParameter& local : fsdp.local_parameters())
            seen.local_shapes.push_back(local.value.shape());
        executor.finish();
    }
    for (const trace::Event& e : recorder.take().events)
        if (e.kind == trace::EventKind::collective)
            seen.collectives.push_back(std::string(name(e.op)) + " " + std::to_string(e.in_elements) + "->" +
                                       std::to_string(e.out_elements));
    return seen;
}

}  // namespace

TEST_CASE("FSDP2 over tensor parallelism on (2,2): AG 54 to 108, AR (4,6), RS 108 to 54") {
    const auto world = backends::make_registry()->open("threads", {4});
    std::vector<Seen> seen(4);
    world->run([&](comm::Transport& transport) {
        seen[static_cast<std::size_t>(transport.rank().value)] = train_once(transport);
    });
    for (const Seen& rank : seen) {
        CHECK(rank.collectives ==
              std::vector<std::string>{"all_gather 54->108", "all_reduce 24->24", "reduce_scatter 108->54"});
        // net1: cut by rows by both; net2: by columns, then by rows; its bias by rows alone.
        CHECK(rank.local_shapes == std::vector<nn::Shape>{{3, 10}, {3}, {3, 6}, {3}});
    }
}
