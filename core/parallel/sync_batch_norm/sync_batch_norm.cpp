#include "core/parallel/sync_batch_norm/sync_batch_norm.h"

#include <memory>
#include <string>

#include "core/nn/layers/batch_norm.h"

namespace meshscope::parallel {
namespace {

class GroupStatistics final : public nn::SharedStatistics {
  public:
    explicit GroupStatistics(comm::ProcessGroup& group) : group_(group) {}

    Tensor gather(nn::Tape& tape, const std::string& layer, const Tensor& mine) override {
        const Tensor all =
            tape.allocator().empty({group_.size(), mine.n_elements()}, DType::float32,
                                   MemoryCategory::communication, layer + " gathered statistics");
        follow_compute(tape, Stream::all_gather);
        group_.all_gather(all, mine, {},
                          {.stream = Stream::all_gather,
                           .cause = {"sync_batch_norm.statistics", layer},
                           .async_op = false});
        return all;
    }

    void sum(nn::Tape& tape, const std::string& layer, const Tensor& sums) override {
        follow_compute(tape, Stream::all_reduce);
        group_.all_reduce(sums, ReduceOp::sum,
                          {.stream = Stream::all_reduce,
                           .cause = {"sync_batch_norm.gradient_sums", layer},
                           .async_op = false});
    }

  private:
    static void follow_compute(const nn::Tape& tape, Stream stream) {
        if (tape.recorder()) tape.recorder()->depend(stream, tape.recorder()->last_event(Stream::compute));
    }

    comm::ProcessGroup& group_;
};

}  // namespace

void convert_sync_batch_norm(const RankContext& context, nn::Model& model) {
    comm::ProcessGroup& group = *context.groups.at(0);
    if (group.size() == 1) return;
    const auto shared = std::make_shared<GroupStatistics>(group);
    for (nn::BatchNorm* norm : model.batch_norms()) norm->shared = shared;
}

}  // namespace meshscope::parallel
