#include "core/parallel/ddp/hooks.h"

#include <optional>

#include "core/parallel/ddp/powersgd.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

/// allreduce_hook and the two compress hooks: the bucket, or a cast of it, is divided by the ranks and
/// summed. `compressed` is the type that it is cast to; none: it travels in its own.
class Compress final : public CommHook {
  public:
    Compress(std::optional<DType> compressed, const RankContext& context, comm::ProcessGroup& group)
        : compressed_(compressed), context_(context), group_(group) {}

    void launch(const FullBucket& bucket) override {
        if (bucket.index >= under_way_.size()) under_way_.resize(bucket.index + 1);
        UnderWay& travels = under_way_[bucket.index];
        travels.numbers = bucket.flat;
        {
            const ComputeEvent event(context_.recorder, *context_.allocator,
                                     casts(bucket) ? "ddp.compress" : "ddp.divide", bucket.name);
            if (casts(bucket)) {
                travels.numbers =
                    context_.allocator->empty(bucket.flat.shape(), *compressed_,
                                              MemoryCategory::communication, bucket.name + " compressed");
                event->cast(travels.numbers, bucket.flat);
            }
            event->scale(travels.numbers, 1.0F / static_cast<float>(group_.size()));
        }
        if (context_.recorder)
            context_.recorder->depend(Stream::all_reduce, context_.recorder->last_event(Stream::compute));
        travels.work = group_.all_reduce(
            travels.numbers, ReduceOp::sum,
            {.stream = Stream::all_reduce,
             .cause = {compressed_ ? "ddp.hook.compressed" : "ddp.hook.all_reduce", bucket.name}});
    }

    void finish(const FullBucket& bucket) override {
        UnderWay& travels = under_way_.at(bucket.index);
        travels.work.wait();
        if (casts(bucket)) {
            const ComputeEvent event(context_.recorder, *context_.allocator, "ddp.decompress", bucket.name);
            event->cast(bucket.flat, travels.numbers);
        }
        travels = {};
    }

  private:
    struct UnderWay {
        Tensor numbers;
        comm::Work work;
    };
    bool casts(const FullBucket& bucket) const { return compressed_ && *compressed_ != bucket.flat.dtype(); }

    std::optional<DType> compressed_;
    RankContext context_;
    comm::ProcessGroup& group_;
    std::vector<UnderWay> under_way_;  ///< by bucket
};

}  // namespace

std::unique_ptr<CommHook> make_hook(const DdpOptions& options, const RankContext& context,
                                    comm::ProcessGroup& group) {
    switch (options.hook) {
        case DdpHook::none:
            break;
        case DdpHook::allreduce:
            return std::make_unique<Compress>(std::nullopt, context, group);
        case DdpHook::fp16_compress:
            return std::make_unique<Compress>(DType::float16, context, group);
        case DdpHook::bf16_compress:
            return std::make_unique<Compress>(DType::bfloat16, context, group);
        case DdpHook::powersgd:
            return std::make_unique<PowerSgd>(options.powersgd, context, group);
    }
    return nullptr;
}

}  // namespace meshscope::parallel
